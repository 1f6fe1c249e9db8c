"""What `diff` and `convert --verify` say about random pairs of files, beside NumPy."""

import json
import subprocess
import sys

import numpy as np

COMMAND, COUNT, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
RNG = np.random.default_rng(SEED)
KINDS = ["?", "i1", "u1", "<i2", ">i2", "<u4", ">i4", "<i8", "<u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]


def crossdock(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True)


def pick(*choices):
    return choices[RNG.integers(len(choices))]


def numbers(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        # Half of them are whole, so that pairs are often equal.
        all = RNG.standard_normal(shape) * pick(1, 50, 1000)
        all = np.where(RNG.random(shape) < 0.5, np.rint(all), all).astype(dtype)
        all[RNG.random(shape) < pick(0, 0.1)] = np.nan
        return all
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if pick(True, False) else (max(limits.min, -9), 9)
    return RNG.integers(low, high, shape, dtype.newbyteorder("="), endpoint=True).astype(dtype)


def exact(a):
    """Numbers that are subtracted without an error: integers of Python's, or doubles."""
    return a.astype("f8") if a.dtype.kind == "f" else a.astype(object)


def check_diff(a, b):
    tolerances = pick([], ["--atol", "0.5"], ["--rtol", "0.01"], ["--atol", "2", "--rtol", "0.1"])
    options = dict(zip(tolerances[::2], map(float, tolerances[1::2])))
    equal_nan = bool(pick(True, False))
    done = crossdock("diff", "a.npy", "b.npy", "--json", *tolerances, *(["--equal-nan"] * equal_nan))
    with np.errstate(all="ignore"):
        distance = np.abs(exact(a) - exact(b)) if a.dtype.kind != "b" else a != b
        # Without axes, objects become plain numbers.
        distance = np.asarray(distance, dtype="f8" if a.dtype.kind == "f" else object)
        limit = options.get("--atol", 0.0) + options.get("--rtol", 0.0) * np.abs(exact(b) if b.dtype.kind != "b" else b.astype(int))
        near = np.asarray(distance <= limit, dtype=bool) if options and a.dtype.kind != "b" else np.zeros(a.shape, bool)
        same = np.asarray(a == b) | near
    nan = lambda x: np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    same |= nan(a) & nan(b) & equal_nan
    context = (done, a.dtype, b.dtype, a.shape, tolerances, equal_nan)
    assert done.returncode == (0 if same.all() else 1) and not done.stderr, context
    found = json.loads(done.stdout)["arrays"][0]
    if same.all():
        assert found["same"], context
        return
    (field,) = found["fields"]
    assert field["differing"] == (~same).sum(), context
    assert field["first"]["index"] == list(np.argwhere(~same)[0]), context
    numbers = ~same & ~nan(a) & ~nan(b)
    if a.dtype.kind != "b" and numbers.any() and field["max_abs_error"]:
        assert np.isclose(float(field["max_abs_error"]["value"]), float(distance[numbers].max()), rtol=1e-12), context


def check_convert(a):
    to, order = np.dtype(pick(*KINDS[1:])), pick("C", "F")
    more, expected = [], None
    with np.errstate(all="ignore"):
        if a.dtype.kind == "f" and to.kind != "f":
            mode = pick("rint", "floor", "ceil", "trunc")
            more = ["--round", mode, "--saturate"]
            whole = getattr(np, mode)(a.astype("f8"))
            limits = np.iinfo(to)
            each = [0 if np.isnan(x) else min(max(int(x), limits.min), limits.max) for x in whole.ravel()]
            expected = np.array(each, dtype=to.newbyteorder("=")).reshape(a.shape)
        elif to.kind == "f":
            more, expected = ["--saturate"], a.astype(to)
        else:
            limits = np.iinfo(to)
            each = [min(max(int(x), limits.min), limits.max) for x in a.ravel()]
            more, expected = ["--saturate"], np.array(each, dtype=to.newbyteorder("=")).reshape(a.shape)
    done = crossdock("convert", "a.npy", "c.npy", "--dtype", to.str, "--order", order, "--verify", "--force", *more)
    context = (done, a.dtype, to, a.shape, more)
    assert done.returncode == 0 and not done.stderr, context
    written = np.load("c.npy")
    assert written.dtype == to and written.flags["F_CONTIGUOUS" if order == "F" else "C_CONTIGUOUS"], context
    assert np.array_equal(written, expected, equal_nan=to.kind == "f"), (*context, written, expected)


for _ in range(COUNT):
    shape = tuple(RNG.integers(1, 9, RNG.integers(0, 4)))
    kind = pick(*KINDS)
    a = np.asarray(numbers(kind, shape))
    b = np.array(a, dtype=np.dtype(kind).newbyteorder(pick("<", ">")), order=pick("C", "F"))
    changed = RNG.random(shape) < pick(0, 0.05, 0.5)
    b[changed] = np.asarray(numbers(kind, shape))[changed]
    np.save("a.npy", np.array(a, order=pick("C", "F")))
    np.save("b.npy", b)
    check_diff(a, b)
    check_convert(a)
