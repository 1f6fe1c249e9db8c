"""Tables and columns in pickles, and in other processes."""

import copy
import gc
import multiprocessing
import os
import pickle

import numpy as np
import pyarrow as pa
import pytest

import crossdock
from test_tables import LONG, buffers, counted, rows


def every_type(count):
    """A table with a column of each type, `count` rows long."""
    text = [f"{LONG}{k}" if k % 7 else None for k in range(count)]
    numbers = pa.array(range(count), pa.int64())
    union = pa.UnionArray.from_sparse(pa.array([k % 2 for k in range(count)], pa.int8()), [numbers, pa.array(text)])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([count // 2, count], pa.int32()), pa.array(["x", None]))
    pairs = pa.array([[k, None] if k % 3 else None for k in range(count)], pa.list_(pa.int16(), 2))
    return pa.table(
        {
            "number": numbers,
            "bits": pa.array([k % 3 == 0 if k % 5 else None for k in range(count)]),
            "text": pa.array(text),
            "large": pa.array(text, pa.large_string()),
            "view": pa.array(text, pa.string_view()),
            "moment": numbers.cast(pa.timestamp("ns", tz="Europe/Berlin")),
            "decimal": numbers.cast(pa.decimal128(30, 4)),
            "list": pa.array([[k, None] if k % 3 else None for k in range(count)]),
            "pair": pairs,
            "struct": pa.array([{"x": k, "y": str(k)} if k % 3 else None for k in range(count)]),
            "map": pa.array([[("k", k)] for k in range(count)], pa.map_(pa.string(), pa.int64())),
            "kind": pa.DictionaryArray.from_arrays(pa.array([k % 3 for k in range(count)], pa.int8()), ["a", "b", None], ordered=True),
            "runs": runs,
            "union": union,
            "none": pa.nulls(count),
            "fixed": pa.array([b"abc"] * count, pa.binary(3)),
        }
    ).replace_schema_metadata({"source": "probe"})


def is_same(ours, theirs):
    """Whether a table has the types and values of PyArrow's, which compares no sparse unions."""
    taken = pa.table(ours)
    rest = theirs.drop(["union"])
    return (
        taken.schema.equals(theirs.schema, check_metadata=True)
        and taken.drop(["union"]).equals(rest)
        and taken["union"].to_pylist() == theirs["union"].to_pylist()
    )


def two_batches():
    theirs = every_type(500)
    return pa.Table.from_batches([*theirs.slice(3, 400).to_batches(), *theirs.slice(450).to_batches()])


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_have_all_of_a_table(protocol):
    theirs = two_batches()
    ours = crossdock.table(theirs)
    again = pickle.loads(pickle.dumps(ours, protocol))
    assert is_same(again, theirs)
    assert [len(batch) for batch in again] == [400, 50]
    for name in theirs.column_names:
        column = pickle.loads(pickle.dumps(ours[name], protocol))
        assert (column.name, column.type, column.to_list()) == (name, ours[name].type, ours[name].to_list())
    schema = theirs.drop(["union"]).schema
    empty = pickle.loads(pickle.dumps(crossdock.table(schema.empty_table()), protocol))
    assert empty.shape == (0, len(schema)) and pa.table(empty).schema == schema


def test_buffers_go_out_of_band_in_place():
    theirs = every_type(500)
    ours = crossdock.table(theirs)
    parts = []
    data, copied = counted(lambda: pickle.dumps(ours, 5, buffer_callback=parts.append))
    assert copied == 0 and len(data) < 6000
    again, copied = counted(lambda: pickle.loads(data, buffers=parts))
    assert copied == 0 and again.to_dict() == ours.to_dict()
    back = pa.table(again)
    for name in theirs.column_names:
        assert buffers(back[name]) == buffers(theirs[name]), name
    # A part by the middle: its buffers are shared, unless it is less than half of them.
    for part, is_copied in [(slice(100, None), False), (slice(400, 403), True)]:
        parts = []
        data, copied = counted(lambda part=part, parts=parts: pickle.dumps(ours[["text"]][part], 5, buffer_callback=parts.append))
        assert (copied > 0) == is_copied
        assert pickle.loads(data, buffers=parts)["text"].to_list() == ours["text"][part].to_list()
    many = crossdock.table(every_type(20_000))
    assert len(pickle.dumps(many[10_000:10_001])) < len(pickle.dumps(many)) / 20


def test_memory_of_a_pickle_stays_alive_and_is_released():
    gc.collect()
    before = pa.total_allocated_bytes()
    parts = []
    data = pickle.dumps(crossdock.table(pa.table({"x": pa.array(range(10_000))})), 5, buffer_callback=parts.append)
    again = pickle.loads(data, buffers=parts)
    del parts
    gc.collect()
    assert again["x"][-1] == 9999 and pa.total_allocated_bytes() > before
    del again
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_buffers_that_others_can_write_are_read_and_not_believed():
    parts = []
    data = pickle.dumps(crossdock.column(pa.array(["one", None, LONG] * 10)), 5, buffer_callback=parts.append)
    writable = [bytearray(part) for part in parts]
    ours = pickle.loads(data, buffers=writable)
    assert ours.to_list() == ["one", None, LONG] * 10
    with pytest.raises(BufferError, match=r"another owner may write.*copy\(\).*frozen\(\)"):
        pa.array(ours)
    own = ours.copy()
    assert pa.array(own).to_pylist() == pa.array(ours.frozen()).to_pylist() == own.to_list()
    writable[1][:] = b"\xff" * len(writable[1])
    with pytest.raises((IndexError, ValueError)):
        ours.to_list()
    assert own.to_list() == ["one", None, LONG] * 10
    assert pa.array(pickle.loads(data, buffers=[bytes(part) for part in parts])).to_pylist() == ["one", None, LONG] * 10


def test_damaged_pickles_are_refused():
    rebuild, (schema, numbers, parts) = crossdock.table(rows()).__reduce_ex__(4)
    assert rebuild(schema, numbers, parts).to_dict() == rows().to_pydict()
    wrong = [
        (schema[:-1], numbers, parts),
        (b"", numbers, parts),
        (schema, numbers[:-8], parts),
        (schema, numbers + b"\0" * 8, parts),
        (schema, b"\xff" * len(numbers), parts),
        (schema, numbers, parts[:-1]),
        (schema, numbers, [b"", *parts[1:]]),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="the pickle of a table is damaged"):
            rebuild(*arguments)
    for index in range(0, len(numbers), 8):
        for number in (1, 2**31, 2**63 - 1):
            damaged = numbers[:index] + number.to_bytes(8, "little") + numbers[index + 8 :]
            try:
                rebuild(schema, damaged, parts).to_dict()
            except (ValueError, IndexError, OverflowError, MemoryError):
                pass


def test_copies_share_memory_and_deep_copies_do_not():
    theirs = two_batches()
    ours = crossdock.table(theirs)
    same, copied = counted(lambda: copy.copy(ours))
    assert copied == 0 and buffers(pa.table(same)["text"]) == buffers(theirs["text"])
    deep, copied = counted(lambda: copy.deepcopy(ours))
    taken = pa.table(deep)
    assert copied > 400 * 40 and is_same(deep, theirs) and not buffers(taken["text"]) & buffers(theirs["text"])
    column = copy.deepcopy(crossdock.column(np.arange(3)))
    # The copy belongs to this library, so that it is constant for others.
    assert pa.array(column).to_pylist() == copy.copy(column).to_list() == [0, 1, 2]


def described(table):
    return os.getpid(), table.to_dict(), crossdock.copied_bytes()


def shared_at(table):
    """Whether the text of a table lies in shared memory, its sum, and the table."""
    address = pa.table(table)["text"].chunk(0).buffers()[2].address
    with open("/proc/self/maps") as maps:
        spans = [(line.split("-", 1)[0], line.split()[0].split("-")[1], line.split()[1], line) for line in maps]
    [(rights, line)] = [(rights, line) for low, high, rights, line in spans if int(low, 16) <= address < int(high, 16)]
    return os.getpid(), "memfd:crossdock" in line, rights, crossdock.copied_bytes(), table


def test_processes_receive_tables_in_sealed_memory():
    theirs = every_type(5000)
    ours = crossdock.table(theirs)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        before = crossdock.copied_bytes()
        process, is_shared, rights, copied, back = pool.apply(shared_at, (ours,))
        sent = crossdock.copied_bytes() - before
        assert process != os.getpid() and is_shared and rights.startswith("r-") and copied == 0
        # The one copy is the one into shared memory.
        assert ours.nbytes <= sent + 4096 and sent <= ours.nbytes + 4096
        assert is_same(back, theirs)
        small = crossdock.table(rows())
        assert pool.apply(described, (small,))[1] == small.to_dict()
        assert pool.apply(described, (ours[2:4],))[1] == ours[2:4].to_dict()
        column = pool.apply(copy.copy, (ours["text"],))
        assert column.to_list() == ours["text"].to_list()
        gc.collect()
        descriptors = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            pool.apply(shared_at, (ours,))
        gc.collect()
        # The thread that hands out descriptors may still hold the last one.
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 1


def test_dask_sends_tables_out_of_band():
    pytest.importorskip("distributed")
    from distributed.protocol import deserialize, serialize

    theirs = every_type(5000)
    ours = crossdock.table(theirs)
    (header, frames), copied = counted(lambda: serialize(ours))
    assert copied == 0 and len(frames) > 10
    again, copied = counted(lambda: deserialize(header, frames))
    assert copied == 0 and is_same(again, theirs)


def test_joblib_and_cloudpickle_take_tables():
    joblib, cloudpickle = pytest.importorskip("joblib"), pytest.importorskip("cloudpickle")
    ours = crossdock.table(every_type(5000))
    parts = []
    data, copied = counted(lambda: cloudpickle.dumps(ours, protocol=5, buffer_callback=parts.append))
    assert copied == 0 and pickle.loads(data, buffers=parts).to_dict() == ours.to_dict()
    [(process, values, _)] = joblib.Parallel(n_jobs=2, backend="multiprocessing")([joblib.delayed(described)(ours)])
    assert process != os.getpid() and values == ours.to_dict()


def test_a_refused_table_says_why_it_is_no_table_and_a_column_why_it_is_no_array():
    class Query:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("the query failed in row 7")

    sender = crossdock.Channel(2, 4096).sender()
    for send in [sender.send, lambda obj: crossdock.publish("refused", {"x": obj})]:
        with pytest.raises(BufferError, match="the query failed in row 7"):
            send(Query())
        with pytest.raises((BufferError, TypeError, ValueError)) as caught:
            send(pa.chunked_array([[1, None]]))
        assert "struct of columns" not in str(caught.value)
