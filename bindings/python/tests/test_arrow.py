"""Arrow's PyCapsule interface, both ways, with PyArrow, nanoarrow, arro3 and Polars on the other side."""

import ctypes
import gc
import sys

import arro3.core
import nanoarrow
import numpy as np
import polars
import pyarrow as pa
import pytest

import crossdock


def address(theirs):
    """Where the values of a column of PyArrow's lie."""
    while isinstance(theirs, (pa.FixedSizeListArray, pa.ExtensionArray)):
        theirs = theirs.storage if isinstance(theirs, pa.ExtensionArray) else theirs.values
    return theirs.buffers()[1].address + theirs.offset * (theirs.type.bit_width // 8)


def of(ours):
    return ours.__array_interface__["data"][0]


# ===== ours to theirs


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "M8[ns]", "m8[s]"])
def test_columns_go_out_in_place(dtype):
    theirs = np.arange(7).astype(dtype)
    ours = crossdock.asarray(theirs, frozen=True)[2:]
    column = pa.array(ours)
    assert address(column) == theirs[2:].ctypes.data and column.null_count == 0
    assert column.to_numpy(zero_copy_only=False).tolist() == theirs[2:].tolist()
    assert pa.field(ours).type == column.type


def test_axes_behind_the_first_are_tensors():
    theirs = np.arange(24.0).reshape(2, 3, 4)
    for view, permutation in [(theirs, None), (theirs.transpose(0, 2, 1), [1, 0])]:
        column = pa.array(crossdock.asarray(view, frozen=True))
        assert isinstance(column.type, pa.FixedShapeTensorType) and len(column) == 2
        assert address(column) == theirs.ctypes.data and column.type.permutation == permutation
        assert column.to_numpy_ndarray().tolist() == view.tolist()


def test_what_does_not_lie_as_columns_do_is_refused_and_told_how_it_would():
    ours = crossdock.asarray(np.asfortranarray(np.arange(6.0).reshape(2, 3)), frozen=True)
    with pytest.raises(BufferError, match=r"axis 0 the slowest.*to_arrow\(x, whole=True\)"):
        ours.__arrow_c_array__()
    whole = pa.array(crossdock.to_arrow(ours, whole=True))
    assert whole.to_numpy_ndarray().tolist() == [ours.tolist()] and address(whole) == of(ours)
    strided = crossdock.asarray(np.arange(6.0), frozen=True)[::2]
    with pytest.raises(BufferError, match=r"strides \[16\]"):
        strided.__arrow_c_array__()
    copied = pa.array(crossdock.to_arrow(strided, copy=None))
    assert copied.to_pylist() == [0, 2, 4] and address(copied) != of(strided)
    with pytest.raises(BufferError, match=r"x\[None\]"):
        crossdock.array(1.0).__arrow_c_array__()
    for dtype in ["c8", ">i4", "U3", "bfloat16"]:
        with pytest.raises(BufferError):
            crossdock.zeros(3, dtype).__arrow_c_array__()


def test_truth_values_are_bytes_and_say_so():
    ours = crossdock.array([True, False, True])
    column = pa.array(ours)
    assert str(column.type) == "extension<arrow.bool8>" and column.to_pylist() == [True, False, True]
    assert crossdock.asarray(column).dtype == "bool"


def test_records_are_columns_of_a_struct_by_a_copy_that_is_permitted():
    ours = crossdock.asarray(np.array([(1, 2.5), (3, 4.5)], np.dtype([("a", "i4"), ("b", "f8")], align=True)), frozen=True)
    with pytest.raises(BufferError):
        pa.array(ours)
    struct = pa.array(crossdock.to_arrow(ours, copy=None, name="both"))
    assert struct.to_pylist() == [{"a": 1, "b": 2.5}, {"a": 3, "b": 4.5}]
    # The field of one record has no neighbour that it would lie apart from.
    assert pa.array(ours[:1]["b"]).to_pylist() == [2.5]


def test_nulls_go_out_by_a_mask():
    column = pa.array(crossdock.to_arrow(crossdock.array([1, 2, 3]), validity=[True, False, True], name="n"))
    assert column.to_pylist() == [1, None, 3] and column.null_count == 1
    assert pa.field(crossdock.to_arrow(crossdock.array([1]), name="n")).name == "n"
    grid = crossdock.to_arrow(crossdock.array([[1, 2], [3, 4]]), validity=np.array([[True, True], [False, True]]))
    assert pa.array(grid).storage.to_pylist() == [[1, 2], [None, 4]]
    with pytest.raises(BufferError, match="shape"):
        crossdock.to_arrow(crossdock.array([1, 2, 3]), validity=[True])
    with pytest.raises(BufferError, match="1-D|shape"):
        crossdock.to_arrow(crossdock.array([1, 2, 3]), validity=[[True, False, True]])


