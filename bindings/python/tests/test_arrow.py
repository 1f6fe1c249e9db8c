"""Arrow's PyCapsule interface, in both directions, with PyArrow, nanoarrow, arro3 and Polars."""

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
    """The address of the values of a PyArrow column."""
    while isinstance(theirs, (pa.FixedSizeListArray, pa.ExtensionArray)):
        theirs = theirs.storage if isinstance(theirs, pa.ExtensionArray) else theirs.values
    return theirs.buffers()[1].address + theirs.offset * (theirs.type.bit_width // 8)


def of(ours):
    return ours.__array_interface__["data"][0]


# ===== exports


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "M8[ns]", "m8[s]"])
def test_columns_go_out_in_place(dtype):
    theirs = np.arange(7).astype(dtype)
    ours = crossdock.asarray(theirs, frozen=True)[2:]
    column = pa.array(ours)
    assert address(column) == theirs[2:].ctypes.data and column.null_count == 0
    assert column.to_numpy(zero_copy_only=False).tolist() == theirs[2:].tolist()
    assert pa.field(ours).type == column.type


@pytest.mark.parametrize("dtype", ["M8[s]", "M8[ms]", "M8[us]", "M8[ns]", "m8[s]", "m8[ms]", "m8[us]", "m8[ns]"])
@pytest.mark.parametrize("shape", [(9,), (3, 3)])
def test_moments_that_are_no_time_are_null_in_arrow_and_nat_in_numpy(dtype, shape):
    theirs = np.arange(9).astype(dtype).reshape(shape)
    theirs.flat[[1, 8]] = "NaT"
    ours = crossdock.asarray(theirs, frozen=True)
    before = crossdock.copied_bytes()
    column = pa.array(ours)
    assert crossdock.copied_bytes() - before == 2, "the bits alone"
    values = column.storage.flatten() if len(shape) > 1 else column
    assert values.null_count == 2 and values.is_null().to_pylist() == np.isnat(theirs).ravel().tolist()
    if len(shape) == 1:
        assert polars.Series(ours).is_null().to_list() == np.isnat(theirs).tolist()
        assert column.to_numpy(zero_copy_only=False).tolist() == theirs.tolist()
        assert crossdock.asarray(polars.Series(ours), copy=None).tolist().count(None) == 2
    back = crossdock.asarray(column)
    assert back.ptr == ours.ptr and np.asarray(back).tolist() == theirs.tolist()
    valid = crossdock.from_arrow(ours, validity=True)[1]
    assert valid.tolist() == (~np.isnat(theirs)).tolist()


def test_moments_in_records_are_null_where_they_are_no_time():
    theirs = np.array([("NaT", 1), ("2020-01-01", 2)], [("t", "M8[s]"), ("x", "f8")])
    column = pa.array(crossdock.to_arrow(crossdock.asarray(theirs, frozen=True), copy=None))
    assert column.null_count == 0 and column.field("t").is_null().to_pylist() == [True, False]
    assert column.field("x").null_count == 0


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
    before = crossdock.copied_bytes()
    column = crossdock.to_arrow(strided, copy=None)
    assert crossdock.copied_bytes() == before
    copied = pa.array(column)
    assert crossdock.copied_bytes() - before == strided.nbytes
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
    # The field of a single record is contiguous.
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
    with pytest.raises(BufferError, match=r"another owner may write the memory.*frozen"):
        ours.__arrow_c_array__()
    frozen = ours.frozen()
    assert frozen.readonly and not ours.readonly and address(pa.array(frozen)) == theirs.ctypes.data
    assert address(pa.array(crossdock.asarray(np.arange(3.0), frozen=True)))
    assert crossdock.asarray(theirs, copy=True, frozen=True).readonly


def test_nobody_writes_while_a_column_is_out():
    ours = crossdock.array([1, 2, 3])
    column = pa.array(ours)
    with pytest.raises(BufferError, match="read lease"):
        ours[0] = 5
    with pytest.raises(BufferError, match="read lease"):
        memoryview(ours)
    del column
    ours[0] = 5
    view = np.asarray(ours)
    with pytest.raises(BufferError, match="share lease"):
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
    with pytest.raises(BufferError, match="released or moved"):
        crossdock.from_arrow(twice)


