"""The structs of the protocols, and the interpreter's functions that fill them in."""

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_ssize_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

#: Functions of its own, so that the prototypes of other users stay unchanged.
python = ctypes.PyDLL("python", handle=ctypes.pythonapi._handle)


class PyBuffer(Structure):
    _fields_ = [
        ("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
        ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
        ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p),
    ]  # fmt: skip


class DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]  # fmt: skip


class DLManagedTensor(Structure):
    _fields_ = [("tensor", DLTensor), ("manager", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("manager", c_void_p), ("deleter", c_void_p), ("flags", c_uint64),
        ("tensor", DLTensor),
    ]  # fmt: skip


class DLPackExchangeAPI(Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocator", c_void_p), ("from_object", c_void_p),
        ("to_object", c_void_p), ("borrow", c_void_p), ("stream", c_void_p),
    ]  # fmt: skip


class PyArrayInterface(Structure):
    _fields_ = [
        ("two", c_int), ("nd", c_int), ("typekind", ctypes.c_char), ("itemsize", c_int), ("flags", c_int),
        ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)), ("data", c_void_p), ("descr", c_void_p),
    ]  # fmt: skip


class ArrowSchema(Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", c_void_p), ("release", c_void_p), ("private", c_void_p),
]  # fmt: skip


class ArrowArray(Structure):
    pass


ArrowArray._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", c_void_p),
    ("release", c_void_p), ("private", c_void_p),
]  # fmt: skip


class ArrowDeviceArray(Structure):
    _fields_ = [("array", ArrowArray), ("device_id", c_int64), ("device_type", c_int32), ("sync_event", c_void_p)]


class ArrowArrayStream(Structure):
    pass


GetSchema = ctypes.PYFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowSchema))
ReleaseSchema = ctypes.PYFUNCTYPE(None, POINTER(ArrowSchema))
GetNext = ctypes.PYFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowArray))
ReleaseArray = ctypes.PYFUNCTYPE(None, POINTER(ArrowArray))
ArrowArrayStream._fields_ = [
    ("get_schema", GetSchema), ("get_next", GetNext), ("get_last_error", c_void_p), ("release", c_void_p), ("private", c_void_p),
]  # fmt: skip

FromObject = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, POINTER(POINTER(DLManagedTensorVersioned)))
Deleter = ctypes.PYFUNCTYPE(None, c_void_p)

get_buffer = python.PyObject_GetBuffer
get_buffer.argtypes, get_buffer.restype = [ctypes.py_object, POINTER(PyBuffer), c_int], c_int
release_buffer = python.PyBuffer_Release
release_buffer.argtypes, release_buffer.restype = [POINTER(PyBuffer)], None
has_buffer = python.PyObject_CheckBuffer
has_buffer.argtypes, has_buffer.restype = [ctypes.py_object], c_int
is_sequence = python.PySequence_Check
is_sequence.argtypes, is_sequence.restype = [ctypes.py_object], c_int
sequence_size = python.PySequence_Size
sequence_size.argtypes, sequence_size.restype = [ctypes.py_object], c_ssize_t
sequence_item = python.PySequence_GetItem
sequence_item.argtypes, sequence_item.restype = [ctypes.py_object, c_ssize_t], ctypes.py_object
_capsule_name = python.PyCapsule_GetName
_capsule_name.argtypes, _capsule_name.restype = [ctypes.py_object], c_char_p
_capsule_pointer = python.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, c_char_p], c_void_p


def numbers(pointer: Any, count: int) -> tuple[int, ...] | None:
    """One number for each axis; None if the pointer is null."""
    return tuple(pointer[k] for k in range(count)) if pointer else None


def capsule(thing: object, *names: bytes | None) -> tuple[bytes | None, int]:
    """The name and the pointer of a capsule with one of these names."""
    if type(thing).__name__ != "PyCapsule":
        raise TypeError(f"{type(thing).__name__} where a capsule is due")
    name = _capsule_name(thing)
    if name not in names:
        wanted = " or ".join(f'"{wanted.decode()}"' if wanted else "None" for wanted in names)
        raise TypeError(f"a capsule {name.decode() if name else None!r} where {wanted} is due")
    return name, _capsule_pointer(thing, name)
