"""The same memory imported by two protocols: an assignment reads every element before it is
overwritten."""

import ctypes
import mmap
import pickle
import tempfile
from multiprocessing.reduction import ForkingPickler

import numpy as np

import crossdock
from handing.importers import IMPORTERS, CannotSay
from handing.specimens import Says

#: The matrix's zero-copy importers. The others create files or copies.
IN_PLACE = [
    "NumPy", "`memoryview`", "DLPack", "DLPack before 1.0", "a tensor of PyArrow", "a column of PyArrow",
    "an array interface", "an array struct", "`__array__`", "an address",
]  # fmt: skip


def array_of_c(made):
    if made.dtype.names or not made.flags.c_contiguous:
        raise CannotSay("numbers without gaps")
    return np.ctypeslib.as_ctypes(made)


class Buffer:
    """An object written in Python with `__buffer__`."""

    def __init__(self, made):
        self.made = made

    def __buffer__(self, flags):
        return memoryview(self.made)


def exchanged(made):
    """Through the C exchange API, which exports a Crossdock array and imports it again."""
    from test_exchange import Table

    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    table = Table.from_address(get(crossdock.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))
    tensor, back = ctypes.c_void_p(), ctypes.c_void_p()
    assert table.lend(crossdock.asarray(made), ctypes.addressof(tensor)) == 0
    assert table.take(tensor, ctypes.addressof(back)) == 0
    array = ctypes.cast(back, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    return array


def own(made):
    return crossdock.asarray(made)


def again(made):
    """A Crossdock array that was exported to NumPy and imported again."""
    return np.asarray(own(made))


ROADS = {
    **{name: IMPORTERS[name] for name in IN_PLACE},
    "`__buffer__`": Buffer,
    "ctypes": array_of_c,
    "our own, back by a buffer": lambda made: memoryview(own(made)),
    "our own, back by NumPy": again,
    "our own, back by DLPack": lambda made: crossdock.from_dlpack(own(made)),
    "our own, back by an interface": lambda made: Says(__array_interface__=own(made).__array_interface__, kept=made),
    "our own, by the exchange API": exchanged,
}


def by(road, made):
    """An array imported by a road, on the memory of a NumPy array."""
    thing = ROADS[road](made)
    array = thing if isinstance(thing, crossdock.Array) else crossdock.asarray(thing)
    if made.size:
        assert address(array) == made.__array_interface__["data"][0], road
    return array


def address(array):
    return array.ptr


def rows(size, dtype="<i4"):
    """A square of distinct numbers."""
    return np.arange(size * size).reshape(size, size).astype(dtype)


#: The operations: the part of the destination, and the view of the source.
OPERATIONS = {
    "shift forwards": (np.s_[1:], lambda a: a[:-1]),
    "shift backwards": (np.s_[:-1], lambda a: a[1:]),
    "shift within rows": (np.s_[:, 3:], lambda a: a[:, :-3]),
    "reverse": (np.s_[...], lambda a: a[::-1]),
    "reverse both": (np.s_[...], lambda a: a[::-1, ::-1]),
    "transpose": (np.s_[...], lambda a: a.T),
    "swap columns": (np.s_[:, :2], lambda a: a[:, 1::-1]),
    "repeat a row": (np.s_[...], lambda a: a[5]),
    "itself": (np.s_[...], lambda a: a[...]),
}


def assign_all(made, destination, source):
    """Runs each operation on fresh memory, and returns how many there were.

    `destination` and `source` make arrays on the memory of `made`.
    """
    start = made.copy()
    for name, (part, view) in OPERATIONS.items():
        made[...] = start
        expected = start.copy()
        expected[part] = view(start.copy())
        target, origin = destination(), source()
        target[part] = view(origin)
        wrong = int((made != expected).sum())
        assert not wrong, f"{name}: {wrong} of {made.size} elements are wrong"
    made[...] = start
    return len(OPERATIONS)


def converted(size, destination, source):
    """Converts numbers of another type to the type of the destination, in the same bytes."""
    made = np.arange(size * size, dtype="<i4").reshape(size, size)
    floats = made.view("<f4")
    floats[...] = (np.arange(size * size) % 1000).reshape(size, size)
    before = floats.copy()
    destination(made)[...] = source(floats)[::-1]
    assert (made == before[::-1].astype("i4")).all(), "conversion"
    # To wider elements, from the second half of their bytes.
    wide = np.zeros(size * size, "<i8")
    narrow = wide.view("<i4")[size * size :].reshape(size, size)
    narrow[...] = np.arange(size * size).reshape(size, size)
    before = narrow.copy()
    square = wide.reshape(size, size)
    destination(square)[...] = source(narrow)
    assert (square == before).all(), "widening"
    return 2


def fields(size, destination, source):
    """Assigns a field of records to another field, of the records before or after."""
    made = np.zeros((size, size), [("a", "<i4"), ("b", "<i4")])
    made["a"], made["b"] = np.arange(size * size).reshape(size, size), -np.arange(size * size).reshape(size, size)
    if any("'a'" not in road(made).dtype for road in (destination, source)):
        raise CannotSay("no names of fields")
    before = made.copy()
    destination(made)["a"][1:] = source(made)["b"][:-1]
    assert (made["a"][1:] == before["b"][:-1]).all() and (made["b"] == before["b"]).all(), "fields"
    before = made.copy()
    destination(made)[...] = source(made)[::-1]
    assert (made == before[::-1]).all(), "records"
    return 2


def both(to, origin, size=48):
    """How many operations are right with this destination and this source, or why none can run."""
    made = rows(size)
    try:
        if by(to, made).readonly:
            return "the destination is read-only"
        by(origin, made)
    except CannotSay as error:
        return str(error)
    done = assign_all(made, lambda: by(to, made), lambda: by(origin, made))
    done += converted(size, lambda made: by(to, made), lambda made: by(origin, made))
    try:
        done += fields(size, lambda made: by(to, made), lambda made: by(origin, made))
    except (CannotSay, BufferError):
        pass
    return done


class SharedTwice:
    """Shared memory that this process has mapped twice, at two addresses."""

    def __init__(self, size, dtype="<i4"):
        self.first = crossdock.shared((size, size), dtype)
        self.second = pickle.loads(ForkingPickler.dumps(self.first))
        assert address(self.first) != address(self.second)


def file_twice(folder, size, dtype="<i4"):
    """A file that this process has mapped twice, at one address for each."""
    made = np.memmap(folder + "/square", dtype, "w+", shape=(size, size))
    return made, np.memmap(folder + "/square", dtype, "r+", shape=(size, size))
