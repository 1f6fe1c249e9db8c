"""Tables of other libraries, in place, in both directions."""

import datetime
import decimal
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crossdock
from handing.counterparts import need

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


#: Opens a file of Arrow's IPC format in another process, and prints where PyArrow has the buffers.
READER = """
import sys

import pyarrow as pa

import crossdock
from test_tables import buffers

taken = pa.table(crossdock.open(sys.argv[1], frozen=True))
with open("/proc/self/maps") as maps:
    spans = [line.split()[0].split("-") for line in maps if line.rstrip().endswith(sys.argv[1])]
for name in taken.column_names:
    inside = [any(int(low, 16) <= at < int(high, 16) for low, high in spans) for at in buffers(taken[name])]
    print(name, taken[name].to_pylist(), "in the file" if all(inside) else "elsewhere")
print(crossdock.copied_bytes())
"""


def test_a_table_goes_from_polars_to_duckdb_to_pandas_to_a_file_to_pyarrow(tmp_path):
    duckdb = need("duckdb")
    theirs = pl.DataFrame(rows())
    before = crossdock.copied_bytes()
    # Polars makes the dictionary, and the bits of structs, for each export; the others are in place.
    first = crossdock.table(theirs)
    exported, taken = pa.table(theirs), pa.table(first)
    for name in set(theirs.columns) - {"kind", "pair"}:
        assert buffers(exported[name]) == buffers(taken[name]), name
    assert pl.DataFrame(first).equals(theirs)
    # DuckDB copies what it reads and returns, since its vectors have a format of their own.
    relation = duckdb.sql("select * from first order by count").to_arrow_table()
    second = crossdock.table(relation)
    taken = pa.table(second)
    for name in relation.column_names:
        # A bitmap without nulls is left out.
        assert buffers(taken[name]) <= buffers(relation[name]), name
    # pandas keeps text in place, and copies numbers into blocks of NumPy.
    frame = pd.DataFrame.from_arrow(second)
    assert frame["count"].tolist() == [1, 2, 3] and frame["name"][2] == LONG
    third = crossdock.table(frame)
    last = pa.table(third)
    assert buffers(last["name"]) & buffers(taken["name"])
    assert buffers(last["name"]) == buffers(pa.chunked_array(frame["name"].array._pa_array))
    assert last["when"].to_pylist() == MOMENTS and last["kind"].to_pylist() == ["a", None, "a"]
    assert last["list"].to_pylist() == [[1, 2], None, []] and last["pair"].to_pylist() == rows()["pair"].to_pylist()
    path = tmp_path / "table.arrow"
    with pa.ipc.new_file(path, last.schema) as file:
        file.write_table(pa.table(third))
    assert crossdock.copied_bytes() == before
    # In the other process, every column lies in the mapped file.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])}
    run = subprocess.run([sys.executable, "-c", READER, path], capture_output=True, text=True, env=environment)
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and lines.pop() == "0", run.stderr
    assert lines[2] == f"name {['one', None, LONG]} in the file"
    assert len(lines) == 10 and all(line.endswith("in the file") for line in lines), lines


def test_duckdb_finds_tables_by_the_name_of_a_variable():
    duckdb = need("duckdb")
    ours = crossdock.table(rows())
    assert duckdb.sql("select sum(count) from ours where name is not null").fetchall() == [(4,)]
    # Any number of times, also twice in one query.
    twice = duckdb.sql("select a.name from ours a join ours b on a.count = b.count order by a.count")
    assert crossdock.table(twice).to_dict() == {"name": ["one", None, LONG]}
    connection = duckdb.connect()
    connection.register("registered", ours[1:])
    assert connection.execute("select count(*) from registered").fetchone() == (2,)
    with pytest.raises(TypeError, match=r"DuckDBPyConnection.*its .*\(\) gives a table"):
        crossdock.table(connection.execute("select 1"))
    kinds = duckdb.sql("select {'a': 1} s, [1, null] l, map{'k': 1} m, 'a'::enum('a', 'b') e, interval 3 day i, null n")
    assert crossdock.table(kinds).to_dict() == {"s": [{"a": 1}], "l": [[1, None]], "m": [[("k", 1)]], "e": ["a"], "i": [(0, 3, 0)], "n": [None]}


def test_queries_of_polars_name_the_call_that_runs_them():
    with pytest.raises(TypeError, match=r"LazyFrame.*its collect\(\) gives a table"):
        crossdock.table(pl.LazyFrame({"a": [1]}))


def test_small_libraries_take_and_give_tables_in_place():
    arro3, nanoarrow = need("arro3.core"), need("nanoarrow")
    theirs = rows()
    ours, before = crossdock.table(theirs), crossdock.copied_bytes()
    for there in (arro3.Table.from_arrow(ours), nanoarrow.ArrayStream(ours)):
        taken = pa.table(crossdock.table(there))
        assert taken.equals(theirs)
        for name in theirs.column_names:
            assert buffers(taken[name]) == buffers(theirs[name]), name
    for there in (arro3.Array.from_arrow(ours["name"]), nanoarrow.Array(ours["name"])):
        back = pa.array(crossdock.column(there))
        assert buffers(back) == buffers(theirs["name"]) and back.to_pylist() == ["one", None, LONG]
    assert crossdock.copied_bytes() == before


def test_xarray_and_ibis_take_columns_and_tables():
    xarray = need("xarray")
    numbers = crossdock.column(crossdock.array([1.5, 2.5]))
    assert xarray.DataArray(numbers).values.ctypes.data == numbers.array().ptr
    data = xarray.Dataset({"x": ("row", crossdock.column([1, 2])), "name": ("row", crossdock.column(["a", "b"]))})
    assert crossdock.table(data.to_dataframe().reset_index()).to_dict() == {"row": [0, 1], "x": [1, 2], "name": ["a", "b"]}
    ibis = pytest.importorskip("ibis")
    query = ibis.memtable(crossdock.table({"n": [1, 2, 3], "name": ["a", None, "c"]})).filter(ibis._.n > 1)
    assert crossdock.table(query).to_dict() == {"n": [2, 3], "name": [None, "c"]}


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


def test_elements_are_the_values_that_python_has():
    theirs = rows()
    ours = crossdock.table(theirs)
    assert ours.to_dict() == theirs.to_pydict()
    for name in theirs.column_names:
        column = ours[name]
        assert [column[k] for k in range(3)] == list(column) == theirs[name].to_pylist(), name
        assert column.null_count == theirs[name].null_count
    assert ours["when"][0].utcoffset() == datetime.timedelta(0) and ours["name"][-1] == LONG
    with pytest.raises(IndexError, match="index 3 is out of bounds for a column of 3"):
        ours["name"][3]
    with pytest.raises(TypeError, match="integers and slices"):
        ours["name"]["x"]


def test_values_of_every_kind_are_those_of_pyarrow():
    import decimal

    maps = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32()))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", None]))
    columns = [
        pa.array([datetime.date(2024, 2, 29), None]),
        pa.array([datetime.date(2024, 2, 29)], pa.date64()),
        pa.array([datetime.time(23, 59, 58, 7)]),
        pa.array([61], pa.time32("s")),
        pa.array([datetime.timedelta(days=-1, microseconds=1)]),
        pa.array([1_700_000_000_000_001_000, -1_000], pa.timestamp("ns")),
        pa.array([0, 1_720_000_000], pa.timestamp("s", tz="Europe/Berlin")),
        pa.array([0], pa.timestamp("ms", tz="-03:30")),
        pa.array([decimal.Decimal("-12.50"), None]),
        pa.array([decimal.Decimal(2**200)], pa.decimal256(76, 2)),
        pa.array([b"\x00\xff", None]),
        pa.array([b"abc"], pa.binary(3)),
        pa.array([[[1], None], None], pa.list_(pa.list_(pa.int8()))),
        pa.array([[1, 2], None], pa.list_(pa.int32(), 2)),
        pa.array([{"d": [{"t": datetime.time(1)}]}]),
        maps,
        runs,
        pa.array([True, None, False]),
        pa.array([1.5], pa.float16()),
    ]
    for theirs in columns:
        ours = crossdock.column(theirs)
        assert ours.type == str(theirs.type).replace("halffloat", "float16"), theirs.type
        assert ours.to_list() == theirs.to_pylist(), theirs.type
        zones = [getattr(value, "utcoffset", lambda: None)() for value in ours]
        assert zones == [getattr(value, "utcoffset", lambda: None)() for value in theirs.to_pylist()]


