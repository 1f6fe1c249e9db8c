"""Lends one photograph to five libraries and takes it back. The memory is the same each time."""

import numpy as np
import polars as pl
import pyarrow as pa
from PIL import Image

import crossdock

photo = crossdock.open("data/rocket.npy")
constant = photo.frozen()  # you vouch that nothing writes the file: Arrow relies on it
red = photo[:, :, 0].copy()  # Pillow borrows one channel, without gaps
before = crossdock.copied_bytes()

borrowers = {
    "np.asarray(photo)": (photo, np.asarray(photo)),
    "np.from_dlpack(photo)": (photo, np.from_dlpack(photo)),
    "memoryview(photo)": (photo, memoryview(photo)),
    "pa.array(constant)": (photo, pa.array(constant)),
    "pl.Series(constant)": (photo, pl.Series(constant)),
    "Image.fromarray(red)": (red, Image.fromarray(red)),
}
for call, (lender, borrower) in borrowers.items():
    back = crossdock.asarray(borrower)  # an Array of any library's object
    print(f"{call:21}", "same address" if back.ptr == lender.ptr else "a copy", back.shape)
print(crossdock.copied_bytes() - before, "bytes copied")

pixels = np.asarray(crossdock.open("data/rocket.npy"))
print(pixels[200, 500], "writable:", pixels.flags.writeable)  # NumPy keeps the map alive

heights = np.array([[1.5, 2.5], [3.5, 4.5]])
crossdock.asarray(heights)[0, 0] = 9  # NumPy's memory, which is writable
print(heights.tolist())
