"""Large copies, casts, fills and comparisons use several threads, which a fork and the end of the process do not meet."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import crossdock

# Of which every work is large enough to be shared.
SHAPE = (1_100, 1_000)


@pytest.fixture(autouse=True)
def number():
    before = crossdock.get_num_threads()
    yield before
    crossdock.set_num_threads(before)


def helpers():
    """How many threads of this process help with large work."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:
            pass  # it has ended
    return names.count("crossdock-work")


def starts_helpers():
    """Whether large work starts them. On a busy machine they may have ended before this looks: once is enough."""
    for _ in range(100):
        crossdock.zeros(SHAPE).T.copy()
        if helpers():
            return True
    return False


def results():
    theirs = np.arange(SHAPE[0] * SHAPE[1], dtype="f8").reshape(SHAPE)
    ours = crossdock.asarray(theirs)
    filled, swapped = crossdock.zeros(SHAPE), ours.T.copy()
    filled[:, ::-1].fill(1.5)
    swapped[-1, -1] = -1
    return [
        ours.copy().tobytes(),
        ours.T.tobytes(),
        ours[:, ::-1].copy().tobytes(),
        ours.astype("f4").tobytes(),
        ours.T.astype("u8").tobytes(),
        filled.tobytes(),
        ours == ours.copy(),
        ours.T == swapped,
    ]


def test_results_do_not_depend_on_the_number_of_threads():
    crossdock.set_num_threads(1)
    expected = results()
    assert expected[-2:] == [True, False]
    for number in [2, 5]:
        crossdock.set_num_threads(number)
        assert results() == expected


def test_helpers_end_soon_after_the_work():
    crossdock.set_num_threads(3)
    assert starts_helpers()
    while helpers():
        time.sleep(0.02)
    crossdock.set_num_threads(1)
    crossdock.zeros(SHAPE).T.copy()
    assert not helpers()


@pytest.mark.parametrize("number", [0, -1, 1025, 2**40])
def test_a_number_out_of_range_is_refused(number):
    before = crossdock.get_num_threads()
    with pytest.raises(ValueError, match=str(number)):
        crossdock.set_num_threads(number)
    assert crossdock.get_num_threads() == before


def test_python_threads_share_the_helpers():
    crossdock.set_num_threads(3)
    theirs = np.arange(SHAPE[0] * SHAPE[1], dtype="f8").reshape(SHAPE)
    ours, failures = crossdock.asarray(theirs), []

    def work():
        for _ in range(3):
            if not np.array_equal(np.asarray(ours.T.copy()), theirs.T):
                failures.append(threading.current_thread().name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def run(script, **environment):
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.split()


@pytest.mark.parametrize(("text", "expected"), [("3", "3"), ("1", "1"), ("0", None), ("many", None), ("1025", None)])
def test_the_environment_has_the_number(text, expected):
    script = "import crossdock; print(crossdock.get_num_threads())"
    [default] = run(script, CROSSDOCK_THREADS="")
    assert 1 <= int(default) <= min(len(os.sched_getaffinity(0)), 16)
    assert run(script, CROSSDOCK_THREADS=text) == [expected or default]


def test_a_process_ends_at_once_after_large_work():
    script = """
        import crossdock
        x = crossdock.zeros((1100, 1000))
        x.T.copy()
        print(x.T.astype("f4").shape)
    """
    assert run(script, CROSSDOCK_THREADS="4") == ["(1000,", "1100)"]


def test_a_forked_child_works_on_one_thread():
    """While threads of the parent copy. The child would hang on a lock or a thread that it does not have."""
    script = """
        import os, threading, warnings
        import crossdock
        import numpy as np

        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        theirs = np.arange(1_100_000.0).reshape(1100, 1000)
        ours, over = crossdock.asarray(theirs), threading.Event()

        def work():
            while not over.is_set():
                ours.T.copy()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = []
        for _ in range(10):
            child = os.fork()
            if child == 0:
                crossdock.set_num_threads(4)
                right = np.array_equal(np.asarray(ours.T.copy()), theirs.T) and (ours.T == theirs.T).all()
                names = [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
                os._exit(0 if right and crossdock.get_num_threads() == 1 and "crossdock-work" not in names else 1)
            codes.append(os.waitpid(child, 0)[1])
        over.set()
        for thread in threads:
            thread.join()
        print(*set(codes), crossdock.get_num_threads())
    """
    assert run(script, CROSSDOCK_THREADS="3") == ["0", "3"]


def copied(number):
    ours = crossdock.full(SHAPE, float(number))
    return crossdock.get_num_threads(), float(np.asarray(ours.T.copy()).sum())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_workers_keep_to_one_thread_and_fresh_ones_do_not(monkeypatch):
    monkeypatch.setenv("CROSSDOCK_THREADS", "3")
    crossdock.set_num_threads(2)
    crossdock.zeros(SHAPE).T.copy()
    size = SHAPE[0] * SHAPE[1]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(copied, range(4)) == [(1, number * size) for number in range(4)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(copied, (3,)) == (3, 3 * size)