def test_nulls_are_told_apart_and_filled():
    ours = crossdock.table(rows())
    with pytest.raises(BufferError, match=r"1 of 3 elements are null.*fill_nulls.*mask\(\)"):
        ours["price"].array()
    assert ours["price"].mask().tolist() == [True, False, True]
    filled = ours["price"].fill_nulls(0)
    assert filled.array().tolist() == [1.5, 0.0, 4.0] and filled.null_count == 0
    assert ours["when"].fill_nulls(datetime.datetime(2000, 1, 1))[1].year == 2000
    days = crossdock.column(pa.array([0, None], pa.date64()))
    assert days.fill_nulls(datetime.date(2020, 1, 1)).to_list()[1] == datetime.date(2020, 1, 1)
    with pytest.raises(ValueError, match="1577854800000 ms are no whole days"):
        days.fill_nulls(datetime.datetime(2020, 1, 1, 5))
    for unit, units in ("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9):
        times = crossdock.column(pa.array([datetime.time(1), None]).cast(pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)))
        assert times.fill_nulls(86_400 * units - 1)[1] is not None
        for count in -1, 86_400 * units:
            with pytest.raises(ValueError, match=f"{count} is no time of day"):
                times.fill_nulls(count)
    with pytest.raises(TypeError, match="string"):
        ours["name"].array()
    assert crossdock.table({"x": [1, 2], "y": [0.5, 1.5]}).to_records().tolist() == [(1, 0.5), (2, 1.5)]
    parts = pa.Table.from_batches([pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [3]})])
    assert crossdock.table(parts).to_records().tolist() == [(1,), (2,), (3,)]
    with pytest.raises(BufferError, match='elements of column "price" are null'):
        ours.select(["price"]).to_records()


def test_lists_of_values_make_columns():
    for values in [["a", None, "€" * 9], [1, None], [None, 1.5], [True, None, False] * 5, [None], [], [datetime.timedelta(1), None], ("x",)]:
        ours = crossdock.column(values)
        assert ours.to_list() == list(values) and pa.array(ours).to_pylist() == list(values)
    assert pl.DataFrame(crossdock.table({"name": ["a", None], "ok": [True, None]})).rows() == [("a", True), (None, None)]
    with pytest.raises(TypeError):
        crossdock.column(["a", 1])


def test_tables_and_columns_are_shown_as_people_expect():
    ours = crossdock.table({"name": ["one", None, LONG * 2], "n": [1, 2, 3]})
    lines = repr(ours).split("\n")
    assert lines[0].split() == ["name", "n"] and lines[2].split() == ["1", "None", "2"]
    assert lines[3].endswith("...  3") and lines[-1] == "[3 rows x 2 columns]"
    wide = crossdock.table({str(k): list(range(100)) for k in range(20)})
    assert len(repr(wide).split("\n")) == 14 and "..." in repr(wide) and repr(wide).endswith("[100 rows x 20 columns]")
    quoted = crossdock.table({"q": pa.array([["it's"], ["a\tb\n"]])})
    assert "[\"it's\"]" in repr(quoted) and "['a\\tb\\n']" in repr(quoted)
    assert "a\\tb" in repr(crossdock.table({"t": ["a\tb"]}))
    assert repr(ours["name"][:2]) == "Column(\"name\", string, 2 elements)\n['one', None]"
    broken = crossdock.column(pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]))
    assert "several fields" in repr(broken)


def test_tables_are_used_and_dropped_on_any_thread():
    import concurrent.futures

    gc.collect()
    before = pa.total_allocated_bytes()
    ours = crossdock.table(pa.table({"x": pa.array(range(5000)), "name": pa.array(["a"] * 5000)}))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda k: pa.table(ours[k : k + 100]), range(0, 1000, 100)))
        sums = list(pool.map(lambda part: sum(crossdock.table(part)["x"]), parts))
    assert sums == [sum(range(k, k + 100)) for k in range(0, 1000, 100)]
    pool = concurrent.futures.ThreadPoolExecutor(1)
    owned = [ours]
    del ours, parts
    pool.submit(owned.clear).result()
    pool.shutdown()
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_an_array_of_a_table_with_text_names_the_column_and_what_takes_it():
    for theirs in [rows().select(["count", "name"]), pl.DataFrame({"count": [1], "name": ["a"]})]:
        for call in [crossdock.asarray, crossdock.array, crossdock.from_arrow]:
            with pytest.raises(BufferError, match=r'column "name".*crossdock\.table\(obj\)'):
                call(theirs)
    with pytest.raises(BufferError, match=r"crossdock\.column\(obj\)"):
        crossdock.asarray(pa.array(["a"]))


def test_columns_in_chunks_are_taken_in_place():
    theirs = pa.chunked_array([["a", None], [LONG]])
    ours = crossdock.column(theirs)
    assert (ours.to_list(), ours.type, len(ours.chunks()), ours[2]) == (["a", None, LONG], "string", 2, LONG)
    assert {at for chunk in ours.chunks() for at in buffers(pa.array(chunk))} == buffers(theirs)
    series = pl.Series("n", [1, 2, 3])
    assert crossdock.column(series).array().ptr == series.to_numpy().ctypes.data and crossdock.column(series).name == "n"
    assert crossdock.column(pd.Series(["x", None], dtype="str")).to_list() == ["x", None]


def test_numpy_takes_columns_in_place_and_tables_never():
    theirs = pa.table({"a": [1.5, 2.5], "n": [1, None], "s": ["x", "y"], "d": pa.array(["a", "a"]).dictionary_encode()})
    ours = crossdock.table(theirs)
    taken = np.asarray(ours["a"])
    assert (taken.dtype, taken.tolist()) == (np.dtype("f8"), [1.5, 2.5])
    assert taken.ctypes.data == theirs["a"].chunk(0).buffers()[1].address
    assert np.array(ours["a"], copy=False).ctypes.data == taken.ctypes.data != np.array(ours["a"]).ctypes.data
    assert np.asarray(ours["a"], "f4").tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="copy=False"):
        np.array(ours["a"], "f4", copy=False)
    two = crossdock.column(pa.chunked_array([[1], [2, 3]]))
    assert np.asarray(two).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"2 chunks.*copy=False.*chunks\(\)"):
        np.array(two, copy=False)
    pairs = pa.array([[1, None], [3, 4]], pa.list_(pa.int32(), 2))
    for nulls in [ours["n"], crossdock.column(pairs)]:
        with pytest.raises(TypeError, match=r"1 nulls.*fill_nulls.*mask\(\).*to_list\(\)"):
            np.asarray(nulls)
    for call in [np.asarray, pd.DataFrame]:
        with pytest.raises(TypeError, match=r"to_records\(\).*pandas\.DataFrame\.from_arrow\(t\)"):
            call(ours)


def test_columns_are_found_in_wide_tables():
    names = [f"c{number}" for number in range(20_000)]
    wide = crossdock.table(pa.table([pa.array([number]) for number in range(len(names))], names=names))
    assert [wide[name][0] for name in names] == list(range(len(names)))
    assert wide.select(names[::-1]).column_names == names[::-1]
    assert wide.rename({name: name.upper() for name in names}).column_names[-1] == "C19999"
    assert wide.to_dict()["c19999"] == [19_999] and "c19999" in wide and "c20000" not in wide
    twice = wide.rename(["x", "x", *names[2:]])
    assert "x" in twice and twice["c2"][0] == 2
    with pytest.raises(KeyError, match="more than one"):
        twice["x"]


def test_tables_and_columns_are_equal_to_themselves_alone():
    table = crossdock.table({"a": [1, 2]})
    column = table["a"]
    assert table == table and column == column and not column != column
    assert column is not None and column != None and table != object()  # noqa: E711
    for other in [1, "a", [1, 2], (1, 2), crossdock.array([1, 2]), table["a"], pa.array([1, 2]), table]:
        with pytest.raises(TypeError, match=r"np\.asarray\(x\) == y.*to_list\(\) == y"):
            column == other
        with pytest.raises(TypeError, match="!="):
            column != other
    for other in [crossdock.table({"a": [1, 2]}), {"a": [1, 2]}, pa.table({"a": [1, 2]})]:
        with pytest.raises(TypeError, match=r"to_dict\(\) == y"):
            table == other
    assert (np.array([1, 3]) == column).tolist() == (column == np.array([1, 3])).tolist() == [True, False]
    for object_ in [table, column]:
        with pytest.raises(TypeError, match="unhashable"):
            hash(object_)


