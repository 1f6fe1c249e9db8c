"""Objects of every kind that may be handed over, each with its elements as a NumPy array on the same memory."""

import array
import ctypes
import pickle
import warnings
from dataclasses import dataclass

import ml_dtypes
import numpy as np

import crossdock
from handing import extension, frames
from handing.memory import alias, block


@dataclass(frozen=True)
class Specimen:
    """An object, and its elements on the object's memory; None if it has no elements in memory."""

    name: str
    thing: object
    elements: np.ndarray | None

    def anew(self):
        """The same, with a separate Crossdock array: some consumers count as long as the object lives."""
        thing = self.thing[...] if isinstance(self.thing, crossdock.Array) else self.thing
        return Specimen(self.name, thing, self.elements)


def grid(dtype, shape, lead=0):
    """Elements in row-major order, at an address `lead` bytes behind a multiple of 64."""
    dtype = np.dtype(dtype)
    made = block(dtype.itemsize * int(np.prod(shape)), lead).view(dtype).reshape(shape)
    if dtype.kind == "b":
        made.view("u1")[...] &= 1
    elif dtype.kind in "iufc":
        made[...] = (np.arange(made.size) % 119 + 1).reshape(shape)
    elif dtype.kind in "SU":
        made[...] = np.array(["a", "bc", "d"] * made.size)[: made.size].reshape(shape)
    return made


def read_only(made):
    made.flags.writeable = False
    return made


def broad(made, shape):
    view = np.broadcast_to(made, shape)
    view.flags.writeable = True
    return view


def odd_size_one(made):
    return np.lib.stride_tricks.as_strided(made, (1, 6), (13, made.itemsize))


NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
OTHERS = ["g", "G", ">f8", ">i4", ">c16", "S1", "S3", "U2", "V5", "M8[ns]", "m8[s]"]
RECORDS = {
    "aligned records": np.dtype([("a", "i4"), ("b", "f8")], align=True),
    "packed records": np.dtype([("a", "u1"), ("b", "f8")]),
    "records of arrays": np.dtype([("a", "i4", (2, 3)), ("b", "f8")]),
    "nested records": np.dtype([("a", [("x", "i2"), ("y", "i2")]), ("b", "f4")]),
    "records of dates": np.dtype([("a", "M8[s]"), ("b", "f8")]),
    "records out of order": np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]}),
}
EXTENDED = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"]

LAYOUTS = {
    "row-major": lambda d: grid(d, (60, 50)),
    "column-major": lambda d: grid(d, (50, 60)).T,
    "one axis": lambda d: grid(d, (3000,)),
    "one axis, every second": lambda d: grid(d, (6000,))[::2],
    "one axis, backwards": lambda d: grid(d, (3000,))[::-1],
    "gaps between rows": lambda d: grid(d, (60, 70))[:, 4:54],
    "gaps between elements": lambda d: grid(d, (60, 100))[:, ::2],
    "rows backwards": lambda d: grid(d, (60, 50))[::-1],
    "both axes backwards": lambda d: grid(d, (60, 50))[::-1, ::-1],
    "broadcast": lambda d: broad(grid(d, (50,)), (60, 50)),
    "broadcast elements": lambda d: broad(grid(d, (60, 1)), (60, 50)),
    "one axis, broadcast": lambda d: broad(grid(d, (1,)), (50,)),
    "three axes": lambda d: grid(d, (6, 5, 4)),
    "three axes, the first two swapped": lambda d: grid(d, (6, 5, 4)).transpose(1, 0, 2),
    "three axes, the last two swapped": lambda d: grid(d, (6, 5, 4)).transpose(0, 2, 1),
    "an axis of one element, with any stride": lambda d: odd_size_one(grid(d, (6,))),
    "unaligned by 1": lambda d: grid(d, (60, 50), lead=1),
    "one axis, unaligned by 1": lambda d: grid(d, (3000,), lead=1),
    "at 8 of 64": lambda d: grid(d, (60, 50), lead=8),
    "at 16 of 64": lambda d: grid(d, (60, 50), lead=16),
    "one axis, at 16 of 64": lambda d: grid(d, (3000,), lead=16),
    "read-only": lambda d: read_only(grid(d, (60, 50))),
    "one axis, read-only": lambda d: read_only(grid(d, (3000,))),
    "empty": lambda d: grid(d, (0,)),
    "empty rows": lambda d: grid(d, (3, 0)),
    "no rows": lambda d: grid(d, (0, 4)),
    "no axis": lambda d: grid(d, ()),
    "one element": lambda d: grid(d, (1,)),
    "a row": lambda d: grid(d, (1, 50)),
    "a column": lambda d: grid(d, (60, 1)),
    "33 axes": lambda d: grid(d, (2,) + (1,) * 31 + (3,)),
    "64 axes": lambda d: grid(d, (1,) * 64),
}


