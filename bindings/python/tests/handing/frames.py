"""Columns and frames of pandas, Polars and PyArrow, dates of every unit, and arrays of Python objects."""

import datetime
import decimal

import numpy as np

from handing.memory import numbers

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


def dates():
    """NumPy arrays of dates and durations in every unit."""
    for kind in "Mm":
        for unit in [*UNITS, "3s", "25us"]:
            yield f"{kind}8[{unit}]", numbers("i8", (30,)).view(f"{kind}8[{unit}]")
        yield f"{kind}8", numbers("i8", (30,)).view(f"{kind}8")
        for unit in ["D", "s", "ns"]:
            yield f"{kind}8[{unit}] with NaT", np.array([1, "NaT", 3], f"{kind}8[{unit}]")
            yield f"{kind}8[{unit}], every second", numbers("i8", (60,)).view(f"{kind}8[{unit}]")[::2]
            yield f"{kind}8[{unit}], row-major", numbers("i8", (6, 5)).view(f"{kind}8[{unit}]")
            yield f"{kind}8[{unit}], unaligned", numbers("i8", (30,), lead=1).view(f"{kind}8[{unit}]")
            yield f"{kind}8[{unit}], no elements", np.zeros(0, f"{kind}8[{unit}]")
            yield f">{kind}8[{unit}]", numbers(">i8", (30,)).view(f">{kind}8[{unit}]")
    yield "M8[D], a million", np.arange(10**6).view("M8[D]")


def numbers_of_other_widths():
    for dtype in ["f2", "c8", "c16", "G", "?", "S3", "U2", "i4"]:
        yield f"{np.dtype(dtype)}, every second", np.ones(60, dtype)[::2]
        yield f"{np.dtype(dtype)}, no elements", np.ones(0, dtype)
        yield f"{np.dtype(dtype)}, one element", np.ones(1, dtype)
        yield f"{np.dtype(dtype)}, no axis", np.ones((), dtype)
    for dtype in [">f2", ">c8", ">U2"]:
        yield f"{dtype}, one axis", np.ones(30, dtype)
    for dtype in ["f2", "c8"]:
        read_only = np.ones(30, dtype)
        read_only.flags.writeable = False
        yield f"{np.dtype(dtype)}, read-only", read_only


#: Items of Python's own types, and of others.
ITEMS = {
    "truth values": [True, False],
    "integers": [1, 2],
    "large integers": [2**63, 1],
    "huge integers": [2**70],
    "floats": [1.0, 2.5],
    "integers and floats": [1, 2.5],
    "integers and truth values": [1, True],
    "integers and texts": [1, "a"],
    "texts and integers": ["a", 1],
    "texts": ["a", "bc"],
    "bytes": [b"a", b"bc"],
    "texts and bytes": ["a", b"bc"],
    "nothing": [None, None],
    "integers and nothing": [1, None],
    "nothing and texts": [None, "a"],
    "nothing and objects": [None, object()],
    "lists": [[1, 2], [3]],
    "lists and integers": [[1], 2],
    "lists of several types": [[1, "a"]],
    "tuples": [(1, 2), (3, 4)],
    "dictionaries": [{"a": 1}, {"a": 2}],
    "sets": [{1, 2}, {3}],
    "objects": [object(), object()],
    "integers and objects": [1, object()],
    "complex numbers": [1j, 2.0],
    "dates": [datetime.date(2000, 1, 1), datetime.date(2001, 1, 1)],
    "times": [datetime.datetime(2000, 1, 1), datetime.datetime(2001, 1, 1)],
    "times of a day": [datetime.time(1), datetime.time(2)],
    "durations": [datetime.timedelta(1), datetime.timedelta(2)],
    "decimals": [decimal.Decimal("1.5"), decimal.Decimal("2.25")],
    "int64s": [np.int64(1), np.int64(2)],
    "int8s": [np.int8(1), np.int8(2)],
    "float32s": [np.float32(1), np.float32(2)],
    "bool_s": [np.bool_(True)],
    "str_s": [np.str_("a")],
    "datetime64s": [np.datetime64("2000-01-01", "s")],
    "complex64s": [np.complex64(1)],
    "arrays": [np.arange(3), np.arange(2)],
    "arrays of two axes": [np.zeros((2, 2))],
    "bytearrays": [bytearray(b"a")],
    "memoryviews": [memoryview(b"a")],
    "ranges": [range(3)],
}  # fmt: skip


