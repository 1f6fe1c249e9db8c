"""Every kind of hand-over, as an operation that leaves nothing behind. Add new ones to the table."""

import array
import copy
import ctypes
import gc
import mmap
import os
import pickle
import sys

import crossdock
from pybuffer import Buffer, get, release


class Producer:
    """A DLPack producer with a given behaviour."""

    def __init__(self, act):
        self.act = act

    def __dlpack__(self, **arguments):
        return self.act(**arguments)

    def __dlpack_device__(self):
        return (1, 0)


class Refused(Exception):
    pass


def dies(act):
    """Runs an operation that must raise an exception."""
    try:
        act()
    except (BufferError, IndexError, TypeError, ValueError, pickle.UnpicklingError, Refused):
        return
    raise AssertionError("it was to fail")


def table(peers=True):
    """The operations by name, and the objects whose references are counted. Without peers, only the standard library
    is used."""
    ours, growing, pages = crossdock.zeros((10, 10)), bytearray(8), mmap.mmap(-1, 4096)
    doubles, numbers = (ctypes.c_double * 4)(), array.array("i", range(4))
    records = crossdock.zeros(10, "[('a', '<i4'), ('b', '<f8')]")
    readonly, no_format, buffer = crossdock.asarray(b"abc"), crossdock.zeros(3, "bfloat16"), Buffer()
    strided = ours[::2, ::-1]

    def asked(thing, flags):
        get(thing, buffer, flags)
        release(buffer)

    def holding_a_view():
        view = memoryview(ours)  # noqa: F841
        raise Refused

    def holding_a_capsule(**_):
        capsule = ours.__dlpack__(max_version=(1, 0))  # noqa: F841
        raise Refused

    def generated():
        with memoryview(ours) as view:
            yield view

    def closed():
        views = generated()
        next(views)
        views.close()

    def round_trips():
        again = ours
        for _ in range(3):
            again = crossdock.from_dlpack(crossdock.asarray(memoryview(again)))

    def out_of_band():
        beside = []
        text = pickle.dumps(strided, 5, buffer_callback=beside.append)
        pickle.loads(text, buffers=beside)

    def without_buffers():
        pickle.loads(pickle.dumps(ours, 5, buffer_callback=lambda buffer: None))

    used = ours.__dlpack__(max_version=(1, 0))
    crossdock.from_dlpack(Producer(lambda **_: used))
    acts = {
        "a buffer, plain": lambda: asked(ours, 0),
        "a buffer, in full": lambda: asked(strided, 0x11C),
        "memoryview(x)": lambda: memoryview(ours),
        "memoryview(x[::2])": lambda: memoryview(ours[::2]),
        "bytes(x)": lambda: bytes(ours),
        "a capsule of old, dropped": lambda: ours.__dlpack__(),
        "a capsule, dropped": lambda: ours.__dlpack__(max_version=(1, 3)),
        "asarray(bytes)": lambda: crossdock.asarray(b"abcdef"),
        "asarray(bytearray)": lambda: crossdock.asarray(growing),
        "asarray(array)": lambda: crossdock.asarray(numbers),
        "asarray(ctypes)": lambda: crossdock.asarray(doubles),
        "asarray(mmap)": lambda: crossdock.asarray(pages),
        "asarray(memoryview)": lambda: crossdock.asarray(memoryview(growing)[::-1]),
        "asarray(list, copy=None)": lambda: crossdock.asarray([1, 2], copy=None),
        "array(list)": lambda: crossdock.array([[1, 2], [3, 4]]),
        "from_address": lambda: crossdock.from_address(ctypes.addressof(doubles), 8, doubles),
        "from_dlpack(x)": lambda: crossdock.from_dlpack(ours),
        "from_dlpack(x, copy=True)": lambda: crossdock.from_dlpack(ours, copy=True),
        "from_dlpack(a producer of old)": lambda: crossdock.from_dlpack(Producer(lambda **_: ours.__dlpack__())),
        "round trips": round_trips,
        "a slice": lambda: ours[1:, ::2],
        "a field": lambda: memoryview(records["b"]),
        "an element": lambda: ours[1, 2],
        "an assignment": lambda: ours.__setitem__((slice(None), 1), 5),
        "an assignment of an array": lambda: ours.__setitem__(slice(None), ours[::-1]),
        "tolist": lambda: ours[:2, :2].tolist(),
        "zeros": lambda: crossdock.zeros(3),
        "a buffer of a Buffer": lambda: memoryview(crossdock.Buffer(b"abc")),
        "an array of a Buffer": lambda: crossdock.asarray(crossdock.Buffer(3))[1:],
        "a comparison": lambda: ours == strided,
        "a copy": lambda: copy.copy(strided),
        "a pickle": lambda: pickle.loads(pickle.dumps(strided, 4)),
        "a pickle, out of band": out_of_band,
        "a pickle without its buffers": lambda: dies(without_buffers),
        "a pickle that is damaged": lambda: dies(lambda: crossdock._rebuild("offset=8", growing)),
        "text": lambda: (repr(ours), ours.flags, ours._repr_html_()),
        "an index out of range": lambda: dies(lambda: ours[11, 0]),
        "a request that is refused": lambda: dies(lambda: asked(strided, 0)),
        "a format that there is not": lambda: dies(lambda: memoryview(no_format)),
        "an object without memory": lambda: dies(lambda: crossdock.asarray(5)),
        "a value that does not fit": lambda: dies(lambda: ours.__setitem__(0, "text")),
        "an export that is refused": lambda: dies(lambda: readonly.__dlpack__()),
        "a producer that raises": lambda: dies(lambda: crossdock.from_dlpack(Producer(lambda **_: [][0]))),
        "a producer that gives no capsule": lambda: dies(lambda: crossdock.from_dlpack(Producer(lambda **_: None))),
        "a producer that gives a used capsule": lambda: dies(lambda: crossdock.from_dlpack(Producer(lambda **_: used))),
        "a producer that dies with its capsule": lambda: dies(lambda: crossdock.from_dlpack(Producer(holding_a_capsule))),
        "a consumer that dies with a view": lambda: dies(holding_a_view),
        "a consumer that dies with a capsule": lambda: dies(holding_a_capsule),
        "a generator that is closed": closed,
    }
    holders = [ours, records, growing, pages, doubles, numbers, readonly, strided, used]
    if peers:
        for more in (of_numpy, of_pyarrow, of_tables, of_interfaces):
            own, held = more(ours, readonly)
            acts |= own
            holders += held
    return acts, holders