# ===== imports


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
    assert ours.shape == (2, 3, 4) and (ours == theirs).all() and of(ours) == theirs.ctypes.data
    permuted = crossdock.asarray(pa.array(crossdock.asarray(theirs.transpose(0, 2, 1), frozen=True)))
    assert (permuted == theirs.transpose(0, 2, 1)).all() and permuted.strides == theirs.transpose(0, 2, 1).strides


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


def test_a_reader_without_batches_is_copied_as_a_table_without_rows():
    for types in [{"a": pa.int64(), "b": pa.int64()}, {"a": pa.int64(), "b": pa.float64()}]:
        table = pa.schema(types).empty_table()
        wanted = crossdock.asarray(table, copy=None)
        for copy in [None, True]:
            reader = pa.RecordBatchReader.from_batches(table.schema, [])
            made = crossdock.asarray(reader, copy=copy)
            assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string()}), [])
    with pytest.raises(BufferError):
        crossdock.asarray(reader, copy=None)


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


def test_columns_of_one_name_are_refused_or_told_apart():
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    dotted = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([{"c": 2}])], ["b.c", "b"])
    nameless = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["", ""])
    inside = pa.RecordBatch.from_arrays([pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])], ["s"])
    for batch, names in [
        (twice, ["a", "a"]),
        (dotted, ["b.c", ("b", "c")]),
        (nameless, ["", ""]),
        (inside, [("s", "x"), ("s", "x")]),
    ]:
        for thing in [batch, pa.Table.from_batches([batch])]:
            for validity in [False, True]:
                with pytest.raises(BufferError, match="pairs=True"):
                    crossdock.from_arrow(thing, validity=validity)
            with pytest.raises(BufferError, match="pairs=True"):
                crossdock.from_arrow(thing, chunks=True)
            pairs = crossdock.from_arrow(thing, pairs=True)
            assert [(name, column.tolist()) for name, column in pairs] == list(zip(names, [[1], [2]]))
            (chunk,) = crossdock.from_arrow(thing, pairs=True, chunks=True) if thing is not batch else (pairs,)
            assert [name for name, _ in chunk] == names
            pairs = crossdock.from_arrow(thing, pairs=True, validity=True)
            assert [(name, column.tolist(), valid) for name, (column, valid) in pairs] == [
                (names[0], [1], None),
                (names[1], [2], None),
            ]
    assert crossdock.from_arrow(pa.array([1, 2]), pairs=True).tolist() == [1, 2]
    one = pa.RecordBatch.from_arrays([pa.array([{"c": 2}])], ["b"])
    assert {name: column.tolist() for name, column in crossdock.from_arrow(one).items()} == {"b.c": [2]}


def methods(thing):
    yield lambda wanted: pa.Array._import_from_c_capsule(*thing.__arrow_c_array__(wanted))
    yield lambda wanted: pa.Array._import_from_c_device_capsule(*thing.__arrow_c_device_array__(wanted))
    yield lambda wanted: pa.Array._import_from_c_capsule(*crossdock.to_arrow(thing).__arrow_c_array__(wanted))
    yield lambda wanted: pa.Array._import_from_c_device_capsule(*crossdock.to_arrow(thing).__arrow_c_device_array__(wanted))


