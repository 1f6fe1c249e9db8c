"""Random tables against PyArrow: values, slices, copies and round trips of columns of every type.

`CROSSDOCK_CASES` sets the number of cases, and `CROSSDOCK_SEED` chooses them.
"""

import copy
import datetime
import decimal
import os
import pickle
import random
import uuid
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import crossdock

CASES = int(os.environ.get("CROSSDOCK_CASES") or 400)
SEED = int(os.environ.get("CROSSDOCK_SEED") or 8)
UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin", "+05:30"]
WORDS = ["", "a", "é", "twelve bytes", "more than twelve bytes", "€" * 9, "\0", "NaN"]


def integers(bits, signed):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return lambda r: r.choice([low, high, 0, 1, r.randint(low, high)])


def moments(r, unit):
    """A count that Python's datetime has in every unit and zone."""
    return r.randint(-(2**31), 2**33) * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] + (0 if unit == "s" else r.randint(0, 999))


def plain(name, ty, value):
    """Elements that PyArrow makes of Python's values."""
    return name, lambda r, n, nulls, depth: pa.array([None if nulls(r) else value(r) for _ in range(n)], ty(r) if callable(ty) else ty)


def counted_elements(name, make, value):
    """Elements of a unit, made of their counts."""

    def array(r, n, nulls, depth):
        ty, unit = make(r)
        width = pa.int32() if ty.bit_width == 32 else pa.int64()
        return pa.array([None if nulls(r) else value(r, unit) for _ in range(n)], width).view(ty)

    return name, array


def times(r, unit):
    return r.randint(0, 86_399) * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


def digits(r, ty):
    number = r.randint(-(10**ty.precision) + 1, 10**ty.precision - 1)
    return decimal.Decimal(number).scaleb(-ty.scale, decimal.Context(prec=80))


def decimals(name, make, most):
    def array(r, n, nulls, depth):
        precision = r.randint(1, most)
        ty = make(precision, r.randint(0, precision))
        return pa.array([None if nulls(r) else digits(r, ty) for _ in range(n)], ty)

    return name, array


def below(r, n, nulls, depth):
    """A child column: of a simple type at depth 2."""
    _, make = r.choice(SIMPLE if depth >= 2 else KINDS)
    return make(r, n, nulls, depth + 1)


def list_bounds(r, n, nulls, most=4):
    sizes = [r.randint(0, most) for _ in range(n)]
    return np.concatenate([[0], np.cumsum(sizes)]).astype("i8"), pa.array([nulls(r) for _ in range(n)], pa.bool_())


def lists(cls, width):
    def array(r, n, nulls, depth):
        ends, mask = list_bounds(r, n, nulls)
        return cls.from_arrays(pa.array(ends, width), below(r, int(ends[-1]), nulls, depth), mask=mask if n else None)

    return array


def list_views(cls, width):
    def array(r, n, nulls, depth):
        room = r.randint(1, 9)
        starts = [r.randint(0, room) for _ in range(n)]
        sizes = [r.randint(0, room - start) for start in starts]
        mask = pa.array([nulls(r) for _ in range(n)], pa.bool_()) if n else None
        return cls.from_arrays(pa.array(starts, width), pa.array(sizes, width), below(r, room, nulls, depth), mask=mask)

    return array


def fixed_lists(r, n, nulls, depth):
    size = r.randint(1, 3)
    mask = pa.array([nulls(r) for _ in range(n)], pa.bool_()) if n else None
    return pa.FixedSizeListArray.from_arrays(below(r, n * size, nulls, depth), size, mask=mask)


def structs(r, n, nulls, depth):
    names = [f"f{k}" for k in range(r.randint(1, 3))]
    mask = pa.array([nulls(r) for _ in range(n)], pa.bool_())
    return pa.StructArray.from_arrays([below(r, n, nulls, depth) for _ in names], names, mask=mask if n else None)


def maps(r, n, nulls, depth):
    ends, mask = list_bounds(r, n, nulls)
    count = int(ends[-1])
    keys = pa.array([r.choice(WORDS) for _ in range(count)], pa.string())
    return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, below(r, count, nulls, depth), mask=mask if n else None)


def dictionaries(r, n, nulls, depth):
    count = r.randint(1, 5)
    # PyArrow reads no dictionaries of nested values.
    values = r.choice(SIMPLE)[1](r, count, nulls, depth)
    index = r.choice([pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()])
    indices = pa.array([None if nulls(r) else r.randrange(count) for _ in range(n)], index)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=r.random() < 0.5)


def runs(r, n, nulls, depth):
    lengths = []
    while sum(lengths) < n:
        lengths.append(r.randint(1, n - sum(lengths)))
    ends = pa.array(np.cumsum(lengths or [0])[: len(lengths)], r.choice([pa.int16(), pa.int32(), pa.int64()]))
    return pa.RunEndEncodedArray.from_arrays(ends, r.choice(SIMPLE)[1](r, len(lengths), nulls, depth))


