"""Real consumers of arrays, and the arrays that they received.

Each is a generator of two steps: first it takes the array, which the library may refuse; then it
inspects the result, which must not fail. So an error in these helpers never counts as a refusal.
"""

import contextlib
import ctypes
import hashlib
import socket
import tempfile
import tracemalloc
import warnings
from dataclasses import dataclass

import numpy as np

import crossdock
import pybuffer
from handing.memory import lying


#: A separate handle, whose functions have no prototypes.
python = ctypes.PyDLL(None)


@dataclass
class Got:
    """A consumer's array: its elements as a NumPy array or a list, and the address of the first, if it is known."""

    elements: object
    address: int | None = None
    #: Whether the elements are a copy, if that is known otherwise.
    copied: bool | None = None
    #: Bytes in memory order, without shape and dtype.
    is_flat: bool = False
    #: Reads the elements again.
    again: object = None
    #: A rule that was broken.
    broken: str = ""
    #: Further observations on zero-copy elements, in the words of the profiles; none if the profiles
    #: do not mention them.
    words: str | None = None


def seen(made):
    words = ["" if made.flags.writeable else "read-only", "" if made.flags.aligned else "unaligned"]
    return Got(made, made.__array_interface__["data"][0], words=", ".join(word for word in words if word))


def numpy_asarray(thing):
    made = np.asarray(thing)
    yield
    yield seen(made)


def numpy_from_dlpack(thing):
    made = np.from_dlpack(thing)
    yield
    yield seen(made)


def numpy_frombuffer(thing):
    made = np.frombuffer(thing, "u1")
    yield
    yield Got(made.tobytes(), made.ctypes.data, is_flat=True)


def memoryview_(thing):
    view = memoryview(thing)
    yield
    start = (ctypes.c_size_t * 12)()
    python.PyObject_GetBuffer(ctypes.py_object(view), start, 0x11C)
    address = start[0]
    python.PyBuffer_Release(start)
    yield Got((view.shape, view.tobytes()), address)


def memoryview_items(thing):
    items = memoryview(thing).tolist()
    yield
    # The elements of a list are Python's own numbers.
    yield Got(items, copied=True)


def hashlib_sockets_files(thing):
    """Hashes the bytes, sends them and writes them. All three take them by one request, so one is
    never refused what another takes."""
    hasher = hashlib.sha256(thing)
    if is_gapped(thing):
        # Sockets and files find the gaps in what the producer granted, and refuse.
        yield
        yield Got(hasher.digest(), copied=False)
    with contextlib.ExitStack() as open_ones:
        here, there = (open_ones.enter_context(end) for end in socket.socketpair())
        file = open_ones.enter_context(tempfile.TemporaryFile(buffering=0))
        # A message larger than the socket's buffer is sent in parts.
        here.setblocking(False)
        sent, written = here.send(thing), file.write(thing)
        yield
        file.seek(0)
        received = there.recv(sent) if sent else b""
        in_file = file.read()
    broken = "" if len(in_file) == written and in_file[:sent] == received else "a file and a socket have other bytes"
    if hashlib.sha256(in_file).digest() != hasher.digest():
        broken = "a file and a hash have other bytes"
    buffer = pybuffer.Buffer()

    def lend():
        pybuffer.get(thing, ctypes.byref(buffer), 0)
        pybuffer.release(ctypes.byref(buffer))

    def send():
        ends = socket.socketpair()
        with ends[0], ends[1]:
            ends[0].setblocking(False)
            return allocated(lambda: ends[0].send(thing))

    def write():
        with tempfile.TemporaryFile(buffering=0) as file:
            return allocated(lambda: file.write(thing))

    # What each allocates beyond an export of plain bytes, and hashing beyond the creation of an
    # empty hash.
    hashed = allocated(lambda: hashlib.sha256(thing)) - allocated(hashlib.sha256)
    more = max(hashed, send(), write()) - allocated(lend)
    yield Got(hasher.digest(), copied=more >= max(buffer.len, 1), broken=broken)


def is_gapped(thing):
    """Whether the producer grants a request for plain bytes with a buffer that has gaps."""
    try:
        return not memoryview(thing).c_contiguous
    except (TypeError, BufferError, ValueError):
        return False


