import ctypes

import pytest


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
        """What a consumer sees, but for the address."""

        def numbers(pointer):
            return [pointer[axis] for axis in range(self.ndim)] if pointer else None

        lists = numbers(self.shape), numbers(self.strides), numbers(self.suboffsets)
        return self.len, self.itemsize, bool(self.readonly), self.ndim, self.format, *lists


get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
get.argtypes, get.restype = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int], ctypes.c_int
release.argtypes, release.restype = [ctypes.POINTER(Buffer)], None


@pytest.fixture
def ask():
    """The parts of the buffer that an object gives to a request, or why it gives none."""

    def ask(thing, flags):
        buffer = Buffer()
        try:
            get(thing, ctypes.byref(buffer), flags)
        except (BufferError, SystemError) as error:
            # From 3.13 on, the interpreter answers the lone bit of INDIRECT itself, which is no request.
            assert not buffer.obj and (type(error) is BufferError or flags == 0x100)
            return str(error)
        assert buffer.obj == id(thing)
        parts = buffer.parts()
        release(ctypes.byref(buffer))
        return parts

    return ask