def test_iteration_converts_a_block_at_a_time():
    count = 5000
    offsets = pa.py_buffer(np.arange(count + 1, dtype="i4"))
    # The last element is no UTF-8.
    text = pa.StringArray.from_buffers(count, offsets, pa.py_buffer(b"a" * (count - 1) + b"\xff"))
    ours = crossdock.column(text)
    assert next(iter(ours)) == "a" and "a" in ours
    with pytest.raises(ValueError, match="UTF-8"):
        list(ours)
    parts = crossdock.column(pa.chunked_array([list(range(1500)), [], list(range(1500, count))]))
    assert list(parts) == parts.to_list() == list(range(count))
    assert list(parts[:0]) == [] and 4999 in parts and 5000 not in parts


def test_tables_without_rows_have_the_types_of_their_columns():
    full = pa.table({"id": [1 << 60, 2], "v": [1.0, 2.0]})
    records = np.dtype([("id", "<i8"), ("v", "<f8")])
    none = pa.array([], pa.int64())
    for empty in [
        full.filter(pa.array([False, False])),
        pa.table({"id": pa.chunked_array([], pa.int64()), "v": pa.chunked_array([], pa.float64())}),
        full.to_pandas()[:0],
        full.to_pandas().set_index("id", drop=False)[:0],
        pl.from_arrow(full)[:0],
    ]:
        copy = np.asarray(crossdock.asarray(empty, copy=None))
        assert copy.shape == (0,) and copy.dtype == records, type(empty)
        rows = crossdock.table(empty).to_records()
        assert rows.shape[:1] == (0,) and rows.dtype["v"] == "float64" and rows.dtype["id"] == "int64"
    # One type for all columns: a matrix, as with rows.
    one = pa.table({"a": pa.chunked_array([none]), "b": none})
    assert np.asarray(crossdock.asarray(one.slice(0, 0), copy=None)).shape == (0, 2)
    with pytest.raises(BufferError, match="several types"):
        crossdock.asarray(full.to_pandas()[:0])
    assert np.asarray(crossdock.asarray(full.to_pandas()[["v"]][:0])).shape == (0, 1)


def test_records_are_one_for_each_row_whatever_the_columns():
    pairs, triples = (pa.FixedSizeListArray.from_arrays(pa.array(range(3 * n)), n) for n in (2, 3))
    pair, triple = ("p", "<i8", (2,)), ("t", "<i8", (3,))
    for columns, dtype in [
        ({"p": pairs}, [pair]),
        ({"p": pairs, "id": [1, 2, 3]}, [pair, ("id", "<i8")]),
        ({"p": pairs, "t": triples}, [pair, triple]),
    ]:
        rows = crossdock.table(columns).to_records()
        assert rows.shape == (3,) and np.asarray(rows).dtype == np.dtype(dtype)
        assert rows.tolist() == crossdock.asarray(pa.table(columns), copy=None).tolist()


def test_records_keep_the_axes_of_tensors_and_structs():
    theirs = np.arange(28, dtype="i2").view([("x", "<i2", (2, 3)), ("k", "<i4"), ("s", [("a", "<i2"), ("b", "<i2", (5,))])])
    table = pa.table(crossdock.to_arrow(theirs, copy=None))
    for rows in [table, table.slice(1)]:
        ours = np.asarray(crossdock.table(rows).to_records())
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs[len(theirs) - len(rows) :].tobytes()
    holed = pa.table({"s": pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())]))})
    with pytest.raises(BufferError, match='1 of 2 elements of column "s" are null'):
        crossdock.table(holed).to_records()
    holed = pa.table({"s": pa.array([{"a": 1}, {"a": None}], pa.struct([("a", pa.int8())]))})
    with pytest.raises(BufferError, match='1 of 2 elements of column "a" are null'):
        crossdock.table(holed).to_records()


def test_arrays_and_records_refuse_nulls_inside_lists_of_a_fixed_size():
    pairs = pa.list_(pa.int32(), 2)
    ours = crossdock.column(pa.array([[1, 2], [None, 4]], pairs))
    with pytest.raises(BufferError, match=r"1 of 4 elements of its lists are null.*to_list\(\)"):
        ours.array()
    assert ours[:1].array().tolist() == [[1, 2]] and ours.to_list() == [[1, 2], [None, 4]]
    with pytest.raises(BufferError, match='column "x".*1 of 4 elements of its lists'):
        crossdock.table(pa.table({"x": pa.array([[1, 2], [None, 4]], pairs)})).to_records()
    nested = pa.array([[[1, 2]], [[3, None]]], pa.list_(pairs, 1))
    with pytest.raises(BufferError, match="1 of 4 elements"):
        crossdock.column(nested).array()


@pytest.mark.parametrize("ty", [pa.decimal32(9, 2), pa.decimal64(9, 2), pa.decimal128(9, 2), pa.list_(pa.decimal64(9, 2), 1)])
def test_decimals_are_values_but_no_arrays(ty):
    import decimal

    price = decimal.Decimal("1.50")
    theirs = pa.array([[price] if pa.types.is_fixed_size_list(ty) else price], ty)
    ours = crossdock.column(theirs)
    with pytest.raises(TypeError, match=r"scale.*decimal.*cast.*to_list\(\)"):
        ours.array()
    with pytest.raises(TypeError, match='column "x".*scale'):
        crossdock.table(pa.table({"x": theirs})).to_records()
    assert ours.to_list() == theirs.to_pylist()
    if not pa.types.is_fixed_size_list(ty):
        with pytest.raises(TypeError, match="cannot be filled"):
            crossdock.column(pa.array([None, price], ty)).fill_nulls(5)


def test_decimals_of_an_absurd_scale_are_refused():
    def scaled(scale):
        return pa.Array.from_buffers(pa.decimal128(9, scale), 1, [None, pa.py_buffer(bytes([1] + [0] * 15))])

    for scale in (2_000_000_000, -1001):
        with pytest.raises(BufferError, match=f"scale of 1000 at most.*{scale}"):
            crossdock.column(scaled(scale))
    assert crossdock.column(scaled(1000)).to_list()[0].adjusted() == -1000


def test_bytes_of_a_list_keep_their_zeros():
    values = [b"a\0", None, b"abc", b"\0", b""]
    ours = crossdock.column(values)
    assert ours.to_list() == values and ours.type == "binary"
    assert pa.array(ours).to_pylist() == values
    with pytest.raises(TypeError):
        crossdock.column([b"a", "b"])


@pytest.mark.parametrize("dtype", ["M8[ns]", "M8[us]", "M8[s]", "m8[ns]", "m8[ms]"])
def test_dates_that_are_not_a_time_are_null(dtype):
    values = np.array([1000, "NaT", 3000], dtype)
    for made in (values, crossdock.array(values)):
        ours = crossdock.column(made)
        assert ours.null_count == 1 and ours.mask().tolist() == [True, False, True]
        assert [value is None for value in ours.to_list()] == [False, True, False] and ours[1] is None
        with pytest.raises(BufferError, match="1 of 3"):
            ours.array()
        assert ours[2:].null_count == 0 and ours[2:].array().tolist() == crossdock.asarray(values[2:]).tolist()
    theirs = pa.array(crossdock.column(crossdock.array(values)))
    assert theirs.null_count == 1 and theirs.equals(pa.array(values))
    assert crossdock.column(values[:1]).array().ptr == values.ctypes.data
    swapped = crossdock.column(values.astype(values.dtype.newbyteorder()))
    assert swapped.null_count == 1 and swapped.to_list()[1] is None
    least = pa.Array.from_buffers(pa.timestamp("ns"), 1, [None, pa.py_buffer(np.array([-(2**63)]))])
    assert crossdock.column(least).to_list() == [None]


