"""The sample data match data/README.md, as NumPy reads them."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    "name, dtype, shape",
    [("rocket.npy", "uint8", (427, 640, 3)), ("elevation.npy", "int16", (344, 403))],
)
def test_shape_and_dtype_are_the_documented_ones(data, name, dtype, shape):
    array = np.load(data / name, mmap_mode="r", allow_pickle=False)
    assert (array.dtype, array.shape) == (np.dtype(dtype), shape)
    assert array.flags.c_contiguous
    assert array.min() < array.max()


@pytest.mark.parametrize("name", ["rocket.npy", "elevation.npy"])
def test_size_and_type_stand_in_the_readme(data, name):
    array = np.load(data / name, mmap_mode="r", allow_pickle=False)
    row = next(line for line in (data / "README.md").read_text().splitlines() if name in line)
    assert " × ".join(map(str, array.shape)) in row
    assert f"`{array.dtype}`" in row
