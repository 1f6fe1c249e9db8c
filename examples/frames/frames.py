"""NumPy uses the pixels of `frames.c` in place; `frames.so` is in the current folder. Crossdock for Python is not needed."""

import ctypes

import numpy as np

frames = ctypes.CDLL("./frames.so")
frames.next_frame.restype = ctypes.c_void_p
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype = ctypes.py_object
capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Frame:
    def __dlpack__(self, **_):  # is called once
        return capsule(frames.next_frame(), b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return 1, 0  # the CPU


pixels = np.from_dlpack(Frame())  # NumPy 2.1 or newer; the last array on it frees the pixels
print(pixels.shape, pixels[1, 3, 2])
