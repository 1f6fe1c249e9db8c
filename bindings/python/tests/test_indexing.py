"""An index gives the same elements as in NumPy, in place."""

import random

import numpy as np
import pytest

import crossdock
from peers import SEED


def random_array(rng, dtype="i8"):
    shape = tuple(rng.choice([0, 1, 2, 3, 5, 7]) if rng.random() < 0.9 else 1 for _ in range(rng.randint(0, 4)))
    whole = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    view = whole
    if rng.random() < 0.5:
        view = view.transpose(rng.sample(range(view.ndim), view.ndim))
    for axis in range(view.ndim):
        if rng.random() < 0.3:
            view = np.flip(view, axis)
    return view


def random_key(rng, shape):
    def bound(length):
        return rng.choice([None, rng.randint(-length - 3, length + 3)])

    def part(length):
        kind = rng.random()
        if kind < 0.35:
            return rng.randint(-length - 1, length) if rng.random() < 0.1 else rng.randint(-max(length, 1), max(length - 1, 0))
        step = rng.choice([None, None, 1, 2, 3, -1, -2, -7])
        return slice(bound(length), bound(length), step)

    axes = rng.randint(0, len(shape) + (rng.random() < 0.1))
    at = sorted(rng.sample(range(len(shape)), min(axes, len(shape))))
    tail = rng.random() < 0.5
    lengths = [shape[len(shape) - axes + k] for k in range(axes)] if tail and axes <= len(shape) else []
    if lengths:
        key = [..., *map(part, lengths)]
    else:
        key = [part(shape[k] if k < len(shape) else 1) for k in range(axes)]
        if rng.random() < 0.2:
            key.append(...)
    while rng.random() < 0.2:
        key.insert(rng.randint(0, len(key)), None)
    if len(key) == 1 and rng.random() < 0.7:
        return key[0]
    return tuple(key)


def outcome(thing, key):
    try:
        return thing[key]
    except (IndexError, ValueError) as error:
        return type(error)


BOUNDS = [None, 0, 1, -1, 3, -7, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**63, -(2**70), np.int8(2), True]


def test_slices_with_bounds_of_any_size_and_kind_are_read_as_numpy_reads_them():
    theirs = np.arange(5)
    ours = crossdock.asarray(theirs)
    for start in BOUNDS:
        for stop in BOUNDS:
            for step in [None, 1, -1, 2, -3, 2**63 - 1, -(2**63), 2**70, np.int8(-1), True]:
                assert ours[start:stop:step].tolist() == theirs[start:stop:step].tolist(), (start, stop, step)
    for wrong, error in [(slice(None, None, 0), ValueError), (slice("a"), TypeError), (slice(0.5, None), TypeError)]:
        for array in [ours, theirs]:
            with pytest.raises((error, IndexError)):
                array[wrong]


def test_random_keys_give_what_numpy_gives():
    rng = random.Random(SEED)
    met = dict.fromkeys(["views", "elements", "refused", "empty", "newaxis", "negative steps"], 0)
    for _ in range(20_000):
        array = random_array(rng)
        key = random_key(rng, array.shape)
        ours = outcome(crossdock.asarray(array), key)
        theirs = outcome(array, key)
        if isinstance(theirs, type):
            assert ours is theirs, (array.shape, key, ours)
            met["refused"] += 1
        elif isinstance(theirs, np.ndarray):
            assert isinstance(ours, crossdock.Array), (array.shape, key, ours)
            assert ours.shape == theirs.shape, (array.shape, key)
            back = np.asarray(ours)
            assert back.tolist() == theirs.tolist() == ours.tolist(), (array.shape, key)
            if theirs.size:
                assert back.__array_interface__["data"] == theirs.__array_interface__["data"], (array.shape, key)
            keys = key if isinstance(key, tuple) else (key,)
            met["views"] += 1
            met["empty"] += theirs.size == 0
            met["newaxis"] += None in keys
            met["negative steps"] += any(isinstance(part, slice) and (part.step or 1) < 0 for part in keys)
        else:
            assert ours == theirs and type(ours) is int, (array.shape, key)
            met["elements"] += 1
    print(met)
    assert min(met.values()) > 500, met


def test_random_assignments_do_what_numpy_does():
    rng = random.Random(SEED + 1)
    done = 0
    for _ in range(5_000):
        array = random_array(rng)
        ours = crossdock.asarray(array.copy(order="K"))
        theirs = array.copy(order="K")
        key = random_key(rng, array.shape)
        part = outcome(theirs, key)
        if isinstance(part, type):
            continue
        kind = rng.random()
        if kind < 0.3 or not isinstance(part, np.ndarray):
            value = rng.randint(-100, 100)
        else:
            value = np.array(rng.sample(range(max(1000, part.size)), part.size)).reshape(part.shape)
            if kind < 0.5:
                value = crossdock.asarray(value)
            elif kind < 0.7 and part.size:
                value = value.tolist()
        theirs[key] = np.asarray(value)
        ours[key] = value
        assert ours.tolist() == theirs.tolist(), (array.shape, key)
        done += 1
    assert done > 3_000


