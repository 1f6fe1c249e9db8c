"""DLPack's C exchange API: the table on the type, called from C and by tvm_ffi."""

import ctypes
import gc
import sys

import ml_dtypes
import numpy as np
import pytest
import tvm_ffi
from hostile import Tensor

import crossdock


class Managed(ctypes.Structure):
    """`DLManagedTensorVersioned`."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [
    ("version", ctypes.c_uint32 * 2),
    ("context", ctypes.c_void_p),
    ("deleter", DELETER),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
]
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Table(ctypes.Structure):
    """`DLPackExchangeAPI`."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("before", ctypes.c_void_p),
        ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, SET_ERROR)),
        ("lend", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)),
        ("take", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("describe", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
        ("stream", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)),
    ]


@pytest.fixture
def table():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    return Table.from_address(get(crossdock.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def numbers(pointer, rank):
    return [pointer[axis] for axis in range(rank)]


def test_the_table_stands_on_the_type(table):
    assert list(table.version) == [1, 3] and table.before is None
    stream = ctypes.c_void_p(5)
    assert table.stream(1, 0, ctypes.byref(stream)) == 0 and stream.value is None


def test_objects_are_described(table):
    theirs = np.arange(24, dtype="i2").reshape(2, 3, 4)[:, ::-1, ::2]
    ours = crossdock.asarray(theirs)
    tensor = Tensor()
    for _ in range(3):
        assert table.describe(ours, tensor) == 0
        assert (tensor.data, tensor.ndim, tensor.byte_offset) == (theirs.ctypes.data, 3, 0)
        assert (tensor.code, tensor.bits, tensor.lanes, *tensor.device) == (0, 16, 1, 1, 0)
        assert numbers(tensor.shape, 3) == [2, 3, 2] and numbers(tensor.strides, 3) == [12, -4, 2]
    assert ours.exports == 0


def test_what_cannot_be_described_is_refused(table):
    tensor = Tensor()
    with pytest.raises(BufferError, match="read-only"):
        table.describe(crossdock.asarray(b"abc"), tensor)
    with pytest.raises(BufferError):
        table.describe(crossdock.zeros(3, "S3"), tensor)
    with pytest.raises(TypeError, match="of that type alone"):
        table.describe(np.zeros(3), tensor)
    ours = crossdock.zeros(3)
    assert table.describe(ours, tensor) == 0
    column = ours.__arrow_c_array__()
    with pytest.raises(BufferError, match="read lease"):
        table.describe(ours, tensor)
    del column
    assert table.describe(ours, tensor) == 0


def test_objects_are_lent_and_made_of_tensors(table):
    ours = crossdock.asarray(np.arange(6.0).reshape(2, 3))
    managed = ctypes.POINTER(Managed)()
    assert table.lend(ours, ctypes.addressof(managed)) == 0
    assert list(managed.contents.version) == [1, 3] and managed.contents.flags == 0
    made = ctypes.c_void_p()
    assert table.take(ctypes.cast(managed, ctypes.c_void_p), ctypes.addressof(made)) == 0
    back = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(back))
    assert type(back) is crossdock.Array and back == ours and np.shares_memory(np.asarray(back), np.asarray(ours))
    assert table.lend(crossdock.asarray(b"abc"), ctypes.addressof(managed)) == 0
    assert managed.contents.flags == 1
    managed.contents.deleter(managed)
    with pytest.raises(TypeError):
        table.lend(np.zeros(3), ctypes.addressof(managed))
    with pytest.raises(BufferError):
        table.take(None, ctypes.addressof(made))


def test_tensors_are_allocated_after_a_prototype(table):
    said = []
    set_error = SET_ERROR(lambda context, kind, text: said.append((context, kind, text)))
    shape = (ctypes.c_int64 * 2)(3, 4)
    prototype = Tensor(None, (1, 0), 2, 2, 32, 1, shape, None, 0)
    managed = ctypes.POINTER(Managed)()
    assert table.allocate(ctypes.addressof(prototype), ctypes.addressof(managed), None, set_error) == 0
    tensor = managed.contents.tensor
    assert numbers(tensor.shape, 2) == [3, 4] and numbers(tensor.strides, 2) == [4, 1]
    assert bytes((ctypes.c_char * 48).from_address(tensor.data)) == bytes(48) and tensor.data % 64 == 0
    managed.contents.deleter(managed)
    changes = [("lanes", 2), ("device", (8, 0)), ("ndim", -1), ("ndim", -(2**31)), ("ndim", 65), ("shape", None), ("ndim", 0)]
    for change in changes:
        wrong = Tensor.from_buffer_copy(prototype)
        setattr(wrong, *change) if change[0] != "device" else wrong.device.__setitem__(slice(None), change[1])
        answer = table.allocate(ctypes.addressof(wrong), ctypes.addressof(managed), 77, set_error)
        assert answer == (0 if change == ("ndim", 0) else -1), change
        if answer == 0:
            managed.contents.deleter(managed)
    shape[0] = -1
    assert table.allocate(ctypes.addressof(prototype), ctypes.addressof(managed), 77, set_error) == -1
    assert table.allocate(None, ctypes.addressof(managed), 77, set_error) == -1
    assert [b"65" in said[4][2], b"null" in said[5][2], b"-1" in said[2][2]] == [True] * 3
    # With an axis, a missing length is an error; without axes none is needed.
    none = Tensor.from_buffer_copy(prototype)
    none.ndim, none.shape = 0, None
    assert table.allocate(ctypes.addressof(none), ctypes.addressof(managed), None, set_error) == 0
    assert managed.contents.tensor.ndim == 0
    managed.contents.deleter(managed)
    assert len(said) == 8 and all(context == 77 and kind == b"BufferError" and text for context, kind, text in said)


def test_tvm_ffi_takes_arrays_by_it_and_gives_them_back():
    ours = crossdock.array([[1, 2], [3, 4]])
    before = sys.getrefcount(ours)
    back = tvm_ffi.get_global_func("testing.echo")(ours)
    assert type(back) is crossdock.Array and back == ours and np.shares_memory(np.asarray(back), np.asarray(ours))
    del back
    gc.collect()
    assert sys.getrefcount(ours) == before
    column = ours.__arrow_c_array__()
    with pytest.raises(BufferError, match="read lease"):
        tvm_ffi.get_global_func("testing.echo")(ours)
    del column


def test_tvm_ffi_takes_types_that_numpy_has_not():
    theirs = np.array([1.5, 2.5], ml_dtypes.bfloat16)
    tensor = tvm_ffi.from_dlpack(crossdock.asarray(theirs))
    assert str(tensor.dtype) == "bfloat16"
    back = crossdock.asarray(tensor)
    assert back.dtype == "bfloat16" and np.asarray(back).ctypes.data == theirs.ctypes.data
