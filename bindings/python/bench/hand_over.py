"""What it costs to hand an array over, beside the peers in the same run: nanoseconds for each, the least of many rounds.

    python bench/hand_over.py [--json]
"""

import ctypes
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np

import crossdock

LOOP = """
#include <Python.h>
double loop(PyObject *object, int flags, long times) {
    struct timespec a, b;
    Py_buffer view;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < times; i++) {
        if (PyObject_GetBuffer(object, &view, flags)) return -1;
        PyBuffer_Release(&view);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / times;
}
"""
EXCHANGE = """
#include <Python.h>
#include <dlpack/dlpack.h>
static DLPackExchangeAPI *table(PyObject *object) {
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    DLPackExchangeAPI *api = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    Py_XDECREF(capsule);
    return api;
}
double loop(PyObject *object, int owned, long times) {
    struct timespec a, b;
    DLPackExchangeAPI *api = table(object);
    if (!api) return -1;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < times; i++) {
        DLTensor tensor;
        DLManagedTensorVersioned *managed;
        if (!owned) {
            if (api->dltensor_from_py_object_no_sync(object, &tensor)) return -1;
        } else {
            if (api->managed_tensor_from_py_object_no_sync(object, &managed)) return -1;
            managed->deleter(managed);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / times;
}
"""
ROUNDS = 30


def best(statement, **names):
    """The least of several rounds, without the loop's own time."""
    timer, empty = timeit.Timer(statement, globals=names), timeit.Timer("pass", globals=names)
    times, _ = timer.autorange()
    times = max(1, times // 20)
    least = min(timer.timeit(times) for _ in range(ROUNDS)) / times
    return (least - min(empty.timeit(times) for _ in range(5)) / times) * 1e9


def c_loop(folder, text=LOOP, includes=()):
    source, library = Path(folder) / "loop.c", Path(folder) / f"loop{len(text)}.so"
    source.write_text(text)
    folders = [f"-I{each}" for each in (sysconfig.get_path("include"), *includes)]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", *folders, source, "-o", library], check=True)
    loop = ctypes.PyDLL(str(library)).loop
    loop.argtypes, loop.restype = [ctypes.py_object, ctypes.c_int, ctypes.c_long], ctypes.c_double
    return lambda thing, flags: min(loop(thing, flags, 100_000) for _ in range(ROUNDS))


def exchange(folder, thing):
    """By DLPack's C exchange API; the header is tvm_ffi's, and the peer PyTorch's figures, where it is not installed."""
    import importlib.util

    root = Path(importlib.util.find_spec("tvm_ffi").origin).parent
    loop = c_loop(folder, EXCHANGE, [root / "include"])
    try:
        import torch

        peer, theirs = "PyTorch", torch.from_numpy(np.asarray(thing))
        borrowed, owned = loop(theirs, 0), loop(theirs, 1)
    except ImportError:
        peer, borrowed, owned = "PyTorch, as recorded", 92.0, 169.0
    assert loop(thing, 0) > 0 and loop(thing, 1) > 0
    yield "exchange API, borrowed", loop(thing, 0), peer, borrowed
    yield "exchange API, owned + deleter", loop(thing, 1), peer, owned


def import_time(module):
    """Milliseconds, in a new interpreter that has what it needs itself already."""
    script = f"import time, sys; a = time.perf_counter(); import {module}; print((time.perf_counter() - a) * 1e3)"
    return min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(10))


def check(theirs, ours):
    """A figure of a wrong answer is none."""
    assert np.asarray(ours).ctypes.data == theirs.ctypes.data == np.from_dlpack(ours).ctypes.data
    assert ours[1:, ::2].tolist() == theirs[1:, ::2].tolist() and ours[1, 2] == theirs[1, 2]


def rows():
    theirs = np.arange(1000.0)
    ours = crossdock.asarray(theirs)
    full, strided = 0x11C, theirs.reshape(20, 50)[::2, ::3]
    grid = np.arange(1000.0).reshape(10, 10, 10)
    table = np.zeros(10, np.dtype([("a", "i4"), ("b", "f8")], align=True))
    wide = np.arange(100 * 68.0).reshape(100, 68)[::2, ::2]
    check(theirs.reshape(20, 50), crossdock.asarray(theirs.reshape(20, 50)))
    names = dict(np=np, crossdock=crossdock, n=theirs, x=ours, g=grid, y=crossdock.asarray(grid), t=table)
    names |= dict(w=wide, v=crossdock.asarray(wide), m=memoryview(theirs), k=memoryview(wide))
    yield "memoryview(x)", best("memoryview(x)", **names), "NumPy", best("memoryview(n)", **names)
    with tempfile.TemporaryDirectory() as folder:
        loop = c_loop(folder)
        yield "GetBuffer + Release, strided 2-D", loop(crossdock.asarray(strided), full), "NumPy", loop(strided, full)
        yield "GetBuffer + Release, 1-D", loop(ours, full), "memoryview", loop(memoryview(theirs), full)
        yield from exchange(folder, crossdock.asarray(strided))
    yield "np.asarray(x)", best("np.asarray(x)", **names), "via memoryview", best("np.asarray(m)", **names)
    yield "np.from_dlpack(x)", best("np.from_dlpack(x)", **names), "NumPy", best("np.from_dlpack(n)", **names)
    yield "asarray(np)", best("crossdock.asarray(n)", **names), "memoryview", best("memoryview(n)", **names)
    yield "asarray(records)", best("crossdock.asarray(t)", **names), "NumPy", best("np.asarray(memoryview(t))", **names)
    yield "x[1:, ::2, 3:9]", best("y[1:, ::2, 3:9]", **names), "NumPy", best("g[1:, ::2, 3:9]", **names)
    yield "x[i, j]", best("v[3, 5]", **names), "NumPy", best("w[3, 5]", **names)
    yield "tolist, strided [50, 34]", best("v.tolist()", **names), "NumPy", best("w.tolist()", **names)
    yield "tobytes, strided [50, 34]", best("v.tobytes()", **names), "NumPy", best("w.tobytes()", **names)
    yield "import, in microseconds", import_time("crossdock") * 1e3, "NumPy", import_time("numpy") * 1e3


if __name__ == "__main__":
    found = list(rows())
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {os.cpu_count()} processors, {time.strftime('%Y-%m-%d')}")
        print(f"{'':34}{'crossdock':>10}  {'peer':>10}")
        for name, own, peer, theirs in found:
            print(f"{name:34}{own:10.1f}  {theirs:10.1f}  {peer}")
