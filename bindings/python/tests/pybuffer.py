"""Buffers as C sees them."""

import ctypes
import struct


class Buffer(ctypes.Structure):
    """CPython's `Py_buffer`."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]

    def parts(self):
        """The consumer's view, except for the address."""

        def numbers(pointer):
            return [pointer[axis] for axis in range(self.ndim)] if pointer else None

        lists = numbers(self.shape), numbers(self.strides), numbers(self.suboffsets)
        return self.len, self.itemsize, bool(self.readonly), self.ndim, self.format, *lists


get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
get.argtypes, get.restype = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int], ctypes.c_int
release.argtypes, release.restype = [ctypes.POINTER(Buffer)], None


def meaning(text):
    """The meaning of a format of one item, by the module `struct`: equal for equivalent formats."""
    letter = text.lstrip("@=<>!")
    if len(letter) != 1:
        return text
    kinds = {"bhilqn": "signed", "BHILQNP": "unsigned", "efd": "floating"}
    kind = next((kind for letters, kind in kinds.items() if letter in letters), letter)
    nbytes = struct.calcsize(text)
    return nbytes, kind, text[0] in ">!" and nbytes > 1
