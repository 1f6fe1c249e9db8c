"""The buffer protocol, in both directions."""

import array
import ctypes
import mmap

import numpy as np
import pytest
from handing.counterparts import need

import crossdock

LAYOUTS = {
    "no axis": lambda a: a[0, 0, 0:1].reshape(()),
    "one axis": lambda a: a[0, 0],
    "rows": lambda a: a[0],
    "columns": lambda a: a[0].T,
    "three axes": lambda a: a,
    "three axes backwards": lambda a: a[::-1, ::-1, ::-1],
    "every second": lambda a: a[:, ::2],
    "again and again": lambda a: np.broadcast_to(a[0], (5, 3, 4)),
    "a column": lambda a: a[0, :, :1],
    "no elements": lambda a: a[:, :0],
    "axes in another order": lambda a: a.transpose(1, 2, 0),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("readonly", [False, True])
def test_every_request_is_answered_as_memoryview_answers_it(ask, name, readonly):
    theirs = LAYOUTS[name](np.arange(24, dtype="i4").reshape(2, 3, 4))
    readonly |= not theirs.flags.writeable
    theirs.flags.writeable = not readonly
    ours, theirs = crossdock.asarray(theirs), memoryview(theirs)
    given = 0
    for flags in range(512):
        mine, reference = ask(ours, flags), ask(theirs, flags)
        if isinstance(reference, str):
            assert isinstance(mine, str), (flags, mine, reference)
            continue
        # NumPy recalculates the strides of empty arrays.
        parts = len(reference) if ours.size else 6
        assert mine[:parts] == reference[:parts], flags
        given += 1
    assert given >= 8


def test_indirect_buffers_go_through(ask):
    _testbuffer = need("_testbuffer")
    theirs = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_PIL)
    ours = crossdock.asarray(theirs)
    assert ours.tolist() == theirs.tolist() and ours[1, ::2].tolist() == [4, 6]
    for flags in range(512):
        mine, reference = ask(ours, flags), ask(theirs, flags)
        assert isinstance(mine, str) == isinstance(reference, str), (flags, mine, reference)
    assert crossdock.asarray(memoryview(ours)).tolist() == theirs.tolist()


def test_rows_behind_pointers_that_go_backwards_are_lent_only_where_a_suboffset_says_it():
    """Consumers take a negative suboffset for an axis without pointers."""
    _testbuffer = need("_testbuffer")
    theirs = _testbuffer.ndarray(list(range(8)), shape=[2, 2, 2], format="i", flags=_testbuffer.ND_PIL)
    lent, refused = 0, 0
    for start in (theirs, theirs[:, ::-1], theirs[:, :, ::-1], theirs[::-1, ::-1, ::-1]):
        for key in np.s_[:], np.s_[:, 0:1, 1:2], np.s_[:, 1], np.s_[:, :, 1], np.s_[:, ::-1]:
            x = crossdock.asarray(start)[key]
            try:
                assert memoryview(x).tolist() == x.tolist(), key
                lent += 1
            except BufferError as error:
                assert "negative suboffset" in str(error) and "copy()" in str(error)
                assert memoryview(x.copy()).tolist() == x.tolist(), key
                refused += 1
    assert lent >= 10 and refused >= 5


def test_rows_behind_pointers_are_aligned_where_all_of_them_are():
    _testbuffer = need("_testbuffer")
    theirs = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_PIL)
    ours = crossdock.asarray(theirs)
    assert memoryview(ours).format == "i" and memoryview(ours).tolist() == theirs.tolist()
    assert memoryview(ours[::-1, 1:]).format == "i"
    # The field of each row behind the first byte.
    packed = _testbuffer.ndarray([(1, 2)] * 4, shape=[2, 2], format="=bi", flags=_testbuffer.ND_PIL)
    field = crossdock.asarray(packed)["f1"]
    assert memoryview(field).format == "<i" and field.tolist() == [[2, 2], [2, 2]]


def test_axes_of_one_element_have_the_strides_of_a_contiguous_array():
    """Consumers compare the strides, although the array is empty."""
    row = crossdock.asarray(np.arange(24.0).reshape(4, 6))[0:1, :3]
    assert row.strides == (48, 8) and memoryview(row).strides == (24, 8)
    both = crossdock.asarray(np.arange(24.0).reshape(4, 6))[:, :3]
    assert memoryview(both).strides == both.strides == (48, 8)


def test_elements_are_aligned_only_if_the_first_and_all_strides_are():
    packed = np.zeros(4, "f8, u1")
    assert packed.ctypes.data % 8 == 0 and packed.strides == (9,)
    assert memoryview(crossdock.asarray(packed)["f0"]).format == "<d"
    shifted = np.zeros(33, "u1")[1:].view("f8")
    assert memoryview(crossdock.asarray(shifted)).format == "<d"
    assert memoryview(crossdock.asarray(np.zeros(4))).format == "d"