def boxed(items):
    """An array of objects, whose items may be sequences."""
    made = np.empty(len(items), object)
    for at, item in enumerate(items):
        made[at] = item
    return made


def objects():
    """NumPy arrays of Python objects."""
    for name, items in ITEMS.items():
        yield f"objects: {name}", boxed(items)
    yield "objects: none", np.zeros(0, object)
    yield "objects in two axes", np.array([[1, "a"], [2, "b"]], object)
    yield "objects without an axis", np.array(None, object)
    yield "objects, every second", np.array(["a", "b", "c", "d"], object)[::2]


def sequences():
    """Python's sequences and sets."""
    for name, items in ITEMS.items():
        yield f"a list: {name}", items, None
    yield "an empty list", [], None
    yield "a tuple", (1, 2), None
    yield "a range", range(3), None
    yield "a set", {1, 2}, None
    yield "a dictionary", {"a": 1}, None


def pandas_values():
    """Values for columns: what pandas is given, and the dtype."""
    times = np.arange(3).astype("M8[ns]")
    for dtype in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]:
        yield [1, 2, 3], dtype
    for dtype in ["complex64", "complex128", "bool", "object", "str", "category", "Sparse[int64]"]:
        yield [1, 2, 3], dtype
    for dtype in ["Int8", "Int32", "Int64", "UInt16", "Float32", "Float64", "boolean", "string"]:
        yield [1, 0, 1], dtype
        yield [1, None, 1], dtype
    yield [1.0, float("nan"), 3.0], "float64"
    yield ["a", None, "b"], "str"
    yield ["a", "b", "a"], "category"
    yield [1, None, 1], "category"
    for unit in ["s", "ms", "us", "ns"]:
        yield times, f"datetime64[{unit}]"
        yield times, f"datetime64[{unit}, UTC]"
        yield times - times[0], f"timedelta64[{unit}]"
    yield [times[0], None], "datetime64[us]"
    yield ["2000-01", "2000-02"], "period[M]"
    for dtype in ["int64", "int16", "float32", "bool", "string", "timestamp[us]", "date32", "duration[s]"]:
        yield [1, 0, 1], f"{dtype}[pyarrow]"
        yield [1, None, 1], f"{dtype}[pyarrow]"
    for items in ITEMS.values():
        yield boxed(items), "object"


def memory_of(array):
    """The elements of a column of pandas, or None if they have no single memory or no dtype of NumPy's."""
    import pandas

    if isinstance(array, pandas.arrays.NumpyExtensionArray):
        return array.to_numpy()
    if isinstance(array, (pandas.arrays.DatetimeArray, pandas.arrays.TimedeltaArray)):
        return array._ndarray
    if isinstance(array, pandas.core.arrays.masked.BaseMaskedArray):
        return None if array._mask.any() else array._data
    if isinstance(array, pandas.arrays.ArrowExtensionArray) and array._pa_array.num_chunks == 1:
        return on_memory_of(array._pa_array.chunk(0).to_numpy)
    return None


def on_memory_of(to_numpy):
    """A NumPy array without a copy, or None."""
    try:
        return to_numpy()
    except (ValueError, NotImplementedError, RuntimeError):
        return None


