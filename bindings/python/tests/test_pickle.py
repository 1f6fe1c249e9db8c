"""Pickles, in band and out of band, for all layouts; the result is on the bytes that were sent."""

import copy
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from handing.counterparts import need

import crossdock


def address(thing):
    return np.frombuffer(thing, "u1").ctypes.data


def out_of_band(array, receive=lambda buffer: buffer):
    """The pickle's length, the out-of-band buffers, and the array from both."""
    beside = []
    text = pickle.dumps(array, 5, buffer_callback=beside.append)
    received = [receive(buffer) for buffer in beside]
    return len(text), [buffer.raw().nbytes for buffer in beside], pickle.loads(text, buffers=received)


GRID = np.arange(120, dtype="f8").reshape(10, 12)
VIEWS = {
    "whole": lambda x: x,
    "rows": lambda x: x[3:5],
    "upside down": lambda x: x[::-1],
    "every second row": lambda x: x[::2],
    "every second row and column backwards": lambda x: x[::-2, ::-2],
    "half of each row": lambda x: x[:, 6:],
    "a column": lambda x: x[:, 5],
    "transposed": lambda x: x.T,
    "far apart": lambda x: x[::3, ::4],
    "no elements": lambda x: x[4:4],
    "with an axis": lambda x: x[None, 2:, None],
}
# For 120 elements of 8 bytes: how many bytes are sent, and how many of them are copied.
SENT = {
    "whole": (960, 0),
    "rows": (192, 0),
    "upside down": (960, 0),
    "every second row": (864, 0),
    "every second row and column backwards": (240, 240),
    "half of each row": (912, 0),
    "a column": (80, 80),
    "transposed": (960, 0),
    "far apart": (96, 96),
    "no elements": (0, 0),
    "with an axis": (768, 0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_was_given_back_is_the_array_in_place(name):
    ours, theirs = VIEWS[name](crossdock.asarray(GRID.copy())), VIEWS[name](GRID)
    before = crossdock.copied_bytes()
    header, sent, again = out_of_band(ours)
    copied = crossdock.copied_bytes() - before
    assert (sum(sent), copied) == SENT[name] and len(sent) == 1 and header < 200
    assert (again.shape, again.dtype, again.readonly) == (ours.shape, ours.dtype, False)
    assert np.array_equal(np.asarray(again), theirs)
    if not copied and again.size:
        assert np.asarray(again).strides == np.asarray(ours).strides
        assert np.asarray(again).ctypes.data == np.asarray(ours).ctypes.data


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", VIEWS)
def test_every_protocol_carries_every_view(name, protocol):
    for data in (GRID.copy(), GRID.tobytes()):
        ours = crossdock.asarray(np.frombuffer(data, "f8").reshape(10, 12))
        ours = VIEWS[name](ours)
        again = pickle.loads(pickle.dumps(ours, protocol))
        assert (again.shape, again.dtype, again.readonly) == (ours.shape, ours.dtype, ours.readonly)
        assert again == ours and np.array_equal(np.asarray(again), VIEWS[name](GRID))
        if protocol < 5:
            # A copy that is necessary anyway omits the gaps.
            assert len(ours.__reduce_ex__(protocol)[1][1]) == ours.nbytes


def test_repeated_elements_are_sent_once():
    wide = crossdock.asarray(np.broadcast_to(GRID[0], (10_000, 12)))
    before = crossdock.copied_bytes()
    _, sent, again = out_of_band(wide)
    assert sent == [96] and crossdock.copied_bytes() == before
    assert again.strides == (0, 8) and again.shape == (10_000, 12) and again[9_999, 11] == 11
    _, sent, again = out_of_band(crossdock.asarray(np.broadcast_to(GRID[:, 3], (1000, 10))))
    assert sent == [80] and again.strides == (0, 8) and again[999].tolist() == GRID[:, 3].tolist()


DTYPES = [
    "bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128", "longdouble",
    ">i2", ">f8", "<u4", "S5", "U3", "V7", "datetime64[ns]", "datetime64[25us]", "timedelta64[D]", ">M8[s]", "bfloat16",
    "float8_e4m3fn", "float4_e2m1fn", "complex32", "[('a', '<i4'), ('b', '>f8', (2, 3))]",
    "{'names': ['t', 'x'], 'formats': ['<M8[s]', 'u1'], 'offsets': [8, 2], 'itemsize': 20}",
]  # fmt: skip


def random_view(random, array):
    """A view of a view, repeated a few times."""
    for _ in range(random.randrange(4)):
        kind = random.randrange(5)
        if kind == 0:
            array = array.T
        elif kind == 1 and array.ndim:
            array = array[tuple(random_slice(random, length) for length in array.shape)]
        elif kind == 2 and array.ndim > 1 and array.shape[0]:
            array = array[random.randrange(array.shape[0])]
        elif kind == 3:
            array = array[None]
        elif array.ndim and array.shape[-1]:
            array = array[..., random.randrange(array.shape[-1])]
    return array


def random_slice(random, length):
    bounds = [random.randrange(-length - 1, length + 2) if random.random() < 0.5 else None for _ in range(2)]
    return slice(*bounds, random.choice([1, 1, 2, 3, -1, -4]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_views_of_every_dtype_come_back(dtype):
    seed = random.getrandbits(32)
    chance = random.Random(seed)
    itemsize = crossdock.zeros(1, dtype).itemsize
    seen = {"in place": 0, "copied": 0, "read-only": 0, "empty": 0}
    for turn in range(100):
        # The first one is a column, whose elements are far from each other; random views are rarely
        # like that.
        shape = [8, 8] if turn == 0 else [chance.randrange(1, 9) for _ in range(chance.randrange(4))]
        count = int(np.prod(shape))
        memory = bytearray(chance.randbytes(count * itemsize))
        whole = crossdock.asarray(bytes(memory) if chance.random() < 0.3 else memory)
        whole = crossdock._rebuild(f"offset=0; access=write; shape={count}; strides={itemsize}; dtype={dtype}", whole)
        ours = whole.reshape(8, 8)[:, 3] if turn == 0 else random_view(chance, whole.reshape(*shape))
        before = crossdock.copied_bytes()
        _, _, again = out_of_band(ours)
        copied = crossdock.copied_bytes() > before
        same = [again, pickle.loads(pickle.dumps(ours, 5)), pickle.loads(pickle.dumps(ours, chance.randrange(5)))]
        for one in same:
            assert (one.shape, one.dtype, one.readonly) == (ours.shape, ours.dtype, ours.readonly), seed
            assert one.tobytes() == ours.tobytes(), seed
        seen["copied" if copied else "in place"] += 1
        seen["read-only"] += ours.readonly
        seen["empty"] += ours.size == 0
    print(seed, seen)
    assert min(seen.values()) > 0, (seed, seen)


def test_bytes_are_received_wherever_they_lie():
    for ours in (crossdock.asarray(GRID), crossdock.asarray(GRID)[::-2, 1:]):
        received = []

        def receive(buffer):
            room = bytearray(64 + 29 + buffer.raw().nbytes)
            start = -address(room) % 64 + 29
            received.append(memoryview(room)[start : start + buffer.raw().nbytes])
            received[0][:] = buffer.raw()
            return received[0]

        before = crossdock.copied_bytes()
        _, _, again = out_of_band(ours, receive)
        assert crossdock.copied_bytes() == before and again == ours
        low, end = address(received[0]), address(received[0]) + received[0].nbytes
        seen = np.asarray(again)
        assert low % 64 == 29 and low <= seen.ctypes.data < end and not seen.flags.aligned
        assert np.array_equal(seen, np.asarray(ours))
        seen[-1, -1] = -5
        assert np.frombuffer(received[0], "f8").tolist().count(-5.0) == 1


def test_received_bytes_that_are_read_only_make_a_read_only_array():
    _, _, again = out_of_band(crossdock.zeros(3), lambda buffer: bytes(buffer.raw()))
    assert again.readonly
    _, _, again = out_of_band(crossdock.asarray(b"abc"), lambda buffer: bytearray(buffer.raw()))
    assert again.readonly


def test_a_pickle_is_read_by_a_process_that_has_imported_nothing():
    ours = crossdock.asarray(GRID)[::2, ::-1]
    script = "import pickle, sys; print(pickle.load(sys.stdin.buffer).tolist())"
    done = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(ours), capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(GRID[::2, ::-1].tolist())


def test_the_same_array_twice_is_one_array_again():
    ours = crossdock.zeros(3)
    first, second = pickle.loads(pickle.dumps([ours, ours]))
    assert first is second


def test_rows_behind_pointers_are_sent_in_order():
    _testbuffer = need("_testbuffer")
    theirs = _testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=_testbuffer.ND_PIL)
    ours = crossdock.asarray(theirs)[::-1, 1:]
    _, sent, again = out_of_band(ours)
    assert sent == [36] and again.strides == (12, 4) and again.tolist() == ours.tolist() == [[9, 10, 11], [5, 6, 7], [1, 2, 3]]


def test_copies_are_arrays_of_their_own():
    for ours in (crossdock.asarray(GRID.copy()), crossdock.asarray(GRID.T.copy("F"))[::2], crossdock.asarray(b"abc")):
        for again in (copy.copy(ours), copy.deepcopy(ours), copy.deepcopy({"x": ours})["x"]):
            assert again == ours and not again.readonly and again.nbytes == ours.nbytes
            before = ours.tobytes()
            again.fill(1)
            assert ours.tobytes() == before
    column_major = crossdock.asarray(np.asfortranarray(GRID))
    assert copy.copy(column_major).strides == column_major.strides


GOOD = "offset=0; access=write; shape=2,3; strides=24,8; dtype=<float64"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        GOOD.replace("offset=0", "offset=1"),
        GOOD.replace("offset=0", "offset=18446744073709551615"),
        GOOD.replace("offset=0", "offset=-8"),
        GOOD.replace("24,8", "-24,8"),
        GOOD.replace("24,8", "9223372036854775807,8"),
        GOOD.replace("24,8", "24"),
        GOOD.replace("2,3", "3,3"),
        GOOD.replace("2,3", "-2,3"),
        GOOD.replace("2,3", "9223372036854775807,9223372036854775807"),
        GOOD.replace("2,3", ",".join(["1"] * 65)).replace("24,8", ",".join(["8"] * 65)),
        GOOD.replace("write", "execute"),
        GOOD.replace("<float64", "<complex128"),
        GOOD.replace("<float64", "O"),
        GOOD.replace("<float64", "[('a', 'f8'), ('b', 'f8')]"),
        GOOD.replace("<float64", "S9223372036854775807"),
    ],
)
def test_a_pickle_that_lies_is_refused(text):
    assert crossdock._rebuild(GOOD, bytes(48)).shape == (2, 3)
    for data in (bytes(48), bytearray(48)):
        with pytest.raises(ValueError, match="damaged"):
            crossdock._rebuild(text, data)


def test_bytes_that_are_none_are_refused():
    for data in (b"", bytes(47), memoryview(bytes(96))[::2], None, 7, "text", GRID[::2, ::2], crossdock.zeros((6, 2))[:, 0]):
        with pytest.raises((ValueError, TypeError, BufferError)):
            crossdock._rebuild(GOOD, data)
    with pytest.raises(TypeError):
        crossdock._rebuild(7, bytes(48))


def test_damaged_pickles_give_an_error_or_an_array_within_the_bytes():
    chance = random.Random(1)
    seen = {"array": 0, "refused": 0}
    for _ in range(3000):
        text = list(GOOD)
        for _ in range(chance.randrange(1, 4)):
            digits = [at for at, letter in enumerate(text) if letter.isdigit()]
            at = chance.choice(digits) if chance.random() < 0.8 else chance.randrange(len(text))
            text[at : at + chance.randrange(2)] = chance.choice("0123456789-,")
        data = bytearray(48)
        try:
            array = crossdock._rebuild("".join(text), data)
        except ValueError:
            seen["refused"] += 1
            continue
        seen["array"] += 1
        if array.nbytes:
            low, high = np.lib.array_utils.byte_bounds(np.asarray(array))
            assert address(data) <= low <= high <= address(data) + 48, text
    print(seen)
    assert seen["array"] > 100 and seen["refused"] > 1000
