"""Attributes, methods and constructors."""

import datetime
import decimal as decimal_module
import errno
import fractions
import math
import operator
import os
import re

import numpy as np
import pytest

import crossdock
from handing.tensors import Handmade


def test_attributes_are_numpys():
    for theirs in [
        np.zeros((2, 3, 4), "f4"),
        np.zeros((3, 0), "i2"),
        np.array(5),
        np.arange(24).reshape(2, 3, 4)[::-1, ::2].T,
        np.broadcast_to(np.arange(3), (4, 3)),
    ]:
        ours = crossdock.asarray(theirs)
        for name in ["shape", "ndim", "size", "nbytes", "itemsize"]:
            assert getattr(ours, name) == getattr(theirs, name)
        assert ours.readonly is not theirs.flags.writeable
        assert np.dtype(ours.dtype) == theirs.dtype
        assert ours.place == "cpu" and ours.copied_because is None
        if theirs.size:
            assert ours.strides == theirs.strides
        with pytest.raises(AttributeError):
            ours.shape = (1,)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "<i4", ">i4", ">f8", "f2", "c8", ">c16", "S3", "<U2", ">U2", "V5", "g", "G"])
def test_dtypes_come_back(dtype):
    theirs = np.zeros((2, 2), dtype)
    ours = crossdock.asarray(theirs)
    assert np.dtype(ours.dtype) == theirs.dtype
    assert np.asarray(ours).dtype == theirs.dtype
    text = theirs.dtype.str
    assert crossdock.zeros(2, text).dtype == ours.dtype == crossdock.zeros(2, ours.dtype).dtype
    assert crossdock.zeros(2, theirs.dtype).dtype == ours.dtype


def test_records_come_back():
    for dtype in [
        np.dtype([("a", "i4"), ("b", "f8")], align=True),
        np.dtype([("a", "u1"), ("b", ">f8"), ("c", "f4", (2, 3))]),
        np.dtype([("x", [("y", "c16"), ("z", "S4")])]),
    ]:
        theirs = np.zeros(3, dtype)
        ours = crossdock.asarray(theirs)
        assert np.asarray(ours).dtype == dtype and np.asarray(ours).base is not None
        assert crossdock.zeros(3, ours.dtype).dtype == ours.dtype
        assert crossdock.zeros(3, dtype).dtype == ours.dtype


def test_transpose_and_reshape_give_views():
    theirs = np.arange(24).reshape(2, 3, 4)
    ours = crossdock.asarray(theirs)
    for result, expected in [
        (ours.T, theirs.T),
        (ours.transpose(), theirs.T),
        (ours.transpose(1, 0, 2), theirs.transpose(1, 0, 2)),
        (ours.transpose((-1, 0, 1)), theirs.transpose(-1, 0, 1)),
        (ours.reshape(6, 4), theirs.reshape(6, 4)),
        (ours.reshape((-1, 2)), theirs.reshape(-1, 2)),
        (ours.reshape(24), theirs.reshape(24)),
        (ours[0, 0, 0:1].reshape(()), theirs[0, 0, 0:1].reshape(())),
    ]:
        assert result.tolist() == expected.tolist()
        assert np.shares_memory(np.asarray(result), theirs)
    with pytest.raises(ValueError):
        ours.T.reshape(24)
    assert ours.T.reshape(24, copy=None).tolist() == theirs.T.reshape(24).tolist()
    assert not np.shares_memory(np.asarray(ours.reshape(24, copy=True)), theirs)
    for wrong in [(5, -1), (-1, -1), (25,), (-2, 12), (2, 3)]:
        with pytest.raises(ValueError):
            ours.reshape(wrong)
    for wrong in [(0, 0, 1), (0, 1), (0, 1, 3)]:
        with pytest.raises(ValueError):
            ours.transpose(wrong)
    with pytest.raises(TypeError, match="nonsense"):
        ours.reshape(24, nonsense=1)


