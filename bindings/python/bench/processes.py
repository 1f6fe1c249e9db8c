"""Measures how arrays reach other processes, beside other libraries in the same rounds. The receivers check the values.

    python bench/processes.py [--record] [sets] [resident] [send] [polling] [waking]

--record stores the figures in bench/record/processes.csv of the checkout. Peers that are not installed are named and left out:
pip install iceoryx2 pyzmq ray safetensors torch. The set's holder is the command `crossdock`, or the one that CROSSDOCK_BIN
names.
"""

import contextlib
import gc
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from multiprocessing import reduction
from pathlib import Path

import numpy as np
from figures import Reach, append, circumstances, in_rounds, lines, show
from streams import SPAWN, STREAMS, Channel, Iceoryx, Pair, run_on
from word import Word

import crossdock

PEERS = {"iceoryx2": "iceoryx2", "pyzmq": "zmq", "ray": "ray", "safetensors": "safetensors", "torch": "torch"}
OWN = "crossdock"
MIB = 1 << 20


def has(module):
    return importlib.util.find_spec(module) is not None


def microseconds(act):
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1e6


@contextlib.contextmanager
def helper(function, *arguments):
    """Another process, at the other end of the pipe."""
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=function, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join(10)
        if process.is_alive():
            process.kill()


# ===== sets


@contextlib.contextmanager
def held(path, name):
    """Holds a file under a name. Yields the holder's process, or None without the command."""
    command = os.environ.get("CROSSDOCK_BIN") or shutil.which("crossdock")
    if command is None:
        print("without the command crossdock: no sets")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        holder = subprocess.Popen([command, "hold", path, "--name", name], stdout=subprocess.PIPE)
        holder.stdout.readline()
        try:
            yield holder.pid
        finally:
            subprocess.run([command, "drop", name], check=True)
            holder.wait()
            holder.stdout.close()


def send_tensors(connection, count):
    """Pickles as many tensors for each request, as the queues of torch.multiprocessing do."""
    import torch

    # Descriptors would need a higher limit of open files than most systems have.
    torch.multiprocessing.set_sharing_strategy("file_system")
    tensors = {f"model.layers.{i}.weight": torch.full((4, 16), float(i)).share_memory_() for i in range(count)}
    with contextlib.suppress(EOFError):
        while connection.recv():
            connection.send_bytes(reduction.ForkingPickler.dumps(tensors))


def sets():
    for count in (1_000, 20_000):
        with contextlib.ExitStack() as stack:
            path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "model.safetensors")
            crossdock.save(path, {f"model.layers.{i}.weight": np.full((4, 16), i, "f4") for i in range(count)})
            if stack.enter_context(held(path, name := f"model{count}")) is None:
                return
            connected = crossdock.connect(name)
            names = list(connected)
            rounds = 9 if count < 10_000 else 3

            def each(get, names=names):
                opened = []
                start = time.perf_counter()
                for name in names:
                    opened.append(get(name))
                elapsed = (time.perf_counter() - start) * 1e6 / len(names)
                assert all(float(opened[i][3, 15]) == i for i in range(0, len(names), 97))
                return elapsed

            cases, reach = {OWN: lambda: each(connected.__getitem__)}, [Reach(2)]
            opening = {OWN: lambda: microseconds(lambda: crossdock.connect(name))}
            if has("safetensors"):
                from safetensors import safe_open

                cases["safetensors to NumPy"] = lambda: each(safe_open(path, "np").get_tensor)
                opening["safetensors"] = lambda: microseconds(lambda: safe_open(path, "np"))
            if has("torch"):
                import torch

                torch.multiprocessing.set_sharing_strategy("file_system")
                if has("safetensors"):
                    cases["safetensors to PyTorch"] = lambda: each(safe_open(path, "pt").get_tensor)
                connection = stack.enter_context(helper(send_tensors, count))

                def received():
                    connection.send(True)
                    text = connection.recv_bytes()
                    tensors = []
                    elapsed = microseconds(lambda: tensors.append(reduction.ForkingPickler.loads(text)))
                    [tensors] = tensors
                    assert all(float(tensors[names[i]][3, 15]) == i for i in range(0, len(names), 97))
                    return elapsed / count

                cases["torch.multiprocessing"] = received
                reach.append(Reach(1 / 50, "torch.multiprocessing"))
            yield lines(f"open a tensor of {count} in a set", "us", OWN, in_rounds(rounds, cases), reach)
            yield lines(f"connect to a set of {count}, or open the file", "us", OWN, in_rounds(30, opening))


