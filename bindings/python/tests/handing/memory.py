"""Memory at addresses that tests choose."""

import ctypes

import numpy as np

import crossdock


def block(nbytes, lead=0):
    """Distinct bytes, whose address is `lead` bytes behind a multiple of 64."""
    memory = np.empty(nbytes + 192, "u1")
    start = -memory.ctypes.data % 64 + 64 + lead
    window = memory[start : start + nbytes]
    window[:] = np.arange(nbytes) * 31 + 17
    return window


def numbers(dtype, shape, lead=0, start=1):
    """Numbers from `start` on, in row-major order, at an address `lead` bytes behind a multiple of 64."""
    dtype = np.dtype(dtype)
    made = block(dtype.itemsize * int(np.prod(shape)), lead).view(dtype).reshape(shape)
    made[...] = (np.arange(made.size) % 100 + start).reshape(shape)
    return made


def alias(array):
    """The elements of a Crossdock array as a NumPy array, without a lease, which would exclude other consumers."""
    (offer,) = (offer for offer in crossdock.explain(array).offers if offer.protocol == "PEP 3118")
    return lying(offer.address, array.shape, array.strides, np.dtype(array.dtype), array)


def lying(address, shape, strides, dtype, owner):
    """Elements at an address."""
    if 0 in shape:
        return np.empty(shape, dtype)
    steps = [(length - 1) * stride for length, stride in zip(shape, strides)]
    low, high = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0) + dtype.itemsize
    memory = (ctypes.c_char * (high - low)).from_address(address + low)
    memory.owner = owner
    return np.ndarray(tuple(shape), dtype, memory, -low, tuple(strides))