def test_lists_and_bytes_are_numpys():
    for dtype in ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">f8", "f2", "c8", "c16", "S2", "U2"]:
        theirs = np.arange(24).reshape(2, 3, 4).astype(dtype)[:, ::-1].T
        ours = crossdock.asarray(theirs)
        assert ours.tolist() == theirs.tolist(), dtype
        assert ours.tobytes() == theirs.tobytes(), dtype
        assert ours.item(1, 2, 0) == theirs.item(1, 2, 0), dtype
        assert ours.item(-1, -1, -1) == theirs.item(-1, -1, -1), dtype
    assert crossdock.array([[7]]).item() == 7
    for wrong in [(), (0,), (2, 0, 0, 0)]:
        with pytest.raises(ValueError):
            crossdock.zeros((2, 2)).item(*wrong)
    with pytest.raises(IndexError):
        crossdock.zeros((2, 2)).item(2, 0)


def test_copies_are_copies():
    theirs = np.arange(6.0).reshape(2, 3)
    ours = crossdock.asarray(theirs)
    assert ours.copy() == ours and ours.copy("F").strides == (8, 16) and ours.copy(order="C").strides == (24, 8)
    assert not np.shares_memory(np.asarray(ours.copy()), theirs)
    assert ours.astype("i2").tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="order"):
        ours.copy("K")
    with pytest.raises(ValueError, match=r"\[0, 0\]"):
        crossdock.array([[0.5]]).astype(int)


def test_equality_is_that_of_whole_arrays():
    ours = crossdock.array([[1, 2], [3, 4]])
    assert ours == crossdock.array([[1, 2], [3, 4]]) and ours != crossdock.array([[1, 2], [3, 5]])
    assert ours != crossdock.array([1, 2]) and ours != None and ours != object()
    nan = crossdock.array([float("nan")])
    assert nan != nan
    with pytest.raises(TypeError):
        hash(ours)


@pytest.mark.parametrize("operation", [operator.add, operator.mul, operator.matmul, operator.pow, operator.and_, divmod])
def test_arithmetic_is_refused_with_the_way_to_do_it(operation):
    with pytest.raises(TypeError, match=r"np\.asarray\(x\) \S+( and %)? y does"):
        operation(crossdock.zeros(2), 1)


def test_numpy_computes_with_arrays():
    assert (np.ones(2) + crossdock.full(2, 1.5)).tolist() == [2.5, 2.5]
    with pytest.raises(TypeError):
        -crossdock.zeros(2)


def test_one_element_is_a_number():
    one = crossdock.array([[2.5]])
    assert float(one) == 2.5 and int(one) == 2 and bool(one)
    for wrong in (float, int):
        with pytest.raises(TypeError):
            wrong(crossdock.zeros(2))
    with pytest.raises(ValueError):
        bool(crossdock.zeros(2))


def test_text_is_as_numpy_prints():
    theirs = np.arange(6).reshape(2, 3)
    assert str(crossdock.asarray(theirs)) == str(theirs)
    assert repr(crossdock.asarray(theirs)) == "Array([[0, 1, 2],\n       [3, 4, 5]], dtype='int64')"


def test_nested_lists_become_arrays():
    for values in [[[1, 2], [3, 4]], [], [[], []], [1.5, 2], [True, False], [1j, 2], [b"a", b"bcd"], ["ä", "bc"], 5, [2**63]]:
        theirs, ours = np.array(values), crossdock.array(values)
        assert ours.shape == theirs.shape and ours.tolist() == theirs.tolist()
        assert np.dtype(ours.dtype) == theirs.dtype or values == [2**63]
    assert crossdock.array([1, 2], "f4").dtype == "float32"
    assert crossdock.array([(1, 2.5), (3, 4.5)], "[('a', '<i4'), ('b', '<f8')]")["b"].tolist() == [2.5, 4.5]
    for ragged in [[[1, 2], [3]], [[1], 2], [1, [2]], [[], [1]]]:
        with pytest.raises(ValueError, match="ragged"):
            crossdock.array(ragged)
    with pytest.raises(ValueError):
        crossdock.array([300], "u1")


class Rational:
    """A number that compares exactly with floats, and has neither memory nor `__index__`."""

    def __init__(self, float_, exact):
        self.float_, self.exact = float_, exact

    def __float__(self):
        return self.float_

    def __eq__(self, other):
        return self.exact and other == self.float_