def test_addresses_are_written_as_they_are_read():
    ours = crossdock.asarray(memoryview(bytearray(16)).cast("P"))
    ours[0], ours[1:] = 2**64 - 1, 5
    assert ours.tolist() == [2**64 - 1, 5]
    for wrong in (-1, 2**64):
        with pytest.raises(OverflowError):
            ours[0] = wrong


def test_formats_are_canonical():
    for dtype, written in [
        ("i8", "l"), ("u8", "L"), (">i8", ">q"), ("i4", "i"), ("?", "?"), ("f2", "e"), ("c16", "Zd"), ("c8", "Zf"), (">f8", ">d"),
        ("S1", "c"), ("S3", "3s"), ("U2", "2w"),
        (np.dtype([("a", "i4"), ("b", "f8")], align=True), "T{i:a:4xd:b:}"),
        (np.dtype([("a", "i4"), ("b", "f8")]), "T{^i:a:d:b:}"),
    ]:
        ours = crossdock.zeros((2, 2), np.dtype(dtype))
        view = memoryview(ours)
        assert view.format == written and view.shape == (2, 2), dtype
        assert np.asarray(ours).dtype == np.dtype(dtype)
    unaligned = crossdock.zeros(3, [("a", "u1"), ("b", "f8")].__repr__())["b"]
    assert memoryview(unaligned).format == "<d"
    assert not np.asarray(unaligned).flags.aligned


def test_integers_of_8_bytes_are_int64_for_numpy():
    for dtype, kind in [("int64", np.int64), ("uint64", np.uint64)]:
        record = crossdock.zeros(3, np.dtype([("a", dtype)]))
        for ours in [crossdock.zeros(3, dtype), crossdock.asarray(np.zeros(3, dtype)), record["a"]]:
            assert isinstance(np.asarray(ours)[0], kind) and type(np.asarray(ours).dtype) is type(np.dtype(dtype))
            assert isinstance(np.asarray(ours[::-1])[0], kind)
    records = np.asarray(crossdock.zeros(3, "[('a', '<i8'), ('b', '<u8')]"))
    assert isinstance(records["a"][0], np.int64) and isinstance(records["b"][0], np.uint64)


def test_formats_come_back_as_they_came_in():
    for letter in "?bBhHiIlLqQefdP":
        theirs = memoryview(bytearray(48)).cast(letter) if letter != "e" else memoryview(np.zeros(24, "f2"))
        ours = crossdock.asarray(theirs)
        for view in [ours, ours[::-2], ours[1:], ours.reshape((-1, 2)).T, ours[...], ours.frozen()]:
            assert memoryview(view).format == letter
    # NumPy has no dtype for C's ssize_t.
    assert [memoryview(crossdock.asarray(memoryview(bytearray(16)).cast(letter))).format for letter in "nN"] == ["l", "L"]
    for theirs in [np.zeros(3, "longlong"), np.zeros(3, "ulonglong"), np.zeros(3, [("a", "q"), ("b", "l"), ("c", "2Q")])]:
        ours = crossdock.asarray(theirs)
        assert np.asarray(ours).dtype == theirs.dtype and memoryview(ours).format == memoryview(theirs).format
        assert type(np.asarray(crossdock.asarray(np.asarray(ours))).dtype) is type(theirs.dtype)
    # The name is not part of the dtype.
    assert crossdock.asarray(np.zeros(3, "q")) == crossdock.asarray(np.zeros(3, "l"))
    assert crossdock.asarray(np.zeros(3, "q")).dtype == "int64"


def test_what_has_no_format_is_refused_as_a_buffer():
    for dtype in ["bfloat16", "float8_e5m2", "datetime64[ns]"]:
        with pytest.raises(BufferError, match=dtype.replace("[", r"\[")):
            memoryview(crossdock.zeros(3, dtype))


def test_memoryview_reads_and_writes_elements():
    ours = crossdock.zeros((2, 3), "i8")
    view = memoryview(ours)
    view[1, 2] = 5
    assert ours[1, 2] == 5 and view.tolist() == ours.tolist()
    ours[0] = 7
    assert view[0, 0] == 7
    assert crossdock.asarray(view) == ours


def test_consumers_are_told_why_they_are_refused(ask):
    assert "WRITABLE" in ask(crossdock.asarray(b"abc"), 1) and "read-only" in ask(crossdock.asarray(b"abc"), 1)
    refusal = ask(crossdock.zeros((2, 3), order="F"), 0)
    assert "[2, 3]" in refusal and "[8, 16]" in refusal and "SIMPLE" in refusal


