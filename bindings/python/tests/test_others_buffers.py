"""CPython's tests of buffers, with Crossdock arrays in the place of its exporter.

If a test creates an array of items, CPython's `_testbuffer.ndarray` creates it, and Crossdock imports it. From there on only the
Crossdock array is used: `memoryview` and, as a consumer, `_testbuffer.ndarray` request its buffers.
"""

import copy
import ctypes
import os
import unittest.mock

import crossdock
from elsewhere import load, require
from pybuffer import Buffer, get, meaning, release

require("_testbuffer")
import _testbuffer  # noqa: E402

#: CPython's tests that do not apply to this library, by name, and why.
NOT_APPLICABLE = {
    "test_ndarray_exceptions": "errors of its constructor, and of `push` and `pop`",
    "test_ndarray_linked_list": "its `push` and `pop`: what is exported changes meanwhile",
    "test_ndarray_random_invalid": "errors of its constructor",
    "test_ndarray_offset": "its attribute `offset`",
    "test_ndarray_index_invalid": "the classes of exceptions of its indexing, where ours are NumPy's",
    "test_ndarray_index_scalar": "the classes of exceptions of its indexing, where ours are NumPy's",
    "test_ndarray_sequence": "`in` without axes, which ours answer, as NumPy does",
    "test_ndarray_slice_invalid": "assignments that it refuses, and ours convert or broadcast, as NumPy does",
    "test_ndarray_slice_assign_single": "assignments that it refuses, and ours broadcast, as NumPy does",
    "test_ndarray_slice_redundant_suboffsets": "its method `add_suboffsets`",
    "test_ndarray_hash": "a hash, which arrays that are equal by their values have not",
    "test_memoryview_hash": "a hash, which memoryview asks the exporter for",
}

EXPORTERS = {"taken": 0, "left": 0}