def test_arrays_without_axes_are_values_in_lists_exactly():
    big, np_big = 2**53 + 1, np.int64(2**53 + 1)
    for value, dtype, item in [
        (np.array(big), "int64", big), (crossdock.array(big), "int64", big), (np_big, "int64", big),
        (np.array(2**63, "u8"), "uint64", 2**63), (crossdock.array(2**64 - 1), "uint64", 2**64 - 1),
        (np.array(5, ">i4"), "int64", 5), (np.bool_(True), "bool", True), (np.array(True), "bool", True),
        (crossdock.array(False), "bool", False), (np.float32(0.1), "float64", float(np.float32(0.1))),
        (np.array(1.5), "float64", 1.5), (crossdock.array(1.5), "float64", 1.5),
        (np.complex64(1 + 2j), "complex128", 1 + 2j), (np.array(1 + 2j), "complex128", 1 + 2j),
        (crossdock.array(1 + 2j), "complex128", 1 + 2j), (np.array("abc"), "<U3", "abc"),
        (crossdock.array("abc"), "<U3", "abc"), (crossdock.array(b"ab"), "|S2", b"ab"),
        (np.datetime64("2020-01-01"), "datetime64[D]", datetime.date(2020, 1, 1)),
        (np.timedelta64(5, "s"), "timedelta64[s]", datetime.timedelta(seconds=5)),
        (Handmade(np.array(2.5)), "float64", 2.5),
    ]:  # fmt: skip
        for nested, expected in [([value], [item]), ([[value], [value]], [[item], [item]])]:
            made = crossdock.array(nested)
            assert (made.dtype, made.tolist()) == (dtype, expected), value
            assert type(made.tolist()[0]) is type(expected[0])

    class Both:
        """A complex number with both methods, like those of tensors."""

        __complex__ = lambda self: 1 + 2j  # noqa: E731

        def __float__(self):
            raise RuntimeError("it is complex")

    assert crossdock.array([Both()]).tolist() == [1 + 2j]
    assert crossdock.array([np.longdouble(1.5)]).dtype == "longdouble"
    assert crossdock.array([np.bool_(True), 1]).tolist() == [1, 1]
    for value in [np.complex64(1 + 2j), crossdock.array(1 + 2j)]:
        with pytest.raises(ValueError, match="does not fit"):
            crossdock.array([value], "float64")


def test_one_date_of_numpys_is_a_date():
    for value, dtype in [(np.datetime64("2020-01-01"), "datetime64[D]"), (np.timedelta64(7, "h"), "timedelta64[h]")]:
        made = crossdock.array(value)
        assert (made.shape, made.dtype, np.asarray(made)[()]) == ((), dtype, value)
        with pytest.raises(BufferError, match="do not say so"):
            crossdock.asarray(value)
        assert np.asarray(crossdock.asarray(value, copy=None)) == value
    ours = crossdock.zeros(2, "int64")
    with pytest.raises(ValueError, match="does not fit int64"):
        ours[0] = np.datetime64("2020-01-01")


class Timestamp(datetime.datetime):
    """A pandas-like date: a subclass of Python's."""

    nanosecond = 0

    def to_numpy(self):
        return np.datetime64(self.replace(tzinfo=None), "ns") + self.nanosecond