def test_dates_of_a_list_are_days_of_arrow():
    day, moment = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12)
    for values, ty in [
        ([day, None, datetime.date(1, 1, 1), datetime.date.max], pa.date32()),
        ([None, moment], pa.timestamp("us")),
    ]:
        ours = crossdock.column(values)
        assert ours.to_list() == values and pa.array(ours).equals(pa.array(values, ty))
    assert pa.table(crossdock.table({"day": [day]})).to_pylist() == [{"day": day}]
    assert crossdock.column([np.datetime64("2020-01-01"), np.datetime64("NaT", "D"), None]).to_list() == [day, None, None]
    with pytest.raises(OverflowError, match="32 bits"):
        crossdock.column([np.datetime64(2**40, "D")])


@pytest.mark.parametrize("ends", [[4, 2, 5], [0, 3, 5], [-1, 3, 5], [2, 2, 5]])
def test_run_ends_that_do_not_increase_give_an_error_and_no_values(ends):
    # PyArrow checks them when it makes the array, and not later.
    memory = np.array([1, 3, 5], np.int32)
    shared = pa.Array.from_buffers(pa.int32(), 3, [None, pa.py_buffer(memory)])
    theirs = pa.RunEndEncodedArray.from_arrays(shared, pa.array(["a", "b", "c"]))
    memory[:] = ends
    ours = crossdock.column(theirs)
    for read in (ours.to_list, lambda: ours[0], lambda: ours[4], ours[2:].to_list):
        with pytest.raises(ValueError, match="a run ends at element"):
            read()
    assert "a run ends" in repr(ours)


def test_structs_with_a_repeated_name_are_no_dicts():
    theirs = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(ValueError, match='several fields "x"'):
        crossdock.column(theirs).to_list()
    same = pa.map_(pa.field("x", pa.string(), nullable=False), pa.field("x", pa.int32()))
    assert crossdock.column(pa.array([[("a", 1)]], same)).to_list() == [[("a", 1)]]
    parts = [pa.array([{"p": 1, "q": 2}]), pa.array(["a"])]
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), parts[:1], ["u"])
    assert crossdock.column(union).to_list() == [{"p": 1, "q": 2}]


def test_columns_in_chunks_are_given_in_place():
    gc.collect()
    allocated = pa.total_allocated_bytes()
    theirs = pa.chunked_array([["a", None], [LONG]])
    ours = crossdock.column(theirs)
    before = crossdock.copied_bytes()
    back = pa.chunked_array(ours)
    assert back.equals(theirs) and back.num_chunks == 2 and buffers(back) == buffers(theirs)
    assert pa.chunked_array(ours[1:]).to_pylist() == [None, LONG]
    assert crossdock.copied_bytes() == before
    assert pl.Series(ours).to_list() == ["a", None, LONG]
    table = crossdock.table(pa.table({"n": pa.chunked_array([[1], [], [2, None]])}))
    assert pl.Series(table["n"]).to_list() == [1, 2, None]
    unread = ours.__arrow_c_stream__()
    del theirs, ours, back, table
    assert pa.chunked_array(Capsule(unread)).to_pylist() == ["a", None, LONG]
    del unread
    gc.collect()
    assert pa.total_allocated_bytes() == allocated


class Capsule:
    def __init__(self, stream):
        self.stream = stream

    def __arrow_c_stream__(self, requested_schema=None):
        return self.stream


def counted(call):
    before = crossdock.copied_bytes()
    return call(), crossdock.copied_bytes() - before


def test_numpy_and_pandas_take_what_numpy_has_in_another_form_by_a_counted_copy():
    day = datetime.date(2024, 2, 29)
    times = pa.array([1, None, 3], pa.timestamp("ns", tz="UTC"))
    cases = [
        (pa.array(["one", None, LONG]), "O", 24),
        (pa.array([LONG, "", "x"], pa.string_view()), "O", 24),
        (pa.array([[1, 2], [3, 4], None]), "O", 24 + 32),
        (pa.array([{"x": 1}, None, {"x": None}]), "O", 24),
        (pa.array([datetime.time(1), None, datetime.time(2)]), "O", 24),
        (pa.array(["a", None, "a"]).dictionary_encode(), "O", 24),
        (pa.array([True, False, True, True])[1:], "?", 3),
        (pa.array([day, None, day]), "M8[D]", 27),
        (pa.array([2.5, 1.5, 2.5]).dictionary_encode(), "f8", 24),
        (times, "M8[ns]", 27),
    ]
    for theirs, dtype, nbytes in cases:
        ours = crossdock.column(theirs)
        taken, copied = counted(lambda ours=ours: np.asarray(ours))
        assert (taken.dtype, taken.shape, copied) == (np.dtype(dtype), (3,), nbytes), theirs.type
        expected = theirs.to_pylist() if dtype in ("O", "?", "f8") else list(theirs.cast(pa.timestamp("ns") if theirs is times else theirs.type).to_numpy(zero_copy_only=False))
        same = [one is other or one == other or (np.isnat(one) and np.isnat(other)) for one, other in zip(taken.tolist() if dtype == "O" else taken, expected, strict=True)]
        assert all(same), theirs.type
        assert np.asarray(crossdock.column(pa.chunked_array([theirs, theirs[:1]]))).shape == (4,)
        assert np.asarray(crossdock.column(pa.chunked_array([], theirs.type))).shape == (0,)
        with pytest.raises(ValueError, match=r"by a copy, and copy=False forbids one; .*to_list"):
            np.array(ours, copy=False)
        assert np.asarray(ours, dtype=object).tolist() == ours.to_list()
    text = pd.Series(crossdock.column(["one", None, LONG]))
    assert text.tolist()[::2] == ["one", LONG] and text.isna().tolist() == [False, True, False]
    frame = pd.DataFrame({"text": crossdock.column(["a", "b"]), "n": crossdock.column([1, 2])})
    assert frame.to_dict("list") == {"text": ["a", "b"], "n": [1, 2]} and frame["n"].dtype == "int64"
    numbers = crossdock.column([1, None])
    with pytest.raises(TypeError, match="1 nulls are in 2 elements.*dtype=object"):
        np.asarray(numbers)
    assert np.asarray(numbers, dtype=object).tolist() == [1, None]
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, -1], pa.int8()), pa.array([1, 2]), safe=False)
    with pytest.raises(IndexError, match="-1"):
        np.asarray(crossdock.column(wrong))


def test_nulls_outside_of_a_slice_do_not_count():
    pairs = crossdock.column(pa.array([[1, 2], [None, 4], [5, 6]], pa.list_(pa.int32(), 2)))
    assert np.asarray(pairs[:1]).tolist() == [[1, 2]] and np.asarray(pairs[2:]).tolist() == [[5, 6]]
    with pytest.raises(TypeError, match="1 nulls"):
        np.asarray(pairs[1:])


def test_nanoseconds_that_python_lacks_are_scalars_of_numpy():
    moments = [1_700_000_000_000_000_001, 1_000, None]
    for zone in [None, "UTC", "Europe/Berlin"]:
        values = crossdock.column(pa.array(moments, pa.timestamp("ns", tz=zone))).to_list()
        assert values[0] == np.datetime64(moments[0], "ns") and isinstance(values[1], datetime.datetime)
        assert pd.Timestamp(values[0]).value == moments[0] and values[2] is None
    for ty in [pa.duration("ns"), pa.time64("ns")]:
        assert crossdock.column(pa.array([5], ty))[0] == np.timedelta64(5, "ns")


def test_days_of_numpy_become_those_of_arrow_by_a_counted_copy():
    days = np.array(["2024-02-29", "NaT", "0001-01-01"], "M8[D]")
    for made in [days, crossdock.array(days)]:
        ours, copied = counted(lambda made=made: crossdock.column(made))
        assert ours.type == "date32[day]" and copied >= 12
        assert pa.array(ours).equals(pa.array(days.astype(object), pa.date32()))
        back = np.asarray(ours)
        assert back.dtype == days.dtype and (np.isnat(back) | (back == days)).all()
    assert pa.table(crossdock.table({"day": days}))["day"].to_pylist()[0] == datetime.date(2024, 2, 29)
    with pytest.raises(OverflowError, match="32 bits"):
        crossdock.column(np.array([2**40], "M8[D]"))


