"""Measures tables beside pyarrow and nanoarrow, in nanoseconds, each case in turns.

    python bench/tables.py [--record] [exchange | open]

`exchange` imports and exports batches through Arrow's capsules. `open` opens an IPC file of 4 GiB in 1,000 batches, which it
writes to the folder for temporary files (TMPDIR) and removes.

--record stores the figures in bench/record/python-tables.csv of the checkout.
"""

import os
import sys
import tempfile
import timeit

import nanoarrow
import pyarrow as pa
import pyarrow.ipc
from figures import Reach, append, circumstances, in_rounds, lines, show

import crossdock

ROUNDS = 31
# The approximate duration of a sample.
SECONDS = 3e-3
ROWS = 1024
BATCHES, BATCH_NBYTES = 1000, 4 << 20


def sample(function):
    """A sample of a function, in nanoseconds for each call."""
    timer = timeit.Timer(function)
    once = timer.timeit(1)
    times = max(1, int(SECONDS / once))
    return lambda: timer.timeit(times) / times * 1e9


def fixed():
    """A batch of 100 columns without nulls."""
    return pa.record_batch({f"column {k}": pa.array([float(k + row) for row in range(ROWS)]) for k in range(100)})


def mixed():
    """A batch of 20 columns: numbers with nulls, text, lists, structs and dictionaries."""
    numbers = [None if row % 3 == 0 else row for row in range(ROWS)]
    text = [None if row % 3 == 0 else f"Größe {row}" for row in range(ROWS)]
    columns = {}
    for k in range(4):
        columns[f"numbers {k}"] = pa.array(numbers)
        columns[f"text {k}"] = pa.array(text)
        columns[f"lists {k}"] = pa.array([[row, row] for row in range(ROWS)])
        columns[f"structs {k}"] = pa.array([{"a": row, "b": "text"} for row in range(ROWS)])
        columns[f"dictionary {k}"] = pa.array([f"{row % 8}" for row in range(ROWS)]).dictionary_encode()
    return pa.record_batch(columns)


def exchange():
    """Imports of pyarrow's tables, and exports to pyarrow, beside those of the peers."""
    for what, batch in {"100 fixed columns": fixed(), "20 mixed columns": mixed()}.items():
        theirs = pa.table(batch)
        ours, small = crossdock.table(theirs), nanoarrow.ArrayStream(theirs).read_all()
        assert pa.table(ours) == theirs and len(small) == ROWS
        own = "crossdock.table(t)"
        cases = {
            own: lambda: crossdock.table(theirs),
            "pyarrow.table of its capsule": lambda: pa.RecordBatchReader.from_stream(theirs).read_all(),
            "nanoarrow.ArrayStream(t).read_all()": lambda: nanoarrow.ArrayStream(theirs).read_all(),
        }
        samples = in_rounds(ROUNDS, {name: sample(case) for name, case in cases.items()})
        reach = [Reach(1.0, "pyarrow.table of its capsule"), Reach(1.0, "nanoarrow.ArrayStream(t).read_all()")]
        yield lines(f"import of pyarrow's table, {what}", "ns", own, samples, reach)
        own = "crossdock's table"
        cases = {
            own: lambda: pa.RecordBatchReader.from_stream(ours).read_all(),
            "pyarrow's table": lambda: pa.RecordBatchReader.from_stream(theirs).read_all(),
        }
        samples = in_rounds(ROUNDS, {name: sample(case) for name, case in cases.items()})
        yield lines(f"export to pyarrow's reader, {what}", "ns", own, samples, [Reach(1.0, "pyarrow's table")])


def written(path):
    """An IPC file of 4 GiB in 1,000 batches."""
    column = pa.array(range(BATCH_NBYTES // 16), pa.int64())
    batch = pa.record_batch({"a": column, "b": column.cast(pa.float64())})
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        for _ in range(BATCHES):
            writer.write_batch(batch)
    return batch.num_rows


def open_file():
    """Opening a file, with a last element of the last batch."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.arrow")
        rows = written(path)

        def ours():
            table = crossdock.open(path)
            assert len(table) == rows * BATCHES
            return table

        def theirs():
            with pa.memory_map(path) as source:
                table = pa.ipc.open_file(source).read_all()
            assert len(table) == rows * BATCHES
            return table

        assert ours()["a"][rows * BATCHES - 1] == theirs()["a"][rows * BATCHES - 1].as_py() == rows - 1
        own = "crossdock.open"
        samples = in_rounds(11, {own: sample(ours), "pyarrow.memory_map": sample(theirs)})
        yield lines("open an IPC file of 4 GiB, 1,000 batches", "ns", own, samples, [Reach(1.0, "pyarrow.memory_map")])


def main():
    stem = circumstances(f"CPython {sys.version.split()[0]}; pyarrow {pa.__version__}; nanoarrow {nanoarrow.__version__}")
    print(", ".join(stem))
    groups = {"exchange": exchange, "open": open_file}
    for group in [groups[name] for name in groups if name in sys.argv] or groups.values():
        for made in group():
            show(made)
            if "--record" in sys.argv:
                append("python-tables.csv", [[*stem, *line] for line in made])


if __name__ == "__main__":
    main()