class Timedelta(datetime.timedelta):
    nanoseconds = 0

    def to_numpy(self):
        return np.timedelta64(self // datetime.timedelta(microseconds=1) * 1000 + self.nanoseconds, "ns")


def test_dates_and_durations_keep_their_nanoseconds():
    for value, name, kind in [(Timestamp(2020, 1, 2, 3), "nanosecond", "datetime64"), (Timedelta(hours=1), "nanoseconds", "timedelta64")]:
        whole = value.to_numpy()
        assert crossdock.array([value]).dtype == f"{kind}[us]" and np.asarray(crossdock.array([value]))[0] == whole
        setattr(value, name, 1)
        for made in [crossdock.array([value]), crossdock.array([value], f"{kind}[ns]")]:
            assert made.dtype == f"{kind}[ns]" and np.asarray(made)[0] == whole + 1
        ours = crossdock.zeros(1, f"{kind}[ns]")
        ours[0] = value
        assert np.asarray(ours)[0] == whole + 1
        with pytest.raises(ValueError, match="no whole number"):
            crossdock.array([value], f"{kind}[us]")
    zoned = Timestamp(2020, 1, 1, tzinfo=datetime.timezone.utc)
    zoned.nanosecond = 1
    with pytest.raises(ValueError, match="time zone"):
        crossdock.array([zoned])

    class NaTType(datetime.datetime):
        """A pandas-like NaT."""

    assert crossdock.array([NaTType(1, 1, 1)], "M8[ns]").tolist() == [None]


def test_numbers_without_memory_are_never_rounded_unless_floats_are_asked_for():
    decimal, fraction = decimal_module.Decimal, fractions.Fraction
    for value, item in [
        (decimal("1.5"), 1.5), (decimal(3), 3.0), (fraction(1, 4), 0.25), (decimal("nan"), None), (decimal("-inf"), -math.inf),
        (Rational(2.5, True), 2.5),
    ]:  # fmt: skip
        made = crossdock.array([value])
        assert made.dtype == "float64" and (made.tolist() == [item] or item is None and math.isnan(made[0]))
    for value in [decimal("0.1"), decimal(2**53 + 1), fraction(1, 3), Rational(2.5, False)]:
        with pytest.raises(ValueError, match="dtype='float64' rounds"):
            crossdock.array([value])
        assert crossdock.array([value], "float64").tolist() == [float(value)]
    ours = crossdock.zeros(1, "int64")
    ours[0] = decimal(2**53 + 1)
    assert ours.tolist() == [2**53 + 1] == crossdock.array([decimal(2**53 + 1)], "int64").tolist()
    for value in [decimal("0.1"), decimal(2**60) + decimal("0.5"), decimal(2**64)]:
        with pytest.raises((ValueError, OverflowError)):
            ours[0] = value
    assert ours.tolist() == [2**53 + 1]


def test_integers_without_axes_are_indices():
    ours = crossdock.array(2)
    assert operator.index(ours) == 2 and [10, 20, 30][ours] == 30 and list(range(ours)) == [0, 1]
    assert operator.index(crossdock.array(2**64 - 1)) == 2**64 - 1
    for wrong in [crossdock.array(2.0), crossdock.array([2]), crossdock.array(True), crossdock.array("a")]:
        with pytest.raises(TypeError, match="an index is made of"):
            operator.index(wrong)
    with pytest.raises(IndexError):
        crossdock.zeros(3)[crossdock.array([1])]
    assert crossdock.array([1.0, 2.0, 3.0])[crossdock.array(1)] == 2.0


def test_long_doubles_become_other_numbers():
    theirs = np.array([0, 1.5, -2, np.inf], np.longdouble)
    ours = crossdock.zeros(4)
    ours[...] = theirs
    assert ours.tolist() == theirs.tolist() == crossdock.asarray(theirs).astype("float64").tolist()
    third = np.longdouble(1) / 3
    assert crossdock.array(third, "float64").item() == float(third)
    assert crossdock.array(third, "float32").item() == float(np.float32(third))
    assert crossdock.asarray(np.array([2**53 + 1], np.longdouble)).astype("int64").tolist() == [2**53 + 1]
    assert crossdock.asarray(np.array([1 + 2j], np.clongdouble)).astype("complex128").tolist() == [1 + 2j]
    for value, dtype in [(0.5, "int64"), (np.longdouble("1e4000"), "float64"), (300, "uint8")]:
        with pytest.raises(ValueError, match="does not fit"):
            crossdock.array(np.longdouble(value), dtype)


def test_new_arrays():
    for made, theirs in [
        (crossdock.zeros((2, 3)), np.zeros((2, 3))),
        (crossdock.zeros(4, "u2"), np.zeros(4, "u2")),
        (crossdock.empty((2, 3), order="F"), np.zeros((2, 3), order="F")),
        (crossdock.full((2,), 7), np.full((2,), 7)),
        (crossdock.full(2, 7, "f4"), np.full(2, 7, "f4")),
        (crossdock.zeros(()), np.zeros(())),
    ]:
        assert made.tolist() == theirs.tolist() and made.strides == theirs.strides
        assert np.dtype(made.dtype) == theirs.dtype
        assert np.asarray(made).ctypes.data % 64 == 0
    for wrong in [-1, (2, -3)]:
        with pytest.raises(ValueError, match="-"):
            crossdock.zeros(wrong)
    with pytest.raises((ValueError, MemoryError)):
        crossdock.zeros((1 << 62, 1 << 62))
    with pytest.raises(ValueError, match="flaot"):
        crossdock.zeros(2, "flaot64")


def test_files_are_opened_in_place(tmp_path):
    theirs = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", theirs)
    ours = crossdock.open(tmp_path / "a.npy")
    assert ours.tolist() == theirs.tolist() and ours.readonly
    with pytest.raises(FileNotFoundError) as missing:
        crossdock.open(tmp_path / "none.npy")
    (note,) = missing.value.__notes__
    assert note == f"{tmp_path}/none.npy: no such file; check the name"
    with pytest.raises(IsADirectoryError) as folder:
        crossdock.open(tmp_path)
    assert folder.value.__notes__[0].endswith("it is a directory, not a file; name a file in it")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError) as loop:
        crossdock.open(tmp_path / "loop")
    assert loop.value.errno == errno.ELOOP