def test_a_requested_schema_is_met_or_refused():
    ours = crossdock.array([1, 2, 300])
    for ask in methods(ours):
        assert ask(None).type == ask(pa.int64().__arrow_c_schema__()).type == pa.int64()
        for wanted in [pa.int32(), pa.uint16(), pa.float32(), pa.float64()]:
            made = ask(wanted.__arrow_c_schema__())
            assert made.type == wanted and made.to_pylist() == [1, 2, 300]
        # Numbers that do not fit, and types that the consumer creates itself, are not converted.
        for wanted in [pa.int8(), pa.bool_(), pa.decimal128(5), pa.dictionary(pa.int8(), pa.int64()), pa.run_end_encoded(pa.int32(), pa.int64())]:
            assert ask(wanted.__arrow_c_schema__()).type == pa.int64()
        for wanted in [
            pa.string(), pa.binary(8), pa.list_(pa.int64()), pa.list_(pa.int64(), 2), pa.struct([("a", pa.int64())]),
            pa.timestamp("ns"), pa.duration("s"), pa.time64("ns"), pa.null(), pa.dictionary(pa.int8(), pa.string()),
        ]:  # fmt: skip
            with pytest.raises(BufferError, match="requested schema"):
                ask(wanted.__arrow_c_schema__())
        for junk in [5, "int64", pa.int64(), ours.__arrow_c_array__()[1]]:
            with pytest.raises(TypeError, match="arrow_schema"):
                ask(junk)
        used = pa.int64().__arrow_c_schema__()
        pa.DataType._import_from_c_capsule(used)
        with pytest.raises(BufferError, match="released"):
            ask(used)
    assert pa.array(ours, type=pa.float64()).to_pylist() == [1.0, 2.0, 300.0]


def test_a_requested_schema_is_compared_part_by_part():
    pairs = crossdock.zeros((3, 2), "int16")
    for ask in methods(pairs):
        for wanted in [pa.list_(pa.int64()), pa.large_list(pa.float32()), pa.list_(pa.int16(), 2)]:
            assert len(ask(wanted.__arrow_c_schema__())) == 3
        for wanted in [pa.list_(pa.string()), pa.list_(pa.int16(), 3), pa.list_(pa.list_(pa.int16()))]:
            with pytest.raises(BufferError, match="requested schema"):
                ask(wanted.__arrow_c_schema__())
    records = crossdock.to_arrow(crossdock.zeros(2, "[('a', '<i4'), ('b', '<f8')]"), copy=None)
    a, b = ("a", pa.int32()), ("b", pa.float64())
    for method in [records.__arrow_c_array__, records.__arrow_c_device_array__]:
        for fields in [[a, b], [("a", pa.int64()), b]]:
            assert len(method(pa.struct(fields).__arrow_c_schema__())) == 2
        for fields in [[a], [a, b, b], [b, a], [("a", pa.string()), b], [("x", pa.int32()), b], []]:
            with pytest.raises(BufferError, match="requested schema"):
                method(pa.struct(fields).__arrow_c_schema__())
    moments = crossdock.zeros(2, "M8[ns]").__arrow_c_array__
    for wanted in [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.date32()]:
        assert len(moments(wanted.__arrow_c_schema__())) == 2
    with pytest.raises(BufferError):
        moments(pa.int64().__arrow_c_schema__())


ZONED = pa.array([1, 2], pa.timestamp("ns", "Europe/Paris"))


@pytest.mark.parametrize("take", [
    crossdock.asarray, crossdock.from_arrow, lambda thing: crossdock.asarray(thing, copy=None),
    lambda thing: crossdock.asarray(thing, copy=True), lambda thing: crossdock.asarray(thing, frozen=True),
])  # fmt: skip
def test_what_elements_mean_is_never_dropped(take):
    for thing, word in [
        (ZONED, "time zone"), (pa.chunked_array([ZONED, ZONED]), "time zone"), (pa.table({"a": ZONED}), "time zone"),
        (pa.array([{"a": 1}], pa.struct([("a", pa.timestamp("s", "UTC"))])), "time zone"),
        (polars.Series([1, 2]).cast(polars.Datetime("us", "UTC")), "time zone"),
        (polars.DataFrame({"a": polars.Series([1]).cast(polars.Datetime("us", "Asia/Tokyo"))}), "time zone"),
        (polars.Series(["1.5"]).str.to_decimal(scale=1), "decimal"), (pa.array([1], pa.decimal128(5, 2)), "decimal"),
        (pa.array([1], pa.time64("ns")), "time of day"), (pa.array([1], pa.time32("s")), "view it as int32"),
        (polars.Series([1]).cast(polars.Time), "time of day"),
        (ZONED.dictionary_encode(), "time zone"), (pa.chunked_array([ZONED.dictionary_encode()]), "time zone"),
        (pa.RunEndEncodedArray.from_arrays([1, 2], ZONED), "time zone"),
        (pa.table({"a": ZONED.dictionary_encode()}), "time zone"),
    ]:  # fmt: skip
        with pytest.raises(BufferError, match=word):
            take(thing)
    for thing in [ZONED.cast(pa.timestamp("ns")), polars.Series([1, 2]).cast(polars.Datetime("ns"))]:
        assert crossdock.asarray(thing).dtype == "datetime64[ns]"