def sparse_unions(r, n, nulls, depth):
    count = r.randint(1, 3)
    ids = pa.array([r.randrange(count) for _ in range(n)], pa.int8())
    return pa.UnionArray.from_sparse(ids, [below(r, n, nulls, depth) for _ in range(count)])


def dense_unions(r, n, nulls, depth):
    count, room = r.randint(1, 3), 4
    ids = pa.array([r.randrange(count) for _ in range(n)], pa.int8())
    offsets = pa.array(sorted(r.randrange(room) for _ in range(n)), pa.int32())
    return pa.UnionArray.from_dense(ids, offsets, [below(r, room, nulls, depth) for _ in range(count)])


def extensions(r, n, nulls, depth):
    kind = r.choice(["uuid", "json", "tensor", "bool8"])
    if kind == "uuid":
        storage = pa.array([None if nulls(r) else r.randbytes(16) for _ in range(n)], pa.binary(16))
        return pa.ExtensionArray.from_storage(pa.uuid(), storage)
    if kind == "json":
        return pa.ExtensionArray.from_storage(pa.json_(), pa.array([None if nulls(r) else "{}" for _ in range(n)], pa.string()))
    if kind == "bool8":
        return pa.ExtensionArray.from_storage(pa.bool8(), pa.array([None if nulls(r) else r.randrange(2) for _ in range(n)], pa.int8()))
    items = pa.array([r.random() for _ in range(6 * n)], pa.float32())
    return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [2, 3]), pa.FixedSizeListArray.from_arrays(items, 6))


def floats(r):
    return r.choice([0.0, -0.0, float("inf"), -1.5, r.random()])


def units(ty):
    return lambda r: (lambda unit: (ty(unit), unit))(r.choice(UNITS))


SIMPLE = [
    *[plain(f"int{bits}", getattr(pa, f"int{bits}")(), integers(bits, True)) for bits in (8, 16, 32, 64)],
    *[plain(f"uint{bits}", getattr(pa, f"uint{bits}")(), integers(bits, False)) for bits in (8, 16, 32, 64)],
    plain("float16", pa.float16(), lambda r: np.float16(floats(r))),
    plain("float32", pa.float32(), lambda r: float(np.float32(floats(r)))),
    plain("float64", pa.float64(), floats),
    plain("bool", pa.bool_(), lambda r: r.random() < 0.5),
    plain("date32", pa.date32(), lambda r: datetime.date.fromordinal(r.randint(1, 3_652_059))),
    plain("date64", pa.date64(), lambda r: datetime.date.fromordinal(r.randint(1, 3_652_059))),
    counted_elements("time32", lambda r: (lambda unit: (pa.time32(unit), unit))(r.choice(UNITS[:2])), times),
    counted_elements("time64", lambda r: (lambda unit: (pa.time64(unit), unit))(r.choice(UNITS[2:])), times),
    counted_elements("timestamp", units(pa.timestamp), moments),
    counted_elements("timestamp with a zone", lambda r: (lambda unit: (pa.timestamp(unit, r.choice(ZONES[1:])), unit))(r.choice(UNITS)), moments),
    counted_elements("duration", units(pa.duration), moments),
    plain("interval", pa.month_day_nano_interval(), lambda r: pa.MonthDayNano([r.randint(-9, 9), r.randint(-9, 9), r.randint(-9, 9)])),
    decimals("decimal32", pa.decimal32, 9),
    decimals("decimal64", pa.decimal64, 18),
    decimals("decimal128", pa.decimal128, 38),
    decimals("decimal256", pa.decimal256, 76),
    plain("string", pa.string(), lambda r: r.choice(WORDS)),
    plain("large_string", pa.large_string(), lambda r: r.choice(WORDS)),
    plain("string_view", pa.string_view(), lambda r: r.choice(WORDS)),
    plain("binary", pa.binary(), lambda r: r.randbytes(r.randint(0, 20))),
    plain("large_binary", pa.large_binary(), lambda r: r.randbytes(r.randint(0, 20))),
    plain("binary_view", pa.binary_view(), lambda r: r.randbytes(r.randint(0, 20))),
    plain("fixed_size_binary", pa.binary(3), lambda r: r.randbytes(3)),
    ("null", lambda r, n, nulls, depth: pa.nulls(n)),
]
KINDS = [
    *SIMPLE,
    ("list", lists(pa.ListArray, pa.int32())),
    ("large_list", lists(pa.LargeListArray, pa.int64())),
    ("list_view", list_views(pa.ListViewArray, pa.int32())),
    ("large_list_view", list_views(pa.LargeListViewArray, pa.int64())),
    ("fixed_size_list", fixed_lists),
    ("struct", structs),
    ("map", maps),
    ("dictionary", dictionaries),
    ("run_end_encoded", runs),
    ("sparse_union", sparse_unions),
    ("dense_union", dense_unions),
    ("extension", extensions),
]