def pandas_objects():
    """Columns, indexes, arrays and frames of pandas."""
    import pandas

    for values, dtype in pandas_values():
        series = pandas.Series(values, dtype=dtype)
        what = f"{dtype}" + (" with nulls" if series.isna().any() else "")
        if dtype == "object":
            what += f" of {type(series.iloc[0]).__name__} {series.map(type).nunique()}"
        yield f"a pandas series of {what}", series, memory_of(series.array)
        # No index has this dtype.
        if dtype != "float16":
            index = pandas.Index(values, dtype=dtype)
            yield f"a pandas index of {what}", index, memory_of(index.array)
        yield f"a pandas array of {what}", series.array, memory_of(series.array)
    numbers_ = pandas.Series(np.arange(30.0))
    for name, series in [
        ("every second", numbers_[::2]), ("backwards", numbers_[::-1]), ("cut", numbers_[3:9]), ("empty", numbers_[:0]),
        ("of two chunks", pandas.concat([pandas.Series([1, 2], dtype="int64[pyarrow]")] * 2)),
        ("of intervals", pandas.Series(pandas.interval_range(0, 3))),
        ("of dates", pandas.Series(pandas.date_range("2020", periods=3))),
        ("of bools, every second", pandas.Series([True, False] * 5)[::2]),
    ]:  # fmt: skip
        yield f"a pandas series, {name}", series, memory_of(series.array)
    yield "a range of pandas", pandas.RangeIndex(5), None
    yield "an index of several levels", pandas.MultiIndex.from_tuples([(1, "a"), (2, "b")]), None
    yield "an index of intervals", pandas.interval_range(0, 3), None
    yield "an index of dates", (index := pandas.date_range("2020", periods=3)), memory_of(index.array)
    yield "a timestamp", pandas.Timestamp("2020"), None
    square = pandas.DataFrame(np.arange(30.0).reshape(6, 5))
    yield "a pandas frame of one dtype", square, square.to_numpy()
    yield "a pandas frame of one column", (made := square[[0]]), made.to_numpy()
    for name, frame in [
        ("int64 and float64", {"a": [1, 2], "b": [1.0, 2.0]}), ("int64 twice", {"a": [1, 2], "b": [3, 4]}),
        ("texts", {"a": ["a", "b"]}), ("texts and numbers", {"a": ["a", "b"], "b": [1, 2]}), ("nothing", {}),
        ("dates", {"a": pandas.date_range("2020", periods=2)}), ("Int64", {"a": pandas.array([1, None])}),
        ("bools", {"a": [True, False]}), ("objects", {"a": [1, "a"]}), ("categories", {"a": pandas.Categorical(["a", "b"])}),
    ]:  # fmt: skip
        yield f"a pandas frame of {name}", pandas.DataFrame(frame), None


def arrow_objects():
    """Columns, chunks, tables and batches of every type."""
    import pyarrow
    import pyarrow.compute

    for name, column in [
        *((f"{dtype}", pyarrow.array([1, 0, 1], dtype)) for dtype in ["int8", "int32", "int64", "uint16", "float", "double"]),
        ("float16", pyarrow.array(np.ones(3, "f2"))),
        *((f"{dtype}", pyarrow.array([1, 0, 1], dtype)) for dtype in ["date32", "timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]"]),
        ("date64", pyarrow.array([86400000, 0], "date64")),
        *((f"{dtype}", pyarrow.array([1, 0, 1], dtype)) for dtype in ["duration[s]", "duration[ms]", "duration[us]", "duration[ns]", "time32[s]", "time64[ns]"]),
        ("UTC", pyarrow.array([1, 0, 1], pyarrow.timestamp("us", "UTC"))),
        ("bool", pyarrow.array([True, False, True])),
        ("strings", pyarrow.array(["a", "b"])),
        ("large strings", pyarrow.array(["a", "b"], "large_string")),
        ("string views", pyarrow.array(["a", "b"], "string_view")),
        ("binaries", pyarrow.array([b"a", b"b"])),
        ("fixed binaries", pyarrow.array([b"a", b"b"], pyarrow.binary(1))),
        ("dictionary", pyarrow.array(["a", "b"]).dictionary_encode()),
        ("lists", pyarrow.array([[1], [2, 3]])),
        ("maps", pyarrow.array([[("a", 1)]], pyarrow.map_("string", "int64"))),
        ("decimals", pyarrow.array([decimal.Decimal("1.5")])),
        ("nulls", pyarrow.nulls(3)),
        ("run-end", pyarrow.compute.run_end_encode(pyarrow.array([1, 1, 2]))),
        ("int64 with nulls", pyarrow.array([1, None])),
    ]:  # fmt: skip
        elements = on_memory_of(column.to_numpy) if pyarrow.types.is_primitive(column.type) else None
        yield f"a column of {name}", column, elements
        yield f"one chunk of {name}", pyarrow.chunked_array([column]), elements
        yield f"two chunks of {name}", pyarrow.chunked_array([column, column]), None
        yield f"a table of {name}", pyarrow.table({"a": column}), None
        yield f"a batch of {name}", pyarrow.record_batch({"a": column}), None
    yield "no chunk", pyarrow.chunked_array([], "int64"), None
    yield "an empty chunk first", pyarrow.chunked_array([pyarrow.array([], "int64"), pyarrow.array([1])]), None
    yield "a table of two columns", pyarrow.table({"a": [1, 2], "b": ["a", "b"]}), None
    yield "a table of no columns", pyarrow.table({}), None
    yield "a scalar of PyArrow", pyarrow.scalar(1), None
    yield "a type", pyarrow.int64(), None