def test_nulls_change_no_numbers_in_a_copy():
    big = 2**53 + 1
    for thing in [
        pa.array([big, None]), pa.chunked_array([[big], [None]]), polars.Series([big, None]), pa.table({"a": [big, None]}),
        polars.DataFrame({"a": [big, None], "b": [1, 2]}), pa.array([None, 1], "uint8"),
    ]:  # fmt: skip
        for copy in [None, True]:
            with pytest.raises(BufferError, match="null"):
                crossdock.asarray(thing, copy=copy)
    # The NumPy array does not show whether entries of a dictionary, or runs, are null.
    coded = pa.array([big, None]).dictionary_encode()
    for thing in [coded, pa.chunked_array([coded]), pa.RunEndEncodedArray.from_arrays([2, 3], [big, None])]:
        with pytest.raises(BufferError, match="would be lost"):
            crossdock.asarray(thing, copy=None)
    assert crossdock.asarray(pa.array([big, 2]).dictionary_encode(), copy=None).tolist() == [big, 2]
    # Chunks are concatenated unchanged.
    for thing in [pa.chunked_array([[big], [], [3, 4]]), polars.concat([polars.Series([big]), polars.Series([3, 4])], rechunk=False)]:
        ours = crossdock.asarray(thing, copy=None)
        assert (ours.dtype, ours.tolist(), ours.readonly) == ("int64", [big, 3, 4], False)
    table = pa.Table.from_batches([pa.record_batch({"a": [1], "b": [1.5]}), pa.record_batch({"a": [2], "b": [2.5]})])
    assert crossdock.asarray(table, copy=None).tolist() == [(1, 1.5), (2, 2.5)]
    # Arrow packs booleans into bits; NumPy unpacks them into bytes.
    assert crossdock.asarray(pa.array([True, False]), copy=None).tolist() == [True, False]


class OnDevice:
    """A producer with both methods, which counts the calls."""

    def __init__(self, device=None, host=None):
        self.device, self.host, self.asked = device, host, []

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        self.asked.append("device")
        return self.device()

    def __arrow_c_array__(self, requested_schema=None):
        self.asked.append("host")
        return self.host()


def test_the_method_for_devices_is_asked_first():
    column = pa.array([1, 2, 3])

    def fail():
        raise NotImplementedError("not on this device")

    def interrupt():
        raise KeyboardInterrupt

    copying = OnDevice(column.__arrow_c_device_array__, fail)
    assert crossdock.asarray(copying).ptr == column.buffers()[1].address and copying.asked == ["device"]
    refusing = OnDevice(fail, column.__arrow_c_array__)
    assert crossdock.asarray(refusing).tolist() == [1, 2, 3] and refusing.asked == ["device", "host"]
    with pytest.raises(BufferError, match="not on this device"):
        crossdock.from_arrow(OnDevice(fail, fail))
    with pytest.raises(KeyboardInterrupt):
        crossdock.asarray(OnDevice(interrupt, column.__arrow_c_array__))
    # The array on a device cannot be imported; the other method would copy it.
    bad = OnDevice(pa.array(["a"]).__arrow_c_device_array__, column.__arrow_c_array__)
    with pytest.raises(BufferError):
        crossdock.from_arrow(bad)
    assert bad.asked == ["device"]