def comparable(value):
    """A value in a form in which those of both libraries are equal: moments as counts of nanoseconds."""
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, np.ndarray):
        return comparable(value.tolist())
    if type(value).__name__ in ("Timestamp", "Timedelta"):
        return ("ns", value.value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return ("ns", int(value.astype("i8")))
    if isinstance(value, datetime.datetime):
        utc = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return ("ns", (utc - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1) * 1000)
    if isinstance(value, datetime.timedelta):
        return ("ns", value // datetime.timedelta(microseconds=1) * 1000)
    return value


def oracle(theirs):
    storage = theirs.storage if isinstance(theirs, pa.ExtensionArray) else theirs
    return comparable(storage.to_pylist())


def addresses(column):
    """The addresses of the buffers, apart from the one offset of a column without elements."""
    return {buffer.address for buffer in column.buffers() if buffer is not None and buffer.size > 8}


def check(r, kind, theirs):
    ours = crossdock.column(theirs)
    assert len(ours) == len(theirs) and ours.null_count == theirs.null_count, "nulls"
    expected = oracle(theirs)
    assert comparable(ours.to_list()) == expected, "values"
    if len(theirs):
        index = r.randrange(len(theirs))
        assert comparable(ours[index]) == expected[index], "one element"
    back = pa.array(ours)
    back.validate(full=True)
    assert back.type == theirs.type and oracle(back) == expected, "round trip"
    assert addresses(back) <= addresses(theirs), "addresses"
    start = r.randint(0, len(theirs))
    part = slice(start, r.randint(start, len(theirs)))
    assert comparable(ours[part].to_list()) == expected[part], "slice"
    sliced = pa.array(ours[part])
    sliced.validate(full=True)
    assert oracle(sliced) == expected[part], "round trip of a slice"
    for made in (ours[part].copy(), pickle.loads(pickle.dumps(ours[part], 5)), copy.deepcopy(ours)[part]):
        again = pa.array(made)
        again.validate(full=True)
        assert again.type == theirs.type and oracle(again) == expected[part], "copy"
    chunks = crossdock.column(pa.chunked_array([theirs, theirs[part]], theirs.type))
    assert comparable(chunks.to_list()) == expected + expected[part], "chunks"
    assert oracle(pa.chunked_array(chunks).combine_chunks()) == expected + expected[part] if joins(theirs.type) else True
    assert repr(ours).startswith("Column(")
    np.asarray(ours, dtype=object)


def joins(ty):
    return pa.types.is_primitive(ty) or pa.types.is_string(ty)


def test_random_columns_have_the_values_of_pyarrow():
    seen, shapes = Counter(), Counter()
    for case in range(CASES):
        r = random.Random(f"{SEED}-{case}")
        # Each kind comes up in turn, so that each has its share of the cases.
        kind, make = KINDS[case % len(KINDS)]
        share = r.choice([0, 0, 0.2, 0.5, 1])
        n = r.choice([0, 1, 2, 7, 8, 9, 31, 65])
        theirs = make(r, n, lambda r, share=share: r.random() < share, 0)
        start = r.choice([0, 1, 3, 5, 7])
        sliced = theirs[start : n - r.randint(0, 2)]
        seen[kind] += 1
        shapes.update(empty=not len(sliced), nulls=share == 1, offset=bool(start and len(sliced)))
        try:
            check(r, kind, sliced)
        except Exception as error:
            error.add_note(f"CROSSDOCK_SEED={SEED}, case {case}: {sliced.type}, {n} elements from {start} on, nulls {share}")
            raise
    shares = {kind: seen[kind] / CASES for kind, _ in KINDS}
    print({kind: f"{share:.1%}" for kind, share in shares.items()}, dict(shapes))
    assert CASES < len(KINDS) or min(shares.values()) >= 0.02 and min(shapes.values()) >= CASES / 20


def test_random_tables_go_through_a_stream():
    for case in range(max(CASES // 20, 5)):
        r = random.Random(f"{SEED}-table-{case}")
        n = r.randint(0, 40)
        columns = [make(r, n, lambda r: r.random() < 0.3, 0) for _, make in r.sample(KINDS, 5)]
        start = r.randint(0, n)
        batch = pa.record_batch(columns, names=[f"c{k}" for k in range(5)])
        theirs = pa.Table.from_batches([batch[1:], batch[start:], batch[:0], batch])
        ours = crossdock.table(theirs)
        low = r.randint(0, len(theirs))
        part = slice(low, r.randint(low, len(theirs)))
        for made, expected in [(ours, theirs), (ours[part], theirs[part]), (pickle.loads(pickle.dumps(ours, 5)), theirs)]:
            taken = pa.table(made)
            taken.validate(full=True)
            assert taken.schema == theirs.schema
            for name in theirs.column_names:
                values = [oracle(chunk) for chunk in expected[name].chunks]
                assert [oracle(chunk) for chunk in taken[name].chunks if len(chunk)] == [chunk for chunk in values if chunk], (case, name)
