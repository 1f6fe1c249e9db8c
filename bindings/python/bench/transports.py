"""Measures the time to send an array to another process, beside NumPy in the same run: in microseconds, the minimum of many rounds.

    python bench/transports.py [--json] [--clusters]

--clusters also measures Dask and Ray, which must be installed.
"""

import contextlib
import json
import multiprocessing
import os
import pickle
import sys
import time
from pathlib import Path

import numpy as np
from hand_over import in_turns

import crossdock

sys.path.append(str(Path(__file__).parent.parent / "examples"))


def out_of_band(array):
    beside = []
    text = pickle.dumps(array, 5, buffer_callback=beside.append)
    return len(text), pickle.loads(text, buffers=beside)


def in_band(array):
    return pickle.loads(pickle.dumps(array, 4))


def once(act, *arguments):
    """The microseconds of one call, which is long."""
    start = time.perf_counter()
    act(*arguments)
    return (time.perf_counter() - start) * 1e6


def echo(connection):
    with contextlib.suppress(EOFError):
        while True:
            connection.send(connection.recv())


@contextlib.contextmanager
def echoing():
    """Sends an array to another process and back."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=echo, args=(there,))
    process.start()
    there.close()

    def send(array):
        here.send(array)
        return here.recv()

    yield send
    here.close()
    process.join()


def check(ours, theirs):
    """Checks the result, so that a wrong one has no figure."""
    assert np.array_equal(np.asarray(ours), theirs) and ours.shape == theirs.shape


def pickles(theirs):
    for name, view in (("8 MiB", theirs), ("8 MiB, every second row", np.repeat(theirs, 2, 0)[::2]), ("a column", theirs[:, 3])):
        ours = crossdock.asarray(view)
        (length, again), (their_length, _) = out_of_band(ours), out_of_band(view)
        check(again, view)
        for what, act in (("out of band", out_of_band), ("by protocol 4", in_band)):
            own, other = in_turns(lambda: once(act, ours), lambda: once(act, view))
            yield f"pickle {what}, {name}", own, other
        yield f"bytes of the pickle itself, {name}", length, their_length


def pipes(theirs):
    ours = crossdock.shared(theirs)
    with echoing() as send:
        check(send(ours), theirs)
        own, other = in_turns(lambda: once(send, ours), lambda: once(send, theirs))
        yield "to a process and back, shared 8 MiB", own, other


def shareable():
    """Memory that NumPy allocates, beside its own."""

    def fill():
        made = np.empty(64 << 20, "u1")
        made.fill(1)

    def fill_shareable():
        with crossdock.shareable():
            fill()

    own, other = in_turns(lambda: once(fill_shareable), lambda: once(fill))
    yield "NumPy: make, fill and drop 64 MiB", own, other


def dask(theirs):
    import dask_cluster

    ours = crossdock.asarray(theirs)
    with dask_cluster.start() as client:

        def round_trip(array):
            [future] = client.scatter([array], hash=False)
            return client.gather(future, direct=True)

        check(round_trip(ours), theirs)
        own, other = in_turns(lambda: once(round_trip, ours), lambda: once(round_trip, theirs))
        yield "Dask, there and back, 8 MiB", own, other


def ray(theirs):
    import ray_store

    ours = crossdock.asarray(theirs)
    with ray_store.start():
        get, put = ray_store.ray.get, ray_store.ray.put
        stored, their_stored = put(ours), put(theirs)
        check(get(stored), theirs)
        own, other = in_turns(lambda: once(lambda: get(put(ours))), lambda: once(lambda: get(put(theirs))))
        yield "Ray, put and get, 8 MiB", own, other
        own, other = in_turns(lambda: once(get, stored), lambda: once(get, their_stored))
        yield "Ray, get, 8 MiB", own, other


def rows():
    theirs = np.arange(float(1 << 20)).reshape(1 << 10, 1 << 10)
    yield from pickles(theirs)
    yield from pipes(theirs)
    yield from shareable()
    if "--clusters" in sys.argv:
        yield from dask(theirs)
        yield from ray(theirs)


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(json.dumps(list(rows())))
    else:
        print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {os.cpu_count()} processors, {time.strftime('%Y-%m-%d')}")
        print(f"{'':60}{'crossdock':>10}  {'NumPy':>10}")
        for name, own, theirs in rows():
            print(f"{name:60}{own:10.1f}  {theirs:10.1f}", flush=True)
