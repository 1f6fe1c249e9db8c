"""The answers of CPython's exporters to every request: JSON in and out.

Uses CPython's reference, `_testbuffer.ndarray`, if the interpreter has it; only this one creates indirect arrays. Otherwise uses
`memoryview`, which has the same rules.
"""

import ctypes
import json
import sys

import numpy as np

try:
    import _testbuffer
except ImportError:
    _testbuffer = None

FORMATS = {1: "B", 2: "H", 8: "q"}


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
get.argtypes, get.restype = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int], ctypes.c_int
release.argtypes, release.restype = [ctypes.POINTER(Buffer)], None


def exporter(case):
    size, nbytes = case["itemsize"], case["nbytes"]
    if _testbuffer is not None:
        flags = 0 if case["readonly"] else _testbuffer.ND_WRITABLE
        flags |= _testbuffer.ND_PIL if case["indirect"] else 0
        items = [0] * max(1, nbytes // size)
        shape, strides = case["shape"], case["strides"]
        if not shape:
            return _testbuffer.ndarray(0, shape=[], format=FORMATS[size], flags=flags)
        return _testbuffer.ndarray(
            items, shape=shape, strides=strides, offset=case["offset"], format=FORMATS[size], flags=flags
        )
    memory = np.zeros(nbytes + size, "u1")
    array = np.ndarray(case["shape"], FORMATS[size], memory, case["offset"], case["strides"])
    array.flags.writeable = not case["readonly"]
    return memoryview(array)


def answer(thing, flags):
    buffer = Buffer()
    try:
        get(thing, ctypes.byref(buffer), flags)
    except BufferError:
        return None
    except SystemError:
        return "refused by the interpreter, and not by the exporter"
    given = [buffer.format, buffer.shape, buffer.strides, buffer.suboffsets]
    result = [sum(1 << bit for bit, part in enumerate(given) if part), buffer.ndim, buffer.len, buffer.itemsize]
    release(ctypes.byref(buffer))
    return result


if __name__ == "__main__":
    answers = []
    for case in json.load(sys.stdin):
        if case["indirect"] and _testbuffer is None:
            answers.append(None)
            continue
        thing = exporter(case)
        answers.append([answer(thing, flags) for flags in range(512)])
    json.dump({"reference": _testbuffer is not None, "answers": answers}, sys.stdout)