def allocated(act):
    """The peak of Python's allocations during a call, which the caller has made once before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def pyarrow_py_buffer(thing):
    import pyarrow

    made = pyarrow.py_buffer(thing)
    yield
    yield Got(made.to_pybytes(), made.address, is_flat=True)


def column(made):
    """The elements of an Arrow array. Fixed-size lists are axes."""
    import pyarrow

    if isinstance(made, pyarrow.FixedShapeTensorArray) and pyarrow.types.is_primitive(made.type.value_type):
        return seen(made.to_numpy_ndarray())
    shape = [len(made)]
    if isinstance(made, pyarrow.FixedShapeTensorArray):
        shape += made.type.shape
        made = made.storage.flatten()
    if isinstance(made, pyarrow.Bool8Array):
        values = made.storage.to_numpy().view("?").reshape(shape)
        return Got(values, values.__array_interface__["data"][0])
    while pyarrow.types.is_fixed_size_list(made.type):
        shape.append(made.type.list_size)
        made = made.flatten()
    buffer = made.buffers()[1] if len(made.buffers()) == 2 else None
    is_fixed = pyarrow.types.is_primitive(made.type) or pyarrow.types.is_fixed_size_binary(made.type)
    address = buffer.address + made.offset * made.type.bit_width // 8 if buffer and is_fixed else 0
    values = made.to_numpy(zero_copy_only=False)
    # NaT is null.
    if values.dtype == object or made.null_count and values.dtype.kind not in "Mm":
        return Got(made.to_pylist() if len(shape) == 1 else values.reshape(shape).tolist(), address)
    return Got(values.reshape(shape), address)


def pyarrow_array(thing):
    import pyarrow

    made = pyarrow.array(thing)
    yield
    yield column(made)


def pyarrow_tensor(thing):
    import pyarrow

    made = pyarrow.Tensor.from_numpy(thing)
    yield
    yield seen(np.asarray(made))


def nanoarrow_(thing):
    import nanoarrow
    import pyarrow

    made = nanoarrow.c_array(thing)
    yield
    yield column(pyarrow.array(made))


def arro3(thing):
    import arro3.core
    import pyarrow

    made = arro3.core.Array(thing)
    yield
    yield column(pyarrow.array(made))


def polars_(thing):
    import polars
    import pyarrow

    made = polars.Series(thing)
    yield
    values = made.to_numpy()
    try:
        address = column(pyarrow.chunked_array(made).chunk(0)).address
    except (pyarrow.ArrowException, polars.exceptions.PolarsError, AttributeError, IndexError):
        # No memory of a single dtype, or no values.
        address = 0
    is_nested = values.dtype == object and "Object" not in str(made.dtype)
    # NaT is null.
    if made.null_count() and values.dtype.kind not in "Mm":
        values, is_nested = np.array(made.to_list(), object), True
    yield Got(values.tolist() if is_nested else values, address)


def pillow(thing):
    from PIL import Image

    image = Image.fromarray(thing)
    yield
    yield Got(np.asarray(image), again=lambda: np.asarray(image))


def opencv(thing):
    import cv2

    made = cv2.copyMakeBorder(thing, 0, 0, 0, 0, cv2.BORDER_REPLICATE)
    yield
    tracemalloc.start()
    try:
        cv2.norm(thing)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    yield Got(np.empty(()) if made is None else made, copied=made is not None and peak > made.nbytes * 0.9)


def tvm(thing):
    import tvm_ffi

    before = crossdock.copied_bytes()
    made = tvm_ffi.from_dlpack(thing)
    is_copy = crossdock.copied_bytes() > before
    yield
    try:
        dtype = made.dtype
    except ValueError:
        # Its own dtypes are without complex numbers, which it lends on all the same.
        got = seen(np.from_dlpack(made))
    else:
        got = tensor(made.data_ptr(), made.shape, made.strides, dtype.type_code, dtype.bits, dtype.lanes, made)
    is_closed = getattr(thing, "readonly", False) and not is_copy
    if is_closed and got.elements.dtype.kind != "V" and np.from_dlpack(made).flags.writeable:
        got.broken = "it may be written"
    yield got


#: DLPack's numbers of types.
TYPES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
EXTENDED = {4: "bfloat16", 10: "float8_e4m3fn", 12: "float8_e5m2"}


def tensor(address, shape, strides, code, bits, lanes, owner):
    """The elements at an address, as a tensor describes them."""
    import ml_dtypes

    known = EXTENDED.get(code)
    dtype = np.dtype(getattr(ml_dtypes, known) if known else f"{TYPES.get(code, 'u')}{max(bits * lanes // 8, 1)}")
    return Got(lying(address, shape, [stride * dtype.itemsize for stride in strides], dtype, owner), address)


def nanobind(function):
    """A consumer in an extension that uses nanobind."""

    def consumer(thing):
        from handing import extension

        take = getattr(extension.load(), function)
        address, shape, strides, code, bits, lanes = take(thing)
        yield
        yield tensor(address, shape, strides, code, bits, lanes, thing)

    return consumer


CONSUMERS = {
    "numpy.asarray": numpy_asarray,
    "numpy.from_dlpack": numpy_from_dlpack,
    "numpy.frombuffer": numpy_frombuffer,
    "memoryview": memoryview_,
    "memoryview.tolist": memoryview_items,
    "hashlib, sockets, files": hashlib_sockets_files,
    "pyarrow.py_buffer": pyarrow_py_buffer,
    "pyarrow.array": pyarrow_array,
    "pyarrow.Tensor.from_numpy": pyarrow_tensor,
    "nanoarrow.c_array": nanoarrow_,
    "arro3.core.Array": arro3,
    "polars.Series": polars_,
    "PIL.Image.fromarray": pillow,
    "cv2 (inputs)": opencv,
    "nanobind (nb::ro)": nanobind("read"),
    "nanobind": nanobind("write"),
    "tvm_ffi.from_dlpack": tvm,
}


#: Bytes of 16-byte items that belong to no field: consumers do not copy them.
GAPS = {("a", "b"): slice(4, 8)}


def without(gap, items):
    """Items of 16 bytes without their gaps."""
    if gap is None or len(items) % 16:
        return items
    rows = np.frombuffer(items, "u1").reshape(-1, 16).copy()
    rows[:, gap] = 0
    return rows.tobytes()


def is_same_type(one, other):
    """Whether two NumPy dtypes are equal for a consumer that reads items without fields as bytes, in any byte order."""
    plain = one.num == other.num == np.dtype("V").num and one.itemsize == other.itemsize
    return plain or one.newbyteorder("=") == other.newbyteorder("=")


def with_nulls(items):
    """Items with None for NaN, which equals nothing and is null in some libraries."""
    if not isinstance(items, list):
        return items
    return [None if isinstance(item, float) and item != item else item for item in items]


def difference(got, elements):
    """The differences between a consumer's elements and the given ones."""
    made, gap = got.elements, GAPS.get(elements.dtype.names)
    if got.is_flat:
        return "" if made in (elements.tobytes(), elements.tobytes(order="A")) else "other bytes"
    if isinstance(made, bytes):
        return "" if made == hashlib.sha256(elements.tobytes()).digest() else "other bytes"
    if isinstance(made, tuple):
        shape, items = made
        if shape != elements.shape:
            return f"shape {shape}"
        return "" if without(gap, items) == without(gap, elements.tobytes()) else "other elements"
    if not isinstance(made, np.ndarray):
        expected = elements.tolist()
        if elements.dtype.kind == "S" and isinstance(made, list):
            made = [item.rstrip(b"\0") if isinstance(item, bytes) else item for item in made]
        try:
            return "" if made == expected or with_nulls(made) == with_nulls(expected) else "other elements"
        except (TypeError, ValueError):
            return "elements that are not comparable"
    if made.shape != elements.shape:
        return f"shape {made.shape}"
    if elements.dtype.kind == "O":
        return "" if made.tolist() == elements.astype(made.dtype).tolist() else "other elements"
    if elements.dtype.kind == "M" and made.dtype.kind == "O":
        # The times of pandas with a time zone.
        made = np.array([time.tz_convert(None).to_datetime64() for time in made.tolist()])
    if elements.dtype.kind in "Mm" and made.dtype.kind == elements.dtype.kind:
        # The same dates may have another unit, except that years and months have no fixed length.
        if {np.datetime_data(dtype)[0] in "YM" for dtype in (made.dtype, elements.dtype)} == {True, False} and elements.dtype.kind == "m":
            return f"elements of {made.dtype}"
        same = (made == elements) | (np.isnat(made) & np.isnat(elements))
        return "" if same.all() else "other elements"
    if not is_same_type(made.dtype, elements.dtype):
        return f"elements of {made.dtype}"
    if elements.dtype.kind == "b":
        made = made.view("u1") != 0
    has_padding = made.dtype.char in "gG"
    if has_padding or made.dtype != elements.dtype and made.dtype.kind != "V":
        return "" if (made == elements).all() else "other elements"
    return "" if without(gap, made.tobytes()) == without(gap, elements.tobytes()) else "other elements"


