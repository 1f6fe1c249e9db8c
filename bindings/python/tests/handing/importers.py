"""The importers of the matrix: data of every class of layout, in the form of each library."""

import ctypes
import pathlib
import tempfile

import _testbuffer
import numpy as np
import pyarrow

import crossdock
from handing.memory import block, numbers
from handing.specimens import Says
from handing.tensors import Handmade

RECORD = np.dtype([("kind", "u1"), ("price", "<i2")])


class CannotSay(Exception):
    """The library has no such data."""


def integers(lead=0, dtype="<i2", shape=(3, 4)):
    return numbers(dtype, shape, lead, start=300)


def records():
    made = block(36).view(RECORD).reshape(3, 4)
    made["kind"], made["price"] = np.arange(12).reshape(3, 4), np.arange(300, 312).reshape(3, 4)
    return made


def read_only():
    made = integers()
    made.flags.writeable = False
    return made


def rows_behind_pointers():
    return _testbuffer.ndarray(list(range(300, 312)), shape=[3, 4], format="h", flags=_testbuffer.ND_PIL)


#: Classes of layout, as NumPy arrays; those behind pointers by their own exporter.
CLASSES = {
    "row-major": integers,
    "column-major": lambda: integers(shape=(4, 3)).T,
    "gaps": lambda: integers(shape=(3, 10))[:, 1:9:2],
    "negative strides": lambda: integers()[::-1],
    "zero strides": lambda: np.lib.stride_tricks.as_strided(integers(shape=(1, 4)), (3, 4), (0, 2)),
    "unaligned": lambda: integers(lead=1),
    "records": records,
    "field of packed records": lambda: records()["price"],
    "other byte order": lambda: integers(dtype=">i2"),
    "suboffsets": rows_behind_pointers,
    "0-d": lambda: integers(shape=()),
    "empty": lambda: integers(shape=(0, 4)),
    "read-only": read_only,
}


def plain(made, words="no tables of pointers"):
    """A NumPy array, or the reason why there is none."""
    if not isinstance(made, np.ndarray):
        raise CannotSay(words)
    return made


def numpy(made):
    return plain(made)


def producer(made):
    """CPython's reference exporter, on a copy with the same layout."""
    if not isinstance(made, np.ndarray):
        return made
    low, high = np.lib.array_utils.byte_bounds(made)
    if made.dtype.names:
        raise CannotSay("formats of Python's struct module only")
    memory = np.frombuffer((ctypes.c_char * (high - low)).from_address(low), "u1").tobytes() if made.size else b"\0\0"
    address = made.__array_interface__["data"][0]
    flags = _testbuffer.ND_WRITABLE if made.flags.writeable else 0
    form = {"<": "h", "=": "h", ">": ">h"}[made.dtype.byteorder]
    items = [int(item) for item in np.frombuffer(memory[: len(memory) // 2 * 2], made.dtype)]
    if (address - low) % 2 or any(stride % 2 for stride in made.strides) or address % 2:
        raise CannotSay("aligned items only")
    return _testbuffer.ndarray(items, list(made.shape), list(made.strides), address - low, form, flags)


def view(made):
    return memoryview(made)


def array_of_c(made):
    made = plain(made)
    if not made.flags.c_contiguous or made.ndim == 0 or made.dtype.names:
        raise CannotSay("elements without gaps, row-major, with an axis")
    if not made.flags.writeable or not made.flags.aligned:
        raise CannotSay("aligned memory that may be written" if made.flags.aligned else "aligned elements only")
    kind = ctypes.c_int16.__ctype_be__ if made.dtype.byteorder == ">" else ctypes.c_int16
    for length in reversed(made.shape):
        kind *= length
    return kind.from_buffer(made) if made.size else kind()


def tensor(speaks):
    def make(made):
        made = plain(made)
        if made.dtype.names or made.dtype.byteorder == ">":
            raise CannotSay("no such type of elements")
        if any(stride % made.itemsize for stride in made.strides):
            raise CannotSay("strides are whole numbers of elements")
        return Handmade(made, speaks, flags=0 if made.flags.writeable else 1)

    return make


def tensor_of_arrow(made):
    made = plain(made)
    if made.dtype.names or made.dtype.byteorder == ">" or made.ndim == 0 or any(stride < 0 for stride in made.strides):
        raise CannotSay("numbers in the machine's byte order, along axes, forwards")
    return pyarrow.Tensor.from_numpy(made)


def column(made):
    made = plain(made)
    if made.dtype.names or made.dtype.byteorder == ">" or made.ndim < 2 or not made.flags.c_contiguous or not made.size:
        raise CannotSay("row-major numbers in the machine's byte order")
    return pyarrow.FixedShapeTensorArray.from_numpy_ndarray(made)


def interface(made):
    made = plain(made)
    return Says(__array_interface__=made.__array_interface__, kept=made)


def struct(made):
    made = plain(made)
    return Says(__array_struct__=made.__array_struct__, kept=made)


class Method:
    def __init__(self, made):
        self.made = made

    def __array__(self, dtype=None, *, copy=None):
        return self.made


def method(made):
    return Method(plain(made))


def file(made):
    made = plain(made)
    if not (made.flags.c_contiguous or made.flags.f_contiguous) or not made.flags.aligned:
        raise CannotSay("elements without gaps, aligned by the format")
    with tempfile.TemporaryDirectory(prefix="crossdock-") as folder:
        path = pathlib.Path(folder) / "made.npy"
        np.save(path, made)
        return crossdock.open(path)


def address(made):
    made = plain(made)
    if made.ndim == 0 or not made.flags.c_contiguous:
        raise CannotSay("elements without gaps, along one axis")
    first = made.__array_interface__["data"][0]
    flat = crossdock.from_address(first, made.nbytes, made, dtype=made.dtype, readonly=not made.flags.writeable)
    return flat.reshape(made.shape)


IMPORTERS = {
    "NumPy": numpy,
    "CPython's own exporter": producer,
    "`memoryview`": view,
    "ctypes": array_of_c,
    "DLPack": tensor("versioned"),
    "DLPack before 1.0": tensor("legacy"),
    "a tensor of PyArrow": tensor_of_arrow,
    "a column of PyArrow": column,
    "an array interface": interface,
    "an array struct": struct,
    "`__array__`": method,
    "`.npy`, by `crossdock.open`": file,
    "an address": address,
}