def test_memory_that_others_may_write_is_refused_without_a_word():
    theirs = np.arange(3.0)
    ours = crossdock.asarray(theirs)
    with pytest.raises(BufferError, match=r"another owner that may write it.*frozen"):
        ours.__arrow_c_array__()
    frozen = ours.frozen()
    assert frozen.readonly and not ours.readonly and address(pa.array(frozen)) == theirs.ctypes.data
    assert address(pa.array(crossdock.asarray(np.arange(3.0), frozen=True)))
    assert crossdock.asarray(theirs, copy=True, frozen=True).readonly


def test_nobody_writes_while_a_column_is_out():
    ours = crossdock.array([1, 2, 3])
    column = pa.array(ours)
    with pytest.raises(BufferError, match="Read"):
        ours[0] = 5
    with pytest.raises(BufferError, match="Read"):
        memoryview(ours)
    del column
    ours[0] = 5
    view = np.asarray(ours)
    with pytest.raises(BufferError, match="Share"):
        pa.array(ours)
    del view
    assert pa.array(ours).to_pylist() == [5, 2, 3]


def test_other_libraries_of_arrow_take_it():
    ours = crossdock.array([1.5, 2.5])
    assert nanoarrow.Array(ours).to_pylist() == [1.5, 2.5]
    assert arro3.core.Array.from_arrow(ours).to_pylist() == [1.5, 2.5]
    assert polars.Series(ours).to_list() == [1.5, 2.5]
    grid = crossdock.array([[1, 2], [3, 4]])
    field = arro3.core.Array.from_arrow(grid).field
    assert field.metadata_str["ARROW:extension:name"] == "arrow.fixed_shape_tensor"


def test_devices_are_told_and_unknown_arguments_refused():
    ours = crossdock.array([1, 2, 3])
    for thing in [ours, crossdock.to_arrow(ours)]:
        schema, column = thing.__arrow_c_device_array__(requested_schema=None, later=None)
        assert pa.Array._import_from_c_device_capsule(schema, column).to_pylist() == [1, 2, 3]
        with pytest.raises(NotImplementedError, match="later"):
            thing.__arrow_c_device_array__(later=1)
        with pytest.raises(TypeError):
            thing.__arrow_c_device_array__(None, 5)
    with pytest.raises(TypeError, match="later"):
        ours.__arrow_c_array__(later=None)


def test_what_nobody_takes_is_given_back():
    ours = crossdock.array([1, 2, 3])
    for thing in [ours, crossdock.to_arrow(ours)]:
        for capsules in [thing.__arrow_c_array__(), thing.__arrow_c_device_array__(), thing.__arrow_c_schema__()]:
            del capsules
        ours[0] = 9


def test_a_column_is_taken_once():
    class Twice:
        def __init__(self):
            self.capsules = crossdock.array([1, 2, 3]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.capsules

    twice = Twice()
    assert crossdock.from_arrow(twice).tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match="released, or moved"):
        crossdock.from_arrow(twice)


# ===== theirs to ours


def test_columns_come_in_place_and_keep_their_owner():
    column = pa.array([1.5, 2.5, 3.5])
    ours = crossdock.asarray(column[1:])
    assert ours.tolist() == [2.5, 3.5] and of(ours) == address(column[1:]) and ours.readonly
    assert pa.array(ours).to_pylist() == [2.5, 3.5], "what is constant needs no word"
    before = pa.total_allocated_bytes()
    del column
    assert ours.tolist() == [2.5, 3.5]
    del ours
    gc.collect()
    assert pa.total_allocated_bytes() < before


def test_tensors_come_in_with_their_axes():
    theirs = np.arange(24).reshape(2, 3, 4)
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(theirs)
    ours = crossdock.asarray(column)
    assert ours.shape == (2, 3, 4) and ours == theirs and of(ours) == theirs.ctypes.data
    permuted = crossdock.asarray(pa.array(crossdock.asarray(theirs.transpose(0, 2, 1), frozen=True)))
    assert permuted == theirs.transpose(0, 2, 1) and permuted.strides == theirs.transpose(0, 2, 1).strides


def test_other_libraries_of_arrow_give_theirs():
    assert crossdock.asarray(nanoarrow.Array([1, 2, 3], nanoarrow.int16())).tolist() == [1, 2, 3]
    assert crossdock.asarray(arro3.core.Array([1, 2, 3], arro3.core.DataType.int32())).tolist() == [1, 2, 3]
    series = polars.Series([1.5, 2.5])
    ours = crossdock.asarray(series)
    assert ours.tolist() == [1.5, 2.5] and of(ours) == series.to_numpy(allow_copy=False).ctypes.data
    frame = crossdock.from_arrow(polars.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}))
    assert {name: column.tolist() for name, column in frame.items()} == {"a": [1, 2], "b": [0.5, 1.5]}


