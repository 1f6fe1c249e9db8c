"""NumPy's dtypes for formats of PEP 3118, and its formats for dtypes: `buffer_formats.py read|write`, JSON in and out."""

import ast
import json
import random
import sys

import numpy as np

try:
    from numpy._core._internal import _dtype_from_pep3118
except ImportError as error:
    sys.exit(f"NumPy {np.__version__}: {error}; these tests are for the versions in tests/python/requirements.txt")

SCALARS = ["?", "i1", "u1", "<i2", ">i2", "<i4", ">u4", "<i8", ">i8", "<u8", "<f2", ">f2", "<f4", ">f8", "<f8"]
SCALARS += ["<c8", ">c8", "<c16", "S1", "S5", "<U3", ">U2", "V4", "<f16", "<c32"]


def literal(text):
    return np.dtype(ast.literal_eval(text) if text[0] in "[({" else text)


def merged(dtype):
    """The same with nested sub-arrays merged into one sub-array with all axes."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        base = merged(base)
        inner, more = base.subdtype or (base, ())
        return np.dtype((inner, shape + more))
    if dtype.names is None:
        return dtype
    fields = [dtype.fields[name] for name in dtype.names]
    formats, offsets = [merged(field[0]) for field in fields], [field[1] for field in fields]
    return np.dtype(dict(names=list(dtype.names), formats=formats, offsets=offsets, itemsize=dtype.itemsize))


def read(cases):
    """NumPy's dtype for each format, beside the dtype that was read elsewhere and its written format."""
    same, canonical, failed, different = 0, 0, 0, []
    for case in cases:
        try:
            dtype = merged(_dtype_from_pep3118(case["format"]))
        except (ValueError, RuntimeError, TypeError):
            failed += 1
            continue
        meant = merged(literal(case["dtype"]))
        if dtype != meant:
            different.append([case["format"], str(dtype), str(meant)])
            continue
        same += 1
        if case["canonical"] is not None:
            again = _dtype_from_pep3118(case["canonical"])
            # Opaque bytes by themselves are padding to NumPy.
            if again == meant or meant.kind == "V" and meant.names is None:
                canonical += 1
            else:
                different.append([case["canonical"], str(again), str(meant)])
    return {"same": same, "canonical": canonical, "failed": failed, "different": different[:20]}


def dtype(rng, depth):
    if depth == 0 or rng.random() < 0.4:
        return np.dtype(rng.choice(SCALARS))
    fields, offset = [], 0
    aligned = rng.random() < 0.5
    for number in range(rng.randint(1, 5)):
        shape = tuple(rng.randint(1, 3) for _ in range(rng.choice([0, 0, 0, 1, 2])))
        fields.append((f"field {number}", dtype(rng, depth - 1), shape))
    return np.dtype(fields, align=aligned)


def describe(dtype):
    """An equivalent for `np.dtype` that other parsers understand, too."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return (describe(base), shape)
    if dtype.names is None:
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names]
    formats, offsets = [describe(field[0]) for field in fields], [field[1] for field in fields]
    return {"names": list(dtype.names), "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}


def write(order):
    rng = random.Random(order["seed"])
    cases = []
    while len(cases) < order["cases"]:
        kind = dtype(rng, 3)
        try:
            view = memoryview(np.zeros(2, kind))
        except ValueError:
            continue
        # A format that NumPy does not read back is wrong: it omits the padding behind records whose last mark is not `@`.
        if _dtype_from_pep3118(view.format) != kind:
            continue
        described = describe(kind)
        text = described if isinstance(described, str) else repr(described)
        cases.append({"format": view.format, "itemsize": view.itemsize, "dtype": text})
    return cases


if __name__ == "__main__":
    json.dump({"read": read, "write": write}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
