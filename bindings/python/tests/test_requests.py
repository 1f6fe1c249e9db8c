"""Every request for a buffer gets the answer of CPython's reference, `_testbuffer.ndarray`: for all formats,
structures and flags."""

import collections
import ctypes
import itertools
import math
import operator
import struct

import crossdock
from elsewhere import require
from pybuffer import Buffer, get, meaning, release

require("_testbuffer")
from _testbuffer import ND_FORTRAN, ND_PIL, ND_WRITABLE, ndarray  # noqa: E402

FORMATS = "? c b B h H i I l L q Q e f d P <h >h =i >I <l >q =Q >f <d T{}".split()
SHAPES = [(), (1,), (5,), (0,), (2, 3), (1, 4), (3, 1), (4, 4), (2, 0, 3), (2, 3, 4), (1, 1, 2), (2, 1, 3), (3, 2, 1), (2, 2, 2, 2)]
#: From 3.13 on, the interpreter itself answers the INDIRECT bit alone, which is not a request.
REQUESTS = [flags for flags in range(512) if flags != 0x100]


def row_major(shape):
    steps = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        steps[axis - 1] = steps[axis] * max(shape[axis], 1)
    return steps


#: Layouts: the steps between neighbours, in items, for a shape.
LAYOUTS = {
    "in rows": row_major,
    "in columns": lambda shape: row_major(shape[::-1])[::-1],
    "backwards": lambda shape: [-step for step in row_major(shape)],
    "the last axis backwards": lambda shape: [*row_major(shape)[:-1], -1],
    "with gaps": lambda shape: [2 * step for step in row_major(shape)],
    "rows with gaps": lambda shape: [step + (step > 1) for step in row_major(shape)],
    "again and again": lambda shape: [0, *row_major(shape)[1:]],
    "axes turned": lambda shape: [*row_major((shape[-1], *shape[:-1]))[1:], row_major((shape[-1], *shape[:-1]))[0]],
}


def exporter(shape, steps, text, flags):
    """CPython's array of such elements."""
    size, item = struct.calcsize(text), struct.unpack(text, bytes(struct.calcsize(text)))
    item = item[0] if len(item) == 1 else item
    if not shape:
        return ndarray(item, shape=[], format=text, flags=flags)
    reach = [step * (length - 1) for step, length in zip(steps, shape) if length]
    low = sum(step for step in reach if step < 0)
    items = [item] * (sum(abs(step) for step in reach) + 1)
    return ndarray(items, shape=list(shape), strides=[step * size for step in steps], offset=-low * size, format=text, flags=flags)


def answers(thing):
    """The answer to each request, or None. Buffers that are equal in every bit are examined once."""
    buffer, seen, given = Buffer(), {}, []
    for flags in REQUESTS:
        try:
            get(thing, buffer, flags)
        except BufferError:
            assert not buffer.obj
            given.append(None)
            continue
        bits = bytes(buffer)
        if bits not in seen:
            assert buffer.obj == id(thing)
            seen[bits] = buffer.parts()
        release(buffer)
        given.append(seen[bits])
    return given


def alike(ours, theirs):
    """Whether two buffers are equivalent. Parts without effect may differ: strides of axes of length 1 and of empty arrays, the table of
    pointers before rows, the names of fields."""
    if ours is None or theirs is None:
        return ours is theirs
    *ours, our_format, our_shape, our_strides, our_suboffsets = ours
    *theirs, format, shape, strides, suboffsets = theirs
    there = [part is None for part in (our_format, our_strides, our_suboffsets)]
    if ours != theirs or our_shape != shape or there != [part is None for part in (format, strides, suboffsets)]:
        return False
    if format and not our_format.startswith(b"T{") and meaning(our_format.decode()) != meaning(format.decode()):
        return False
    for axis, length in enumerate(shape if strides else ()):
        followed = bool(suboffsets) and suboffsets[axis] >= 0
        if followed != (bool(suboffsets) and our_suboffsets[axis] >= 0):
            return False
        if length > 1 and 0 not in shape and not followed and our_strides[axis] != strides[axis]:
            return False
    return True


def test_every_request_is_answered_as_the_reference_answers_it():
    covered, formats, checked = collections.Counter(), itertools.cycle(FORMATS), 0
    for shape, (name, layout) in itertools.product(SHAPES, LAYOUTS.items()):
        if not shape and name != "in rows":
            continue
        steps = layout(shape)
        for text, extra in itertools.product(itertools.islice(formats, 3), (0, ND_WRITABLE, ND_PIL, ND_PIL | ND_WRITABLE)):
            # Without elements there are no pointers to follow, and this library's arrays have none.
            if extra & ND_PIL and (not shape or 0 in shape):
                continue
            text = "=hd" if text == "T{}" else text
            theirs = exporter(shape, steps, text, extra)
            ours = crossdock.asarray(theirs)
            offsets = {sum(map(operator.mul, index, steps)) for index in itertools.product(*map(range, shape))}
            if len(offsets) < math.prod(shape) and not extra & ND_PIL:
                # Elements that overlap are read-only here, unless they are behind pointers.
                theirs = exporter(shape, steps, text, extra & ~ND_WRITABLE)
            for flags, mine, reference in zip(REQUESTS, answers(ours), answers(theirs)):
                assert alike(mine, reference), (name, shape, text, extra, hex(flags), mine, reference)
                covered["given" if mine else "refused"] += 1
            covered.update([f"format {text}", f"layout {name}", f"rank {len(shape)}"])
            covered["indirect"] += bool(extra & ND_PIL)
            covered["writable"] += bool(extra & ND_WRITABLE)
            assert ours.exports == 0
            checked += 1
    print(f"{checked} arrays, {checked * len(REQUESTS)} answers: {dict(covered)}")
    assert checked * len(REQUESTS) > 400_000
    assert {text if text != "T{}" else "=hd" for text in FORMATS} == {key[7:] for key in covered if key.startswith("format ")}
