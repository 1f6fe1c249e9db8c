"""Libraries that look for an array's namespace: what they do with the arrays."""

import os
import subprocess
import sys

import numpy as np
import pytest
from peers import required

import crossdock


@pytest.fixture
def x():
    return crossdock.asarray(np.arange(6.0).reshape(2, 3))


def test_xarray_holds_the_arrays(x):
    xarray = required("xarray")
    held = xarray.DataArray(x, dims=("a", "b"))
    assert held.data is x and isinstance(xarray.Variable(("a", "b"), x).data, crossdock.Array)
    before = crossdock.copied_bytes()
    views = [held.isel(a=0), held[:, 1:], held.transpose("b", "a"), held.expand_dims("c"), held.stack(z=("a", "b"))]
    assert crossdock.copied_bytes() == before
    for view in views:
        assert isinstance(view.data, crossdock.Array) and np.shares_memory(np.asarray(view.data), np.asarray(x))
    joined = xarray.concat([held, held], "a")
    assert isinstance(joined.data, crossdock.Array) and joined.data.tolist() == x.tolist() * 2
    for compute in [lambda: held + 1, lambda: held.sum(), lambda: held.where(held > 1)]:
        with pytest.raises((AttributeError, TypeError), match="np.asarray"):
            compute()
    assert np.shares_memory(held.values, np.asarray(x)) and np.shares_memory(held.as_numpy().data, np.asarray(x))
    assert (held.as_numpy() + 1).sum() == 21


def test_scipy_and_scikit_learn_take_numpys_arrays_in_place(x):
    required("scipy")
    required("sklearn")
    from scipy.stats import zscore
    from sklearn.preprocessing import StandardScaler

    before = crossdock.copied_bytes()
    assert zscore(x).tolist() == [[-1.0] * 3, [1.0] * 3]
    assert StandardScaler().fit_transform(x).tolist() == [[-1.0] * 3, [1.0] * 3]
    assert crossdock.copied_bytes() == before


def test_with_dispatch_they_name_the_call_of_numpy():
    """Dispatch of SciPy and scikit-learn is chosen before the import."""
    required("scipy")
    required("sklearn")
    program = """
import crossdock, numpy, sklearn
from scipy.stats import zscore
from sklearn.preprocessing import StandardScaler
sklearn.set_config(array_api_dispatch=True)
x = crossdock.asarray(numpy.arange(6.0).reshape(2, 3))
for compute in (zscore, StandardScaler().fit_transform):
    try:
        print(compute(x))
    except AttributeError as error:
        print(error)
    print(type(compute(numpy.asarray(x))).__name__)
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    first, one, second, other = ran.stdout.splitlines()
    assert one == other == "ndarray"
    for line in (first, second):
        assert line.startswith("crossdock holds arrays and does not compute: np.is"), ran.stdout


def test_what_selects_rows_by_positions_takes_numpys_view(x):
    required("sklearn")
    from sklearn.model_selection import train_test_split
    from sklearn.utils import shuffle

    for select in [train_test_split, shuffle]:
        with pytest.raises(IndexError, match=r"use np\.asarray\(x\)"):
            select(x)
        select(np.asarray(x))


def test_zarr_takes_numpys_view_of_a_strided_array(x):
    zarr = pytest.importorskip("zarr")
    assert zarr.array(x)[...].tolist() == x.tolist()
    with pytest.raises(ValueError, match="without a copy"):
        zarr.array(x.T)
    assert zarr.array(np.asarray(x.T))[...].tolist() == x.T.tolist()