def test_booleans_of_a_bit_each_name_the_copy():
    with pytest.raises(TypeError, match=r"np\.asarray\(x\) has a byte for each bit"):
        crossdock.column(pa.array([True])).array()


def test_columns_in_several_chunks_make_batches():
    x, y = pa.chunked_array([[1, 2], [], [3]]), pa.chunked_array([["a"], ["b", None]])
    ours, copied = counted(lambda: crossdock.table({"x": x, "y": y, "z": [1.5, 2.5, 3.5]}))
    assert [len(batch) for batch in ours] == [1, 1, 1]
    assert ours.to_dict() == {"x": [1, 2, 3], "y": ["a", "b", None], "z": [1.5, 2.5, 3.5]}
    taken = pa.table(ours)
    assert buffers(taken["x"]) <= buffers(x) and buffers(taken["y"]) <= buffers(y)
    assert len(list(crossdock.table({"x": x, "again": x}))) == 2
    assert crossdock.table({"x": pa.chunked_array([[]], pa.int8())}).shape == (0, 1)
    assert crossdock.table({"x": pa.chunked_array([], pa.int8()), "y": pa.array([], pa.int8())}).shape == (0, 2)
    assert crossdock.table({}).shape == (0, 0)
    with pytest.raises(ValueError, match='column "y" has 2 elements.*3 elements'):
        crossdock.table({"x": x, "y": [1, 2]})
    assert crossdock.column(pa.chunked_array([[1], [None]])).mask().tolist() == [True, False]


def test_integers_of_polars_own_format_name_the_cast():
    with pytest.raises(BufferError, match="_pli128.*Polars.*cast the column"):
        crossdock.column(pl.Series([1], dtype=pl.Int128))


class OnDevice:
    """An object that has the methods of devices alone, those of another object."""

    def __init__(self, source, *names):
        for name in names:
            setattr(self, name, getattr(source, name))


def test_tables_and_columns_go_by_the_interface_of_devices():
    theirs = rows()
    gc.collect()
    ours, before = crossdock.table(theirs), (crossdock.copied_bytes(), pa.total_allocated_bytes())
    batch = theirs.to_batches()[0]
    sources = [
        OnDevice(ours, "__arrow_c_device_array__"),
        OnDevice(ours, "__arrow_c_device_stream__"),
        OnDevice(batch, "__arrow_c_device_array__"),
    ]
    for source in sources:
        again = crossdock.table(source)
        taken = pa.table(again)
        assert taken.equals(theirs)
        for name in theirs.column_names:
            assert buffers(taken[name]) == buffers(theirs[name]), name
    assert pa.record_batch(OnDevice(ours, "__arrow_c_device_array__")).equals(batch)
    for column in (ours["name"], theirs["name"].chunk(0)):
        assert crossdock.column(OnDevice(column, "__arrow_c_device_array__")).to_list() == ["one", None, LONG]
    parts = crossdock.column(pa.chunked_array([["a"], [], ["b", None]]))
    assert not hasattr(parts, "__arrow_c_device_array__")
    assert len(crossdock.column(OnDevice(parts, "__arrow_c_device_stream__")).chunks()) == 3
    unused = ours.__arrow_c_device_stream__(), ours.__arrow_c_device_array__(), parts.__arrow_c_device_stream__()
    with pytest.raises(NotImplementedError, match="__arrow_c_device_stream__.*colour"):
        ours.__arrow_c_device_stream__(colour="red")
    with pytest.raises(BufferError, match='column "x"'):
        crossdock.table({"x": np.arange(3)}).__arrow_c_device_stream__()
    del sources, source, again, taken, unused, column, parts
    gc.collect()
    assert crossdock.copied_bytes() == before[0] and pa.total_allocated_bytes() <= before[1] + 64


def test_a_device_method_that_refuses_gives_way_to_that_of_the_cpu():
    class Refusing(OnDevice):
        def __arrow_c_device_stream__(self, **kwargs):
            raise NotImplementedError("later")

    refusing = Refusing(crossdock.table(rows()), "__arrow_c_stream__")
    assert crossdock.table(refusing).to_dict() == rows().to_pydict()
    with pytest.raises(BufferError, match="later"):
        crossdock.table(Refusing(None))


def test_the_device_method_is_called_first_when_columns_may_be_refused():
    class Copying(OnDevice):
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("copies to the CPU")

    ours = crossdock.table(rows())
    taken = crossdock.table(Copying(ours, "__arrow_c_device_stream__"), skip_refused=True)
    assert taken.refused == {} and pa.table(taken).equals(rows())


def test_a_dictionary_is_no_record_and_its_nulls_are_nulls():
    text = crossdock.table(pd.DataFrame({"c": pd.Categorical(["20", "10"])}))
    with pytest.raises(TypeError, match='column "c": .* indices, .* decode the column'):
        text.to_records()
    holed = crossdock.column(pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([5, None])))
    with pytest.raises(BufferError, match="1 of 3 elements are null"):
        holed.array()
    assert holed[:1].array().tolist() == [0]
    pairs = pa.FixedSizeListArray.from_arrays(pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([5, 6])), 2)
    with pytest.raises(TypeError, match="decode the column"):
        crossdock.table({"c": pairs}).to_records()


def columns_with_hidden_nulls():
    index, hidden = pa.array([1, 0, None], pa.int32()), pa.array([5, None])
    kinds = pa.array([0, 1, 0], pa.int8())
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), hidden)
    return {
        "dictionary": pa.DictionaryArray.from_arrays(index, hidden),
        "runs": runs,
        "part of runs": runs[1:],
        "sparse union": pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, None]), pa.array(["a", None, "b"])]),
        "dense union": pa.UnionArray.from_dense(kinds, pa.array([0, 0, 1], pa.int32()), [hidden, pa.array(["a"])]),
        "union of dictionaries": pa.UnionArray.from_sparse(
            kinds, [pa.DictionaryArray.from_arrays(index, hidden), pa.array([None, "a", None])]
        ),
        "none hidden": pa.DictionaryArray.from_arrays(index, pa.array([5, 6])),
    }


@pytest.mark.parametrize("name", columns_with_hidden_nulls())
def test_the_mask_is_false_wherever_the_list_has_none(name):
    theirs = columns_with_hidden_nulls()[name]
    ours = crossdock.column(theirs)
    assert ours.to_list() == theirs.to_pylist()
    assert ours.mask().tolist() == [value is not None for value in theirs.to_pylist()]
    assert ours.null_count == theirs.null_count


def lists_of_no_rows():
    lists = pa.ListArray.from_arrays(pa.array([2], pa.int32()), pa.array([1, 2, 3]))
    beyond = pa.Array.from_buffers(lists.type, 0, lists.buffers()[:2], children=[pa.array([], pa.int64())])
    entries = pa.array([], pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int64())]))
    text = pa.Array.from_buffers(pa.string(), 0, [None, pa.array([2], pa.int32()).buffers()[1], pa.py_buffer(b"ab")])
    return {
        "list": lists,
        "beyond": beyond,
        "text": text,
        "map": pa.Array.from_buffers(
            pa.map_(pa.string(), pa.int64()), 0, [None, pa.array([7], pa.int32()).buffers()[1]], children=[entries]
        ),
        "struct": pa.StructArray.from_arrays([beyond, text], ["a", "b"]),
        "union": pa.UnionArray.from_sparse(pa.array([], pa.int8()), [beyond, text]),
    }


@pytest.mark.parametrize("name", lists_of_no_rows())
def test_without_rows_no_offset_is_followed(name, tmp_path):
    theirs = lists_of_no_rows()[name]
    ours = crossdock.table({"x": theirs})
    assert ours.to_dict() == {"x": []} and ours.copy().to_dict() == {"x": []}
    assert pa.table(ours)["x"].to_pylist() == []
    with pa.ipc.new_file(str(tmp_path / "theirs.arrow"), pa.schema([("x", theirs.type)])) as writer:
        writer.write_batch(pa.record_batch({"x": theirs}))
    assert crossdock.open(tmp_path / "theirs.arrow").to_dict() == {"x": []}
    crossdock.save(tmp_path / "ours.arrow", ours)
    assert pa.ipc.open_file(str(tmp_path / "ours.arrow")).read_all().num_rows == 0


