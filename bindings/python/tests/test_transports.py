"""Arrays are sent by Dask, Ray and Arrow Flight: the examples, and further checks."""

import contextlib
import gc
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crossdock
from elsewhere import require

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.append(str(EXAMPLES))


def example(name, needs):
    """The module, under a name by which other processes find it."""
    require(needs)
    return importlib.import_module(name)


def address(array):
    return np.asarray(array).ctypes.data


# ===== Dask


@pytest.fixture(scope="module")
def dask_cluster():
    return example("dask_cluster", "distributed")


@pytest.fixture(scope="module")
def client(dask_cluster):
    with dask_cluster.start() as client:
        yield client


def received(array):
    """The position of an array in the memory that a worker received: (length, distance from its start) of each piece
    around it."""
    low, pieces = address(array), []
    for thing in gc.get_objects():
        if type(thing) is memoryview:
            with contextlib.suppress(ValueError, BufferError):
                start, nbytes = np.frombuffer(thing, "u1").ctypes.data, thing.nbytes
                if start <= low < start + nbytes and type(thing.obj) is not crossdock.Array:
                    pieces.append((nbytes, low - start))
    return os.getpid(), pieces, array.readonly, array.strides, crossdock.copied_bytes()


def times_two(array):
    np.asarray(array)[...] *= 2
    return array


def test_the_example_of_dask(dask_cluster, client):
    assert "copied 0" in dask_cluster.demonstrate(client)


def test_arrays_lie_in_the_frames_that_dask_received(client):
    grid = np.arange(90_000.0).reshape(300, 300)
    before = crossdock.copied_bytes()
    for theirs in (grid, grid[:, 7:], grid[::-2], grid.T, np.broadcast_to(grid[0], (500, 300))):
        ours = crossdock.asarray(theirs)
        [future] = client.scatter([ours], hash=False)
        process, pieces, readonly, strides, copied = client.submit(received, future, pure=False).result()
        low, high = np.lib.array_utils.byte_bounds(theirs)
        assert process != os.getpid() and copied == 0 and strides == ours.strides
        assert readonly == ours.readonly
        assert (high - low, address(ours) - low) in pieces
    assert crossdock.copied_bytes() == before


def test_dask_moves_results_of_every_dtype(client):
    for dtype in ("bfloat16", "datetime64[s]", ">f4", "S3", "[('a', '<i4'), ('b', '<f8')]"):
        ours = crossdock.zeros((3, 4), dtype)[:, ::-1]
        [future] = client.scatter([ours], hash=False)
        for direct in (True, False):
            again = client.gather(future, direct=direct)
            assert (again.shape, again.dtype) == (ours.shape, ours.dtype) and again.tobytes() == ours.tobytes()
    [future] = client.scatter([crossdock.asarray(np.ones((4, 4)))[:, 1:3]], hash=False)
    assert client.submit(times_two, future, pure=False).result().tolist() == [[2.0, 2.0]] * 4


def test_many_arrays_through_dask_leave_nothing(client):
    def round_trips(times):
        for _ in range(times):
            [future] = client.scatter([array], hash=False)
            client.gather(future, direct=True)
            del future

    array = crossdock.zeros((100, 100))
    round_trips(3)
    gc.collect()
    before, exports = sys.getrefcount(array), array.exports
    round_trips(20)
    gc.collect()
    assert (sys.getrefcount(array), array.exports) == (before, exports)


# ===== Ray


@pytest.fixture(scope="module")
def ray_store():
    module = example("ray_store", "ray")
    with contextlib.ExitStack() as stack:
        for attempts_left in (2, 1, 0):
            try:
                stack.enter_context(module.start())
                break
            except Exception as error:
                # Ray gives its parts 30 seconds to start, and a busy machine may need more.
                if "timed out" not in str(error) or not attempts_left:
                    raise
        yield module


def test_the_example_of_ray(ray_store):
    assert "copied 0" in ray_store.demonstrate()


def test_every_get_of_ray_is_the_memory_that_was_put(ray_store):
    import ray

    grid = np.arange(90_000.0).reshape(300, 300)
    for theirs in (grid, grid[:, 7:], grid[::-2], grid.T, np.broadcast_to(grid[0], (500, 300))):
        ours = crossdock.asarray(theirs)
        before = crossdock.copied_bytes()
        stored = ray.put(ours)
        first, second = ray.get(stored), ray.get(stored)
        assert crossdock.copied_bytes() == before
        assert first == ours and first.strides == ours.strides and first.readonly
        assert address(first) == address(second) != address(ours)
    kept = first[1:]
    del stored, first, second
    gc.collect()
    assert kept[0].tolist() == grid[0].tolist()


# ===== Arrow Flight and shared memory, each in a program


@pytest.mark.parametrize(("name", "needs", "says"), [("flight", "pyarrow", "where they were received"), ("shared_memory", "numpy", "copied 0")])
def test_an_example_runs(name, needs, says):
    require(needs)
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and says in done.stdout, done
