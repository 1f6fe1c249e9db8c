"""Memory that is imported twice is the same memory: an assignment reads elements before they are
overwritten."""

import random

import pytest

import crossdock
from handing.counterparts import need

np = need("numpy")
need("pyarrow")
need("_testbuffer")

from peers import SEED
from handing.roads import OPERATIONS, ROADS, SharedTwice, assign_all, both, by, rows


def test_the_shortest_cases_are_right():
    a = np.arange(10000)
    x = crossdock.asarray(a)
    x[1:] = a[:-1]
    assert (a[1:] == np.arange(9999)).all() and a[0] == 0
    a[...] = np.arange(10000)
    x[:] = a[::-1]
    assert (a == np.arange(10000)[::-1]).all()
    m = np.arange(4096).reshape(64, 64)
    crossdock.asarray(m)[...] = m.T
    assert (m == np.arange(4096).reshape(64, 64).T).all()
    a[...] = np.arange(10000)
    n = np.asarray(x)
    x[1:] = n[:-1]
    assert (a[1:] == np.arange(9999)).all()


@pytest.mark.parametrize("to", ROADS)
def test_every_road_beside_every_road(to):
    done = [both(to, origin) for origin in ROADS]
    assert all(isinstance(count, str) or count >= len(OPERATIONS) + 2 for count in done)


def test_a_bytearray_beside_a_view_of_it():
    memory = bytearray(range(256)) * 40
    before = bytes(memory)
    crossdock.asarray(memory)[7:] = crossdock.asarray(memoryview(memory))[:-7]
    assert memory[7:] == before[:-7]
    before = bytes(memory)
    crossdock.asarray(memory)[:] = memoryview(memory)[::-1]
    assert memory == before[::-1]


def test_large_arrays_which_several_threads_copy():
    made = rows(1200)
    assert assign_all(made, lambda: by("NumPy", made), lambda: by("our own, back by DLPack", made)) == len(OPERATIONS)


def test_shared_memory_that_is_mapped_twice():
    for size in [48, 700]:
        twice = SharedTwice(size)
        made = np.asarray(twice.first)
        made[...] = rows(size)
        for to, origin in [(twice.first, twice.second), (twice.second, twice.first)]:
            assign_all(made, lambda: to, lambda: origin)


@pytest.mark.parametrize("way", ["numpy.memmap", "crossdock.open"])
def test_a_file_that_numpy_maps_and_that_is_mapped_again(tmp_path, way):
    path = tmp_path / "a.npy"
    for size in [8, 10000]:
        np.save(path, np.zeros(size, "i8"))
        x = crossdock.asarray(np.load(path, mmap_mode="r+"))
        y = crossdock.asarray(np.load(path, mmap_mode="r")) if way == "numpy.memmap" else crossdock.open(path)
        x[...] = np.arange(size)
        x[1:] = y[:-1]
        expected = [0, *range(size - 1)]
        assert np.asarray(y).tolist() == expected
        x[...] = y[::-1]
        assert np.asarray(y).tolist() == expected[::-1]


def test_rows_behind_pointers_beside_their_memory():
    testbuffer = need("_testbuffer")
    rows_of = testbuffer.ndarray(list(range(12)), shape=[3, 4], format="i", flags=testbuffer.ND_PIL | testbuffer.ND_WRITABLE)
    ours = crossdock.asarray(rows_of)
    before = np.array(ours.tolist())
    first = ours[0]
    ours[1:] = first
    assert ours.tolist() == [before[0].tolist()] * 3
    ours[...] = before
    ours[:2] = ours[1:]
    assert ours.tolist() == before[[1, 2, 2]].tolist()
    ours[...] = before
    one, other = crossdock.asarray(rows_of), crossdock.asarray(rows_of)
    one[...] = other[::-1]
    assert one.tolist() == before[::-1].tolist()


def test_values_in_place_of_arrays():
    """Objects other than arrays can share memory, too."""
    made = np.arange(6.0)
    ours = crossdock.asarray(made)
    ours[...] = made[2:3]
    assert made.tolist() == [2.0] * 6
    made[...] = np.arange(6)
    ours[...] = made[3]
    assert made.tolist() == [3.0] * 6


def test_two_views_by_random_roads_and_random_cuts():
    """Compared with NumPy on a copy."""
    roll = random.Random(SEED)
    writable = [name for name in ROADS if not isinstance(both(name, "NumPy", 8), str)]
    for _ in range(400):
        made = np.arange(roll.choice([160, 240, 4000]), dtype=roll.choice(["<i2", "<i4", "<f8"])).reshape(-1, 5, 4)
        start, shift, rows_left = roll.randrange(4), roll.randrange(4), len(made) - 4
        to, origin = roll.choice(writable), roll.choice(writable)
        turn = tuple(slice(None, None, roll.choice([1, -1])) for _ in range(3))
        expected = made.copy()
        expected[start : start + rows_left] = made.copy()[shift : shift + rows_left][turn]
        by(to, made)[start : start + rows_left] = by(origin, made)[shift : shift + rows_left][turn]
        assert (made == expected).all(), (SEED, to, origin, made.dtype, made.shape, start, shift, turn)