def test_a_numpy_view_of_a_column_is_read_only_and_leaves_it_to_be_exported():
    table = crossdock.table({"x": [1, 2, 3]})
    before = crossdock.copied_bytes()
    view = np.asarray(table["x"])
    assert not view.flags.writeable and pa.table(table)["x"].to_pylist() == [1, 2, 3]
    assert crossdock.copied_bytes() == before
    assert np.array(table["x"]).flags.writeable


@pytest.mark.parametrize("axes", [None, [1, 0]])
def test_a_column_of_tensors_is_an_array_of_their_shape(axes):
    kind = pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=axes)
    storage = pa.array([[1, 2, 3, 4, 5, 6]] * 2, pa.list_(pa.int32(), 6))
    theirs = pa.ExtensionArray.from_storage(kind, storage)
    ours, before = crossdock.column(theirs), crossdock.copied_bytes()
    array = ours.array()
    assert crossdock.copied_bytes() == before and array.ptr == storage.values.buffers()[1].address
    assert array.shape == (2, 2, 3) if axes is None else array.shape == (2, 3, 2)
    assert np.array_equal(np.asarray(ours), theirs.to_numpy_ndarray())
    assert array.tolist() == theirs.to_numpy_ndarray().tolist() == crossdock.asarray(theirs).tolist()


def test_values_that_stand_for_none_are_null():
    assert crossdock.column([pd.Timestamp("2020"), pd.NaT]).to_list() == [datetime.datetime(2020, 1, 1), None]
    assert crossdock.column([pd.NaT, pd.Timedelta("1s")]).to_list() == [None, datetime.timedelta(seconds=1)]
    days = crossdock.column([np.datetime64("2020-01-01"), np.datetime64("NaT"), np.datetime64("NaT", "D")])
    assert (days.type, days.to_list()) == ("date32[day]", [datetime.date(2020, 1, 1), None, None])
    for values, kind in [([1, pd.NA], "int64"), ([pd.NA, "a"], "string"), ([True, pd.NA], "bool"), ([pd.NA], "null")]:
        column = crossdock.column(values)
        assert column.type == kind and column.to_list() == [None if value is pd.NA else value for value in values]
        assert column.null_count == 1


@pytest.mark.parametrize("values", [[2**62 + 1, None, 0.5], [0.1, -(10**17) - 1], [np.int64(2**53 + 1), 0.5], [1j, 2**60]])
def test_integers_that_floats_do_not_have_are_refused_among_floats(values):
    with pytest.raises(ValueError, match=r"is among floats, .* 2\*\*53"):
        crossdock.column(values)
    assert crossdock.column([2**53, None, 0.5]).to_list() == [2.0**53, None, 0.5]


@pytest.mark.parametrize(
    ("count", "kind", "wanted"),
    [
        (2**60, pa.timestamp("us"), np.datetime64(2**60, "us")),
        (2**60, pa.timestamp("s", "Europe/Berlin"), np.datetime64(2**60, "s")),
        (253402300799 * 10**6, pa.timestamp("us", "Europe/Berlin"), np.datetime64(253402300799 * 10**6, "us")),
        (-62135596800, pa.timestamp("s", "-05:00"), np.datetime64(-62135596800, "s")),
        (2**30, pa.date32(), np.datetime64(2**30, "D")),
        (86_400_000 * 2**34, pa.date64(), np.datetime64(2**34, "D")),
        (2**60, pa.duration("s"), np.timedelta64(2**60, "s")),
    ],
)
def test_times_out_of_the_range_of_python_are_those_of_numpy(count, kind, wanted):
    far, none, near = crossdock.column(pa.array([count, None, 0], kind)).to_list()
    assert type(far) is type(wanted) and (far, far.dtype) == (wanted, wanted.dtype)
    assert none is None and near == pa.array([0], kind).to_pylist()[0]


def test_a_table_says_by_what_columns_are_selected_and_renamed():
    table = crossdock.table({"x": [1]})
    for wrong in [lambda: table[[0, 1]], lambda: table.select([0]), lambda: table.select(0)]:
        with pytest.raises(TypeError, match="by a list of names, such as .* but 0 is no"):
            wrong()
    for wrong in ["y", {0: "y"}, {"x": 0}, [1]]:
        with pytest.raises(TypeError, match="a dict of new names by the old ones, .* or a list with a name for each"):
            table.rename(wrong)
    with pytest.raises(ValueError, match="strides .16.; copy them first"):
        crossdock.column(np.arange(10)[::2])


def test_columns_that_cannot_be_imported_are_left_out_only_where_that_is_asked_for():
    frame = pd.DataFrame({"n": [1, 2, 3], "word": ["one", None, "three"], "thing": [object(), 1, "q"]})
    with pytest.raises(BufferError, match="thing"):
        crossdock.table(frame)
    ours = crossdock.table(frame, skip_refused=True)
    assert ours.column_names == ["n", "word"] and list(ours.refused) == ["thing"]
    assert ours.to_dict() == {"n": [1, 2, 3], "word": ["one", None, "three"]}

    frame = pl.DataFrame({"n": [1, 2], "thing": pl.Series([object(), object()], dtype=pl.Object)})
    with pytest.raises(BufferError, match="Python's objects"):
        crossdock.table(frame)
    ours = crossdock.table(frame, skip_refused=True)
    assert ours.to_dict() == {"n": [1, 2]} and "addresses" in ours.refused["thing"]

    columns = {"x": np.zeros(3), "y": np.zeros((3, 2)), "z": 5}
    ours = crossdock.table(columns, skip_refused=True)
    assert ours.schema == [("x", "float64")] and list(ours.refused) == ["y", "z"]
    assert "one axis" in ours.refused["y"]
    # What is whole is the same as without, and read once.
    theirs = pa.table({"n": [1, 2], "word": ["one", None]})
    for whole in [theirs, theirs.to_batches()[0], theirs.to_reader()]:
        ours = crossdock.table(whole, skip_refused=True)
        assert ours.refused == {} and pa.table(ours).equals(theirs)
    with pytest.raises(TypeError, match="skip_refused"):
        crossdock.table(theirs, skip_refused=1.5)
    with pytest.raises(TypeError):
        crossdock.table(5, skip_refused=True)


def test_identifiers_are_those_of_python():
    ids = [uuid.UUID(int=1), None, uuid.UUID(int=2**127)]
    stored = pa.array([None if one is None else one.bytes for one in ids], pa.binary(16))
    column = pa.ExtensionArray.from_storage(pa.uuid(), stored)
    nested = pa.StructArray.from_arrays([column], fields=[pa.field("id", pa.uuid())])
    ours = crossdock.table(pa.table({"id": column, "deep": nested, "bytes": stored}))
    assert ours["id"].to_list() == ids and ours["id"][0] == ids[0] and list(ours["id"]) == ids
    assert ours["deep"].to_list() == [{"id": one} for one in ids]
    assert ours["bytes"].to_list() == stored.to_pylist()
    assert str(ids[2]) in str(ours) and str(ids[2]) in ours._repr_html_()
    assert pa.table(ours)["id"].type == pa.uuid()


def test_identifiers_behind_other_types_are_those_of_python():
    ids = [uuid.UUID(int=1), uuid.UUID(int=2**127)]
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([one.bytes for one in ids], pa.binary(16)))
    numbers = pa.array([7, 8])
    of_union = [ids[0], 8]
    members = pa.array([0, 1], pa.int8()), pa.array([0, 1], pa.int32())
    for theirs, wanted in [
        (pa.UnionArray.from_sparse(members[0], [column, numbers]), of_union),
        (pa.UnionArray.from_dense(*members, [column, numbers]), of_union),
        (pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), column), [ids[1], None, ids[0]]),
        (pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), column), [ids[0], ids[1], ids[1]]),
        (pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), column), [ids]),
        (pa.FixedSizeListArray.from_arrays(column, 2), [ids]),
    ]:
        ours = crossdock.column(theirs)
        assert ours.to_list() == wanted and list(ours) == wanted and ours[0] == wanted[0]
        assert np.asarray(ours).tolist() == wanted and np.asarray(ours, dtype=object).tolist() == wanted


