"""Shared memory is sent to other processes as a descriptor; other memory is sent as bytes."""

import gc
import mmap
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import time
from multiprocessing import reduction

import numpy as np
import pytest
import workers

import crossdock

METHODS = ["fork", "spawn", "forkserver"]


def descriptors():
    """How many of memory this process has, once the thread that sends them to others has closed its own."""

    def count():
        links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
        return sum(os.path.islink(link) and "memfd:" in os.readlink(link) for link in links)

    counts = []
    while len(counts) < 3 or len(set(counts[-3:])) > 1:
        counts.append(count())
        time.sleep(0.002)
    return counts[-1]


@pytest.fixture(scope="module", params=METHODS)
def context(request):
    return multiprocessing.get_context(request.param)


@pytest.fixture(scope="module")
def pool(context):
    # Resources that the first message creates do not count as leaks.
    with context.Pool(1) as pool:
        pool.apply(workers.relay, (crossdock.shared(1),))
        yield pool
        # Ends by itself: a killed process leaves behind the folder in which it waits for requests
        # for descriptors.
        pool.close()
        pool.join()


def test_shared_memory_is_made_of_a_shape_or_as_a_copy():
    zeros = crossdock.shared((2, 3), "int16")
    assert (zeros.backing, zeros.dtype, zeros.tolist()) == ("shared memory", "int16", [[0] * 3] * 2)
    assert crossdock.shared(4).shape == (4,) and crossdock.shared((2, 0)).shape == (2, 0)
    assert crossdock.shared((), "S3").shape == () and crossdock.shared((3, 4), order="F").strides == (8, 24)
    source = np.arange(12.0).reshape(3, 4)
    before = crossdock.copied_bytes()
    copy = crossdock.shared(source[::2])
    assert crossdock.copied_bytes() - before == copy.nbytes == 64
    source[0, 0] = 9
    assert copy[0, 0] == 0 and not copy.readonly and copy.backing == "shared memory"
    assert crossdock.shared(source, "int8").tolist() == source.tolist()
    assert crossdock.shared(crossdock.zeros(2, "bfloat16")).dtype == "bfloat16"
    np.asarray(copy)[0] = 5
    assert copy[0].tolist() == [5] * 4
    assert crossdock.zeros(1).backing == "heap" and crossdock.asarray(source).backing == "foreign"


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (([[1], [1, 2]],), ValueError, "ragged"),
        (((2, -1),), ValueError, "-1"),
        ((object(),), TypeError, "no memory"),
        ((1 << 62,), ValueError, "takes more than"),
        ((3, "float65"), ValueError, "float65"),
    ],
)
def test_what_cannot_be_shared_is_refused(given, error, says):
    with pytest.raises(error, match=says):
        crossdock.shared(*given)
    with pytest.raises(ValueError, match="zeros"):
        crossdock.shared(3, sealed=True)


def test_sealed_memory_is_written_by_nobody():
    sealed = crossdock.shared(np.arange(3), sealed=True)
    assert sealed.readonly and sealed.tolist() == [0, 1, 2]
    with pytest.raises((ValueError, BufferError)):
        sealed[0] = 1
    descriptor, _ = crossdock._crossdock._lend(sealed)
    try:
        with pytest.raises(PermissionError):
            mmap.mmap(descriptor, 24)
        with pytest.raises(PermissionError):
            os.pwrite(os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR), b"x", 0)
    finally:
        os.close(descriptor)


def test_a_pool_has_the_same_memory(pool):
    ours = crossdock.shared((4, 6), "int32")
    ours[...] = np.arange(24).reshape(4, 6)
    for view in (ours, ours[1], ours[::-2, 1::2], ours.T, ours[2:2], ours[3, 4:]):
        assert pool.apply(workers.facts, (view,)) == workers.facts(view) and view.backing == "shared memory"
    other = pool.apply(workers.add_one, (ours[2, ::-1],))
    assert other != os.getpid() and ours[2].tolist() == [13, 14, 15, 16, 17, 18]
    assert ours[1].tolist() == [6, 7, 8, 9, 10, 11]


def test_what_came_is_sent_on_and_comes_back(pool):
    ours = crossdock.shared(np.arange(6))
    before = crossdock.copied_bytes()
    back = pool.apply(workers.relay, (ours,))
    again = pool.apply(workers.relay, (back,))
    assert crossdock.copied_bytes() == before
    assert back.tolist() == [5, 3, 1] and again.tolist() == [1, 5]
    again[1] = -1
    assert ours[5] == -1 and back[0] == -1


