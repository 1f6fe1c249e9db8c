"""Arrays that NumPy makes in memory of which another process can later have the descriptor."""

import asyncio
import concurrent.futures
import contextvars
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import workers
from numpy.lib import NumpyVersion

import crossdock

HAS_NAME = NumpyVersion(np.__version__) >= "2.0.0"


def handler(array):
    core = np._core if HAS_NAME else np.core
    return core.multiarray.get_handler_name(array)


def is_shareable(array):
    return crossdock.asarray(array).backing == "shared memory"


def regions():
    """The descriptors and mappings of such memory in this process."""
    gc.collect()
    open_ = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")]
    with open("/proc/self/maps") as maps:
        return sum("crossdock-pool" in name for name in open_), sum("crossdock-pool" in line for line in maps)


@pytest.fixture(params=["spawn", "fork"])
def pool(request):
    with multiprocessing.get_context(request.param).Pool(1) as pool:
        yield pool
        pool.close()
        pool.join()


def test_numpys_arrays_lie_in_shareable_memory_inside_the_block_and_outlive_it():
    before = np.zeros(10_000)
    with crossdock.shareable():
        made = [np.empty((100, 100)), np.zeros(10_000, "i2"), np.ones(1 << 20, "u1"), np.arange(5000) * 2, before + 1]
        copied = before.copy(), np.concatenate([before, before]), np.array([0] * 1000)
    after = np.zeros(10_000)
    assert [is_shareable(array) for array in (*made, *copied)] == [True] * 8
    assert not is_shareable(before) and not is_shareable(after)
    assert handler(made[0]) == "crossdock_shareable" != handler(after)
    assert made[1].tolist() == [0] * 10_000 and made[3][-1] == 9998
    del copied, before
    made[0][...] = 5
    assert made[0].sum() == 50_000


def test_alignment_and_contents_of_every_size():
    with crossdock.shareable():
        for nbytes in [0, 1, 7, 100, 4095, 4096, 4097, 65_536, 1 << 20, (3 << 20) + 1]:
            for make in (np.empty, np.zeros):
                array = make(nbytes, "u1")
                assert array.ctypes.data % 64 == 0 or nbytes == 0
                assert make is np.empty or not array.any()
                assert is_shareable(array) == (nbytes >= 4096)
                array.fill(7)
                assert array.sum() == 7 * nbytes
                # A new one of the size, in the memory of the old one, is zero again.
                del array
                assert not np.zeros(nbytes, "u1").any()


def test_all_functions_that_create_arrays_make_them_shareable():
    model = np.asfortranarray([[1, 2, 3], [4, 5, 6]], "i2")

    def made():
        yield from (crossdock.zeros(3), crossdock.ones(3), crossdock.full(3, 7), crossdock.empty(3))
        yield from (crossdock.array([[1, 2], [3, 4]]), crossdock.array([1, 2], "float32"), crossdock.array(7))
        # Of memory, of memory with another dtype, of a list of arrays.
        yield from (crossdock.array(model), crossdock.array(model, "float64"), crossdock.array([model, model]))
        yield from (crossdock.arange(5), crossdock.arange(0.5, 2), crossdock.arange(5, dtype="int16"))
        yield from (crossdock.zeros_like(model), crossdock.ones_like(model), crossdock.empty_like(model))
        yield from (crossdock.full_like(model, 7), crossdock.zeros_like(model, dtype="float64"))

    outside = list(made())
    with crossdock.shareable():
        inside = list(made())
    assert {array.backing for array in outside} == {"heap"} and {array.backing for array in inside} == {"shared memory"}
    for one, other in zip(inside, outside, strict=True):
        assert (one.tolist(), one.dtype, one.strides) == (other.tolist(), other.dtype, other.strides)
        assert not one.readonly


@pytest.mark.parametrize("start", [10, 2000, 5000, 1 << 17])
@pytest.mark.parametrize("end", [5, 3000, 20_000, 1 << 18])
def test_resized_arrays_keep_their_elements(start, end):
    with crossdock.shareable():
        array = np.arange(start)
        array.resize(end, refcheck=False)
    kept = min(start, end)
    assert array[:kept].tolist() == list(range(kept)) and not array[kept:].any()
    assert is_shareable(array) == (array.nbytes >= 4096)
    # Also after the block: the array has its own allocator.
    array.resize(2 * end, refcheck=False)
    assert array[:kept].tolist() == list(range(kept))
    assert np.resize(array, 3 * end)[:kept].tolist() == list(range(kept))


