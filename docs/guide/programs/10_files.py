"""An open array sees what is written into its file, and keeps the bytes of a file that is replaced."""

import os
import pathlib
import tempfile

import numpy as np

import crossdock

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "heights.npy")
    np.save(path, np.array([[1, 2, 3], [4, 5, 6]], "<i2"))

    heights = crossdock.open(path)  # mapped: the elements are not read yet
    print(heights.dtype, heights.shape, heights.backing, "read-only" if heights.readonly else "writable")

    np.load(path, mmap_mode="r+")[0, 0] = 10  # another map of the same file
    print("written into:", heights.tolist())

    new = pathlib.Path(folder, "new.npy")
    np.save(new, np.zeros((2, 3), "<i2"))
    os.replace(new, path)  # another file under the same name
    print("replaced:", heights.tolist())
    print("opened again:", crossdock.open(path).tolist())

    np.savez_compressed(path.with_suffix(".npz"), heights=heights)
    before = crossdock.copied_bytes()
    inflated = crossdock.open(path.with_suffix(".npz"))["heights"]
    print("compressed:", inflated.backing, crossdock.copied_bytes() - before, "bytes copied")
