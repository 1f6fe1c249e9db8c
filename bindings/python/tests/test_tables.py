"""Tables of other libraries, in place, in both directions."""

import datetime
import gc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crossdock

UTC = datetime.timezone.utc
MOMENTS = [datetime.datetime(2024, 2, 29, 12, 30, tzinfo=UTC), None, datetime.datetime(1969, 12, 31, tzinfo=UTC)]
LONG = "a text of more than twelve bytes"


def rows():
    return pa.table(
        {
            "price": pa.array([1.5, None, 4.0]),
            "count": pa.array([1, 2, 3], pa.int32()),
            "name": pa.array(["one", None, LONG]),
            "view": pa.array([LONG, "short", None], pa.string_view()),
            "when": pa.array(MOMENTS, pa.timestamp("us", tz="UTC")),
            "kind": pa.array(["a", None, "a"]).dictionary_encode(),
            "list": pa.array([[1, 2], None, []], pa.list_(pa.int64())),
            "pair": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}]),
            "ok": pa.array([True, False, None]),
            "none": pa.nulls(3),
        }
    )


def buffers(column):
    """The addresses of a PyArrow column's buffers."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = {buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer is not None and buffer.size}
    return found | {at for chunk in chunks if isinstance(chunk, pa.DictionaryArray) for at in buffers(chunk.dictionary)}


def test_a_table_of_any_library_is_taken_and_given_in_place():
    theirs = rows()
    before = crossdock.copied_bytes()
    ours = crossdock.table(theirs)
    assert (ours.shape, len(ours), ours.column_names) == ((3, 10), 3, theirs.column_names)
    assert ours.schema[:3] == [("price", "float64"), ("count", "int32"), ("name", "string")]
    back = pa.table(ours)
    assert back.equals(theirs) and back.schema.equals(theirs.schema)
    for name in theirs.column_names:
        assert buffers(back[name]) == buffers(theirs[name]), name
    assert crossdock.copied_bytes() == before
    assert ours["count"].array().ptr == theirs["count"].chunk(0).buffers()[1].address
    assert crossdock.table(ours).shape == ours.shape


def test_batches_stay_apart_and_slices_cross_them():
    parts = [pa.record_batch({"x": [1, 2, 3]}), pa.record_batch({"x": [4]}), pa.record_batch({"x": [5, 6]})]
    theirs = pa.Table.from_batches(parts)
    ours = crossdock.table(theirs)
    assert [len(batch) for batch in ours] == [3, 1, 2]
    assert [len(batch) for batch in ours[2:5]] == [1, 1, 1]
    for part in [slice(2, 5), slice(0, 0), slice(6, 6), slice(3, 4), slice(-1, None), slice(None), slice(4, 2)]:
        assert pa.table(ours[part])["x"].to_pylist() == theirs["x"].to_pylist()[part], part
    assert pl.DataFrame(ours)["x"].to_list() == [1, 2, 3, 4, 5, 6] and not hasattr(ours, "__arrow_c_array__")
    assert pa.record_batch(ours[:2]).num_rows == 2
    with pytest.raises(BufferError, match="3 chunks"):
        ours["x"].array()
    assert [chunk.array().tolist() for chunk in ours["x"].chunks()] == [[1, 2, 3], [4], [5, 6]]
    reader = pa.RecordBatchReader.from_batches(theirs.schema, parts)
    assert crossdock.table(reader).shape == (6, 1)
    empty = crossdock.table(theirs.schema.empty_table())
    assert empty.shape == (0, 1) and pa.table(empty).schema == theirs.schema
    with pytest.raises(ValueError, match="steps of 1"):
        ours[::2]


def test_columns_are_selected_and_renamed_in_place():
    ours = crossdock.table(rows())
    some = ours.select(["name", "count"]).rename({"count": "n"})
    assert some.column_names == ["name", "n"] and pa.table(some).column_names == ["name", "n"]
    assert ours[["ok"]].column_names == ["ok"] and ours.select(["ok"]).rename(["fine"]).column_names == ["fine"]
    assert "name" in ours and "names" not in ours and 3 not in ours
    with pytest.raises(KeyError, match='did you mean "name"'):
        ours["nmae"]
    with pytest.raises(TypeError, match="rows by slice"):
        ours[0]
    with pytest.raises(ValueError, match="1 names do not fit 10 columns"):
        ours.rename(["x"])
    twice = crossdock.table(pa.table([[1], [2]], names=["x", "x"]))
    with pytest.raises(KeyError, match="more than one column"):
        twice["x"]
    assert pa.table(twice.rename(["x", "y"]))["y"].to_pylist() == [2]


def test_columns_of_arrays_make_a_table_in_place():
    x, y = np.arange(3.0), crossdock.array([1, 2, 3])
    ours = crossdock.table({"x": x, "y": y, "z": pa.array(["a", None, "b"]), "w": [1, 2, 3]})
    assert (ours["x"].array().ptr, ours["y"].array().ptr) == (x.ctypes.data, y.ptr)
    assert [type for _, type in ours.schema] == ["float64", "int64", "string", "int64"]
    # Other parties can write NumPy's memory, which consumers of Arrow take to be constant.
    with pytest.raises(BufferError, match='column "x"'):
        pa.table(ours)
    assert pa.table(ours.select(["y", "z"]))["y"].chunk(0).buffers()[1].address == y.ptr
    with pytest.raises(ValueError, match="2 elements"):
        crossdock.table({"x": x, "y": [1, 2]})
    with pytest.raises(TypeError, match="neither __arrow_c_stream__ nor"):
        crossdock.table(3)


def test_frames_of_polars_pandas_and_duckdb_go_through_in_place():
    duckdb = pytest.importorskip("duckdb")
    theirs = pl.DataFrame(rows().drop_columns(["none"]))
    before = crossdock.copied_bytes()
    first = crossdock.table(theirs)
    at = first["count"].array().ptr
    assert at == theirs["count"].to_numpy().ctypes.data
    # DuckDB stores vectors of its own: it copies what it reads, and what it returns.
    second = crossdock.table(duckdb.sql("select * from first order by count"))
    assert second.shape == first.shape
    frame = pd.DataFrame.from_arrow(second)
    assert frame["count"].tolist() == [1, 2, 3] and frame["name"][2] == LONG
    last = pa.table(crossdock.table(frame))
    assert last["when"].cast(pa.timestamp("us", tz="UTC")).to_pylist() == MOMENTS
    assert last["list"].to_pylist() == [[1, 2], None, []] and last["kind"].to_pylist() == ["a", None, "a"]
    assert crossdock.copied_bytes() == before
    assert pl.DataFrame(first).equals(theirs)


def test_a_failing_stream_gives_its_message_and_leaks_nothing():
    def batches():
        yield pa.record_batch({"x": np.arange(1000)})
        raise RuntimeError("the disk is gone")

    gc.collect()
    before = pa.total_allocated_bytes()
    reader = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    with pytest.raises(BufferError, match="the disk is gone") as raised:
        crossdock.table(reader)
    assert "has been read" in raised.value.__notes__[0]
    del reader, raised
    gc.collect()
    assert pa.total_allocated_bytes() <= before
    with pytest.raises(BufferError, match="boolean|struct"):
        crossdock.table(pa.array([True]))


def test_capsules_outlive_the_table_and_release_once():
    gc.collect()
    before = pa.total_allocated_bytes()
    ours = crossdock.table(pa.table({"x": pa.array(range(10_000))}))
    capsule = ours[5:].__arrow_c_stream__()
    unused = ours.__arrow_c_stream__(), ours.__arrow_c_schema__(), ours.__arrow_c_array__()
    del ours, unused
    gc.collect()
    assert pa.total_allocated_bytes() > before
    taken = pa.RecordBatchReader._import_from_c_capsule(capsule)
    del capsule
    assert taken.read_all()["x"][0].as_py() == 5
    del taken
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_a_requested_schema_is_answered():
    theirs = rows().select(["count", "name"])
    ours = crossdock.table(theirs)
    wide = pa.schema([("count", pa.int64()), ("name", pa.string())])
    assert pa.table(ours, schema=wide).schema == wide
    with pytest.raises(BufferError, match="are requested of a table with columns"):
        ours.__arrow_c_stream__(pa.schema([("other", pa.int64())]).__arrow_c_schema__())
    with pytest.raises(ValueError, match="arrow_schema"):
        ours.__arrow_c_stream__(3)