def test_leading_axes_of_length_1_are_dropped_from_an_array_that_is_assigned():
    for shape in [(1, 2), (1, 1, 2), (1, 1), (2,)]:
        for source in np.arange(1.0, 1 + np.prod(shape)).reshape(shape), crossdock.full(shape, 3.0):
            ours, theirs = crossdock.zeros(2), np.zeros(2)
            ours[:], theirs[:] = source, np.asarray(source)
            assert ours.tolist() == theirs.tolist(), shape
    for shape in [(2, 1), (1, 3), (2, 2)]:
        with pytest.raises(ValueError, match="does not broadcast"):
            crossdock.zeros(2)[:] = np.ones(shape)
    with pytest.raises(ValueError, match="does not broadcast"):
        crossdock.zeros(2)[0] = np.ones(1)


def test_overlapping_parts_are_assigned_as_if_copied_before():
    ours, theirs = crossdock.array(list(range(10))), np.arange(10)
    ours[1:], theirs[1:] = ours[:-1], theirs[:-1].copy()
    assert ours.tolist() == theirs.tolist()


def test_indices_of_other_types_count_as_integers():
    array = crossdock.array([[1, 2], [3, 4]])
    assert array[np.int64(1), np.uint8(0)] == 3
    assert array[np.int32(-1)].tolist() == [3, 4]


@pytest.mark.parametrize("key", [True, [0, 1], np.array([0]), np.array([True, False]), 1.0, (True, 0), object()])
def test_what_would_copy_is_refused_with_the_way_to_do_it(key):
    with pytest.raises(IndexError, match=r"np\.asarray\(x\)"):
        crossdock.array([[1, 2], [3, 4]])[key]


def test_indices_out_of_range_name_index_axis_and_length():
    array = crossdock.zeros((3, 4))
    for key, words in [((0, 4), "4 .*axis 1.*4"), ((-4,), "-4.*axis 0.*3"), ((slice(None), 9), "9.*axis 1.*4")]:
        with pytest.raises(IndexError, match=words):
            array[key]
    for key in [(0, 0, 0), (..., ...), 1 << 70, (1 << 63, 0)]:
        with pytest.raises(IndexError):
            array[key]
    with pytest.raises(ValueError):
        array[::0]


def test_fields_are_views():
    records = np.zeros(3, [("name", "S3"), ("at", "f8", (2,)), ("in", [("n", "i4"), ("ü", "u1")])])
    records["at"] = [[1, 2], [3, 4], [5, 6]]
    array = crossdock.asarray(records)
    assert array["at"].tolist() == [[1, 2], [3, 4], [5, 6]]
    array["at"][:, 1] = 9
    assert records["at"][:, 1].tolist() == [9, 9, 9]
    array[1]["in"]["ü"] = 7
    assert records["in"]["ü"].tolist() == [0, 7, 0]
    array[2] = (b"xyz", [1, 2], (5, 6))
    assert records["name"][2] == b"xyz" and records["at"][2].tolist() == [1, 2]
    assert array["name"].tolist() == [b"", b"", b"xyz"]
    assert array[2].item() == (b"xyz", [1.0, 2.0], (5, 6))
    with pytest.raises(ValueError, match="nope"):
        array["nope"]


def test_items_are_gone_through():
    array = crossdock.array([[1, 2], [3, 4]])
    assert [row.tolist() for row in array] == [[1, 2], [3, 4]]
    assert list(array[0]) == [1, 2] and len(array) == 2
    for refused in (len, list):
        with pytest.raises(TypeError):
            refused(crossdock.array(1))


def test_elements_are_not_deleted_and_read_only_ones_not_written():
    array = crossdock.asarray(b"abc")
    with pytest.raises(TypeError):
        del array[0]
    for write in (lambda: array.__setitem__(0, 1), lambda: array.__setitem__(slice(None), 1), lambda: array.fill(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()


def test_values_that_do_not_fit_are_refused():
    array = crossdock.zeros(3, "u1")
    for value, error in [(256, ValueError), (-1, ValueError), (1.5, ValueError), ("a", ValueError), (object(), TypeError)]:
        with pytest.raises(error):
            array[0] = value
    array[:] = 2.0
    array[1] = np.float32(7)
    assert array.tolist() == [2, 7, 2]


def test_integers_of_every_size_are_bounds_and_indices():
    numbers = np.arange(600)
    ours = crossdock.asarray(numbers)
    assert [ours[k] for k in range(-600, 600)] == [numbers[k] for k in range(-600, 600)]
    ends = [*range(-300, 301), 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**64, -(2**70)]
    for end in ends:
        assert ours[end:].tolist() == numbers[end:].tolist() and ours[:end].tolist() == numbers[:end].tolist()
        if end:
            assert ours[::end].tolist() == numbers[::end].tolist()
        if not -600 <= end < 600:
            with pytest.raises(IndexError):
                ours[end]


def test_subclasses_of_integers_and_tuples_are_keys():
    class Number(int):
        pass

    class Key(tuple):
        pass

    theirs = np.arange(24).reshape(2, 3, 4)
    ours = crossdock.asarray(theirs)
    for number in (Number(1), np.int8(1), np.uint64(1)):
        assert ours[number].tolist() == theirs[1].tolist() and ours[1, number, number] == theirs[1, 1, 1]
        assert ours[0, number:, :number].tolist() == theirs[0, 1:, :1].tolist()
    with pytest.raises(IndexError):
        ours[True]
    with pytest.raises(IndexError):
        ours[0, False]
    with pytest.raises((IndexError, TypeError)):
        ours[Key((0, 1))]
