"""Arrays as text: NumPy's format with another name, and always with the dtype; and as HTML."""

import random

import numpy as np
import pytest

import crossdock
from peers import SEED

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8", "S4", "U3"]
RECORDS = [[("a", "i4")], [("a", "i4"), ("b", ">f4"), ("c", "S3")], [("x", "f8", (2,)), ("in", [("y", "?"), ("z", "c16")])]]


def random_values(rng, shape, dtype):
    count = int(np.prod(shape))
    if isinstance(dtype, list):
        records = np.zeros(shape, dtype)
        for name in records.dtype.names:
            part = records[name]
            if part.dtype.names is None:
                part[...] = random_values(rng, part.shape, part.dtype.str)
        return records
    char = np.dtype(dtype).kind
    if char in "fc":
        scale = 10.0 ** rng.choice([-200, -5, 0, 0, 0, 3, 7, 12]) if np.dtype(dtype).itemsize >= 8 else 1
        values = [rng.choice([rng.gauss(0, 1) * scale, float(rng.randint(-50, 50)), 0.0]) for _ in range(count)]
        if rng.random() < 0.2:
            values = [rng.choice([value, float("nan"), float("inf"), -float("inf")]) for value in values]
        array = np.array(values).astype(dtype)
        return (array * (1 + 2j) if char == "c" and not np.isnan(array).any() else array).reshape(shape).astype(dtype)
    if char in "SU":
        return np.array(["".join(rng.choice("ab'\" é\n"[: 5 if char == "S" else 7]) for _ in range(3)) for _ in range(count)], dtype).reshape(shape)
    return np.array([rng.randint(0, 127) for _ in range(count)], "i8").astype(dtype).reshape(shape)


def as_numpy(array, dtype):
    """NumPy's `repr` if its class were called `Array` and no dtype were implied."""
    head, rest = "Array(", [f"dtype={dtype})"]
    text = head + np.array2string(array, separator=", ", prefix=head, suffix=")") + ","
    if array.size == 0 and array.shape != (0,) or array.size > 1000:
        rest.insert(0, f"shape={array.shape}")
    rest = ", ".join(rest)
    last = len(text) - (text.rfind("\n") + 1)
    return text + (" " if last + 1 + len(rest) <= 75 else "\n" + " " * len(head)) + rest


def test_random_arrays_are_written_as_numpy_writes_them():
    rng = random.Random(SEED)
    met = dict.fromkeys(["0-d", "empty", "long", "many lines", "records", "strided"], 0)
    for _ in range(600):
        shape = tuple(rng.choice([0, 1, 2, 3, 5, 12]) for _ in range(rng.randint(0, 3)))
        if rng.random() < 0.1:
            shape = rng.choice([(1001,), (40, 30), (2, 3, 200)])
        dtype = rng.choice(DTYPES + RECORDS)
        theirs = random_values(rng, shape, dtype)
        if rng.random() < 0.3:
            theirs = theirs.T[..., ::-1] if theirs.ndim else theirs
        ours = crossdock.asarray(theirs)
        said = str(ours.dtype) if theirs.dtype.names else repr(str(ours.dtype))
        assert repr(ours) == as_numpy(theirs, said), (theirs.dtype, shape)
        if theirs.dtype.char != "S" or theirs.shape:
            # For a single `bytes`, NumPy names its own type as well.
            assert str(ours) == str(theirs), (theirs.dtype, shape)
        met["0-d"] += shape == ()
        met["empty"] += theirs.size == 0
        met["long"] += theirs.size > 1000
        met["many lines"] += "\n" in repr(ours)
        met["records"] += theirs.dtype.names is not None
        met["strided"] += not theirs.flags.forc
    print(met)
    assert min(met.values()) > 20, met


@pytest.mark.parametrize("unit", ["D", "s", "ns", "M"])
def test_dates_and_durations_are_written_as_numpy_writes_them(unit):
    for kind in ("datetime64", "timedelta64"):
        theirs = np.array([0, 10**4, -5, np.iinfo("i8").min]).astype(f"{kind}[{unit}]").reshape(2, 2)
        ours = crossdock.zeros((2, 2), theirs.dtype)
        for index in np.ndindex(2, 2):
            ours[index] = theirs[index]
        assert repr(ours) == as_numpy(theirs, repr(str(ours.dtype))) and str(ours) == str(theirs)


def test_dtypes_are_named_as_numpy_names_them():
    for name in ["?", "i1", "u8", ">i4", "f2", ">f8", "c8", ">c16", "S3", "U2", ">U2", "V5", "M8[s]", "m8[25us]", ">M8[ns]", "M8", "m8"]:
        assert crossdock.zeros(2, name).dtype == str(np.dtype(name))
    for record in RECORDS:
        assert np.dtype(crossdock.zeros(2, np.dtype(record)).dtype) == np.dtype(record)
    # NumPy's name contains the number of bits on this machine; NumPy reads this library's name as
    # well.
    assert crossdock.zeros(2, "g").dtype == "longdouble"
    for letter in "?bBhHiIlLqQefdgFDG":
        assert np.dtype(crossdock.zeros(2, letter).dtype) == np.dtype(letter)