def test_nulls_are_refused_or_carried():
    column = pa.array([1, None, 3])
    with pytest.raises(BufferError, match=r"1 of 3 elements are null.*from_arrow\(obj, validity=True\)"):
        crossdock.asarray(column)
    values, valid = crossdock.from_arrow(column, validity=True)
    assert valid.tolist() == [True, False, True] and [values[0], values[2]] == [1, 3]
    assert crossdock.from_arrow(pa.array([1, 2]), validity=True)[1] is None
    back = pa.array(crossdock.to_arrow(values, validity=valid))
    assert back == column and address(back) == address(column)


def test_structs_are_columns_by_name_or_records_by_a_copy():
    batch = pa.record_batch({"a": pa.array([1, 2], pa.int32()), "b": [1.5, None]})
    with pytest.raises(BufferError, match="'?b\"?'?.*null"):
        crossdock.from_arrow(batch)
    columns = crossdock.from_arrow(batch, validity=True)
    assert columns["a"][0].tolist() == [1, 2] and columns["b"][1].tolist() == [True, False]
    whole = pa.record_batch({"a": pa.array([1, 2], pa.int32()), "b": [1.5, 2.5]})
    columns = crossdock.from_arrow(whole)
    assert of(columns["b"]) == address(whole["b"])
    with pytest.raises(BufferError, match=r"from_arrow\(obj\).*asarray\(obj, copy=None\)"):
        crossdock.asarray(whole)
    records = crossdock.asarray(whole, copy=None)
    assert records.tolist() == [(1, 1.5), (2, 2.5)] and "lie apart" in records.copied_because


def test_streams_of_several_chunks_are_lists():
    chunked = pa.chunked_array([[1, 2], [3]])
    with pytest.raises(BufferError, match=r"more than one chunk.*chunks=True"):
        crossdock.asarray(chunked)
    chunks = crossdock.from_arrow(chunked, chunks=True)
    assert [chunk.tolist() for chunk in chunks] == [[1, 2], [3]] and of(chunks[1]) == address(chunked.chunk(1))
    assert crossdock.asarray(pa.chunked_array([[1, 2]])).tolist() == [1, 2]
    table = pa.table({"a": chunked})
    assert [chunk["a"].tolist() for chunk in crossdock.from_arrow(table, chunks=True)] == [[1, 2], [3]]
    assert crossdock.from_arrow(pa.chunked_array([], pa.int8()), chunks=True) == []
    with pytest.raises(BufferError, match="no chunk"):
        crossdock.from_arrow(pa.chunked_array([], pa.int8()))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert len(crossdock.from_arrow(reader, chunks=True)) == 2


def test_streams_that_fail_say_why():
    def batches():
        yield pa.record_batch({"a": [1]})
        raise RuntimeError("the source ran dry")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())
    with pytest.raises(BufferError, match="(?s)get_next of the producer failed.*the source ran dry"):
        crossdock.from_arrow(reader, chunks=True)


def test_what_no_dtype_is_is_refused_by_name():
    for column, word in [
        (pa.array([True, False]), "bit"),
        (pa.array(["a", "bc"]), "u"),
        (pa.array(["a", "a"]).dictionary_encode(), "dictionary"),
        (pa.array([[1], [2, 3]]), "l"),
    ]:
        with pytest.raises(BufferError, match=word):
            crossdock.from_arrow(column)
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        crossdock.from_arrow([1, 2])


def test_producers_may_fail_and_lie():
    class Producer:
        def __init__(self, answer):
            self.answer = answer

        def __arrow_c_array__(self, requested_schema=None):
            return self.answer()

    def fail():
        raise RuntimeError("not today")

    with pytest.raises(BufferError, match="not today"):
        crossdock.asarray(Producer(fail))
    with pytest.raises((TypeError, ValueError), match="capsule"):
        crossdock.from_arrow(Producer(lambda: (1, 2)))
    with pytest.raises(TypeError, match="capsule"):
        crossdock.from_arrow(Producer(lambda: None))

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crossdock.asarray(Producer(interrupt))


def test_owners_of_pythons_are_given_back():
    theirs = np.arange(3)
    before = sys.getrefcount(theirs)
    column = pa.array(crossdock.asarray(theirs, frozen=True))
    assert sys.getrefcount(theirs) > before and column.to_pylist() == [0, 1, 2]
    del column
    gc.collect()
    # PyArrow releases on whichever thread.
    for _ in range(100):
        pass
    assert sys.getrefcount(theirs) == before


def test_capsules_have_their_names():
    name = ctypes.pythonapi.PyCapsule_GetName
    name.argtypes, name.restype = [ctypes.py_object], ctypes.c_char_p
    ours = crossdock.array([1])
    names = [ours.__arrow_c_schema__(), *ours.__arrow_c_array__(), *ours.__arrow_c_device_array__()]
    expected = [b"arrow_schema", b"arrow_schema", b"arrow_array", b"arrow_schema", b"arrow_device_array"]
    assert [name(capsule) for capsule in names] == expected