class Format(str):
    """A format that equals all equivalent formats; Crossdock writes one of them."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return isinstance(other, str) and meaning(str.__str__(self)) == meaning(str.__str__(other))


class Numbers(tuple):
    """Strides or suboffsets that equal others if they have the same effect.

    For axes of one element and for empty arrays, Crossdock exports contiguous strides. Behind pointers, it exports its own table: in
    order, without an offset.
    """

    __hash__ = tuple.__hash__

    def __new__(cls, numbers, view):
        made = super().__new__(cls, numbers)
        followed = [suboffset >= 0 for suboffset in view.suboffsets] or [False] * view.ndim
        made.meant = [length > 1 and 0 not in view.shape and not follow for length, follow in zip(view.shape, followed)]
        return made

    def __eq__(self, other):
        return len(self) == len(other) and all(a == b or not meant for a, b, meant in zip(self, other, self.meant))


def through(name, thing):
    """An attribute; for a Crossdock array, of its memoryview."""
    if name == "memoryview_from_buffer" and isinstance(getattr(thing, "obj", None), crossdock.Array):
        return lambda: from_buffer(thing)
    if not isinstance(thing, crossdock.Array):
        value = getattr(thing, name)
    elif name == "obj":
        return None
    elif name == "memoryview_from_buffer":
        return lambda: memoryview(thing)
    elif name == "tolist" and thing.dtype != "|S1":
        return thing.tolist
    else:
        # A NUL in a text of one byte is an element for memoryview, and the end of the text for
        # NumPy and for this library.
        value = getattr(memoryview(thing), name)
    if name == "format":
        return Format(value)
    if name in ("strides", "suboffsets") and value:
        return Numbers(value, memoryview(thing) if isinstance(thing, crossdock.Array) else thing)
    return value


def truth(thing):
    """The truth of an array: that it exists."""
    return isinstance(thing, crossdock.Array) or bool(thing)


def from_buffer(consumer):
    """The method of exporters of its own type: a memoryview of the given buffer, and nothing more."""
    flags = _testbuffer.PyBUF_FORMAT | _testbuffer.PyBUF_ND if consumer.format else 0
    buffer, make = Buffer(), ctypes.pythonapi.PyMemoryView_FromBuffer
    make.argtypes, make.restype = [ctypes.POINTER(Buffer)], ctypes.py_object
    get(consumer.obj, ctypes.byref(buffer), flags)
    try:
        return make(ctypes.byref(buffer))
    finally:
        # The consumer still has its own buffer.
        release(ctypes.byref(buffer))


class Exporter(type):
    def __instancecheck__(cls, thing):
        return isinstance(thing, (crossdock.Array, _testbuffer.ndarray))


class ndarray(metaclass=Exporter):
    """The type that the tests call by this name: a consumer of an exporter, or an exporter of items."""

    def __new__(cls, items, *arguments, **named):
        theirs = _testbuffer.ndarray(items, *arguments, **named)
        if theirs.obj is not None or isinstance(items, (bytes, bytearray)):
            return theirs
        # Several items side by side belong to the module `struct`, with its own tests of flags.
        # Arrays have at most 64 axes.
        known = _testbuffer.ND_WRITABLE | _testbuffer.ND_FORTRAN | _testbuffer.ND_PIL
        one_item = len(theirs.format.lstrip("@=<>!")) == 1 and theirs.format[-1] not in "sx"
        if named.get("flags", 0) & ~known or theirs.ndim > 64 or not one_item:
            EXPORTERS["left"] += 1
            return theirs
        EXPORTERS["taken"] += 1
        return crossdock.asarray(theirs)


def loaded():
    environment = os.environ
    try:
        named = "obj format strides suboffsets contiguous c_contiguous f_contiguous tolist memoryview_from_buffer"
        module = load("test.test_buffer", named.split(), through, truth=truth)
    finally:
        # The import of NumPy replaces it, and does not restore it.
        os.environ = environment
    module.ndarray = ndarray
    # These tests expect NumPy before version 2.
    module.numpy_array = None
    # Repeated items count as several.
    module.cap["ndarray"] = (module.cap["ndarray"][0], [""])
    # A text of one NUL byte is empty, as in NumPy.
    for table in module.fmtdict.values():
        table.update({"c": (1, 256)} if "c" in table else {})
    return module


theirs = loaded()


class TestBufferProtocol(theirs.TestBufferProtocol):
    locals().update(dict.fromkeys(NOT_APPLICABLE))

    def test_ndarray_random_slice_assign(self):
        """Crossdock refuses writes to elements that may overlap."""
        with unittest.mock.patch.object(theirs, "rand_structure", apart):
            super().test_ndarray_random_slice_assign()

    def test_ndarray_slice_assign_multidim(self):
        """Elements are read before they are overwritten, as in NumPy; CPython copies row by row."""
        with unittest.mock.patch.object(theirs, "multislice_assign", as_it_was):
            super().test_ndarray_slice_assign_multidim()


def apart(*arguments, structure=theirs.rand_structure, **named):
    """A random structure, in which each stride exceeds the extent of all smaller ones."""
    chosen = structure(*arguments, **named)
    _, reached, _, shape, strides, _ = chosen
    for stride, length in sorted((abs(stride), length) for stride, length in zip(strides, shape) if length > 1):
        if stride < reached and 0 not in shape:
            return apart(*arguments, **named)
        reached += stride * (length - 1)
    return chosen


def as_it_was(left, right, *slices, assign=theirs.multislice_assign):
    return assign(left, copy.deepcopy(right), *slices)


def test_hardly_anything_of_theirs_is_left_out():
    named = {name for name in dir(theirs.TestBufferProtocol) if name.startswith("test_")}
    run = {name for name in named if getattr(TestBufferProtocol, name) is not None}
    print(f"{len(run)} of {len(named)} tests; exporters: {EXPORTERS}")
    assert named - run == set(NOT_APPLICABLE) and len(named) >= 73
    # The file can be run alone.
    assert EXPORTERS["taken"] > 20 * EXPORTERS["left"] or not EXPORTERS["taken"]
