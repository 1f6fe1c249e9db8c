"""DLPack tensors that tests build: valid ones of kinds that no library here exports, and invalid ones."""

import ctypes

import ml_dtypes
import numpy as np

from crossdock._explain.native import DLManagedTensor, DLManagedTensorVersioned
from handing.memory import numbers

Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
python = ctypes.PyDLL(None)
new_capsule = python.PyCapsule_New
new_capsule.argtypes, new_capsule.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object

is_valid, pointer_of = python.PyCapsule_IsValid, python.PyCapsule_GetPointer
is_valid.argtypes, pointer_of.argtypes, pointer_of.restype = (
    [ctypes.c_void_p, ctypes.c_char_p],
    [ctypes.c_void_p, ctypes.c_char_p],
    ctypes.c_void_p,
)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def give_back(capsule):
    """The destructor of a capsule that no consumer took. It cannot be called during an exception."""
    for name, kind in [(b"dltensor", DLManagedTensor), (b"dltensor_versioned", DLManagedTensorVersioned)]:
        if is_valid(capsule, name):
            pointer = pointer_of(capsule, name)
            deleter = ctypes.cast(pointer, ctypes.POINTER(kind)).contents.deleter
            if deleter:
                Deleter(deleter)(pointer)


CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

#: What tensors of `Handmade` point to: a consumer may read it and call the deleter after the producer is gone.
lent = []


class Handmade:
    """A producer of tensors with a given description.

    `speaks` is the struct of its answers: "both" as requested, "legacy" or "versioned" always, "old" without knowledge of versions.
    `gives_back` tells whether a capsule that no consumer took calls the deleter.
    """

    def __init__(
        self,
        elements,
        speaks="both",
        gives_back=False,
        strides=(),
        has_deleter=True,
        version=(1, 0),
        flags=0,
        lead=0,
        **fields,
    ):
        self.elements, self.speaks, self.version, self.flags, self.lead = elements, speaks, version, flags, lead
        self.fields, self.has_deleter = fields, has_deleter
        self.strides = [step // elements.itemsize for step in elements.strides] if strides == () else strides
        self.destructor = ctypes.cast(give_back, ctypes.c_void_p) if gives_back else None
        self.taken = self.given_back = 0

    def __dlpack_device__(self):
        return (self.fields.get("device_type", 1), 0)

    def __dlpack__(self, **asked):
        if self.speaks == "old" and "max_version" in asked:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        versioned = self.speaks == "versioned" or self.speaks == "both" and asked.get("max_version") is not None
        managed = DLManagedTensorVersioned() if versioned else DLManagedTensor()
        if versioned:
            (managed.major, managed.minor), managed.flags = self.version, self.flags
        elements, tensor = self.elements, managed.tensor
        shape = (ctypes.c_int64 * max(elements.ndim, 1))(*elements.shape)
        tensor.data, tensor.ndim, tensor.shape = (
            elements.__array_interface__["data"][0] - self.lead,
            elements.ndim,
            shape,
        )
        tensor.byte_offset, tensor.device_type = self.lead, 1
        if self.strides is not None:
            strides = (ctypes.c_int64 * max(elements.ndim, 1))(*self.strides)
            tensor.strides = strides
            lent.append(strides)
        tensor.code, tensor.bits, tensor.lanes = CODES.get(elements.dtype.kind, 3), elements.itemsize * 8, 1
        for name, value in self.fields.items():
            setattr(tensor, name, value)

        def delete(_):
            self.given_back += 1

        deleter = Deleter(delete)
        if self.has_deleter:
            managed.deleter = ctypes.cast(deleter, ctypes.c_void_p)
        self.taken += 1
        lent.extend([managed, shape, deleter, elements])
        name = b"dltensor_versioned" if versioned else b"dltensor"
        return new_capsule(ctypes.addressof(managed), name, self.destructor)


def handmade():
    """Names, producers, and the elements as NumPy arrays; None for other dtypes."""
    square = numbers("f8", (6, 5))
    yield "a tensor", Handmade(square), square
    yield "a tensor from before 1.0", Handmade(square, "legacy"), square
    yield "a versioned tensor without a request", Handmade(square, "versioned"), square
    yield "a producer that knows no versions", Handmade(square, "old"), square
    yield "no strides", Handmade(square, strides=None), square
    yield "no strides, from before 1.0", Handmade(square, "legacy", strides=None), square
    yield "a byte offset", Handmade(square, lead=64), square
    yield "a byte offset, from before 1.0", Handmade(square, "legacy", lead=64), square
    yield "no deleter", Handmade(square, has_deleter=False), square
    yield "no deleter, from before 1.0", Handmade(square, "legacy", has_deleter=False), square
    yield "version 2.0", Handmade(square, "versioned", version=(2, 0)), None
    yield "version 1.9", Handmade(square, version=(1, 9)), square
    yield "unknown flags", Handmade(square, flags=0x80), square
    yield "read-only by its flag", Handmade(square, "both", flags=1), square
    yield "read-only, always versioned", Handmade(square, "versioned", flags=1), square
    yield "a copy by its flag", Handmade(square, flags=2), square
    yield "backwards", Handmade(square[::-1, ::-1]), square[::-1, ::-1]
    yield "every second", Handmade(square[::2, ::2]), square[::2, ::2]
    yield "broadcast", Handmade(np.broadcast_to(square[0], (4, 5))), np.broadcast_to(square[0], (4, 5))
    yield "column-major", Handmade(square.T), square.T
    unaligned = numbers("f8", (6, 5), lead=1)
    yield "unaligned by 1", Handmade(unaligned), unaligned
    sixteen = numbers("f8", (6, 5), lead=16)
    yield "at 16 of 64", Handmade(sixteen), sixteen
    halves = numbers("u2", (6, 5))
    yield "bfloat16", Handmade(halves, code=4), halves.view(ml_dtypes.bfloat16)
    small = numbers("u1", (6, 5))
    yield "float8_e5m2", Handmade(small, code=12, bits=8), small.view(ml_dtypes.float8_e5m2)
    yield "float4_e2m1fn", Handmade(numbers("u1", (6, 5)), code=17, bits=4), None
    yield "two lanes", Handmade(square, lanes=2, bits=32), None
    deep = numbers("f8", (2,) + (1,) * 31 + (3,))
    yield "33 axes", Handmade(deep), deep
    yield "on a device", Handmade(square, device_type=2), None
