"""Dtype objects: NumPy's attributes, equality with texts and with the dtypes of libraries, and what is read as one."""

import pickle

import numpy as np
import pytest

import crossdock
from crossdock import dtype

SCALARS = [f"{order}{kind}" for order in "<>" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8 c8 c16 M8[ns] m8[D] U3 U0".split()]
SCALARS += ["|b1", "|i1", "|u1", "|S4", "|S0", "|V5", "longdouble", "clongdouble", "<M8", "<m8"]
RECORDS = [
    [("a", "<i4"), ("b", ">f8")],
    [("a", "<i4", (2, 3)), ("b", [("x", "u1"), ("y", "<M8[s]")])],
    [(("title", "a"), "<i4"), ("b", "S3")],
    {"names": ["a", "b"], "formats": ["u1", "<f8"], "offsets": [0, 8], "itemsize": 24},
    {"names": ["a", "b"], "formats": ["u1", "<f8"]},
    {"names": ["a"], "formats": ["u1"], "titles": ["t"]},
]
ALL = [np.dtype(spelling) for spelling in SCALARS + RECORDS]
ATTRIBUTES = ["name", "kind", "char", "str", "itemsize", "alignment", "byteorder", "isnative", "hasobject", "names", "shape"]


@pytest.mark.parametrize("numpys", ALL, ids=str)
def test_attributes_are_those_of_numpy(numpys):
    own = dtype(numpys)
    # NumPy records the alignment of aligned records alone.
    compared = [name for name in ATTRIBUTES if name != "alignment" or numpys.names is None]
    assert {name: getattr(own, name) for name in compared} == {name: getattr(numpys, name) for name in compared}
    assert own.descr == numpys.descr
    if numpys.names:
        found = {name: (np.dtype(entry[0]), *entry[1:]) for name, entry in own.fields.items()}
        assert found == {name: numpys.fields[name] for name in numpys.names}
        assert len(own) == len(numpys) and own[numpys.names[0]] == numpys[numpys.names[0]]
    else:
        assert own.fields is None and len(own) == 0


@pytest.mark.parametrize("numpys", ALL, ids=str)
def test_a_dtype_equals_its_texts_and_numpys(numpys):
    own = dtype(numpys)
    assert own == numpys and numpys == own and own == str(own) and str(own) == own
    assert np.dtype(own) == numpys and dtype(str(own)) == own
    assert hash(own) == hash(numpys) and {numpys: 1}[own] == 1
    assert own != "nonsense" and own != None and own != 3  # noqa: E711
    assert pickle.loads(pickle.dumps(own)) == own
    assert own.type is numpys.type and f"{own}" == str(own) and own


def test_an_array_has_numpys_dtype():
    for numpys in ALL:
        if numpys.itemsize == 0:
            continue
        x = crossdock.asarray(np.zeros(2, numpys), copy=None)
        assert x.dtype == numpys and np.dtype(x.dtype) == numpys and np.result_type(x) == np.result_type(numpys)


def test_sub_arrays():
    own = dtype(("f4", (2, 3)))
    assert (own.base, own.shape, own.subdtype) == ("float32", (2, 3), ("float32", (2, 3)))
    assert np.dtype(own) == np.dtype(("f4", (2, 3))) and own.itemsize == 24
    assert dtype("f4").subdtype is None and dtype("f4").base == "f4"


def test_everyday_spellings_are_read():
    spellings = {
        float: "f8", int: "i8", bool: "?", complex: "c16", "float": "f8", "int": "i8", "bool": "?", "complex": "c16",
        "half": "f2", "single": "f4", "double": "f8", "byte": "i1", "short": "i2", "intc": "i4", "uint": "u8",
        np.float32: "f4", np.int8: "i1", np.bool_: "?", np.datetime64: "M8", np.complex64: "c8",
    }  # fmt: skip
    for spelling, same in spellings.items():
        assert dtype(spelling) == np.dtype(same), spelling
    assert dtype("i4,f8") == np.dtype("i4,f8") and dtype({"x": ("f4", 0), "y": ("i4", 4)}).names == ("x", "y")
    assert dtype([("", "i4"), ("", "f8")]) == np.dtype([("", "i4"), ("", "f8")])


def test_a_letter_may_have_a_byte_order_and_keeps_its_width():
    for letter in "?bBhHiIlLqQefdgFDG":
        for mark in "<>=|":
            own, numpys = dtype(mark + letter), np.dtype(mark + letter)
            assert own == numpys and np.dtype(own).str == numpys.str, mark + letter
    assert dtype("<d,>i") == np.dtype("<d,>i") and dtype([("x", ">q")]) == np.dtype([("x", ">q")])
    for wrong in ["<x", "!d", "<", "<dd"]:
        with pytest.raises(ValueError, match="write a name such as float32"):
            dtype(wrong)


def test_dtypes_of_libraries_are_read():
    import polars as pl
    import pyarrow as pa

    for given, same in [(pa.float32(), "f4"), (pa.int8(), "i1"), (pa.float64(), "f8"), (pl.Float32, "f4"), (pl.UInt8(), "u1"), (pl.Boolean, "?")]:
        assert dtype(given) == same, given
    assert crossdock.zeros(2, pa.float32()).dtype == "float32"


def test_the_narrow_floats_are_those_of_ml_dtypes():
    import ml_dtypes

    for name in ["bfloat16", "float8_e4m3fn", "float8_e5m2"]:
        numpys = np.dtype(getattr(ml_dtypes, name))
        own = crossdock.zeros(2, name).dtype
        assert own == name and np.dtype(own) == numpys and (own.kind, own.itemsize) == (numpys.kind, numpys.itemsize)
        assert dtype(numpys) == name


@pytest.mark.parametrize("wrong", ["nope", object(), 3, None, [("a",)], [1], {"names": ["a"]}, ("f4",), [("a", "O")], "i4,nope"])
def test_what_is_no_dtype_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        dtype(wrong)


def test_a_dtype_that_contains_itself_is_refused():
    itself, pair = [], {}
    itself.append(("a", itself))
    pair["a"] = (pair, 0)

    class Endless:
        @property
        def dtype(self):
            return Endless()

    deep = "f4"
    for _ in range(10_000):
        deep = [("a", deep)]
    for wrong in [itself, pair, {"names": ["a"], "formats": [itself]}, (itself, 2), Endless(), deep]:
        with pytest.raises(TypeError, match="levels deep"):
            dtype(wrong)


def test_a_conversion_truncates_and_clamps_only_if_it_is_told_to():
    given = crossdock.array([1.7, -300.0, 300.0, float("nan")])
    assert given.astype("i1", casting="saturating").tolist() == [1, -128, 127, 0]
    for casting in ("unsafe", "safe", "same_kind"):
        with pytest.raises(ValueError, match=r"element \[0\]: 1.7 does not fit int8; casting='saturating' truncates"):
            given.astype("i1", casting=casting)
    with pytest.raises(ValueError, match="does not fit U1$"):
        crossdock.array(["ab"]).astype("U1", casting="saturating")