# ===== resident memory


def proportional(pid):
    """The bytes of a process, each page divided by the number of processes that have it."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))


def load(way, path):
    if way == OWN:
        return dict(crossdock.connect("model").items())
    if way == "safetensors to NumPy":
        from safetensors.numpy import load_file
    else:
        from safetensors.torch import load_file
    return load_file(path)


def read(connection, way, path):
    """Loads the tensors and reads them all, and sends how much its memory grew when told."""
    if way != OWN:
        import safetensors.numpy
    if way == "safetensors to PyTorch":
        import safetensors.torch  # noqa: F401
    with contextlib.suppress(EOFError):
        gc.collect()
        before = proportional("self")
        connection.recv()
        tensors = load(way, path)
        connection.send(sum(float(np.asarray(tensor).max()) for tensor in tensors.values()))
        connection.recv()
        connection.send(proportional("self") - before)
        connection.recv()


def resident():
    """The memory of four readers of one model, as a multiple of the model; with its holder, if there is one."""
    count, nbytes = 32, 16 * MIB
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        crossdock.save(path, {f"w{i}": np.full(nbytes // 4, i, "f4") for i in range(count)})

        def four(way, holder=None):
            with contextlib.ExitStack() as stack:
                readers = [stack.enter_context(helper(read, way, path)) for _ in range(4)]
                for reader in readers:
                    reader.send("load")
                assert [reader.recv() for reader in readers] == [sum(range(count))] * 4
                for reader in readers:
                    reader.send("measure")
                total = sum(reader.recv() for reader in readers) + (proportional(holder) if holder else 0)
                return total / (count * nbytes)

        samples = {}
        with held(path, "model") as holder:
            if holder is None:
                return
            samples[OWN] = in_rounds(2, {OWN: lambda: four(OWN, holder)})[OWN]
        if has("safetensors"):
            others = ["safetensors to NumPy"] + ["safetensors to PyTorch"] * has("torch")
            samples |= in_rounds(2, {way: lambda way=way: four(way) for way in others})
        yield lines("resident of four readers and their holder", "of the model", OWN, samples, [Reach(1.02)])


# ===== send


GIB = 1 << 30


def look(array):
    """What the receivers check."""
    return array.shape, [int(array[index]) for index in (0, GIB // 2, -1)]


def receive(connection):
    with contextlib.suppress(EOFError):
        while True:
            way = connection.recv()
            if way == "text":
                connection.recv_bytes()
                connection.send("read")
                continue
            if way == "pickle":
                array = pickle.loads(connection.recv_bytes())
            elif way == "torch":
                array = connection.recv().numpy()
            else:
                array = np.asarray(connection.recv())
            connection.send(look(array))
            array = None
            connection.send("dropped")


def send():
    """1 GiB that NumPy filled, until the other process has read it."""
    with crossdock.shareable():
        filled = np.empty(GIB, "u1")
    filled.fill(3)
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(helper(receive))
        number = 0

        def sample(way, start):
            def one():
                nonlocal number
                number = number % 200 + 1
                filled[[0, GIB // 2, -1]] = number
                connection.send(way)
                begin = time.perf_counter()
                start()
                answer = connection.recv()
                end = time.perf_counter()
                assert answer == ((GIB,), [number] * 3), answer
                assert connection.recv() == "dropped"
                return (end - begin) * 1e6

            return one

        def ours():
            connection.send(crossdock.asarray(filled))

        def pickled():
            connection.send_bytes(pickle.dumps(filled, 5))

        def tensor():
            connection.send(torch.from_numpy(filled).share_memory_())

        cases = {OWN: sample(OWN, ours), "pickle, protocol 5": sample("pickle", pickled)}
        before = crossdock.copied_bytes()
        yield from parts_of_a_send(connection, filled, cases[OWN])
        if has("torch"):
            import torch
            import torch.multiprocessing  # noqa: F401 (tensors are sent as descriptors)

            cases["torch share_memory_"] = sample("torch", tensor)
        if has("ray"):
            cases["Ray, put and get"] = stack.enter_context(ray_case(filled))
        samples = in_rounds(3, cases)
        assert crossdock.copied_bytes() == before, "nothing is copied by this library"
        yield lines("send 1 GiB that NumPy filled, until it is read", "us", OWN, samples)


def parts_of_a_send(connection, filled, whole):
    """What `connection.send` does: it pickles the array, and writes the pickle into the pipe, which wakes the receiver."""
    from crossdock._processes import _reduce

    texts = []

    def pickled_by(reduce):
        reduction.register(crossdock.Array, reduce)
        start = time.perf_counter()
        texts.append(reduction.ForkingPickler.dumps(crossdock.asarray(filled)))
        elapsed = (time.perf_counter() - start) * 1e6
        reduction.register(crossdock.Array, _reduce)
        return elapsed

    def sent():
        """Another text of the same length: each pickle can be read once."""
        connection.send("text")
        text = b"x" * len(texts[-1])
        elapsed = microseconds(lambda: connection.send_bytes(text))
        assert connection.recv() == "read"
        return elapsed

    own, given = "its pickle", _reduce(crossdock.asarray(filled))
    cases = {
        "until it is read": whole,
        own: lambda: pickled_by(_reduce),
        "until it is read, again": whole,
        "a pickle that is known before, the library's limit": lambda: pickled_by(lambda array: given),
        "a pipe's write of as many bytes, the limit": sent,
    }
    yield lines("send 1 GiB that NumPy filled, in parts", "us", own, in_rounds(301, cases), [Reach(15)])


@contextlib.contextmanager
def ray_case(filled):
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    quiet = dict(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            ray.init(num_cpus=1, object_store_memory=3 * GIB, _temp_dir=folder, **quiet)
            worker = ray.remote(look)
            number = 100

            def one():
                nonlocal number
                number = number % 200 + 1
                filled[[0, GIB // 2, -1]] = number
                begin = time.perf_counter()
                answer = ray.get(worker.remote(ray.put(filled)))
                end = time.perf_counter()
                assert answer == ((GIB,), [number] * 3), answer
                # Its daemons free the memory later.
                time.sleep(1)
                return (end - begin) * 1e6

            one()
            yield one
        finally:
            ray.shutdown()


# ===== streams


def streams(way):
    """A hand-over is half of the way there and back."""
    run_on(0)
    for nbytes, size in ((8 << 10, "8 KiB"), (4 * MIB, "4 MiB")):
        with contextlib.ExitStack() as stack:
            cases = {}
            for kind in STREAMS:
                if way in kind.ways and (kind.module is None or has(kind.module)):
                    pair = stack.enter_context(contextlib.closing(Pair(kind, nbytes, way)))
                    cases[kind.name] = pair.microseconds
            if way == "polling":
                cases["a word in C, the limit"] = stack.enter_context(contextlib.closing(Word())).microseconds
            before = crossdock.copied_bytes()
            samples = in_rounds(51, cases)
            assert crossdock.copied_bytes() == before
        reach = [Reach(1.5)] if way == "polling" else []
        yield lines(f"hand over {size} to NumPy, {way}", "us", Channel.name, samples, [*reach, Reach(1, Iceoryx.name)])


TABLES = {"sets": sets, "resident": resident, "send": send}
TABLES |= {way: lambda way=way: streams(way) for way in ("polling", "waking")}


def main():
    chosen = [name for name in sys.argv[1:] if not name.startswith("--")] or list(TABLES)
    missing = [name for name, module in PEERS.items() if not has(module)]
    if missing:
        print("not installed, and left out:", ", ".join(missing))
    peers = [f"{name} {metadata.version(name)}" for name in PEERS if name not in missing]
    stem = circumstances("; ".join([f"CPython {sys.version.split()[0]}", f"NumPy {np.__version__}", *peers]))
    print(", ".join(stem))
    for name in chosen:
        for made in TABLES[name]():
            show(made)
            if "--record" in sys.argv:
                append("processes.csv", [[*stem, *line] for line in made])


if __name__ == "__main__":
    main()