def test_owners_of_pythons_are_given_back():
    theirs = np.arange(3)
    before = sys.getrefcount(theirs)
    column = pa.array(crossdock.asarray(theirs, frozen=True))
    assert sys.getrefcount(theirs) > before and column.to_pylist() == [0, 1, 2]
    del column
    gc.collect()
    # PyArrow may release on any thread.
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


class Both:
    """Exports by Arrow, or raises; copies for NumPy."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, requested_schema=None):
        if isinstance(self.column, BaseException):
            raise self.column
        return self.column.__arrow_c_array__()

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2])


class WithoutData:
    """Columns of numbers whose data pointer is null, by an error of the producer."""

    def __init__(self, names):
        self.batch = pa.RecordBatch.from_arrays([pa.array([1])] * len(names), names)

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = self.batch.__arrow_c_array__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        # Five numbers, the buffers, the children.
        struct = ctypes.POINTER(ctypes.c_void_p)
        children = ctypes.cast(ctypes.cast(pointer(array, b"arrow_array"), struct)[6], struct)
        for number in range(len(self.batch.schema)):
            buffers = ctypes.cast(ctypes.cast(children[number], struct)[5], struct)
            buffers[1] = None
        return schema, array


def test_a_copy_is_made_by_another_protocol_where_arrow_cannot_say_the_elements():
    deep = pa.array([1, 2])
    for _ in range(64):
        deep = pa.FixedSizeListArray.from_arrays(deep, 1)
    # Text has no dtype, and this column has one axis more than an array can have.
    for column in (ValueError("not now"), pa.array(["a", "b"]), deep):
        assert crossdock.asarray(Both(column), copy=True).tolist() == [1, 2]
        with pytest.raises(BufferError):
            crossdock.asarray(Both(column), copy=False)
    with pytest.raises(KeyboardInterrupt):
        crossdock.asarray(Both(KeyboardInterrupt()), copy=True)
    with pytest.raises(BufferError, match="two columns are called"):
        crossdock.asarray(Both(WithoutData(["n", "n"])), copy=True)


def test_two_paths_to_one_name_are_named_and_one_path_is_not():
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(BufferError, match=r"two columns are called \"a\", and a dictionary"):
        crossdock.from_arrow(twice)
    dotted = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([{"c": 2}])], ["b.c", "b"])
    with pytest.raises(BufferError, match=r'two columns are called "b.c", from \["b.c"\] and \["b", "c"\]'):
        crossdock.from_arrow(dotted)


def two_batches():
    """A reader of two record batches, which can be read once."""
    schema = pa.schema([("a", pa.int64())])
    batch = pa.record_batch([pa.array([1, 2])], schema=schema)
    return pa.RecordBatchReader.from_batches(schema, [batch, batch])


@pytest.mark.parametrize("copy", [lambda reader: crossdock.asarray(reader, copy=None), crossdock.array])
def test_a_stream_that_can_be_read_once_is_copied_at_the_first_attempt(copy):
    assert copy(two_batches()).tolist() == [[1], [2], [1], [2]]


@pytest.mark.parametrize("attempt", [crossdock.asarray, crossdock.from_arrow])
def test_an_attempt_that_has_read_a_stream_says_so(attempt):
    with pytest.raises(BufferError, match="more than one chunk") as refused:
        attempt(two_batches())
    assert ["The stream has been read by this attempt: open it again for another one."] == refused.value.__notes__
    with pytest.raises(BufferError, match="more than one chunk") as refused:
        attempt(two_batches().read_all())
    assert not hasattr(refused.value, "__notes__")


def test_masks_of_pyarrow_are_applied_to_numpys_array():
    ours, mask = crossdock.array([1.0, 2.0]), np.array([True, False])
    assert pa.array(np.asarray(ours), mask=mask).to_pylist() == [None, 2.0]
    # The documentation warns of this: if it changes, the warning can go.
    assert pa.array(ours, mask=mask).null_count == 0