def hand_over(consumer, specimen):
    """The outcome: in place, copies, refuses or misreads, with the reason or what else was seen;
    "takes" if nothing distinguishes them.

    A refusal by the library is an outcome; any later failure fails the test.
    """
    elements = specimen.elements
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            steps = consumer(specimen.thing)
            next(steps)
    except (KeyboardInterrupt, SystemExit):
        raise
    # A panic in a library of Rust is no `Exception`.
    except BaseException as error:
        return "refuses", f"{type(error).__name__}: {error}"
    if elements is None:
        return "takes", "its elements are in no memory"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = next(steps)
    different = got.broken or difference(got, elements)
    if different:
        return "misreads", different
    if elements.size == 0:
        return "takes", "no elements"
    address = elements.__array_interface__["data"][0]
    if got.copied is None and got.again is not None:
        got.copied = not follows(got, address)
    if got.copied is None:
        got.copied = got.address != address
    return ("copies", "") if got.copied else ("in place", got.words)


def follows(got, address):
    """Whether a consumer sees writes to the memory."""
    before, seen_before = ctypes.string_at(address, 1), got.elements.tobytes()
    ctypes.memmove(address, bytes([before[0] ^ 0x55]), 1)
    after = got.again().tobytes()
    ctypes.memmove(address, before, 1)
    return after != seen_before