def numpys():
    """NumPy arrays: every dtype along one axis and in rows, and every layout with a few dtypes."""
    for dtype in [*NUMBERS, *OTHERS, *RECORDS.values(), *(np.dtype(getattr(ml_dtypes, name)) for name in EXTENDED)]:
        name = next((name for name, known in RECORDS.items() if known is dtype), str(np.dtype(dtype)))
        yield f"{name}, one axis", grid(dtype, (30,))
        yield f"{name}, row-major", grid(dtype, (6, 5))
    for dtype in ["f8", "u1", "?", ">i4"]:
        for name, make in LAYOUTS.items():
            yield f"{np.dtype(dtype)}, {name}", make(dtype)
    for name in ["row-major", "one axis, every second", "unaligned by 1", "empty", "no axis"]:
        yield f"aligned records, {name}", LAYOUTS[name](RECORDS["aligned records"])
        yield f"bfloat16, {name}", LAYOUTS[name](ml_dtypes.bfloat16)
    packed = grid(RECORDS["packed records"], (30,))
    yield "a field of packed records", packed["b"]
    yield "a field of aligned records", grid(RECORDS["aligned records"], (30,))["b"]
    for shape in [(20, 30), (20, 30, 1), (20, 30, 2), (20, 30, 3), (20, 30, 4), (20, 30, 5)]:
        for dtype in ["u1", "u2", ">u2", "i2", "i4", "f4", "f8"]:
            yield f"an image of {np.dtype(dtype)}, {shape}", grid(dtype, shape)
    picture = grid("u1", (20, 30, 4))
    yield "a cut of an image", picture[2:12, 3:23]
    yield "channels backwards", picture[..., 2::-1]
    yield "an image upside down", picture[::-1]
    yield "planes of an image", grid("u1", (3, 20, 30)).transpose(1, 2, 0)
    yield "one channel of an image", picture[..., 1]
    for dtype in ["f8", "i4", "u1"]:
        hidden = np.ma.array(grid(dtype, (30,)), mask=[False, True] * 15)
        yield f"masked {np.dtype(dtype)}", hidden
        yield f"masked {np.dtype(dtype)}, rows", hidden.reshape(6, 5)
    yield "nothing masked", np.ma.array(grid("f8", (30,)))
    yield "objects", np.array(["a", "bc", "d"], object)


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_float)]


class Padded(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_double)]


class Either(ctypes.Union):
    _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]


def at(thing, dtype, shape):
    """The elements at the address of a ctypes object, or of another object with a buffer of bytes."""
    address = ctypes.addressof(thing) if isinstance(thing, (ctypes.Array, ctypes.Structure)) else None
    nbytes = np.dtype(dtype).itemsize * int(np.prod(shape))
    if address is None:
        return np.frombuffer(thing, dtype).reshape(shape)
    return np.frombuffer((ctypes.c_char * nbytes).from_address(address), dtype).reshape(shape)


