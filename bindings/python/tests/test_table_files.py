"""Tables in Arrow IPC files: PyArrow, Polars and pandas write and read what we read and write."""

import copy
import datetime
import decimal
import io
import os
import pathlib
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest

import crossdock

UTC = datetime.timezone.utc
LONG = "a text of more than twelve bytes"
DAY = datetime.date(2024, 2, 29)


def columns(start, count):
    """Every type of Arrow, with nulls, as columns of `count` rows from row `start` on."""
    ints = [None if k % 5 == 3 else k for k in range(start, start + count)]
    words = [None if k is None else LONG[: k % 7] * (k % 4) for k in ints]
    lists = [None if k is None else list(range(k % 4)) for k in ints]
    dense = pa.UnionArray.from_dense(
        pa.array([k % 2 for k in range(count)], pa.int8()),
        pa.array([k // 2 for k in range(count)], pa.int32()),
        [pa.array(range(count), pa.int64()), pa.array([str(k) for k in range(count)], pa.string())],
    )
    sparse = pa.UnionArray.from_sparse(
        pa.array([k % 2 for k in range(count)], pa.int8()),
        [pa.array(range(count), pa.int64()), pa.array([str(k) for k in range(count)], pa.string())],
    )
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array([k * 3 + 3 for k in range((count + 2) // 3)], pa.int32()),
        pa.array([f"run {k}" for k in range((count + 2) // 3)], pa.string()),
    )
    found = {
        "null": pa.nulls(count),
        "bool": pa.array([None if k is None else k % 3 == 0 for k in ints], pa.bool_()),
        "half": pa.array(np.arange(count, dtype=np.float16)),
        "date32": pa.array([None if k is None else DAY for k in ints], pa.date32()),
        "date64": pa.array([None if k is None else DAY for k in ints], pa.date64()),
        "interval": pa.array([None if k is None else (k, 2, 3) for k in ints], pa.month_day_nano_interval()),
        "fixed": pa.array([None if k is None else b"%03d" % (k % 1000) for k in ints], pa.binary(3)),
        "binary": pa.array([None if word is None else word.encode() for word in words], pa.binary()),
        "large_binary": pa.array([None if word is None else word.encode() for word in words], pa.large_binary()),
        "string": pa.array(words, pa.string()),
        "large_string": pa.array(words, pa.large_string()),
        "string_view": pa.array([None if k is None else LONG * (k % 3) for k in ints], pa.string_view()),
        "binary_view": pa.array([None if k is None else b"y" * k for k in ints], pa.binary_view()),
        "list": pa.array(lists, pa.list_(pa.int32())),
        "large_list": pa.array(
            [None if x is None else [LONG[:k] for k in x] for x in lists], pa.large_list(pa.string())
        ),
        "list_view": pa.array(lists, pa.list_view(pa.int32())),
        "large_list_view": pa.array(lists, pa.large_list_view(pa.int32())),
        "pair": pa.array([None if k is None else [k, k + 1] for k in ints], pa.list_(pa.int16(), 2)),
        "struct": pa.array(
            [None if k is None else {"x": k, "y": str(k)} for k in ints],
            pa.struct({"x": pa.int64(), "y": pa.string()}),
        ),
        "map": pa.array(
            [None if x is None else [(str(k), k) for k in x] for x in lists], pa.map_(pa.string(), pa.int8())
        ),
        "dictionary": pa.DictionaryArray.from_arrays(
            pa.array([None if k is None else k % 2 for k in ints], pa.int8()), ["one", "two"]
        ),
        "dense": dense,
        "sparse": sparse,
        "runs": runs.slice(0, count),
        "nested": pa.array(
            [None if x is None else [{"d": {"e": [k]}} for k in x] for x in lists],
            pa.list_(pa.struct({"d": pa.struct({"e": pa.list_(pa.int64())})})),
        ),
    }
    for name in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]:
        found[name] = pa.array(ints, getattr(pa, name)())
    for unit in ["s", "ms", "us", "ns"]:
        found[f"time[{unit}]"] = pa.array(ints, pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit))
        found[f"duration[{unit}]"] = pa.array(ints, pa.duration(unit))
        found[f"moment[{unit}]"] = pa.array(ints, pa.timestamp(unit))
        found[f"zoned[{unit}]"] = pa.array(ints, pa.timestamp(unit, "Europe/Berlin"))
    for name, ty in {
        "decimal32": pa.decimal32(7, 2),
        "decimal64": pa.decimal64(12, -2),
        "decimal128": pa.decimal128(30, 4),
        "decimal256": pa.decimal256(60, 4),
    }.items():
        values = [None if k is None else decimal.Decimal(100 * k) for k in ints]
        found[name] = pa.array(values, ty)
    return found


def batches():
    made = [pa.record_batch(columns(start, count)) for start, count in [(0, 23), (23, 0), (23, 10)]]
    return [batch.replace_schema_metadata({"source": "probe 7"}) for batch in made]


def write(path, made, **options):
    new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with new(str(path), made[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in made:
            writer.write_batch(batch)


def same(found, wanted):
    """PyArrow has no equality for some types; their text says all there is."""
    assert found.schema.equals(wanted.schema, check_metadata=True), f"{found.schema}\n{wanted.schema}"
    found.validate(full=True)
    for name, ours, theirs in zip(wanted.column_names, found.columns, wanted.columns):
        try:
            is_same = ours.equals(theirs)
        except pa.ArrowNotImplementedError:
            is_same = False
        assert is_same or ours.to_pylist() == theirs.to_pylist(), name


def mapped(path):
    """The range of addresses of the maps of a file."""
    with open("/proc/self/maps") as lines:
        found = [line.split()[0].split("-") for line in lines if line.rstrip().endswith(str(path))]
    return [range(int(start, 16), int(end, 16)) for start, end in found]


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_a_file_of_pyarrow_is_read_as_it_is(tmp_path, ending, compression):
    path = tmp_path / f"all.{ending}"
    made = batches()
    write(path, made, compression=compression)
    before = crossdock.copied_bytes()
    ours = crossdock.open(path, frozen=True)
    assert ours.shape == (33, made[0].num_columns)
    assert (crossdock.copied_bytes() == before) == (compression is None)
    same(pa.table(ours), pa.Table.from_batches(made))
    assert [len(part) for part in ours] == [23, 0, 10]


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
def test_buffers_lie_in_the_map(tmp_path, ending):
    path = tmp_path / f"in-place.{ending}"
    write(path, batches())
    ours = pa.table(crossdock.open(path, frozen=True))
    maps = mapped(path)
    count = 0
    for column in ours.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None and buffer.size and len(chunk):
                    assert any(buffer.address in part for part in maps), column.type
                    count += 1
    assert count > 100


def test_a_mapped_file_is_exported_by_a_promise_or_a_copy(tmp_path):
    path = tmp_path / "x.arrow"
    write(path, [pa.record_batch({"x": [1, 2, 3]})])
    ours = crossdock.open(path)
    assert ours["x"].to_list() == [1, 2, 3]
    with pytest.raises(BufferError, match="frozen"):
        pa.table(ours)
    for table in [crossdock.open(path, frozen=True), crossdock.open(path, mode="c")]:
        assert pa.table(table).to_pydict() == {"x": [1, 2, 3]}
    assert crossdock.open(f"{path}:x[1:]").tolist() == [2, 3]
    assert crossdock.open(path, name="x").tolist() == [1, 2, 3]


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
def test_dictionaries_are_extended_and_replaced(tmp_path, ending):
    path = tmp_path / f"kinds.{ending}"
    def kinds(indices, values):
        return pa.record_batch({"kind": pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values)})
    made = [kinds([0, 1, None], ["a", "b"]), kinds([2, 0], ["a", "b", "c"])]
    if ending == "arrows":
        made.append(kinds([0, 1], ["x", "y"]))
    write(path, made, emit_dictionary_deltas=True)
    ours = crossdock.open(path, frozen=True)
    assert ours["kind"].to_list() == [value for batch in made for value in batch["kind"].to_pylist()]
    assert pa.table(ours)["kind"].to_pylist() == ours["kind"].to_list()


def test_files_of_polars_and_pandas_are_read(tmp_path):
    frame = pl.DataFrame({"x": [1, None, 3], "name": ["a", LONG, None], "kind": pl.Series(["u", "v", "u"], dtype=pl.Categorical)})
    for compression in ["uncompressed", "lz4", "zstd"]:
        path = tmp_path / f"{compression}.arrow"
        frame.write_ipc(path, compression=compression)
        assert pl.DataFrame(crossdock.open(path, frozen=True)).equals(frame)
    frame.write_ipc_stream(tmp_path / "x.arrows")
    assert pl.DataFrame(crossdock.open(tmp_path / "x.arrows", frozen=True)).equals(frame)
    theirs = pd.DataFrame({"x": [1.5, 2.5], "name": ["a", None]})
    theirs.to_feather(tmp_path / "x.feather")
    ours = crossdock.open(tmp_path / "x.feather", frozen=True)
    pd.testing.assert_frame_equal(pd.DataFrame.from_arrow(ours), theirs)


def test_bad_files_are_refused_with_the_reason(tmp_path):
    path = tmp_path / "x.arrow"
    write(path, [pa.record_batch({"x": [1, 2, 3]})])
    good = path.read_bytes()
    path.write_bytes(good[:-3])
    with pytest.raises(ValueError, match="cut off"):
        crossdock.open(path)
    path.write_bytes(b"ARROW1\0\0" + good[-10:])
    with pytest.raises(ValueError, match="footer"):
        crossdock.open(path)
    for at in range(8, len(good), 3):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x81]) + good[at + 1 :])
        try:
            table = crossdock.open(path)
            table.to_dict(), repr(table)
        except (ValueError, TypeError, BufferError, OSError, IndexError, OverflowError, UnicodeDecodeError, MemoryError):
            pass


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
@pytest.mark.parametrize("compress", [False, True, "lz4", "zstd"])
def test_pyarrow_reads_what_is_written(tmp_path, ending, compress):
    path = tmp_path / f"ours.{ending}"
    made = pa.Table.from_batches(batches())
    crossdock.save(path, made, compress=compress)
    with pa.memory_map(str(path)) as file:
        theirs = (pa.ipc.open_stream if ending == "arrows" else pa.ipc.open_file)(file).read_all()
        same(theirs, made)
        assert [len(chunk) for chunk in theirs["int8"].chunks] == [23, 0, 10]
    same(pa.table(crossdock.open(path, frozen=True)), made)


@pytest.mark.parametrize("start", [1, 3, 8, 11])
def test_slices_are_written_without_the_rest(tmp_path, start):
    path = tmp_path / "slice.arrow"
    count = 120
    whole = pa.record_batch(columns(0, count))
    for length in [0, 1, 9, count - start]:
        part = pa.Table.from_batches([whole.slice(start, length)])
        crossdock.save(path, part)
        same(pa.ipc.open_file(path).read_all(), part)
        same(pa.table(crossdock.open(path, frozen=True)), part)
    # Slices of what is mapped, too.
    crossdock.save(path, whole)
    crossdock.save(tmp_path / "again.arrow", crossdock.open(path)[start : start + 9])
    same(pa.ipc.open_file(tmp_path / "again.arrow").read_all(), pa.Table.from_batches([whole.slice(start, 9)]))


def test_a_slice_takes_few_bytes(tmp_path):
    path = tmp_path / "slice.arrow"
    for name, column in columns(0, 120).items():
        whole = pa.table({name: pa.concat_arrays([column] * 40)})
        crossdock.save(path, whole)
        size = path.stat().st_size
        crossdock.save(path, whole.slice(2411, 5))
        least = 0 if name == "null" else 64 if name in ("bool", "runs", "dictionary") else 1000
        assert path.stat().st_size <= size - least, name


def test_buffers_are_aligned_in_the_file(tmp_path):
    path = tmp_path / "aligned.arrow"
    crossdock.save(path, pa.Table.from_batches(batches()))
    with pa.memory_map(str(path)) as file:
        theirs = pa.ipc.open_file(file).read_all()
        for column in theirs.columns:
            for buffer in column.chunk(0).buffers():
                assert buffer is None or buffer.address % 64 == 0


def test_a_dictionary_grows_in_a_file_and_changes_in_a_stream(tmp_path):
    def kinds(indices, values):
        return pa.record_batch({"kind": pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values)})

    grows = [kinds([0, 1, None], ["a", "b"]), kinds([2, 0], ["a", "b", "c"]), kinds([1], ["a", "b"])]
    path = tmp_path / "kinds.arrow"
    crossdock.save(path, pa.Table.from_batches(grows))
    wanted = ["a", "b", None, "c", "a", "b"]
    assert pa.ipc.open_file(path).read_all()["kind"].to_pylist() == wanted
    assert crossdock.open(path)["kind"].to_list() == wanted
    changes = pa.Table.from_batches([*grows, kinds([0], ["x"])])
    with pytest.raises(TypeError, match=r"write a stream \(.arrows\)"):
        crossdock.save(path, changes)
    assert crossdock.open(path)["kind"].to_list() == wanted
    crossdock.save(tmp_path / "kinds.arrows", changes)
    assert pa.ipc.open_stream(tmp_path / "kinds.arrows").read_all()["kind"].to_pylist() == [*wanted, "x"]
    assert crossdock.open(tmp_path / "kinds.arrows")["kind"].to_list() == [*wanted, "x"]


def test_polars_and_pandas_read_what_is_written(tmp_path):
    frame = pl.DataFrame({"x": [1, None, 3], "name": ["a", LONG, None], "kind": pl.Series(["u", "v", "u"], dtype=pl.Categorical)})
    for compress in [False, "lz4", "zstd"]:
        crossdock.save(tmp_path / "x.arrow", frame, compress=compress)
        assert pl.read_ipc(tmp_path / "x.arrow").equals(frame)
    theirs = pd.DataFrame({"x": [1.5, 2.5], "name": ["a", None]})
    crossdock.save(tmp_path / "x.feather", theirs)
    pd.testing.assert_frame_equal(pd.read_feather(tmp_path / "x.feather"), theirs)
    crossdock.save(tmp_path / "y.arrow", {"a": crossdock.arange(3), "b": ["x", None, "z"]})
    assert pl.read_ipc(tmp_path / "y.arrow").to_dict(as_series=False) == {"a": [0, 1, 2], "b": ["x", None, "z"]}
    with pytest.raises(TypeError, match="to_records"):
        crossdock.save(tmp_path / "x.npy", crossdock.table(theirs))
    with pytest.raises(TypeError, match="compress is True or False"):
        crossdock.save(tmp_path / "x.npz", {"a": [1]}, compress="lz4")


def filled(column):
    for value in [0, True, "x", b"x", b"xyz", DAY, datetime.timedelta(0)]:
        try:
            return column.fill_nulls(value)
        except (TypeError, ValueError):
            pass
    raise TypeError


READS = {
    "copy": lambda x, _: x.copy(),
    "deepcopy": lambda x, _: copy.deepcopy(x),
    "copy of a slice": lambda x, _: x[3:9].copy(),
    "to_list": lambda x, _: x.to_list(),
    "to_dict": lambda x, _: crossdock.table({"x": x}).to_dict(),
    "iteration": lambda x, _: list(x),
    "element": lambda x, _: x[4],
    "np.asarray": lambda x, _: np.asarray(x),
    "np.array": lambda x, _: np.array(x, copy=True),
    "objects": lambda x, _: np.asarray(x, dtype=object),
    "comparison": lambda x, _: x == np.zeros(len(x)),
    "null_count": lambda x, _: x.null_count,
    "mask": lambda x, _: x.mask(),
    "fill_nulls": lambda x, _: filled(x),
    "np.asarray without nulls": lambda x, _: np.asarray(x[:3]),
    "array": lambda x, _: crossdock.array(x[:3]),
    "to_records": lambda x, _: crossdock.table({"x": x[:3]}).to_records(),
    "pickle 4": lambda x, _: pickle.dumps(x, protocol=4),
    "pickle 5": lambda x, _: pickle.dumps(x, protocol=5),
    "save": lambda x, path: crossdock.save(path / "again.arrow", crossdock.table({"x": x})),
    "save of a slice": lambda x, path: crossdock.save(path / "again.arrows", crossdock.table({"x": x[3:9]})),
    "compressed": lambda x, path: crossdock.save(path / "again.arrow", crossdock.table({"x": x}), compress="lz4"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_each_read_of_a_guarded_table_that_shrank_is_an_error(tmp_path, read):
    path = tmp_path / "guarded.arrow"
    write(path, [pa.record_batch(columns(0, 40))])
    table = crossdock.open(path, guarded=True)
    # Not every operation is there for every type, and the mask of no nulls reads nothing.
    names = []
    for name in table.column_names:
        has_nulls = table[name].null_count > 0 and name != "null"
        if name == "null" or read in (READS["mask"], READS["null_count"]) and not has_nulls:
            continue
        try:
            read(table[name], tmp_path)
            names.append(name)
        except (TypeError, ValueError, BufferError):
            pass
    assert len(names) > 2
    del table
    table = crossdock.open(path, guarded=True)
    os.truncate(path, 4096)
    for name in names:
        with pytest.raises(OSError, match="the mapped file shrank"):
            read(table[name], tmp_path)
            pytest.fail(name)
        assert "the mapped file shrank" in repr(table[name]), name
    assert "the mapped file shrank" in repr(table) + table._repr_html_()


@pytest.mark.parametrize("name", ["string", "string_view", "bool", "dictionary"])
def test_the_copy_of_a_long_column_that_shrinks_under_it_is_an_error(tmp_path, name):
    path = tmp_path / "guarded.arrow"
    write(path, [pa.record_batch({"x": pa.concat_arrays([columns(0, 40)[name]] * 1000)})])
    table = crossdock.open(path, guarded=True)
    assert len(table.copy()["x"].to_list()) == 40_000
    os.truncate(path, 4096)
    with pytest.raises(OSError, match="the mapped file shrank"):
        table.copy()


@pytest.mark.parametrize("copied", [lambda x, _: x.copy(), lambda x, path: crossdock.save(path, x)], ids=["copy", "save"])
def test_a_copy_of_a_damaged_file_is_refused(tmp_path, copied):
    path = tmp_path / "damaged.arrow"
    kinds = pa.DictionaryArray.from_arrays(pa.array([1] * 64, pa.int32()), ["one", "two"])
    ones = (1).to_bytes(4, "little")
    for column, old, new, error in [
        (kinds, ones * 64, ones + (2_000_000_000).to_bytes(4, "little") + ones * 62, IndexError),
        (pa.array([LONG]), LONG.encode(), LONG[:-1].encode() + b"\xff", ValueError),
        (pa.array([LONG], pa.string_view()), LONG.encode(), LONG[:-1].encode() + b"\xff", ValueError),
    ]:
        write(path, [pa.record_batch({"x": column})])
        good = path.read_bytes()
        assert good.count(old) == 1
        copied(crossdock.open(path), tmp_path / "again.arrow")
        path.write_bytes(good.replace(old, new))
        with pytest.raises(error):
            copied(crossdock.open(path), tmp_path / "again.arrow")


def test_booleans_of_numpy_are_those_of_arrow_in_a_file(tmp_path):
    flags = np.array([True, False, True] * 5)
    lists = pa.FixedSizeListArray.from_arrays(pa.array([True, None] * 15), 2)
    table = crossdock.table({"flag": flags, "lists": lists, "part": flags[::-1].copy()})[1:13]
    crossdock.save(tmp_path / "x.arrow", table)
    theirs = pa.ipc.open_file(str(tmp_path / "x.arrow")).read_all()
    theirs.validate(full=True)
    assert theirs.schema.field("flag").type == pa.bool_() and theirs.to_pydict() == table.to_dict()
    ours = crossdock.open(tmp_path / "x.arrow")
    assert ours.to_dict() == table.to_dict()
    records = ours.select(["flag", "part"]).to_records()
    assert records.dtype["flag"] == "bool" and records.tolist()[0] == (False, False)
    kept = crossdock.table({"x": pa.array([True, None]).cast(pa.int8()).cast(pa.bool8())})
    crossdock.save(tmp_path / "y.arrow", kept)
    assert pa.ipc.open_file(str(tmp_path / "y.arrow")).read_all().schema.field("x").type == pa.bool8()
    with pytest.raises(BufferError, match="1 of 2 elements of column \"x\" are null"):
        crossdock.table({"x": [True, None]}).to_records()


def test_what_a_file_of_a_table_is_not_is_said(tmp_path):
    with pytest.raises(TypeError, match="only a .safetensors file has metadata; leave it out"):
        crossdock.save(tmp_path / "x.arrow", {"x": [1]}, metadata={"a": "b"})
    with pytest.raises(TypeError, match="its ending is not that of a format; .*, or .arrow for a table"):
        crossdock.save(tmp_path / "x.ipc", {"x": [1]})
    with pytest.raises(TypeError, match="has no file of the system to map: write it to a file"):
        crossdock.open(io.BytesIO(b"ARROW1"))
    crossdock.save(tmp_path / "x.arrow", {"x": [1]})
    deep = pa.int8()
    for _ in range(70):
        deep = pa.list_(deep)
    with pytest.raises(BufferError, match="nested more than 64 levels") as error:
        crossdock.table({"x": pa.array([], deep)})
    assert str(error.value).count('"item"') == 1


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
def test_a_file_that_is_cut_off_is_a_value_error(tmp_path, ending):
    path = tmp_path / f"all.{ending}"
    write(path, batches())
    whole = path.read_bytes()
    ends = set()
    for end in range(8, len(whole), len(whole) // 150):
        path.write_bytes(whole[:end])
        try:
            ends.add(len(crossdock.open(path)))
        except ValueError as error:
            assert str(path) in str(error)
    # Whole batches of a stream may be all that there is.
    assert ends <= ({0, 23, 33} if ending == "arrows" else set())


@pytest.mark.parametrize("ending", ["arrow", "arrows"])
def test_batches_of_a_file_are_read_one_at_a_time(tmp_path, ending):
    path = tmp_path / f"all.{ending}"
    made = batches()
    write(path, made, compression="zstd")
    before = crossdock.copied_bytes()
    reader = crossdock.open_batches(path, frozen=True)
    assert crossdock.copied_bytes() == before and reader.column_names == made[0].schema.names
    assert reader.schema == crossdock.open(path).schema
    first = next(reader)
    decoded = crossdock.copied_bytes()
    assert decoded > before and len(first) == 23
    same(pa.table(first), pa.Table.from_batches(made[:1]))
    # A consumer of streams takes the rest.
    rest = pa.RecordBatchReader.from_stream(reader)
    same(rest.read_all(), pa.Table.from_batches(made[1:]))
    assert list(reader) == [] and next(reader, None) is None
    with pytest.raises(ValueError, match="open the file again"):
        pa.RecordBatchReader.from_stream(reader)
    assert [len(batch) for batch in crossdock.open_batches(str(path))] == [23, 0, 10]


def test_a_stream_of_any_reader_is_read_one_batch_at_a_time(tmp_path):
    path = tmp_path / "all.arrows"
    made = batches()
    write(path, made)
    with open(path, "rb") as file:
        same(pa.Table.from_batches([pa.record_batch(batch) for batch in crossdock.open_batches(file)]), pa.Table.from_batches(made))
    read, written = os.pipe()
    writer = threading.Thread(target=lambda: pathlib.Path(f"/dev/fd/{written}").write_bytes(path.read_bytes()))
    with os.fdopen(read, "rb") as file:
        writer.start()
        reader = crossdock.open_batches(file)
        assert [len(batch) for batch in [next(reader), next(reader), next(reader)]] == [23, 0, 10]
        writer.join()
        os.close(written)
        assert next(reader, None) is None

    class Failing(io.BytesIO):
        def read1(self, count):
            if self.tell() > len(whole) // 2:
                raise ConnectionError("the peer left")
            return super().read1(min(count, 1000))

    whole = path.read_bytes()
    reader = crossdock.open_batches(Failing(whole))
    with pytest.raises(ConnectionError, match="the peer left"):
        list(reader)
    assert list(reader) == []
    with pytest.raises(OSError, match="the peer left"):
        pa.RecordBatchReader.from_stream(crossdock.open_batches(Failing(whole))).read_all()
    reader = crossdock.open_batches(io.BytesIO(whole[:-1000]))
    with pytest.raises(ValueError, match="ends within"):
        list(reader)


def test_what_holds_no_batches_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(TypeError, match="holds arrays and no table"):
        crossdock.open_batches(tmp_path / "a.npy")
    with pytest.raises(FileNotFoundError):
        crossdock.open_batches(tmp_path / "none.arrow")
    with pytest.raises(ValueError):
        crossdock.open_batches(io.BytesIO(b"no stream at all"))
    with pytest.raises(TypeError, match="mapped files"):
        crossdock.open_batches(io.BytesIO(), frozen=True)
    with pytest.raises(TypeError):
        crossdock.open_batches(io.StringIO("text"))