def test_blocks_nest_and_belong_to_their_context():
    outside = handler(np.zeros(1))
    block = crossdock.shareable()
    with block:
        with block, crossdock.shareable(reserve=True):
            assert is_shareable(np.zeros(5000))
        assert is_shareable(np.zeros(5000))
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            assert not threads.submit(lambda: is_shareable(np.zeros(5000))).result()
            inherited = contextvars.copy_context()
            assert threads.submit(inherited.run, lambda: is_shareable(np.zeros(5000))).result()
        with pytest.raises(ZeroDivisionError), crossdock.shareable():
            raise ZeroDivisionError
        assert is_shareable(np.zeros(5000)) and is_shareable(crossdock.zeros(3))
    assert handler(np.zeros(1)) == outside and crossdock.zeros(3).backing == "heap"


def test_tasks_have_blocks_of_their_own():
    seen = {}

    async def task(name, shares, first, second):
        if shares:
            with crossdock.shareable():
                first.set()
                await second.wait()
                seen[name] = is_shareable(np.zeros(5000)), crossdock.zeros(3).backing
        else:
            await first.wait()
            seen[name] = is_shareable(np.zeros(5000)), crossdock.zeros(3).backing
            second.set()

    async def main():
        first, second = asyncio.Event(), asyncio.Event()
        await asyncio.gather(task("one", True, first, second), task("other", False, first, second))

    asyncio.run(main())
    assert seen == {"one": (True, "shared memory"), "other": (False, "heap")}


def test_arrays_of_this_library_are_made_there_too():
    with crossdock.shareable():
        made = [crossdock.zeros((2, 3)), crossdock.ones(3, "i2"), crossdock.full((2,), 5), crossdock.empty(4, order="F")]
        assert crossdock.asarray(np.arange(10)).backing == "foreign"
    assert [array.backing for array in made] == ["shared memory"] * 4
    assert made[2].tolist() == [5, 5]
    view = np.asarray(made[0])
    view[1, 2] = 4
    assert made[0][1, 2] == 4


def test_another_process_has_the_same_elements_and_nothing_is_copied(pool):
    with crossdock.shareable():
        ours = np.arange(300_000.0).reshape(300, 1000)
    for view in (ours, ours[::-2, 1::7], ours.T, ours[5], ours[3:3]):
        lent = crossdock.asarray(view)
        facts = workers.facts(lent)
        before = crossdock.copied_bytes()
        assert pool.apply(workers.facts, (lent,)) == facts and facts[0] == "shared memory"
        assert crossdock.copied_bytes() == before
    other = pool.apply(workers.fill, (crossdock.asarray(ours[7]), 9.0))
    assert other != os.getpid() and ours[7].tolist() == [9.0] * 1000 and ours[8, 0] == 8000
    back = pool.apply(workers.relay, (crossdock.asarray(ours[8]),))
    ours[8, -1] = -1
    assert np.asarray(back)[0] == -1


def test_what_other_libraries_pass_on_is_recognised():
    with crossdock.shareable():
        ours = np.arange(5000)
    views = [memoryview(ours), np.lib.stride_tricks.as_strided(ours, (100, 50), (8, 40)), ours.view("u1")[100:], ours[None]]
    assert all(is_shareable(view) for view in views)
    assert crossdock.from_dlpack(ours).backing == "shared memory"


def test_memory_that_a_consumer_relies_on_goes_as_bytes_or_is_refused(pool):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    with crossdock.shareable():
        ours, own = np.arange(5000), crossdock.full((5000,), 7)
    # Arrow's memory is constant, which a descriptor would end.
    arrow = crossdock.asarray(pa.array(ours))
    assert arrow.readonly and crossdock._crossdock._lend(arrow) is None
    assert pool.apply(workers.facts, (arrow,))[-1] == list(range(5000))
    column = pa.array(own)
    with pytest.raises(BufferError, match="1 read lease"):
        pool.apply(workers.facts, (own,))
    del column
    gc.collect()
    assert pool.apply(workers.facts, (own,))[0] == "shared memory"
    with pytest.raises(BufferError, match="aliased|another owner|share lease"):
        own.__arrow_c_array__()