def standard():
    """Objects of the standard library."""
    for thing, dtype, shape in [
        (b"abcdefgh" * 4, "u1", (32,)),
        (bytearray(b"abcdefgh" * 4), "u1", (32,)),
        (array.array("d", range(30)), "f8", (30,)),
        (array.array("q", range(30)), "i8", (30,)),
        (array.array("h"), "i2", (0,)),
        ((ctypes.c_double * 30)(*range(30)), "f8", (30,)),
        ((ctypes.c_int16 * 5 * 6)(), "i2", (6, 5)),
        ((Pair * 4)((1, 2), (3, 4)), [("a", "f4"), ("b", "f4")], (4,)),
        ((Padded * 4)((1, 2), (3, 4)), np.dtype([("a", "i4"), ("b", "f8")], align=True), (4,)),
        ((Packed * 4)((1, 2), (3, 4)), [("a", "u1"), ("b", "f8")], (4,)),
        ((Either * 4)(), "V8", (4,)),
    ]:
        name = type(thing).__name__
        yield f"{name} of {np.dtype(dtype)}", thing, at(thing, dtype, shape)
    memory = grid("f8", (6, 5))
    yield "memoryview of a transposed array", memoryview(memory.T), memory.T
    yield "memoryview backwards", memoryview(bytearray(range(30)))[::-1], None
    yield "PickleBuffer", pickle.PickleBuffer(memory), memory
    yield "a list", [1.0, 2.0, 3.0], None
    yield "a list of lists", [[1, 2], [3, 4]], None
    yield "a number", 3, None
    yield "an object", object(), None
    yield "a text", "abc", None


class Says:
    """An object with the given attributes only."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Method:
    """An object with `__array__`, for NumPy 2 or older."""

    def __init__(self, made, is_old=False):
        self.made = made
        self.__class__ = OldMethod if is_old else Method

    def __array__(self, dtype=None, *, copy=None):
        if copy is False and not isinstance(self.made, np.ndarray):
            raise ValueError("a copy is needed")
        return np.asarray(self.made)


class OldMethod(Method):
    def __array__(self, dtype=None):
        return np.array(self.made)


class OldTensor:
    """An object as PyTorch's tensors: `__array__` for NumPy 1, which shares its memory or fails, beside DLPack."""

    def __init__(self, made, error=None):
        self.made, self.error = made, error

    def __array__(self, dtype=None):
        if self.error is not None:
            raise self.error
        return self.made

    def __dlpack__(self, **keywords):
        return self.made.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.made.__dlpack_device__()


def libraries():
    """Objects of other libraries, and of protocols that only some of them use."""
    import arro3.core
    import nanoarrow
    import polars
    import pyarrow
    import tvm_ffi
    from PIL import Image

    numbers = grid("f8", (30,))
    column = pyarrow.array(numbers)
    yield "a column of PyArrow", column, numbers
    yield "a cut of a column", column[3:20], numbers[3:20]
    yield "a column with nulls", pyarrow.array([1.0, None, 3.0]), None
    yield "a column of truth values", pyarrow.array([True, False, True]), None
    yield "a column of texts", pyarrow.array(["a", "b"]), None
    yield "a column of structs", pyarrow.array([{"a": 1, "b": 2.0}]), None
    yield "a column of lists", pyarrow.FixedSizeListArray.from_arrays(column, 5), None
    yield "a column of no values", pyarrow.array([], "float64"), None
    yield "chunks", pyarrow.chunked_array([column, column]), None
    yield "one chunk", pyarrow.chunked_array([column]), None
    yield "a buffer of PyArrow", pyarrow.py_buffer(numbers), numbers.view("i1")
    square = grid("f8", (6, 5))
    yield "a tensor of PyArrow", pyarrow.Tensor.from_numpy(square), square
    yield "a table", pyarrow.table({"a": column}), None
    yield "a reader", pyarrow.table({"a": column}).to_reader(), None
    yield "a column of Polars", polars.Series([1.0, 2.0, 3.0]), None
    yield "a frame of Polars", polars.DataFrame({"a": [1, 2]}), None
    yield "an array of nanoarrow", nanoarrow.c_array(column), numbers
    yield "an array of arro3", arro3.core.Array(column), numbers
    yield "a tensor of tvm_ffi", tvm_ffi.from_dlpack(square), square
    for mode in ["L", "RGB", "RGBA", "1", "I", "F", "I;16"]:
        yield f"an image of mode {mode}", Image.new(mode, (30, 20), 1), None
    yield "an array interface", Says(__array_interface__=square.T.__array_interface__, kept=square), square.T
    lent = dict(square.__array_interface__, data=bytearray(square.tobytes()))
    yield "an array interface on a buffer", Says(__array_interface__=lent), np.frombuffer(lent["data"]).reshape(6, 5)
    yield (
        "an array interface of bytes",
        Says(__array_interface__=dict(square.__array_interface__, data=square.tobytes())),
        None,
    )
    yield "an array struct", Says(__array_struct__=square.__array_struct__), square
    yield "an interface of CUDA", Says(__cuda_array_interface__=dict(square.__array_interface__, stream=None)), None
    for name, thing in [("in place", square), ("by a copy", [1.0, 2.0])]:
        yield f"__array__ {name}", Method(thing), square if thing is square else None
    yield "__array__ from before NumPy 2", Method(square, is_old=True), None
    yield "__array__ from before NumPy 2, in place", OldTensor(square), square
    yield "__array__ that raises", OldTensor(square, RuntimeError("detach it first")), square
    for layout in ["one axis, every second", "one axis, backwards", "one axis, broadcast", "column-major", "row-major"]:
        made = LAYOUTS[layout]("i4")
        yield f"a buffer that is granted whatever is requested, {layout}", extension.load().Granting(made), made

    try:
        import _testbuffer
    except ImportError:
        return
    rows = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_PIL)
    yield "rows behind pointers", rows, None