def test_numpy_and_pandas_have_identifiers_as_those_of_python():
    ids = [uuid.UUID(int=1), uuid.UUID(int=2**127)]
    ours = crossdock.column(ids)
    assert np.asarray(ours).tolist() == ids == list(pd.Series(ours)) and np.asarray(ours).dtype == object
    assert np.asarray(ours, dtype=object)[0] == ids[0]
    # The bytes on request, in place.
    assert np.asarray(ours, dtype="V16", copy=False)[1].tobytes() == ids[1].bytes
    with pytest.raises(ValueError, match="copy=False forbids"):
        np.asarray(ours, copy=False)
    sparse = crossdock.column([ids[0], None])
    assert np.asarray(sparse).tolist() == [ids[0], None]
    with pytest.raises(TypeError, match="1 nulls are in 2 elements"):
        np.asarray(sparse, dtype="V16")


def test_nulls_among_identifiers_are_filled_with_one():
    ids = [uuid.UUID(int=1), uuid.UUID(int=2**127)]
    sparse = crossdock.column([None, ids[0]])
    assert sparse.fill_nulls(ids[1]).to_list() == [ids[1], ids[0]]
    assert sparse.fill_nulls(ids[1].bytes).to_list() == [ids[1], ids[0]]
    assert pa.array(sparse.fill_nulls(ids[1])).type == pa.uuid()
    with pytest.raises(ValueError, match="5 bytes does not fit"):
        sparse.fill_nulls(b"short")
    for column in [crossdock.column([1, None]), crossdock.column([b"", None])]:
        with pytest.raises(TypeError, match="UUID is no value of an element"):
            column.fill_nulls(ids[0])


def canonical(theirs, name, parameters=""):
    """A table of one column of an extension type."""
    metadata = {"ARROW:extension:name": name, "ARROW:extension:metadata": parameters}
    return pa.table([theirs], schema=pa.schema([pa.field("x", theirs.type, metadata=metadata)]))


def test_tensors_of_any_shape_are_arrays_in_place():
    items = pa.array([[1, 2, 3, 4, 5, 6], None, [7, 8], []], pa.list_(pa.int32()))
    shapes = pa.array([[2, 3], None, [1, 2], [4, 0]], pa.list_(pa.int32(), 2))
    stored = pa.StructArray.from_arrays([items, shapes], ["data", "shape"], mask=pa.array([False, True, False, False]))
    ours = crossdock.table(canonical(stored, "arrow.variable_shape_tensor"))["x"]
    first, null, third, none = ours.to_list()
    assert first.tolist() == [[1, 2, 3], [4, 5, 6]] and null is None and third.tolist() == [[7, 8]] and none.shape == (4, 0)
    assert first.ptr == items.values.buffers()[1].address and ours[1:][1].tolist() == [[7, 8]]
    assert np.asarray(ours)[2].tolist() == [[7, 8]]
    turned = canonical(stored, "arrow.variable_shape_tensor", '{"permutation": [1, 0]}')
    assert crossdock.table(turned)["x"][0].tolist() == [[1, 4], [2, 5], [3, 6]]
    # What is no tensor is an error, and handed on as it is.
    wrong = pa.StructArray.from_arrays([items, pa.array([[2, 2]] * 4, pa.list_(pa.int32(), 2))], ["data", "shape"])
    ours = crossdock.table(canonical(wrong, "arrow.variable_shape_tensor", "{}"))
    with pytest.raises(ValueError, match=r"tensor 0 of shape \[2, 2\] is stored in a list of 6 elements"):
        ours["x"][0]
    axes = pa.array([[1] * 100], pa.list_(pa.int32(), 100))
    many = pa.StructArray.from_arrays([pa.array([[1]]), axes], ["data", "shape"])
    with pytest.raises(TypeError, match="has 100 axes; at most 64"):
        crossdock.table(canonical(many, "arrow.variable_shape_tensor"))["x"].to_list()
    theirs = pa.table(ours)["x"].combine_chunks()
    assert getattr(theirs, "storage", theirs).equals(wrong)


def test_the_parts_of_tensors_are_found_by_name():
    items, shapes = pa.array([[1, 2, 3, 4, 5, 6], [7, 8]]), pa.array([[2, 3], [2, 1]], pa.list_(pa.int32(), 2))
    swapped = pa.StructArray.from_arrays([shapes, items], ["shape", "data"])
    ours = crossdock.table(canonical(swapped, "arrow.variable_shape_tensor"))["x"]
    assert [one.tolist() for one in ours] == [[[1, 2, 3], [4, 5, 6]], [[7], [8]]]
    # Without these parts, the structs are dicts.
    floats = shapes.cast(pa.list_(pa.float32(), 2))
    for lengths, names in [(shapes, ["items", "shape"]), (shapes, ["data", "lengths"]), (floats, ["data", "shape"])]:
        other = pa.StructArray.from_arrays([items, lengths], names)
        ours = crossdock.table(canonical(other, "arrow.variable_shape_tensor"))["x"]
        assert ours.to_list() == other.to_pylist()
    for length, shown in [(-1, "-1"), (None, "null")]:
        odd = pa.StructArray.from_arrays([pa.array([[1]]), pa.array([[length]], pa.list_(pa.int32()))], ["data", "shape"])
        with pytest.raises(ValueError, match=f"tensor 0 has an axis of length {shown}$"):
            crossdock.table(canonical(odd, "arrow.variable_shape_tensor"))["x"].to_list()


def test_tensors_of_booleans_are_copied_and_those_that_no_array_has_are_dicts():
    def tensors(items):
        shapes = pa.array([[2, 1]] * len(items), pa.list_(pa.int32(), 2))
        stored = pa.StructArray.from_arrays([items, shapes], ["data", "shape"])
        return stored.to_pylist(), crossdock.table(canonical(stored, "arrow.variable_shape_tensor"))["x"]

    _, ours = tensors(pa.array([[True, False], [False, True]]))
    before = crossdock.copied_bytes()
    arrays = ours.to_list()
    assert crossdock.copied_bytes() - before == 4 and np.asarray(ours)[1].dtype == bool
    assert [one.tolist() for one in arrays] == [[[True], [False]], [[False], [True]]]
    for items in [
        pa.array([["a", "b"]]),
        pa.array([[decimal.Decimal("1.50"), decimal.Decimal("2.00")]]),
        pa.array([["a", "b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array([[[1], [2, 3]]]),
        pa.array([[None, True]]),
        pa.array([[1, None]]),
    ]:
        wanted, ours = tensors(items)
        assert ours.to_list() == wanted == np.asarray(ours).tolist() and ours[0] == wanted[0]
    # Only the tensor with null items is a dict.
    wanted, ours = tensors(pa.array([[1, None], [3, 4]]))
    assert ours[0] == wanted[0] and ours[1].tolist() == [[3], [4]]


def test_structs_without_the_parts_of_moments_with_an_offset_are_dicts():
    moments, offsets = pa.array([0], pa.timestamp("us", "UTC")), pa.array([60], pa.int16())
    names = ["timestamp", "offset_minutes"]
    for parts, called in [
        ([pa.array([0], pa.timestamp("us")), offsets], names),
        ([moments, offsets.cast(pa.float64())], names),
        ([moments, offsets.cast(pa.int32())], names),
        ([offsets, moments], names),
        ([moments, offsets], ["moment", "offset_minutes"]),
        ([moments, offsets, offsets], [*names, "more"]),
        ([moments], names[:1]),
    ]:
        stored = pa.StructArray.from_arrays(parts, called)
        ours = crossdock.table(canonical(stored, "arrow.timestamp_with_offset"))["x"]
        assert ours.to_list() == stored.to_pylist()
    swapped = pa.StructArray.from_arrays([offsets, moments], names[::-1])
    ours = crossdock.table(canonical(swapped, "arrow.timestamp_with_offset"))["x"]
    assert str(ours[0]) == "1970-01-01 01:00:00+01:00"


def test_moments_whose_offset_python_does_not_have_are_in_utc():
    moments = pa.array([0] * 5, pa.timestamp("us", "UTC"))
    minutes = pa.array([2000, None, -1440, 1439, 60], pa.int16())
    zones = ["+00:00", "+00:00", "+00:00", "+23:59", "+01:00"]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4, 5], pa.int32()), minutes)
    for offsets in [minutes, minutes.dictionary_encode(), runs]:
        stored = pa.StructArray.from_arrays([moments, offsets], ["timestamp", "offset_minutes"])
        ours = crossdock.table(canonical(stored, "arrow.timestamp_with_offset"))["x"]
        assert [str(one)[-6:] for one in ours] == zones and ours.to_list() == moments.to_pylist()
    # The clocks of the zone show a year that Python does not have.
    first = pa.array([-62135596800], pa.timestamp("s", "+01:00"))
    stored = pa.StructArray.from_arrays([first, pa.array([-60], pa.int16())], ["timestamp", "offset_minutes"])
    ours = crossdock.table(canonical(stored, "arrow.timestamp_with_offset"))["x"]
    assert str(ours[0]) == "0001-01-01 00:00:00+00:00"