def test_shared_returns_such_an_array_or_copies_it():
    with crossdock.shareable():
        ours = np.arange(5000)
    plain = np.arange(5000)
    before = crossdock.copied_bytes()
    for copy in (None, False):
        view = crossdock.shared(ours[::2], copy=copy)
        view[0] = copy is None
        assert ours[0] == (copy is None) and view.strides == (16,)
    assert crossdock.copied_bytes() == before
    assert crossdock.shared(ours).ptr != ours.ctypes.data and crossdock.copied_bytes() - before == 40_000
    assert crossdock.shared(plain, copy=None).tolist() == plain.tolist()
    with pytest.raises(BufferError, match="foreign memory.*shareable"):
        crossdock.shared(plain, copy=False)
    with pytest.raises(BufferError, match="int64.*dtype"):
        crossdock.shared(ours, "float32", copy=False)
    assert crossdock.shared(ours, "float32", copy=None).dtype == "float32"
    assert crossdock.shared((2, 3), copy=False).shape == (2, 3)


def test_the_receiver_keeps_what_the_sender_frees():
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=workers.keep, args=(there,))
    process.start()
    with crossdock.shareable():
        ours = np.arange(200_000)
        expected = ours.tobytes()
        here.send(crossdock.asarray(ours))
        here.send("show")
        assert here.recv() == expected
        del ours
        gc.collect()
        for value in range(5):
            others = [np.full(200_000, value) for _ in range(3)]
            here.send("show")
            assert here.recv() == expected
        del others
    here.send(None)
    process.join()
    assert process.exitcode == 0


def test_a_receiver_outlives_the_process_that_made_the_array():
    script = """
        import multiprocessing, sys
        import numpy as np
        import crossdock

        def make(queue, event):
            with crossdock.shareable():
                array = np.full((300, 300), 7.0)
            queue.put(crossdock.asarray(array))
            event.wait()

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            queue, event = context.Queue(), context.Event()
            process = context.Process(target=make, args=(queue, event))
            process.start()
            array = np.asarray(queue.get())
            event.set()
            process.join()
            array[0] += 1
            print(process.exitcode, array.sum())
    """
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"0 {300 * 300 * 7.0 + 300}\n", "")


def test_pickles_have_the_bytes_and_are_independent():
    with crossdock.shareable():
        ours = np.arange(5000)
    again = pickle.loads(pickle.dumps(crossdock.asarray(ours)))
    beside = []
    text = pickle.dumps(crossdock.asarray(ours), 5, buffer_callback=beside.append)
    same = pickle.loads(text, buffers=beside)
    ours[0] = -5
    assert again[0] == 0 and again.backing != "shared memory" and same[0] == -5
    assert same.backing == "shared memory", "out of band, within the process, it is the same memory"


def test_a_forked_child_shares_the_arrays_and_neither_disturbs_the_other():
    script = """
        import os
        import numpy as np
        import crossdock
        with crossdock.shareable():
            ours = np.zeros(100_000)
            del_later = np.ones(100_000)
            cached = np.empty(1 << 20, "u1")
            cached.fill(3)
            del cached
        if (child := os.fork()) == 0:
            ours[1] = 5
            del del_later
            with crossdock.shareable():
                theirs = np.empty(1 << 20, "u1")
                theirs.fill(9)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        with crossdock.shareable():
            again = np.zeros(1 << 20, "u1")
            again.fill(4)
        print(status, ours[1], del_later.sum(), again.sum() == 4 << 20)
    """
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 5.0 100000.0 True\n", "")


