"""A consumer with nothing but Python's standard library: it maps the lent descriptor and reads the array in place."""

import ctypes
import json
import mmap
import os
import time

lent = json.loads(os.environ["CROSSDOCK_ARRAY"])


def hand_over():
    start, stop = lent["span"]
    mapping = mmap.mmap(lent["fd"], stop, prot=mmap.PROT_READ)
    return mapping, memoryview(mapping)[start:stop]


def address_of_mapping():
    """Where the system put the mapping: Python does not tell for memory that it must not write."""
    inode = str(os.fstat(lent["fd"]).st_ino)
    with open("/proc/self/maps") as maps:
        rows = (row.split() for row in maps)
        return next(int(row[0].split("-")[0], 16) for row in rows if row[4] == inode and row[2] == "00000000")


def axes():
    """Lengths and strides, those axes joined that lie one in the other without gaps."""
    joined = []
    for length, stride in zip(lent["shape"], lent["strides"]):
        if length == 1:
            continue
        if joined and joined[-1][1] == length * stride:
            joined[-1] = (joined[-1][0] * length, stride)
        else:
            joined.append((length, stride))
    return joined


def checksum(view, first, axes):
    """The sum of all bytes of all elements, by strided slices of the memoryview."""
    if lent["nbytes"] == 0:
        return 0
    if not axes:
        return sum(view[first : first + lent["itemsize"]])
    (length, stride), *inner = axes
    if not inner and stride != 0:
        low = first if stride > 0 else first + (length - 1) * stride
        high = low + (length - 1) * abs(stride) + 1
        return sum(sum(view[low + byte : high + byte : abs(stride)]) for byte in range(lent["itemsize"]))
    return sum(checksum(view, first + index * stride, inner) for index in range(length))


times = []
for _ in range(21):
    before = time.perf_counter_ns()
    mapping, view = hand_over()
    times.append(time.perf_counter_ns() - before)
    view.release()
    mapping.close()

mapping, view = hand_over()
first = lent["offset"] - lent["span"][0]
print(
    json.dumps(
        {
            "dtype": lent["dtype"],
            "shape": lent["shape"],
            "strides": lent["strides"],
            "address": address_of_mapping() + lent["offset"],
            "checksum": checksum(view, first, axes()),
            "bytes_copied": 0,
            "ns": sorted(times)[len(times) // 2],
        }
    )
)
