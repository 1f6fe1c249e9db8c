"""Measures hand-overs of an array beside a peer, in nanoseconds of thread time: each pair in turns, the minimum of many rounds.

    python bench/hand_over.py [--record]

--record stores the figures in bench/record/python.csv of the checkout.
"""

import ctypes
import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np
from figures import append, circumstances

import crossdock

ROUNDS = 60
# The approximate duration of a round.
NANOSECONDS = 3e6
FULL = 0x11C

numbers = np.arange(1000.0)
strided = numbers.reshape(20, 50)[::2, ::3]
grid = numbers.reshape(10, 10, 10)
table = np.zeros(10, np.dtype([("a", "i4"), ("b", "f8")], align=True))
wide = np.arange(100 * 68.0).reshape(100, 68)[::2, ::2]
NAMES = dict(np=np, crossdock=crossdock, n=numbers, s=strided, g=grid, t=table, w=wide)
NAMES |= dict(mn=memoryview(numbers), mt=memoryview(table), mw=memoryview(wide))
NAMES |= dict(x=crossdock.asarray(numbers), y=crossdock.asarray(grid), v=crossdock.asarray(wide))

# The measurement, the peer, and the largest permitted ratio of this library's figure to the peer's.
# The ratios come from the target figures of another machine.
STATEMENTS = [
    ("memoryview(x)", "NumPy", "memoryview(n)", 75 / 87),
    ("np.asarray(x)", "np.asarray(memoryview)", "np.asarray(mn)", 130 / 109),
    ("np.from_dlpack(x)", "NumPy", "np.from_dlpack(n)", 1.0),
    ("crossdock.asarray(n)", "memoryview", "memoryview(n)", 120 / 87),
    ("crossdock.asarray(t)", "np.asarray(memoryview) of records", "np.asarray(mt)", 500 / 10_460),
    ("y[1:, ::2, 3:9]", "NumPy", "g[1:, ::2, 3:9]", 120 / 146),
    ("v[3, 5]", "NumPy", "w[3, 5]", 35 / 41),
    ("v.tolist()", "NumPy", "w.tolist()", 1.0),
    ("v.tolist()", "memoryview", "mw.tolist()", 1.0),
    ("v.tobytes()", "NumPy", "w.tobytes()", 1.0),
    ("v.tobytes()", "memoryview", "mw.tobytes()", 1.0),
]


def statement(text):
    timer = timeit.Timer(text, timer=time.thread_time, globals=NAMES)
    times, seconds = timer.autorange()
    times = max(1, int(times * NANOSECONDS / 1e9 / seconds))
    return lambda: timer.timeit(times) / times * 1e9


def in_turns(*measures):
    """The minimum of each."""
    return [min(each) for each in zip(*([measure() for measure in measures] for _ in range(ROUNDS)))]


def loops(folder):
    """The loops in C. DLPack's header is the one of TVM's FFI."""
    library = Path(folder) / "loops.so"
    dlpack = Path(importlib.util.find_spec("tvm_ffi").origin).parent / "include"
    source = Path(__file__).with_name("loops.c")
    folders = [f"-I{each}" for each in (sysconfig.get_path("include"), dlpack)]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", *folders, source, "-o", library], check=True)
    opened = ctypes.PyDLL(str(library))
    for name in ("buffer", "tensor"):
        function = getattr(opened, name)
        function.argtypes, function.restype = [ctypes.py_object, ctypes.c_int, ctypes.c_long], ctypes.c_double

    def loop(name, thing, how):
        assert getattr(opened, name)(thing, how, 10) >= 0, (name, thing)
        return lambda: getattr(opened, name)(thing, how, 20_000)

    return loop


def import_time(module):
    """Measures in a new interpreter, which has already imported its own requirements."""
    script = f"import time, sys; a = time.perf_counter(); import {module}; print((time.perf_counter() - a) * 1e9)"
    return lambda: float(subprocess.check_output([sys.executable, "-c", script]))


def check():
    """Checks the result, so that a wrong one has no figure."""
    x, y, v, t = (NAMES[name] for name in "xyvt")
    assert np.asarray(x).ctypes.data == numbers.ctypes.data == np.from_dlpack(x).ctypes.data
    assert crossdock.asarray(t).tolist() == t.tolist()
    assert y[1:, ::2, 3:9].tolist() == grid[1:, ::2, 3:9].tolist() and v[3, 5] == wide[3, 5]
    assert v.tolist() == wide.tolist() and v.tobytes() == wide.tobytes()


def rows():
    """The operation, Crossdock's time, the peer, the peer's time, and the target as a ratio or in nanoseconds."""
    for ours, peer, theirs, reach in STATEMENTS:
        own, other = in_turns(statement(ours), statement(theirs))
        yield ours, own, peer, other, reach, None
    with tempfile.TemporaryDirectory() as folder:
        loop = loops(folder)
        array = crossdock.asarray(strided)
        own, other = in_turns(loop("buffer", array, FULL), loop("buffer", strided, FULL))
        yield "GetBuffer + Release in C, strided", own, "NumPy", other, 15 / 28, None
        for what, owned, reach in (("borrowed", 0, 3), ("owned + deleter", 1, 22)):
            (own,) = in_turns(loop("tensor", array, owned))
            yield f"exchange API in C, {what}", own, None, None, None, reach
    own, other = (min(measure() for _ in range(10)) for measure in (import_time("crossdock"), import_time("numpy")))
    yield "import", own, "NumPy", other, None, 15e6


def main():
    check()
    peers = f"CPython {sys.version.split()[0]}; NumPy {np.__version__}"
    stem, kept = [*circumstances(peers), "Python"], []
    print(", ".join(stem))
    for what, own, peer, theirs, ratio, most in rows():
        beside = f"{own / theirs:.3f} x {peer}" if peer else ""
        reach = f"<= {ratio:.3f} x {peer}" if ratio else f"<= {most:g} ns"
        met = "yes" if (own <= ratio * theirs if ratio else own <= most) else "no"
        print(f"{what:34}{own:12.1f} ns  {beside:44} {reach:46} {met}")
        kept.append([*stem, what, f"{own:.3f}", "ns", beside, reach, met])
    if "--record" in sys.argv:
        append("python.csv", kept)


if __name__ == "__main__":
    main()