def of_numpy(ours, readonly):
    import numpy as np

    theirs, frozen = np.arange(100.0).reshape(10, 10), np.arange(3)
    records, objects = np.zeros(10, [("a", "i4"), ("b", "f8")]), np.array([None])
    frozen.flags.writeable = False
    acts = {
        "np.asarray(x)": lambda: np.asarray(ours),
        "np.frombuffer(x)": lambda: np.frombuffer(ours),
        "np.from_dlpack(x)": lambda: np.from_dlpack(ours),
        "np.from_dlpack(x, copy=True)": lambda: np.from_dlpack(ours, copy=True),
        "np.from_dlpack(read-only)": lambda: np.from_dlpack(readonly),
        "asarray(np)": lambda: crossdock.asarray(theirs),
        "asarray(np, read-only)": lambda: crossdock.asarray(frozen),
        "asarray(np, copied)": lambda: crossdock.asarray(theirs, copy=True),
        "asarray(records)": lambda: crossdock.asarray(records)["b"],
        "from_dlpack(np)": lambda: crossdock.from_dlpack(theirs),
        "from_dlpack(np, copy=True)": lambda: crossdock.from_dlpack(theirs, copy=True),
        "round trip through np": lambda: np.from_dlpack(crossdock.asarray(np.asarray(crossdock.from_dlpack(theirs)))),
        "an assignment of np": lambda: ours.__setitem__(slice(None), theirs),
        "a buffer that is not taken": lambda: dies(lambda: crossdock.asarray(objects)),
    }
    return acts, [theirs, frozen, records, objects]


def of_pyarrow(ours, readonly):
    try:
        import pyarrow as pa
    except ImportError:
        return {}, []
    column = pa.array([1.5, 2.5])
    acts = {
        "pa.py_buffer(x)": lambda: pa.py_buffer(ours),
        "pa.Tensor.from_dlpack(x)": lambda: pa.Tensor.from_dlpack(ours),
        "from_dlpack(pa)": lambda: crossdock.from_dlpack(column),
        "asarray(pa.py_buffer)": lambda: crossdock.asarray(column.buffers()[1]),
    }
    return acts, [column]


