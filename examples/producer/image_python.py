"""NumPy, and Crossdock if it is installed, use the pixels of `image_python.c` in place."""

import gc

import image
import numpy as np

picture = image.Image(480, 640)
pixels = np.from_dlpack(picture)  # NumPy 2.1 or newer
pixels[479, 639] = 1, 2, 3
print("NumPy    ", pixels.shape, pixels.ctypes.data == picture.address)

try:
    import crossdock
except ImportError:
    crossdock = None
if crossdock is not None:
    array = crossdock.asarray(picture)
    print("Crossdock", array.shape, array.ptr == picture.address, array[479, 639].tolist())
    del array

del picture
gc.collect()
print("the pixels outlive the image:", pixels[479, 639].tolist())