def test_thousands_of_arrays_leave_nothing_behind():
    import random

    here, there = multiprocessing.Pipe()
    chosen = random.Random(5)

    def make(times):
        kept = []
        with crossdock.shareable():
            for _ in range(times):
                array = np.empty(chosen.randrange(1, 300_000), "u1")
                if chosen.random() < 0.1:
                    here.send(crossdock.asarray(array))
                    kept.append(there.recv())
                elif chosen.random() < 0.5:
                    kept.append(array)
                del kept[: chosen.randrange(3)]
                del kept[20:]

    def settled():
        # Unused blocks go after half a second.
        gc.collect()
        threading.Event().wait(1.5)
        return regions()

    make(30)
    before = settled()
    make(2000)
    assert settled() == before


def test_threads_make_arrays_at_once():
    def make(seed):
        with crossdock.shareable():
            for round_ in range(200):
                array = np.full(1000 + 37 * round_ % 9000, seed, "i8")
                lent = crossdock.asarray(array)
                assert lent.backing == "shared memory" and (array == seed).all()
                if round_ % 7 == 0:
                    os.close(crossdock._crossdock._lend(lent)[0])
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert all(threads.map(make, range(8)))


def test_without_descriptors_arrays_come_from_ordinary_memory():
    script = """
        import resource
        import numpy as np
        import crossdock
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        with crossdock.shareable():
            arrays = [np.full(2000, number) for number in range(80)]
            try:
                crossdock.zeros(3)
            except BlockingIOError as error:
                raise SystemExit("wrong error") from error
            except Exception as error:
                print(type(error).__name__, "ulimit -n" in str(error))
        backings = [crossdock.asarray(array).backing for array in arrays]
        print(backings.count("shared memory"), backings.count("foreign"))
        assert all((array == number).all() for number, array in enumerate(arrays))
        open("/dev/null").close()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    error, counts = done.stdout.splitlines()
    assert error.endswith("True") and counts == "50 30", done.stdout


def test_reserved_arrays_have_their_pages_at_once():
    def pages(array):
        descriptor, _ = crossdock._crossdock._lend(crossdock.asarray(array))
        try:
            return os.fstat(descriptor).st_blocks * 512
        finally:
            os.close(descriptor)

    with crossdock.shareable(reserve=True):
        assert pages(np.empty(5 << 20, "u1")) >= 5 << 20
    with crossdock.shareable():
        assert pages(np.empty(5 << 20, "u1")) < 5 << 20


def test_memory_that_does_not_exist_is_a_memory_error():
    for reserve in (False, True):
        with crossdock.shareable(reserve=reserve), pytest.raises(MemoryError):
            np.empty(1 << 46, "u1")
    with pytest.raises(TypeError, match="reserve"):
        crossdock.shareable(reserve=1)


def test_explain_names_the_memory():
    with crossdock.shareable():
        array = np.zeros(5000)
    assert "memory that other processes can map" in str(crossdock.explain(array))
    assert "other processes" not in str(crossdock.explain(np.zeros(5000)))


def test_the_ledger_lists_such_arrays_with_their_pool():
    script = """
        import numpy as np
        import crossdock
        crossdock.ledger(on=True)
        with crossdock.shareable():
            array = np.zeros(5000)
        found = [entry for entry in crossdock.ledger() if entry.address == array.ctypes.data]
        print([(entry.nbytes, entry.pool, entry.backing) for entry in found])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.stdout == "[(40000, 'shareable', 'shared memory')]\n", done.stdout + done.stderr


def test_a_program_that_ends_inside_the_block_ends_well():
    script = """
        import numpy as np
        import crossdock
        block = crossdock.shareable()
        block.__enter__()
        kept = np.ones(100_000)
        lent = crossdock.asarray(kept)
    """
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_numpy_this_librarys_arrays_are_shareable():
    script = """
        import sys
        sys.modules["numpy"] = None
        import crossdock
        with crossdock.shareable():
            print(crossdock.zeros(3).backing)
        print(crossdock.zeros(3).backing)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "shared memory\nheap\n"), done.stderr


def test_reserved_memory_that_the_system_refuses_is_not_replaced_by_a_promise():
    script = """
        import resource
        import numpy as np
        import crossdock
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with crossdock.shareable(reserve=True):
            np.empty(1 << 19, "u1")
            try:
                np.empty(1 << 21, "u1")
            except MemoryError:
                print("refused")
        with crossdock.shareable():
            print(crossdock.asarray(np.empty(1 << 21, "u1")).backing)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\nforeign\n"), done.stderr
