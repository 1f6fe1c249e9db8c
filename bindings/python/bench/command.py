"""The command's figures, beside NumPy doing the same: statistics, conversions and comparisons of files.

    python bench/command.py [--record] [--command PATH] [--bytes N] [stats] [convert] [diff]

--record stores the figures in bench/record/command.csv of the checkout. The command is target/release/crossdock by
default, and each figure of it includes its start. Files of N bytes (512 MiB by default) are written to a temporary
folder, and are in the page cache when they are read. `the map` is an OR of all numbers in the same file, newly mapped,
by two threads; `memory` is the same of as many bytes in memory.
"""

import filecmp
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from figures import Reach, append, circumstances, in_rounds, lines, show

MIB = 1 << 20
ROOT = Path(__file__).parents[3]


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


COMMAND = str(Path(option("--command", ROOT / "target/release/crossdock")).resolve())
NBYTES = int(option("--bytes", 512 * MIB))


def milliseconds(work):
    def sample():
        begin = time.perf_counter()
        work()
        return (time.perf_counter() - begin) * 1e3

    return sample


def crossdock(*arguments, status=0):
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def peak(*arguments):
    """The most memory that the command had resident, in MiB, pages of files included."""
    most = 0
    with subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL) as running:
        while running.poll() is None:
            lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
            most = max([most, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
            time.sleep(0.005)
    assert running.returncode == 0
    return most / 1024


def made(path, dtype):
    """A file of random numbers, written as `numpy.save` writes."""
    rng = np.random.default_rng(7)
    shape = (NBYTES // np.dtype(dtype).itemsize // 4096, 4096)
    with path.open("wb") as file:
        header = {"descr": dtype, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, shape[0], 1024):
            part = rng.standard_normal((min(1024, shape[0] - start), shape[1]), "f4") * 100
            part.astype(dtype).tofile(file)
    return path


def by_two_threads(words):
    """Reads numbers by two threads, without the GIL."""
    halves = np.array_split(words, 2)
    threads = [threading.Thread(target=np.bitwise_or.reduce, args=(half,)) for half in halves]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def read_memory():
    words = np.ones(NBYTES // 8, "u8")
    return lambda: by_two_threads(words)


def read_map(path):
    """Maps the file, and reads it: the least that any reader of a map does."""
    return lambda: by_two_threads(np.memmap(path, "u8", "r", offset=128))


def numpy_statistics(path):
    """What --stats shows; the quartiles of a sample, like the command's."""
    x = np.load(path, mmap_mode="r").reshape(-1)
    few = x[:: max(1, x.size >> 16)]
    return (
        np.nanmin(x), np.nanmax(x), x.mean(dtype="f8"), x.std(dtype="f8"), np.isnan(x).sum(), (x == 0).sum(),
        np.quantile(few, [0.25, 0.5, 0.75]), np.histogram(few, 24)[0],
    )


def stats(folder):
    for dtype in ("<f4", "<f8", "<i4", "|u1"):
        path = made(folder / "a.npy", dtype)
        shown = crossdock("inspect", path, "--stats", "--picture=never")
        least, greatest, *_ = numpy_statistics(path)
        assert f"min {least:.6g}" in shown and f"max {greatest:.6g}" in shown, shown
        cases = {
            "crossdock inspect --stats": milliseconds(lambda: crossdock("inspect", path, "--stats", "--picture=never")),
            "NumPy, mapped": milliseconds(lambda: numpy_statistics(path)),
            "the map, read by 2 threads": milliseconds(read_map(path)),
            "memory, read by 2 threads": milliseconds(read_memory()),
        }
        reach = [Reach(1, "NumPy, mapped"), Reach(1.25, "the map, read by 2 threads")]
        title = f"statistics of {NBYTES // MIB} MiB of {np.dtype(dtype)}"
        yield lines(title, "ms", "crossdock inspect --stats", in_rounds(5, cases), reach)


def convert(folder):
    """From <f4 to <f8 in column-major order, on the disk. NumPy holds both arrays in memory."""
    path, ours, theirs = made(folder / "a.npy", "<f4"), folder / "b.npy", folder / "c.npy"

    def command():
        crossdock("convert", path, ours, "--dtype", "<f8", "--order", "F", "--force")

    def numpy():
        np.save(theirs, np.load(path).astype("<f8", order="F"))
        with theirs.open("rb") as file:
            # The command's output is on the disk when it ends.
            os.fsync(file.fileno())

    command(), numpy()
    assert filecmp.cmp(ours, theirs, shallow=False)
    name = "crossdock convert --dtype <f8 --order F"
    samples = in_rounds(3, {name: milliseconds(command), "NumPy, astype and save": milliseconds(numpy)})
    yield lines(f"convert {NBYTES // MIB} MiB of float32", "ms", name, samples, [Reach(1, "NumPy, astype and save")])
    samples = {name: [peak("convert", path, ours, "--dtype", "<f8", "--order", "F", "--force")]}
    samples["the array and its copy"] = [3 * NBYTES / MIB]
    yield lines(f"resident while {NBYTES // MIB} MiB are converted", "MiB", name, samples, [Reach(400)])


def diff(folder):
    first, second = made(folder / "a.npy", "<f4"), folder / "b.npy"
    crossdock("convert", first, second, "--force")
    changed = np.load(second, mmap_mode="r+")
    changed[len(changed) // 2, 5] += 1
    del changed

    def numpy():
        a, b = np.load(first, mmap_mode="r"), np.load(second, mmap_mode="r")
        differs = a != b
        distance = np.abs(a.astype("f8") - b)
        return differs.sum(), np.unravel_index(differs.argmax(), differs.shape), distance.max()

    count, place, distance = numpy()
    shown = crossdock("diff", first, second, status=1)
    assert f"{count} of {NBYTES // 4} differ" in shown and f"[{place[0]}, {place[1]}]" in shown, shown
    cases = {
        "crossdock diff": milliseconds(lambda: crossdock("diff", first, second, status=1)),
        "NumPy, mapped": milliseconds(numpy),
    }
    title = f"compare twice {NBYTES // MIB} MiB of float32"
    yield lines(title, "ms", "crossdock diff", in_rounds(5, cases), [Reach(1, "NumPy, mapped")])


TABLES = {"stats": stats, "convert": convert, "diff": diff}


def main():
    chosen = [name for name in sys.argv[1:] if name in TABLES] or list(TABLES)
    stem = circumstances(f"CPython {sys.version.split()[0]}; NumPy {np.__version__}")
    print(", ".join(stem))
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            for table in TABLES[name](Path(folder)):
                show(table)
                if "--record" in sys.argv:
                    append("command.csv", [[*stem, *line] for line in table])


if __name__ == "__main__":
    main()