def test_sealed_memory_arrives_sealed(pool):
    sealed = crossdock.shared(np.arange(3), sealed=True)
    assert pool.apply(workers.facts, (sealed[1:],)) == ("shared memory", (2,), (8,), True, "int64", [1, 2])
    assert "read-only" in pool.apply(workers.overwrite, (sealed,))


def test_memory_of_one_process_goes_as_bytes(pool):
    for ours in (crossdock.zeros((2, 3)), crossdock.asarray(b"abc"), crossdock.asarray(np.arange(9))[::-3]):
        _, shape, _, readonly, dtype, values = pool.apply(workers.facts, (ours,))
        assert (shape, readonly, dtype, values) == (ours.shape, ours.readonly, ours.dtype, ours.tolist())
        assert pool.apply(workers.relay, (ours,)).tolist() == ours[::-2].tolist()


def test_a_process_gets_arrays_as_arguments_and_through_pipes_without_leaving_descriptors(context):
    ours = crossdock.shared(np.zeros((3, 2), "int64"))
    here, there = context.Pipe()
    process = context.Process(target=workers.serve, args=(there,))
    process.start()
    left = []
    for times in range(6):
        here.send(ours[:, times % 2])
        seen, where = here.recv()
        assert seen[-1] == [times // 2] * 3 and where == process.pid
        here.send("dropped")
        # By now, the other process has closed the mapping and its descriptor.
        assert here.recv() < 0
        gc.collect()
        left.append(descriptors())
    here.send(None)
    process.join()
    assert process.exitcode == 0 and ours.tolist() == [[3, 3]] * 3
    assert left[-1] <= left[1], left


def test_arguments_of_a_process_are_the_same_memory(context):
    ours = crossdock.shared(np.arange(4.0))
    before = None
    for times in range(1, 4):
        process = context.Process(target=workers.add_one, args=(ours[::-1],))
        process.start()
        process.join()
        assert process.exitcode == 0 and ours.tolist() == [times, times + 1, times + 2, times + 3]
        process.close()
        del process
        gc.collect()
        before = before or descriptors()
    assert descriptors() == before


def test_a_sender_that_has_ended_is_named():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=workers.put_one_and_end, args=(queue,))
    process.start()
    process.join()
    with pytest.raises(ConnectionError, match="ended"):
        queue.get()


def test_a_message_is_received_once():
    text = reduction.ForkingPickler.dumps(crossdock.shared(3))
    assert pickle.loads(text).tolist() == [0, 0, 0]
    with pytest.raises(ConnectionError, match="another process has taken"):
        pickle.loads(text)
    with pytest.raises(ValueError, match="39"):
        crossdock._crossdock._take("", bytes(39))


def test_a_forked_child_sends_arrays_of_its_own_and_keeps_nothing_of_its_parents_messages():
    ours, message = crossdock.shared(2), reduction.ForkingPickler.dumps(crossdock.shared((1 << 20,)))

    def has_memory_of_the_message():
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        return any(os.path.islink(link) and os.stat(link).st_size == 8 << 20 for link in links)

    assert has_memory_of_the_message()
    if (child := os.fork()) == 0:
        own = pickle.loads(reduction.ForkingPickler.dumps(ours))
        own[1] = 2 - has_memory_of_the_message()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0 and ours[1] == 2
    assert pickle.loads(message).shape == (1 << 20,)


def test_memory_outlives_the_process_that_made_it():
    context = multiprocessing.get_context("fork")
    queue, event = context.Queue(), context.Event()
    process = context.Process(target=workers.put_and_wait, args=(queue, event))
    process.start()
    array = queue.get()
    event.set()
    process.join()
    assert array.tolist() == [[7, 7], [7, 7]]
    array[0, 0] = 1
    assert array[0, 0] == 1


def test_plain_pickles_of_shared_memory_have_its_bytes():
    ours = crossdock.shared(np.arange(3))
    again = pickle.loads(pickle.dumps(ours))
    ours[0] = 5
    assert again.tolist() == [0, 1, 2] and again.backing != "shared memory"


