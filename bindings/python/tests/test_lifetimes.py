"""Memory lives exactly as long as it has a holder."""

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import crossdock
import hand_overs
from elsewhere import missing


def settle():
    """Runs the interpreter's pending calls."""
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


def test_tensors_and_columns_are_counted_among_the_exports():
    ours = crossdock.zeros((2, 3))
    buffer, tensor = memoryview(ours), np.from_dlpack(ours)
    assert ours.exports == 2
    other = memoryview(ours[1:])
    assert ours.exports == ours[1:].exports == 3
    other.release()
    capsule = ours.__dlpack__()
    assert ours.exports == 3
    del capsule, tensor
    buffer.release()
    assert ours.exports == 0
    pa = pytest.importorskip("pyarrow")
    column = pa.array(ours[0])
    assert ours.exports == 1
    del column
    assert ours.exports == 0
    mapping = ours[0].__array_interface__
    assert ours.exports == 0 and mapping["shape"] == (3,)
    kept = ours[0]
    np.asarray(type("Lent", (), {"__array_interface__": kept.__array_interface__})())
    assert ours.exports == 1
    del kept
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


TIMES = int(os.environ.get("CROSSDOCK_HAND_OVERS", "5000"))
#: The number of processes that are ended.
ROUNDS = max(1, TIMES // 50_000)


@pytest.mark.parametrize("name", hand_overs.table()[0])
def test_nothing_is_left_of_many_hand_overs(name):
    acts, holders = hand_overs.table()
    act, arrays = acts[name], [holder for holder in holders if isinstance(holder, crossdock.Array)]
    for _ in range(1_000):
        act()
    settle()
    # An array interface stays lent while its array lives.
    exports = [array.exports for array in arrays]
    assert max(exports) <= 1
    counts, (blocks, heap, pages) = [sys.getrefcount(holder) for holder in holders], hand_overs.memory()
    for _ in range(TIMES):
        act()
    settle()
    after = hand_overs.memory()
    assert [sys.getrefcount(holder) for holder in holders] == counts
    assert [array.exports for array in arrays] == exports
    # Whatever one export leaves behind, this many leave more.
    assert after[0] - blocks < 500 and after[1] - heap < 16 << 10 and after[2] - pages < 1 << 20


HAMMERED = {
    "memoryview": lambda ours: memoryview(ours).release(),
    "a slice of a memoryview": lambda ours: memoryview(ours)[::2].release(),
    "np.asarray": lambda ours: np.asarray(ours)[::2].sum(),
    "np.from_dlpack": lambda ours: np.from_dlpack(ours),
    "capsules": lambda ours: (ours.__dlpack__(), ours.__dlpack__(max_version=(1, 0))),
    "round trips": lambda ours: crossdock.from_dlpack(crossdock.asarray(memoryview(ours))),
    "views": lambda ours: ours[1:, ::2].T.tolist(),
    "elements": lambda ours: ours.__setitem__((1, 2), ours[1, 2] + 0.0),
}


@pytest.mark.parametrize("acts", [[act] for act in HAMMERED.values()] + [list(HAMMERED.values())], ids=[*HAMMERED, "all of them"])
def test_threads_hammer_one_array(acts):
    theirs = np.zeros((10, 10))
    before, alive = sys.getrefcount(theirs), weakref.ref(theirs)
    ours, failures, interval = crossdock.asarray(theirs), [], sys.getswitchinterval()

    def work(number):
        try:
            for turn in range(400):
                acts[(turn + number) % len(acts)](ours)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    # So that the threads switch in the middle of operations.
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures and ours.exports == 0
    del ours
    settle()
    assert sys.getrefcount(theirs) == before
    del theirs
    assert alive() is None


def run(script):
    done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


KEPT = """
    import crossdock, numpy as np, sys
    kept = []
    for thing in (np.arange(3), bytearray(3), memoryview(b"abc")):
        ours = crossdock.asarray(thing)
        kept += [ours, ours[1:], memoryview(ours), np.asarray(ours), np.from_dlpack(ours), ours.__dlpack__(max_version=(1, 0))]
        kept += [crossdock.from_dlpack(ours), crossdock.asarray(np.asarray(ours)[::-1])]
"""
ENDS = {
    "they are in a module": "sys.kept = kept",
    "they are in a cycle": "kept.append(kept)",
    "they are in the package": "crossdock.kept = kept",
    "they are in a class": "type('Keeper', (), {'kept': kept, '__del__': lambda self: list(self.kept)})().me = kept",
    "a function is called at the end": "import atexit; atexit.register(lambda: [memoryview(ours) for ours in kept[:1]])",
    "a thread has them": "import threading, time; threading.Thread(target=lambda: time.sleep(0.05) or len(kept)).start()",
    "a thread has them that is not waited for": "import threading, time\nthreading.Thread(target=lambda: [memoryview(kept[0]) for _ in iter(int, 1)], daemon=True).start(); time.sleep(0.02)",
    "a generator has them": "def generated():\n    with memoryview(kept[0]) as view:\n        yield view\nsys.kept = generated(); next(sys.kept)",
    "an exception has them": "try:\n    raise ValueError(kept)\nexcept ValueError as error:\n    sys.last = error",
    "the program exits": "sys.exit(0)",
}


@pytest.mark.parametrize("how", ENDS)
def test_the_interpreter_ends_well_while_buffers_are_out(how):
    for _ in range(ROUNDS):
        run(textwrap.dedent(KEPT) + ENDS[how])


def test_a_child_has_what_was_lent_before_the_fork():
    said = run(textwrap.dedent(KEPT) + textwrap.dedent("""
        import os, warnings
        warnings.simplefilter("ignore")
        ours, view = kept[0], kept[2]
        def work():
            assert np.asarray(ours).tolist() == view.tolist() == [0, 1, 2]
            memoryview(ours).release()
            return crossdock.from_dlpack(np.from_dlpack(ours)).tolist()
        for ending in (sys.exit, os._exit):
            child = os.fork()
            if not child:
                work()
                kept.clear()
                del ours, view
                ending(0)
            assert os.waitpid(child, 0)[1] == 0
        print(work())
    """))
    assert said == "[0, 1, 2]\n"


def test_a_deleter_is_called_when_the_interpreter_is_gone(tmp_path):
    consumer = library(tmp_path, """
        struct tensor { unsigned version[2]; void *context; void (*deleter)(struct tensor *); };
        static struct tensor *taken[64];
        static int count;
        void take(struct tensor *tensor) { taken[count++] = tensor; }
        int printf(const char *, ...);
        __attribute__((destructor)) static void end(void) {
            for (int i = 0; i < count; i++) taken[i]->deleter(taken[i]);
            printf("%d given back\\n", count);
        }
    """)
    said = run(textwrap.dedent(KEPT) + textwrap.dedent(f"""
        import ctypes
        take = ctypes.CDLL({str(consumer)!r}).take
        get, rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
        get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        used = b"used_dltensor_versioned"
        sys.used = used
        for thing in [ours for ours in kept if isinstance(ours, crossdock.Array)]:
            capsule = thing.__dlpack__(max_version=(1, 0))
            take(ctypes.c_void_p(get(capsule, b"dltensor_versioned")))
            rename(capsule, used)
    """))
    assert said == "12 given back\n"


def library(folder, source):
    """A compiled C library."""
    compiler = shutil.which("cc")
    if compiler is None:
        missing("a C compiler")
    (folder / "source.c").write_text(textwrap.dedent(source))
    made = folder / "library.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, folder / "source.c"], check=True)
    return made


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
        # The deleter is behind the version and the context. Called by ctypes, it runs without the
        # GIL.
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


WITHOUT_THE_GIL = """
import ctypes, gc, threading, weakref
import crossdock

class Bytes(bytearray):
    pass

class Tensor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor_versioned"

def tensor_of(owner):
    capsule = crossdock.asarray(owner).__dlpack__(max_version=(1, 0))
    address = pointer(capsule, b"dltensor_versioned")
    rename(capsule, USED)
    return address

def delete(address):
    "Releases the GIL around the call, as ctypes does for every C function."
    deleter = ctypes.cast(address, ctypes.POINTER(Tensor)).contents.deleter
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(address)

class Producer:
    def __dlpack__(self, **_):
        delete(self.address)
        raise RuntimeError("it gives none")

alive = []
for _ in range(100):
    owner = Bytes(1 << 16)
    alive.append(weakref.ref(owner))
    producer = Producer()
    producer.address = tensor_of(owner)
    del owner
    try:
        crossdock.from_dlpack(producer)
    except BufferError:
        pass
for _ in range(1000):
    pass
assert not any(reference() for reference in alive), sum(reference() is not None for reference in alive)

def work(kept):
    for _ in range(50):
        owner = Bytes(1 << 16)
        kept.append(weakref.ref(owner))
        ours = crossdock.asarray(owner)
        del owner, ours
        assert kept[-1]() is None, "the thread holds the GIL, so the owner goes at once"

kept = []
thread = threading.Thread(target=work, args=(kept,))
thread.start()
thread.join()
assert len(kept) == 50

most = []

def work_while_the_main_thread_waits():
    "Each import releases what was queued before: pending calls run on the main thread alone."
    alive = []
    for _ in range(200):
        owner = Bytes(1 << 16)
        alive.append(weakref.ref(owner))
        address = tensor_of(owner)
        del owner
        delete(address)
        most.append(sum(reference() is not None for reference in alive))

thread = threading.Thread(target=work_while_the_main_thread_waits)
thread.start()
thread.join()
assert len(most) == 200 and max(most) == 1, max(most)
print("done")
"""


def test_owners_are_released_only_by_threads_with_the_gil_whatever_calls_they_are_in():
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    done = subprocess.run([sys.executable, "-c", WITHOUT_THE_GIL], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


TO_AND_FRO = """
import gc, threading, weakref
import numpy as np, pyarrow as pa
import crossdock

class Lent:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

def work():
    for step in [
        lambda x: np.asarray(memoryview(crossdock.asarray(x))),
        lambda x: np.from_dlpack(crossdock.asarray(Lent(x))),
        lambda x: np.asarray(crossdock.asarray(pa.array(crossdock.asarray(x).frozen()))),
    ]:
        first = np.arange(5)
        alive, array = weakref.ref(first), first
        del first
        for _ in range(50_000):
            array = step(array)
        assert array.tolist() == [0, 1, 2, 3, 4] and alive() is not None
        del array
        gc.collect()
        assert alive() is None

thread = threading.Thread(target=work)
thread.start()
thread.join()
print("done")
"""


def test_an_array_that_went_to_and_fro_many_times_is_freed_on_a_short_stack():
    done = subprocess.run([sys.executable, "-c", TO_AND_FRO], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
