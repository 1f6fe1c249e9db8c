"""Records of NumPy, in both directions: the dtype object decides, not NumPy's buffer format."""

import os
import pickle
import random

import numpy as np
import pytest

import crossdock

SEED = int(os.environ.get("CROSSDOCK_SEED", "0"))
SCALARS = [
    "?", "i1", "u1", "<i2", ">i2", "<i4", ">i4", "<u8", ">f8", "<f8", "<f4", "f2", "<c8", ">c16", "S3", "S1", "<U2",
    ">U2", "V3", "V1", "<M8[ns]", ">M8[3D]", "<m8[us]", "m8", "g", "q", "Q", "l",
]  # fmt: skip


def record(pick, depth=0):
    """A random structured dtype: packed, aligned, with gaps, out of order, or overlapping."""
    count = pick.randrange(depth == 0, 5)
    words = ["a", "b", "x", "ü", "with space", "f0x", "a.b"]
    names = [f"{pick.choice(words)}{index}" for index in range(count)]
    titles = [f"t{index}" if pick.random() < 0.05 else None for index in range(count)]
    formats = []
    for _ in range(count):
        part = record(pick, depth + 1) if depth < 3 and pick.random() < 0.25 else np.dtype(pick.choice(SCALARS))
        if pick.random() < 0.2:
            part = np.dtype((part, tuple(pick.randrange(1, 4) for _ in range(pick.randrange(1, 3)))))
        formats.append(part)
    kind = pick.choice(["packed", "aligned", "gaps", "shuffled", "tail", "overlapping"])
    if kind in ("packed", "aligned"):
        labels = [(title, name) if title else name for title, name in zip(titles, names)]
        return np.dtype(list(zip(labels, formats)), align=kind == "aligned")
    end, offsets = 0, []
    for part in formats:
        end += pick.randrange(6) if kind in ("gaps", "shuffled") else 0
        offsets.append(end)
        end += part.itemsize
    itemsize = end + pick.randrange(9)
    if kind == "overlapping":
        offsets = [pick.randrange(itemsize - part.itemsize + 1) for part in formats]
    fields = list(zip(names, formats, offsets, titles))
    if kind == "shuffled":
        pick.shuffle(fields)
    keys = ["names", "formats", "offsets", "titles"]
    return np.dtype({key: [field[at] for field in fields] for at, key in enumerate(keys)} | {"itemsize": itemsize})


def specimen(pick):
    """An array of random records, a view of several fields, or one record, in the form in which it is handed over."""
    dtype, count = record(pick), pick.randrange(4)
    made = np.ndarray((count,), dtype, bytearray(pick.randbytes(count * dtype.itemsize or 1)))
    if pick.random() < 0.3:
        made = made[::-1]
    if dtype.names and pick.random() < 0.2:
        made = made[pick.sample(dtype.names, pick.randrange(1, len(dtype.names) + 1))]
    if pick.random() < 0.1:
        made = made.view(np.recarray)
    if count and pick.random() < 0.1:
        made = made[0]
    how = pick.choice([lambda it: it] * 8 + [memoryview, pickle.PickleBuffer])
    try:
        # First, since a failed PickleBuffer ends the process in some versions.
        memoryview(made)
        return made, how(made)
    except (ValueError, BufferError, TypeError):
        return made, made


def numpy_dtype(text):
    return np.dtype(text)


def assert_same(theirs, ours, path=""):
    """Every field, down to the scalars. NumPy's copies omit padding."""
    assert numpy_dtype(ours.dtype) == theirs.dtype, path
    assert ours.itemsize == theirs.dtype.itemsize and ours.shape == theirs.shape, path
    if theirs.dtype.names is None:
        assert ours.tobytes() == np.ascontiguousarray(theirs).tobytes(), path
    for name in theirs.dtype.names or ():
        assert_same(np.asarray(theirs[name]), ours[name], f"{path}.{name}")


def assert_same_memory(theirs, back, path=""):
    assert back.dtype == theirs.dtype and back.shape == theirs.shape, path
    if theirs.dtype.names is None:
        assert np.ascontiguousarray(back).tobytes() == np.ascontiguousarray(theirs).tobytes(), path
        assert not theirs.nbytes or back.ctypes.data == theirs.ctypes.data, path
    for name in theirs.dtype.names or ():
        assert_same_memory(theirs[name], back[name], f"{path}.{name}")