@pytest.mark.parametrize(
    "thing, dtype, values, readonly",
    [
        (bytearray(b"ab"), "uint8", [97, 98], False),
        (b"ab", "uint8", [97, 98], True),
        (array.array("d", [1.5, 2.5]), "float64", [1.5, 2.5], False),
        (array.array("l", [1, -2]), "int64", [1, -2], False),
        (memoryview(b"abcd")[::-2], "uint8", [100, 98], True),
        (memoryview(bytearray(8)).cast("i", (1, 2)), "int32", [[0, 0]], False),
        ((ctypes.c_double * 2)(1.5, 2.5), "float64", [1.5, 2.5], False),
        ((ctypes.c_int16 * 2 * 2)((1, 2), (3, 4)), "int16", [[1, 2], [3, 4]], False),
        (np.float32(2.5), "float32", 2.5, True),
        (np.array([1 + 2j]), "complex128", [1 + 2j], False),
        (np.array(["ä", "b"]), "<U1", ["ä", "b"], False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_buffers_of_all_kinds_are_taken(thing, dtype, values, readonly):
    ours = crossdock.asarray(thing)
    assert (ours.dtype, ours.tolist(), ours.readonly) == (dtype, values, readonly)
    address = np.asarray(ours).ctypes.data
    assert address == np.asarray(memoryview(thing)).ctypes.data


def test_records_of_ctypes_are_read_where_their_format_is_true():
    class Packed(ctypes.Structure):
        _pack_ = 1
        _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_double)]

    class Plain(ctypes.Structure):
        _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_float)]

    class Either(ctypes.Union):
        _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]

    plain = crossdock.asarray((Plain * 2)((1, 2), (3, 4)))
    assert plain["b"].tolist() == [2, 4]
    # Their formats stand for one byte.
    for lying in [(Either * 2)(), (Packed * 2)()]:
        assert crossdock.asarray(lying).dtype in (f"|V{ctypes.sizeof(lying) // 2}", "[('a', '|u1'), ('b', '<f8')]")


def test_maps_and_locked_memory():
    with mmap.mmap(-1, 4096) as pages:
        ours = crossdock.asarray(pages)
        ours[7] = 9
        assert pages[7] == 9
        with pytest.raises(BufferError):
            pages.close()
        del ours
    growing = bytearray(3)
    ours = crossdock.asarray(growing)
    with pytest.raises(BufferError):
        growing.append(1)
    del ours
    growing.append(1)


def test_what_shares_no_memory_is_refused_unless_a_copy_is_permitted():
    with pytest.raises(TypeError, match="list shares no memory"):
        crossdock.asarray([1, 2])
    copied = crossdock.asarray([1, 2], copy=None)
    assert copied.tolist() == [1, 2] and "list shares no memory" in copied.copied_because
    with pytest.raises(BufferError, match="(?s)PEP 3118.*'O'|object references"):
        crossdock.asarray(np.array([object()]))
    with pytest.raises(TypeError):
        crossdock.asarray(object(), copy=None)
    with pytest.raises(TypeError, match="stored as a pickle"):
        crossdock.zeros(2, "O")
    with pytest.raises(BufferError, match="object references"):
        crossdock.asarray(np.array([None]))


def test_copy_says_whether_memory_is_shared():
    theirs = np.arange(3)
    assert np.shares_memory(np.asarray(crossdock.asarray(theirs)), theirs)
    assert np.shares_memory(np.asarray(crossdock.asarray(theirs, copy=None)), theirs)
    assert not np.shares_memory(np.asarray(crossdock.asarray(theirs, copy=True)), theirs)
    ours = crossdock.asarray(theirs)
    assert crossdock.asarray(ours) is ours and crossdock.asarray(ours, copy=None) is ours
    assert crossdock.asarray(ours, copy=True) is not ours


def test_objects_with_a_buffer_of_their_own_are_taken():
    class Odd(np.ndarray):
        pass

    assert crossdock.asarray(np.arange(3).view(Odd)).tolist() == [0, 1, 2]
    assert np.frombuffer(crossdock.zeros(2, "i2"), "u1").tolist() == [0] * 4
    assert bytes(crossdock.array([1, 2], "u1")) == b"\x01\x02"
    assert b"".join([crossdock.array([65], "u1")]) == b"A"


def test_eight_bytes_that_are_read_only_are_no_date():
    """NumPy's dates are exported like this; only they are refused."""
    for thing in (b"12345678", memoryview(b"12345678"), np.frombuffer(b"12345678", "u1")):
        assert crossdock.asarray(thing, copy=False).tolist() == list(b"12345678")
    assert crossdock.asarray(np.int64(5), copy=False).tolist() == 5
    with pytest.raises(BufferError, match="dates or durations"):
        crossdock.asarray(np.datetime64(5, "s"), copy=False)