def polars_objects():
    """Columns and frames of Polars."""
    import polars
    import polars as P
    for name, column in [
        *((f"{dtype}", polars.Series([1, 0, 1], dtype=dtype)) for dtype in [P.Int8, P.Int32, P.Int64, P.UInt16, P.Float32, P.Float64]),
        ("Float16", polars.Series(np.ones(3, "f2"))),
        ("Int128", polars.Series([1, 2], dtype=P.Int128)),
        ("bool", polars.Series([True, False])),
        ("strings", polars.Series(["a", "b"])),
        ("binaries", polars.Series([b"a", b"b"])),
        ("categories", polars.Series(["a", "b"], dtype=P.Categorical)),
        ("enum", polars.Series(["a", "b"], dtype=P.Enum(["a", "b"]))),
        ("dates", polars.Series([datetime.date(2000, 1, 1)])),
        *((f"Datetime {unit}", polars.Series([1, 2], dtype=P.Datetime(unit))) for unit in ["ms", "us", "ns"]),
        ("Datetime UTC", polars.Series([1, 2], dtype=P.Datetime("us", "UTC"))),
        *((f"Duration {unit}", polars.Series([1, 2], dtype=P.Duration(unit))) for unit in ["ms", "us", "ns"]),
        ("times", polars.Series([datetime.time(1)])),
        ("decimals", polars.Series([decimal.Decimal("1.5")])),
        ("lists", polars.Series([[1], [2, 3]])),
        ("arrays", polars.Series([[1, 2], [3, 4]], dtype=P.Array(P.Int64, 2))),
        ("structs", polars.Series([{"a": 1}])),
        ("nulls", polars.Series([None, None])),
        ("objects", polars.Series([object()], dtype=P.Object)),
        ("Int64 with nulls", polars.Series([1, None])),
    ]:  # fmt: skip
        elements = on_memory_of(lambda: column.to_numpy(allow_copy=False))
        yield f"a Polars series of {name}", column, elements
        yield f"two chunks, Polars, of {name}", polars.concat([column, column], rechunk=False), None
        yield f"a Polars frame of {name}", column.to_frame("a"), None
    yield "a Polars cut", (cut := polars.Series([1, 2, 3, 4])[1:3]), cut.to_numpy(allow_copy=False)
    yield "a Polars frame of two", polars.DataFrame({"a": [1, 2], "b": ["a", "b"]}), None
    yield "a Polars frame of nothing", polars.DataFrame(), None
    yield "a lazy frame", polars.DataFrame({"a": [1]}).lazy(), None


def all_of_them():
    """Names, objects, and their elements; None if these are in no memory or have no dtype of NumPy's."""
    for make in [dates, numbers_of_other_widths, objects]:
        for name, made in make():
            yield f"NumPy: {name}", made, made
    for make in [sequences, pandas_objects, arrow_objects, polars_objects]:
        yield from make()