def test_memory_at_an_address():
    base = np.arange(5, dtype="i2")
    ours = crossdock.from_address(base.ctypes.data, base.nbytes, base, dtype="i2")
    ours[0] = 7
    assert base[0] == 7
    for wrong in [(base.ctypes.data, 5, base), (2**64 - 2, 6, base), (0, 2, base)]:
        with pytest.raises(ValueError):
            crossdock.from_address(*wrong, dtype="i2")


def test_arrays_are_not_called_or_subclassed():
    with pytest.raises(TypeError, match="asarray"):
        crossdock.Array([1])
    with pytest.raises(TypeError):
        type("Sub", (crossdock.Array,), {})


def test_values_without_a_common_dtype_are_named():
    day, moment = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3)
    for values, words in [
        ([day, moment], r"datetime64\[D\] and datetime64\[us\].*dtype=\"datetime64\[us\]\""),
        ([moment, day], r"datetime64\[us\] and datetime64\[D\].*dtype=\"datetime64\[us\]\""),
        ([day, datetime.timedelta(1)], r"datetime64\[D\] and timedelta64\[us\]: name the dtype"),
        ([1, "x"], "numbers and text"),
        ([b"x", "x"], "bytes and text"),
        ([day, 1], r"datetime64\[D\] and numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            crossdock.array(values)
    named = crossdock.array([day, moment], "datetime64[us]")
    assert named.tolist() == [datetime.datetime(2020, 1, 2), moment]


def test_errors_have_no_words_of_rust():
    attempts = [
        lambda: crossdock.zeros(2, ">f8").__arrow_c_array__(),
        lambda: crossdock.zeros(()).__arrow_c_array__(),
        lambda: crossdock.array([datetime.date(2020, 1, 1), 1]),
        lambda: crossdock.zeros(2, 5),
        lambda: crossdock.zeros("a"),
        lambda: crossdock.asarray(b"abc").__setitem__(0, 1),
    ]
    for attempt in attempts:
        with pytest.raises((BufferError, ValueError, TypeError)) as raised:
            attempt()
        text = str(raised.value)
        assert not re.search(r"::|\bVec\b|DArray|DType|is_[a-z]+|to_byte_order|__name__", text), text
        for name in re.findall("`([a-z_]+)`", text):
            assert hasattr(crossdock.Array, name) or hasattr(crossdock, name), text


@pytest.mark.parametrize(
    "make", [crossdock.array, lambda obj: crossdock.save(os.devnull, obj), lambda obj: crossdock.publish("none", {"o": obj})]
)
def test_elements_that_no_protocol_lends_are_refused_with_the_reason_of_each(make):
    with pytest.raises(BufferError, match="object references .* are not supported"):
        make(np.array([1, None], object))
    with pytest.raises(TypeError, match="no value of an element"):
        make({1, 2})