def test_what_is_not_shared_memory_of_sealed_size_is_not_mapped(tmp_path):
    text = "offset=0; access=read; shape=4; strides=1; dtype=uint8"
    map_it = crossdock._crossdock._map
    (tmp_path / "file").write_bytes(b"abcd")
    file = os.open(tmp_path / "file", os.O_RDONLY)
    unsealed = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    os.write(unsealed, b"abcd")
    try:
        for descriptor in (file, unsealed):
            with pytest.raises(BufferError, match="sealed"):
                map_it(descriptor, text)
    finally:
        os.close(file)
        os.close(unsealed)
    for descriptor in (-1, -(1 << 31), file, 1 << 20):
        with pytest.raises(OSError):
            map_it(descriptor, text)
    lent, text = crossdock._crossdock._lend(crossdock.shared(4, "uint8"))
    try:
        assert map_it(lent, text).shape == (4,)
        for wrong in (text.replace("shape=4", "shape=5"), text.replace("offset=0", "offset=1"), "", text[:20]):
            with pytest.raises((ValueError, IndexError)):
                map_it(lent, wrong)
    finally:
        os.close(lent)


@pytest.mark.parametrize("guarded", [False, True])
def test_an_array_on_a_mapped_file_is_sent_by_value_and_outlives_the_file(pool, tmp_path, guarded):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(4096))
    array = crossdock.open(path, guarded=guarded)
    ours, theirs = multiprocessing.Pipe()
    ours.send(array[:3])
    os.truncate(path, 128)
    received = theirs.recv()
    assert received.tolist() == [0, 1, 2] and received.backing not in ("shared memory", "file")
    np.save(path, np.arange(5))
    backing, shape, *_, values = pool.apply(workers.facts, (crossdock.open(path, guarded=guarded),))
    assert (backing, shape, values) == (received.backing, (5,), [0, 1, 2, 3, 4])


def test_nothing_is_left_of_many_that_were_sent_and_received():
    here, there = multiprocessing.Pipe()
    ours = crossdock.shared((4, 1024))

    def hand_over(times):
        for _ in range(times):
            here.send(ours[1:, ::2])
            there.recv()[0, 0] = 1.0
        gc.collect()

    hand_over(20)
    before, memory, count = descriptors(), resident(), sys.getrefcount(ours)
    hand_over(300)
    assert (descriptors(), sys.getrefcount(ours)) == (before, count) and resident() - memory < 1 << 20


def test_arrays_that_are_made_and_dropped_leave_nothing():
    def make():
        crossdock.shared((64, 1024)).fill(1)
        crossdock.shared(np.zeros(100), sealed=True)
        reduction.ForkingPickler.loads(reduction.ForkingPickler.dumps(crossdock.shared(9)))

    for _ in range(20):
        make()
    before, memory, maps = descriptors(), resident(), mappings()
    for _ in range(200):
        make()
    assert (descriptors(), mappings()) == (before, maps) and resident() - memory < 1 << 20


def resident():
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * mmap.PAGESIZE


def mappings():
    with open("/proc/self/maps") as text:
        return sum("memfd" in line for line in text)


def test_views_keep_the_memory_whatever_goes_first():
    ours = crossdock.shared(np.arange(6.0))
    views = [np.asarray(ours), memoryview(ours)[1:], np.from_dlpack(ours[2:])]
    before = mappings()
    del ours
    gc.collect()
    assert mappings() == before and views[0].tolist() == [0, 1, 2, 3, 4, 5] and views[1][0] == 1 and views[2][0] == 2
    views[0][5] = 7
    assert views[2][3] == 7
    views.clear()
    gc.collect()
    assert mappings() == before - 1


def test_a_program_that_ends_amid_everything_ends_well():
    script = """
        import multiprocessing, os, crossdock
        kept = [crossdock.shared((3, 4)) for _ in range(3)]
        here, there = multiprocessing.Pipe()
        for array in kept:
            here.send(array[1:])
        kept.append(there.recv())
        if (child := os.fork()) == 0:
            kept[-1][0, 0] = 1.5
            kept.clear()
            os._exit(0)
        os.waitpid(child, 0)
        print(kept[0][1, 0])
    """
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.5\n", "")


def test_multiprocessing_is_imported_by_those_alone_who_share():
    script = """
        import sys, crossdock, pickle
        pickle.loads(pickle.dumps(crossdock.zeros(3)))
        assert "multiprocessing.reduction" not in sys.modules
        crossdock.shared(1)
        assert "multiprocessing.reduction" in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
