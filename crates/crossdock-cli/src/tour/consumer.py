"""A consumer with nothing but Python's standard library: it maps the lent descriptor and reads the
array in place.

It reports what CPython says (`PyObject_GetBuffer`) or what the process's memory map says. The
standard library cannot represent a strided view: the consumer reads it by the lent description, and
reports `null`.
"""

import ctypes
import json
import mmap
import os
import time
from operator import mul

lent = json.loads(os.environ["CROSSDOCK_ARRAY"])


class Buffer(ctypes.Structure):
    """`Py_buffer`, as in CPython's stable ABI since 3.11."""

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


FULL_READ_ONLY = 0x0118 | 0x0004  # PyBUF_FULL_RO: indirect, strides, shape and format


def is_row_major():
    step = lent["itemsize"]
    for length, stride in zip(reversed(lent["shape"]), reversed(lent["strides"])):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def hand_over():
    """The mapping, the bytes that the array spans, and a memoryview of the array if the standard
    library can make one."""
    start, stop = lent["span"]
    mapping = mmap.mmap(lent["fd"], stop, prot=mmap.PROT_READ)
    span = memoryview(mapping)[start:stop]
    if lent["struct"] is None or not is_row_major():
        return mapping, span, None
    try:
        return mapping, span, span.cast(lent["struct"], lent["shape"])
    except (TypeError, ValueError):  # a format, a byte order or a rank that `cast` does not take
        return mapping, span, None


def measured(view):
    """Address, format, shape and strides, as any C extension gets them."""
    buffer = Buffer()
    get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
    get.argtypes = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int]
    release.argtypes, release.restype = [ctypes.POINTER(Buffer)], None
    get(view, buffer, FULL_READ_ONLY)
    format = (buffer.format or b"B").decode()
    answer = buffer.buf, format, buffer.shape[: buffer.ndim], buffer.strides[: buffer.ndim]
    release(buffer)
    return answer


def pages_at(address):
    """The device, inode and byte of the file that is mapped at an address."""
    with open("/proc/self/maps") as maps:
        for row in maps:
            span, _, offset, device, inode = row.split()[:5]
            start, stop = (int(end, 16) for end in span.split("-"))
            if start <= address < stop:
                return {"device": device, "inode": int(inode), "offset": int(offset, 16) + address - start}


def axes():
    """Length, stride, and the row-major distance of neighbours in bytes, for each axis; the longest
    axis comes last."""
    step, found = lent["itemsize"], []
    for length, stride in zip(reversed(lent["shape"]), reversed(lent["strides"])):
        if found and (found[-1][1] * found[-1][0], found[-1][2] * found[-1][0]) == (stride, step):
            found[-1] = (found[-1][0] * length, *found[-1][1:])
        elif length != 1:
            found.append((length, stride, step))
        step *= length
    return sorted(found)


def checksum(span, first, position, axes):
    """The sum of each byte times its position in row-major order, counted from 1."""
    if not axes:
        return sum(span[first + byte] * (position + byte) for byte in range(lent["itemsize"]))
    (length, stride, step), *inner = axes
    if inner or stride == 0:
        return sum(checksum(span, first + i * stride, position + i * step, inner) for i in range(length))
    low = first if stride > 0 else first + (length - 1) * stride
    total = 0
    for byte in range(lent["itemsize"]):
        run = span[low + byte : low + byte + (length - 1) * abs(stride) + 1 : abs(stride)]
        weights = range(position + byte, position + byte + length * step, step)
        total += sum(map(mul, run, weights if stride > 0 else reversed(weights)))
    return total


times = []
for _ in range(21):
    before = time.perf_counter_ns()
    mapping, span, array = hand_over()
    times.append(time.perf_counter_ns() - before)
    del array
    span.release()
    mapping.close()

mapping, span, array = hand_over()
first = lent["offset"] - lent["span"][0]
address, format, shape, strides = measured(span if array is None else array)
if array is None:
    address += first
print(
    json.dumps(
        {
            "dtype": None if array is None else format,
            "shape": None if array is None else shape,
            "strides": None if array is None else strides,
            "address": address,
            "pages": pages_at(address),
            "checksum": checksum(span, first, 1, axes()) % 2**64 if lent["nbytes"] else 0,
            "bytes_copied": None,
            "ns": sorted(times)[len(times) // 2],
        }
    )
)
