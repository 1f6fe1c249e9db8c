"""Opens a photograph and looks at it: its type, its layout, where it is, and some of its elements."""

import numpy as np

import crossdock

photo = crossdock.open("data/rocket.npy")  # mapped: no element is read yet

print(photo.dtype, photo.shape, photo.strides)
print(photo.device, "/", photo.backing, "/", "read-only" if photo.readonly else "writable")

print(photo[200, 500, 0])  # one element: a number
print(repr(photo[200, 500]))  # fewer indices than axes: a view
print(repr(photo[::100, ::200, 0]))  # every 100th row, every 200th column, the first channel

pixels = np.asarray(photo)  # the same memory as a NumPy array
print(pixels.max(axis=(0, 1)), pixels.ctypes.data == photo.ptr)
print(crossdock.copied_bytes(), "bytes copied")
