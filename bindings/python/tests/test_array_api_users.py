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


def test_xarray_computes_on_the_memory_of_the_arrays(x):
    xarray = required("xarray")
    before = crossdock.copied_bytes()
    held = xarray.DataArray(x, dims=("a", "b"))
    views = [held, held.isel(a=0), held[:, 1:], held.transpose("b", "a"), held.expand_dims("c"), held.stack(z=("a", "b"))]
    views.append(xarray.Variable(("a", "b"), x))
    for view in views:
        assert type(view.data) is np.ndarray and np.shares_memory(view.data, np.asarray(x))
    held[0, 0] = 7.0
    assert x[0, 0] == 7.0
    x[0, 0] = 0.0
    computed = [held + 1, held.sum(), held.where(held > 1), held.rolling(b=2).mean(), held.groupby("a").mean()]
    theirs = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("a", "b"))
    expected = [theirs + 1, theirs.sum(), theirs.where(theirs > 1), theirs.rolling(b=2).mean(), theirs.groupby("a").mean()]
    assert all(ours.equals(theirs) for ours, theirs in zip(computed, expected))
    assert crossdock.copied_bytes() == before


def test_scipy_and_scikit_learn_take_numpys_arrays_in_place(x):
    required("scipy")
    required("sklearn")
    from scipy.stats import zscore
    from sklearn.preprocessing import StandardScaler

    before = crossdock.copied_bytes()
    assert zscore(x).tolist() == [[-1.0] * 3, [1.0] * 3]
    assert StandardScaler().fit_transform(x).tolist() == [[-1.0] * 3, [1.0] * 3]
    assert crossdock.copied_bytes() == before


def test_with_dispatch_scipy_computes_and_scikit_learn_refuses():
    """Dispatch of SciPy and scikit-learn is chosen before the import."""
    required("scipy")
    required("sklearn")
    program = """
import crossdock, numpy, sklearn
from scipy.stats import zscore
from sklearn.preprocessing import StandardScaler
sklearn.set_config(array_api_dispatch=True)
x = crossdock.asarray(numpy.arange(6.0).reshape(2, 3))
print(type(zscore(x)).__name__)
for given in (x, numpy.asarray(x)):
    try:
        print(type(StandardScaler().fit_transform(given)).__name__)
    except TypeError as error:
        print(error)
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["ndarray", "Array is not a supported array type", "ndarray"]


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
