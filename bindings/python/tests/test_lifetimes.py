"""Memory lives as long as anybody has it, and no longer."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import crossdock


def settle():
    """Lets the interpreter do what it was asked to do in between."""
    for _ in range(100):
        pass


def test_an_exporter_lives_as_long_as_any_view():
    theirs = np.arange(6.0)
    before = sys.getrefcount(theirs)
    ours = crossdock.asarray(theirs)
    views = [ours[1:], ours.T, ours.reshape(2, 3)[::-1], memoryview(ours), np.asarray(ours[::2])]
    assert sys.getrefcount(theirs) > before
    alive = weakref.ref(theirs)
    del theirs, ours
    gc.collect()
    assert views[0].tolist() == [1, 2, 3, 4, 5] and views[2].tolist() == [[3, 4, 5], [0, 1, 2]] and alive() is not None
    while views:
        assert alive() is not None
        views.pop()
    settle()
    assert alive() is None


def test_arrays_are_weakly_referable():
    ours = crossdock.zeros(3)
    reference = weakref.ref(ours)
    assert reference() is ours
    del ours
    assert reference() is None


def test_exports_are_counted():
    ours = crossdock.zeros((2, 3))
    assert ours.exports == 0
    first, second = memoryview(ours), np.asarray(ours)
    assert ours.exports == 2
    first.release()
    assert ours.exports == 1
    del second
    assert ours.exports == 0
    with pytest.raises(BufferError):
        memoryview(crossdock.zeros(3, "bfloat16"))
    assert ours.exports == 0


def test_a_cycle_through_an_exporter_ends_where_it_lets_go_of_the_array():
    class Theirs(np.ndarray):
        pass

    theirs = np.zeros(3).view(Theirs)
    theirs.kept = crossdock.asarray(theirs)[1:]
    alive = weakref.ref(theirs)
    assert not gc.is_tracked(theirs.kept)
    del theirs
    gc.collect()
    assert alive() is not None
    alive().kept = None
    settle()
    assert alive() is None


def resident():
    with open("/proc/self/statm") as text:
        return int(text.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def hand_overs():
    theirs, ours = np.arange(100.0).reshape(10, 10), crossdock.zeros((10, 10))
    records = np.zeros(10, [("a", "i4"), ("b", "f8")])
    bad = crossdock.zeros(3, "bfloat16")

    def refused():
        try:
            memoryview(bad)
        except BufferError:
            pass

    def out_of_range():
        try:
            ours[11, 0]
        except IndexError:
            pass

    return {
        "memoryview(x)": lambda: memoryview(ours),
        "np.asarray(x)": lambda: np.asarray(ours),
        "np.from_dlpack(x)": lambda: np.from_dlpack(ours),
        "capsule dropped": lambda: ours.__dlpack__(),
        "asarray(np)": lambda: crossdock.asarray(theirs),
        "asarray(records)": lambda: crossdock.asarray(records)["b"],
        "from_dlpack(np)": lambda: crossdock.from_dlpack(theirs),
        "round trip": lambda: np.from_dlpack(crossdock.asarray(theirs)),
        "slice": lambda: ours[1:, ::2],
        "element": lambda: ours[1, 2],
        "assignment": lambda: ours.__setitem__((slice(None), 1), 5),
        "tolist": lambda: ours[:2, :2].tolist(),
        "refused": refused,
        "out of range": out_of_range,
        "zeros": lambda: crossdock.zeros(3),
        "buffer of a Buffer": lambda: memoryview(crossdock.Buffer(b"abc")),
        "array of a Buffer": lambda: crossdock.asarray(crossdock.Buffer(3))[1:],
        "comparison": lambda: ours == theirs,
        "text": lambda: (repr(ours), ours.flags, ours._repr_html_()),
    }, (theirs, records)


TIMES = int(os.environ.get("CROSSDOCK_HAND_OVERS", "20000"))


@pytest.mark.parametrize("name", hand_overs()[0])
def test_nothing_is_left_of_many_hand_overs(name):
    kinds, holders = hand_overs()
    act = kinds[name]
    for _ in range(2_000):
        act()
    settle()
    gc.collect()
    counts, memory = [sys.getrefcount(holder) for holder in holders], resident()
    for _ in range(TIMES):
        act()
    settle()
    gc.collect()
    assert [sys.getrefcount(holder) for holder in holders] == counts
    assert resident() - memory < 1 << 20, "a byte for each would be more than that" if TIMES > 1 << 20 else TIMES


def test_threads_have_the_same_array():
    ours = crossdock.zeros((10, 10))
    failures = []

    def work():
        try:
            for _ in range(5_000):
                view = memoryview(ours)
                ours[1, 2] = ours[1, 2] + 0.0
                np.asarray(ours)[::2].sum()
                view.release()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and ours.exports == 0


def run(script):
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_the_interpreter_ends_well_while_buffers_are_out():
    run("""
        import crossdock, numpy as np, sys
        kept = []
        for thing in (np.arange(3), bytearray(3), memoryview(b"abc")):
            ours = crossdock.asarray(thing)
            kept += [ours, ours[1:], memoryview(ours), np.asarray(ours), np.from_dlpack(ours), ours.__dlpack__(max_version=(1, 0))]
        sys.kept = kept
        kept.append(kept)
        crossdock.kept = kept
    """)


def test_what_a_thread_without_the_interpreter_drops_is_given_back_later():
    said = run("""
        import ctypes, gc, threading, weakref, crossdock, numpy as np
        theirs = np.arange(3)
        alive = weakref.ref(theirs)
        capsule = crossdock.asarray(theirs).__dlpack__(max_version=(1, 0))
        del theirs
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        tensor = get(capsule, b"dltensor_versioned")
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        used = b"used_dltensor_versioned"
        rename(capsule, used)
        # The deleter stands behind the version and the context. Called by ctypes, it runs without the interpreter.
        deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(tensor + 16).value)
        assert alive() is not None
        thread = threading.Thread(target=deleter, args=(tensor,))
        thread.start()
        thread.join()
        for _ in range(1000):
            pass
        print(alive())
    """)
    assert said == "None\n"


def test_importing_brings_nothing_of_the_standard_library_along():
    said = run("""
        import sys
        before = set(sys.modules)
        import crossdock
        print(sorted(name for name in set(sys.modules) - before if not name.startswith(("crossdock", "encodings."))))
    """)
    assert said == "[]\n"