def test_a_text_column_without_chunks_is_no_array():
    sender = crossdock.Channel(1, 1 << 14).sender()
    for ty in [pa.string(), pa.list_(pa.int64()), pa.list_(pa.string(), 2)]:
        with pytest.raises(TypeError, match="is a column of type .*, which no array has; put it into a table"):
            sender.send(pa.chunked_array([], ty))


def test_moments_with_an_offset_have_the_zone_of_each():
    moments = pa.array([0, 1_500_000], pa.timestamp("us", "UTC"))
    stored = pa.StructArray.from_arrays([moments, pa.array([60, -90], pa.int16())], ["timestamp", "offset_minutes"])
    ours = crossdock.table(canonical(stored, "arrow.timestamp_with_offset"))["x"]
    assert [str(one) for one in ours] == ["1970-01-01 01:00:00+01:00", "1969-12-31 22:30:01.500000-01:30"]
    assert ours.to_list() == moments.to_pylist()


def test_a_list_of_identifiers_is_a_column_of_them():
    ids = [uuid.uuid4(), None, uuid.UUID(int=2**127), pd.NA]
    ours = crossdock.column(ids)
    assert ours.to_list() == [ids[0], None, ids[2], None] and ours.null_count == 2
    theirs = pa.array(ours)
    assert theirs.type == pa.uuid() and theirs.to_pylist() == ours.to_list()
    # A list that starts with nulls, and one without any; a tuple.
    assert crossdock.column((None, ids[0])).to_list() == [None, ids[0]]
    table = crossdock.table({"n": [1, 2], "id": [ids[0], ids[2]]})
    assert pa.table(table).schema.field("id").type == pa.uuid()
    assert table["id"].to_list() == [ids[0], ids[2]] and table["id"].null_count == 0
    assert pickle.loads(pickle.dumps(table))["id"].to_list() == table["id"].to_list()

    class Named(uuid.UUID):
        pass

    assert crossdock.column([Named(int=5)]).to_list() == [uuid.UUID(int=5)]
    for other in [5, str(ids[2])]:
        with pytest.raises(TypeError, match=f"^element 1 is a {type(other).__name__}, but the first value is a uuid.UUID"):
            crossdock.column([ids[0], other])


def test_a_column_of_numbers_does_not_import_uuid():
    code = """if True:
        import sys, crossdock
        assert "uuid" not in sys.modules
        assert crossdock.column([1, None]).to_list() == [1, None] and "uuid" not in sys.modules
        import uuid
        assert crossdock.column([uuid.UUID(int=3)]).to_list() == [uuid.UUID(int=3)]"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_columns_that_claim_more_elements_than_memory_holds_are_not_converted_whole():
    many = 2**50
    nulls = pa.Array.from_buffers(pa.null(), many, [None], null_count=many)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([many], pa.int64()), pa.array(["x"]))
    structs = pa.Array.from_buffers(pa.struct([("a", pa.null())]), many, [None], children=[nulls])
    for theirs, value in [(nulls, None), (runs, "x"), (structs, {"a": None})]:
        column = crossdock.column(theirs)
        table = crossdock.table({"a": column})
        for convert in [column.to_list, table.to_dict]:
            with pytest.raises(MemoryError, match=f"list of {many} elements needs {8 * many} bytes.*slice"):
                convert()
        # The elements on display, and slices, are read alone.
        for text in [repr(column), str(table), column._repr_html_(), table._repr_html_()]:
            assert str(many - 1) in text or str(many) in text
        assert column[-2:].to_list() == [value, value] and column[0] == value and len(column) == many


def test_validity_alone_decides_about_nat():
    theirs = pa.array([1, -(2**63), None], pa.timestamp("us"))
    ours = crossdock.column(theirs)
    assert ours.null_count == 1 and ours.mask().tolist() == [True, True, False]
    assert theirs.is_valid().to_pylist() == [True, True, False]
    ours = crossdock.column(np.array(["2024-01-01", "NaT"], "M8[us]"))
    assert ours.null_count == 1 and ours.mask().tolist() == [True, False]


def test_explain_says_which_columns_are_copied_and_why():
    theirs = pa.table({
        "n": [1.5, 2.5],
        "null": [1, None],
        "flag": [True, False],
        "word": ["one", "two"],
        "kind": pa.array(["u", "v"]).dictionary_encode(),
    })  # fmt: skip
    told = {one.name: one for one in crossdock.explain(theirs).columns}
    assert [one.outcome for one in told.values()] == ["in place"] * 5
    assert told["n"].array == "in place" and told["n"].type == "float64"
    for name, why in [("null", "null"), ("flag", "bits"), ("word", "fixed width"), ("kind", "dictionary")]:
        assert told[name].array == "copies" and why in told[name].array_reason, told[name]
    chunked = crossdock.explain(pa.concat_tables([theirs, theirs])).columns[0]
    assert (chunked.outcome, chunked.array) == ("in place", "copies") and "2 chunks" in chunked.array_reason

    # Each column has one row, with the number of its batches, which may differ.
    batches = crossdock.explain(pa.concat_tables([theirs, theirs.slice(1), theirs]))
    told = {one.name: one for one in batches.columns}
    assert [one.name for one in batches.columns] == theirs.column_names
    assert {(one.outcome, one.batches) for one in batches.columns} == {("in place", 3)}
    assert told["n"].array_reason == "its 3 chunks lie apart"
    assert told["flag"].array_reason == "its 3 chunks lie apart, and in each: its elements are bits"
    partly = pa.table({"x": pa.chunked_array([[1, 2], [None], [3]])})
    reason = crossdock.explain(partly).columns[0].array_reason
    assert reason.startswith("its 3 chunks lie apart, and in 1 of them: ") and "null" in reason
    headline = str(crossdock.explain(pa.chunked_array([[1, 2], [3]])))
    assert headline.startswith("pyarrow.lib.ChunkedArray: shape (2,) of the first chunk, ")
    for text in [str(batches), batches._repr_html_()]:
        assert "float64 in 3 batches" in text and "shape (2,) of the first batch" in text
    assert crossdock.explain(theirs).columns[0].batches == 1 and "batches" not in str(crossdock.explain(theirs))

    class ThatCopiesOneBatch:
        kept = pa.record_batch({"x": [1.0, 2.0]})

        def __len__(self):
            return 4

        def __arrow_c_stream__(self, requested_schema=None):
            made = pa.record_batch({"x": pa.array([3.0, 4.0])})
            return pa.Table.from_batches([self.kept, made]).__arrow_c_stream__()

    partly = crossdock.explain(ThatCopiesOneBatch()).columns[0]
    assert (partly.outcome, partly.batches) == ("copies", 2)
    assert partly.reason == "its producer copies 1 of its 2 batches for each export"

    # pandas stores booleans as bytes, and makes bits of them for each export.
    frame = pd.DataFrame({"n": [1.5, 2.5], "flag": [True, False], "thing": [object(), 1]})
    told = {one.name: one for one in crossdock.explain(frame).columns}
    assert told["n"].outcome == "in place"
    assert told["flag"].outcome == "copies" and "each export" in told["flag"].reason
    assert told["thing"].outcome == "refuses"
    racy = crossdock.explain(crossdock.table({"x": np.zeros(3)})).columns[0]
    assert racy.outcome == "refuses" and "frozen" in racy.reason and 'column ""' not in racy.reason and racy.array == "in place"

    assert crossdock.explain(np.zeros(3)).columns == [] and crossdock.explain([1, 2]).columns == []
    explanation = crossdock.explain(theirs)
    assert "What happens to its columns" in str(explanation) and "its elements are bits" in explanation._repr_html_()