@pytest.mark.parametrize("part", range(8))
def test_random_records_are_the_same_field_for_field_and_come_back(part):
    for number in range(500):
        seed = (SEED * 8 + part) * 500 + number
        made, given = specimen(random.Random(seed))
        theirs = np.asarray(made)
        try:
            ours = crossdock.asarray(given)
            assert_same(theirs, ours)
            assert_same_memory(theirs, np.asarray(ours))
            assert np.asarray(crossdock.zeros(2, theirs.dtype)).dtype == theirs.dtype
        except Exception as error:
            error.add_note(f"seed {seed}: {theirs.dtype}")
            raise


@pytest.mark.parametrize("dtype", [
    np.dtype([("inner", [("x", "i8"), ("flag", "?")]), ("y", "f8")]),
    np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [8, 0]}),
    np.dtype({"names": ["a", "b"], "formats": ["u4", "u1"], "offsets": [0, 3]}),
    np.dtype({"names": ["a"], "formats": ["f4"], "itemsize": 12}),
    np.dtype([("t", "M8[ns]"), ("x", "f4")], align=True),
    np.dtype([(("seconds", "t"), "f8")]),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("count", [0, 1, 3])
def test_records_whose_formats_numpy_writes_wrongly_or_not_at_all_come_by_their_dtype(dtype, count):
    theirs = np.frombuffer(random.Random(1).randbytes(count * dtype.itemsize or 1), "u1")[: count * dtype.itemsize]
    theirs = theirs.copy().view(dtype)
    ours = crossdock.asarray(theirs)
    assert_same(theirs, ours)
    assert_same_memory(theirs, np.asarray(ours))
    if count:
        assert_same(np.asarray(theirs[0]), crossdock.asarray(theirs[0]))
        several = theirs[list(dtype.names[::-1])]
        assert_same(several, crossdock.asarray(several))


def test_an_interface_without_fields_goes_by_the_dtype_of_the_same_object():
    theirs = np.zeros(2, {"names": ["a", "b"], "formats": ["u1", "i4"], "offsets": [8, 0]})
    said = type("Said", (), {"dtype": theirs.dtype, "__array_interface__": theirs.__array_interface__})()
    assert numpy_dtype(crossdock.asarray(said).dtype) == theirs.dtype


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 16])
def test_opaque_bytes_come_back_as_the_same_bytes(size):
    theirs = np.frombuffer(bytes(range(4 * size)), f"V{size}").copy()[::-1]
    ours = crossdock.asarray(theirs)
    for back in (np.asarray(ours), ours.__array__()):
        assert back.dtype == theirs.dtype and back.tolist() == theirs.tolist()
        assert back.ctypes.data == theirs.ctypes.data
    assert bytes(ours) == theirs.tobytes()
    with pytest.raises(BufferError, match="padding.*numpy.asarray"):
        memoryview(ours)


def test_a_wrong_dtype_is_named_with_the_ways_to_say_one():
    for wrong in (5, (1, 2), object()):
        with pytest.raises(TypeError, match=r"is no dtype: give a name.*numpy.float32"):
            crossdock.zeros(2, wrong)


def test_dates_in_records_have_an_array():
    theirs = np.zeros(2, [("t", "M8[ns]")])
    assert crossdock.asarray(theirs).__array__().dtype == theirs.dtype


def test_a_scalar_of_records_without_a_format_is_imported_in_place():
    """NumPy writes no format for overlapping fields, and the scalar's array interface makes a copy
    for each caller."""
    dtype = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 2], "itemsize": 8})
    scalar = np.array((0x00010002, 1), dtype)[()]
    ours = crossdock.asarray(scalar, copy=False)
    assert str(ours.dtype) == str(crossdock.asarray(np.zeros(1, dtype)).dtype)
    assert ours["a"].tolist() == 0x00010002 and ours["b"].tolist() == 1


def test_the_bytes_of_records_are_bytes():
    records = np.zeros(3, [("a", "u1")])
    raw = pickle.PickleBuffer(records).raw()
    assert raw.obj is records and raw.format == "B"
    assert crossdock.asarray(raw).dtype == "uint8"