class Info(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def memory():
    """The process's resources: blocks of the interpreter, bytes of C's heap, bytes in pages."""
    gc.collect()
    with open("/proc/self/statm") as text:
        resident = int(text.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    info = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if info is None:
        return sys.getallocatedblocks(), 0, resident
    info.restype = Info
    told = info()
    return sys.getallocatedblocks(), told.uordblks + told.hblkhd, resident


class Told:
    """An object with only the dictionary of the array interface."""

    def __init__(self, theirs):
        self.theirs, self.__array_interface__ = theirs, theirs.__array_interface__


class Exporter:
    """PEP 688 in pure Python."""

    memory = bytearray(3)

    def __buffer__(self, flags):
        return memoryview(self.memory)

    def __release_buffer__(self, view):
        view.release()


def of_tables(_, readonly):
    import pyarrow as pa

    theirs = pa.table({"n": pa.chunked_array([[1, None], [3]]), "name": pa.chunked_array([["a", "b"], ["c"]])})
    ours, one = crossdock.table(theirs), crossdock.table({"n": [1, 2]})
    column = ours["name"]
    acts = {
        "table(pa)": lambda: crossdock.table(theirs),
        "column(pa)": lambda: crossdock.column(theirs["name"]),
        "a table's stream, dropped": lambda: ours.__arrow_c_stream__(),
        "a table's device stream, dropped": lambda: ours.__arrow_c_device_stream__(),
        "a table's schema, dropped": lambda: ours.__arrow_c_schema__(),
        "a batch, dropped": lambda: (one.__arrow_c_array__(), one.__arrow_c_device_array__()),
        "a column's stream, dropped": lambda: (column.__arrow_c_stream__(), column.__arrow_c_device_stream__()),
        "pa.table(ours)": lambda: pa.table(ours),
        "pa.chunked_array(ours)": lambda: pa.chunked_array(column),
        "a slice of a table": lambda: pa.table(ours[1:]),
        "a table's stream that is refused": lambda: dies(lambda: ours.__arrow_c_stream__(one.__arrow_c_schema__())),
        "values": lambda: (ours.to_dict(), list(column), column.array() if len(column.chunks()) == 1 else None),
    }
    return acts, [theirs, ours, one, column]


def of_interfaces(_, readonly):
    import ml_dtypes
    import numpy as np
    import pyarrow as pa
    import tvm_ffi

    theirs, extended, ours = np.arange(100.0), np.zeros(3, ml_dtypes.bfloat16), crossdock.zeros((10, 10))
    column, nulls = pa.array([1.5, 2.5]), pa.array([1, None, 3])
    chunks, told, exporter = pa.table({"a": pa.chunked_array([[1], [2]])}), Told(theirs), Exporter()
    lent, echo = crossdock.zeros((10, 10)), tvm_ffi.get_global_func("testing.echo")
    acts = {
        "asarray(np, frozen=True)": lambda: crossdock.asarray(theirs, frozen=True),
        "a column": lambda: pa.array(readonly),
        "columns, dropped": lambda: (readonly.__arrow_c_device_array__(), readonly.__arrow_c_schema__()),
        "asarray(pa)": lambda: crossdock.asarray(column),
        "nulls": lambda: crossdock.from_arrow(nulls, validity=True),
        "a stream": lambda: crossdock.from_arrow(chunks, chunks=True),
        "a column that is refused": lambda: dies(lambda: ours[::2].__arrow_c_array__()),
        "a dictionary": lambda: ours.__array_interface__,
        "a struct": lambda: ours.__array_struct__,
        "asarray(told)": lambda: crossdock.asarray(told),
        "asarray(bfloat16)": lambda: np.asarray(crossdock.asarray(extended)),
        "asarray(pure Python)": lambda: crossdock.asarray(exporter),
        "the exchange API": lambda: echo(lent),
    }
    return acts, [theirs, extended, ours, column, nulls, chunks, told, exporter, lent]