def ours(made):
    """The same elements as a Crossdock array, or None if that is impossible."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return crossdock.asarray(made)
    except (BufferError, TypeError, ValueError):
        return None


OWN = {
    "row-major": lambda made: made,
    "column-major": lambda made: made.T,
    "one axis": lambda made: made[0],
    "every second": lambda made: made[:, ::2],
    "backwards": lambda made: made[::-1],
    "a cut": lambda made: made[1:3, 1:4],
    "no rows": lambda made: made[:0],
}


def own():
    """Arrays in Crossdock's memory, which no other code can write."""
    for dtype in ["float64", "int16", "bool", "uint8", "complex128", ">f8"]:
        for name, cut in OWN.items():
            whole = crossdock.array([[(5 * row + k) % 2 for k in range(5)] for row in range(6)]).astype(dtype)
            made = cut(whole)
            yield f"{dtype}, {name}", made, alias(made)


def first_address(array):
    """The address of an array's first element, by any protocol."""
    return next((offer.address for offer in crossdock.explain(array).offers if offer.address), None)


def is_same(array, elements):
    """Whether an imported array is on the memory of the elements: pandas makes some columns anew for Arrow."""
    address = elements.__array_interface__["data"][0]
    return elements.size > 0 and first_address(array) == address and str(array.dtype) == str(elements.dtype)


def all_specimens():
    for name, made, elements in own():
        yield Specimen(f"our own: {name}", made, elements)
    for name, made in numpys():
        yield Specimen(f"NumPy: {name}", made, made)
        array = ours(made)
        if array is not None:
            yield Specimen(f"ours: {name}", array, made)
    for name, thing, elements in libraries():
        yield Specimen(name, thing, elements)
        array = ours(thing) if elements is not None else None
        if array is not None:
            yield Specimen(f"ours: {name}", array, elements)
    for name, thing, elements in frames.all_of_them():
        yield Specimen(name, thing, elements)
        array = ours(thing) if elements is not None else None
        if array is not None and is_same(array, elements):
            yield Specimen(f"ours: {name}", array, elements)
    for name, thing, elements in standard():
        yield Specimen(f"Python: {name}", thing, elements)
        array = ours(thing)
        if array is not None and elements is not None and not isinstance(thing, ctypes.Array):
            yield Specimen(f"ours: {name}", array, elements)
