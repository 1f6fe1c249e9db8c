"""Python threads run while elements are copied, and can use one array at the same time."""

import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import crossdock

SIDE = 1_500


def works():
    """Operations that release the GIL, on large strided arrays, so that they take a while."""
    ours, other = crossdock.zeros((SIDE, SIDE)), crossdock.zeros((SIDE, SIDE))
    theirs = np.zeros((SIDE, SIDE))
    buffer = crossdock.Buffer(SIDE * SIDE * 8)
    return {
        "copy": lambda: ours.T.copy(),
        "astype": lambda: ours.T.astype("f4"),
        "fill": lambda: ours.T.fill(0),
        "tobytes": lambda: ours.T.tobytes(),
        "reshape": lambda: ours.T.reshape(-1, copy=None),
        "assign an array": lambda: ours.__setitem__(..., other.T),
        "assign theirs": lambda: ours.__setitem__(..., theirs.T),
        "assign a value": lambda: ours.T.__setitem__(..., 0),
        "==": lambda: ours.T == other,
        "== theirs": lambda: ours.T == theirs,
        "array": lambda: crossdock.array(theirs.T),
        "array of a dtype": lambda: crossdock.array(theirs.T, "f4"),
        "asarray": lambda: crossdock.asarray(theirs.T, copy=True),
        "full": lambda: crossdock.full((SIDE, SIDE), 1.5),
        "Buffer": lambda: crossdock.Buffer(ours.T),
        "Buffer ==": lambda: buffer == buffer,
    }


@pytest.mark.parametrize("name", works())
def test_others_run_meanwhile(name):
    """With a switch interval of an hour, a thread gets the GIL only if the other one releases it."""
    work = works()[name]
    # On a busy machine the other thread may start late: once is enough.
    assert others_ran_during(work, times=500)


def test_what_is_small_does_not_let_go():
    small, other = crossdock.zeros(100), np.zeros(100)
    acts = [small.copy, small.tobytes, lambda: small.astype("f4"), lambda: small.fill(1), lambda: small == other]
    assert not others_ran_during(lambda: [act() for act in acts for _ in range(200)], times=20)


def others_ran_during(work, times):
    """Whether another thread ran during the work, within so many attempts."""
    before, steps, stop = sys.getswitchinterval(), [], threading.Event()

    def count():
        while not stop.is_set():
            steps.append(1)
            # Releases the GIL long enough for the other thread to acquire it.
            time.sleep(1e-4)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        sys.setswitchinterval(3600)
        for _ in range(times):
            time.sleep(1e-3)
            seen = len(steps)
            work()
            if len(steps) > seen:
                return True
        return False
    finally:
        sys.setswitchinterval(before)
        stop.set()
        thread.join()


def test_threads_work_on_one_array_at_once():
    """Each element is from one of the writers; nothing is refused, and no lease remains."""
    ours, failures, rounds = crossdock.zeros((300, 300), "i4"), [], 15
    allowed = set(range(-1, 3))

    def write(number):
        for _ in range(rounds):
            ours.fill(number)
            ours[::2].T.fill(-1)

    def read(_):
        for _ in range(rounds):
            seen = set(np.unique(np.asarray(ours.T.copy())).tolist())
            assert seen <= allowed, seen
            ours == ours.astype("i4")
            len(ours.tobytes())

    def lend(_):
        for _ in range(rounds):
            with memoryview(ours) as view, memoryview(ours[1:]) as other:
                assert view.nbytes > other.nbytes
            np.from_dlpack(ours)[0, 0]

    def run(act, number):
        try:
            act(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(act, number)) for number, act in enumerate([write, write, write, read, read, lend, lend])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and ours.exports == 0


def test_an_exporter_that_goes_while_nobody_holds_the_interpreter_is_given_back():
    """The last holder of the memory is a running copy."""
    import weakref

    class Theirs(np.ndarray):
        pass

    for _ in range(5):
        theirs = np.zeros((SIDE, SIDE)).view(Theirs)
        alive = weakref.ref(theirs)
        ours = crossdock.asarray(theirs.T)
        thread = threading.Thread(target=lambda array=ours: array.copy())
        thread.start()
        del theirs, ours
        thread.join()
        del thread
        for _ in range(100):
            pass
        assert alive() is None


def run(script):
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_the_interpreter_ends_while_threads_copy():
    run("""
        import crossdock, threading, numpy as np
        ours = crossdock.asarray(np.zeros((500, 500)))
        def work():
            while True:
                ours.T.copy()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(5):
            ours.T.copy()
    """)


def test_a_second_interpreter_is_refused_and_the_first_goes_on():
    said = run("""
        import crossdock, sys
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
        else:
            import _xxsubinterpreters as interpreters
        script = '''if True:
            try:
                import crossdock
            except ImportError as error:
                print("ImportError", error, flush=True)
        '''
        number = interpreters.create()
        interpreters.run_string(number, script)
        interpreters.destroy(number)
        print(crossdock.zeros(2).tolist())
    """)
    assert said.startswith("ImportError") and said.endswith("[0.0, 0.0]\n"), said
