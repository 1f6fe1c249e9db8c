"""Writes a corpus of conversions by NumPy (with ml_dtypes): numbers and their results.

    make_casts.py FOLDER

Writes `casts.bin`, the bytes, and `casts.json`, a list of their positions, into FOLDER. Leaves out conversions that NumPy leaves
to the compiler (floats that an integer cannot hold), and those for which ml_dtypes has other rules than the library: numbers
beyond the greatest of a format without infinity, and numbers that ml_dtypes rounds twice.
"""

import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NARROW = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]
COMPLEX = ["complex64", "complex128"]

random = np.random.default_rng(20260823)


def dtype(name, order="="):
    return np.dtype(getattr(ml_dtypes, name)) if name in NARROW else np.dtype(name).newbyteorder(order)


def numbers(name):
    """Numbers of a dtype: all of them, if they are few."""
    kind = dtype(name)
    if name == "bool":
        return np.array([False, True])
    if name in COMPLEX:
        part = numbers("float32" if name == "complex64" else "float64")[:4000]
        return (part + 1j * random.permutation(part)).astype(kind)
    if kind.itemsize == 1 and name in NARROW:
        bits = {"float6_e2m3fn": 64, "float6_e3m2fn": 64, "float4_e2m1fn": 16}.get(name, 256)
        return np.arange(bits, dtype=np.uint8).view(kind)
    if kind.itemsize <= 2:
        return np.arange(256**kind.itemsize, dtype=f"uint{8 * kind.itemsize}").view(kind)
    if name in INTEGERS:
        info = np.iinfo(kind)
        ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2**24 - 1, 2**24, 2**24 + 1]
        wide = random.integers(info.min, info.max, 3000, dtype=kind, endpoint=True)
        shifts = random.integers(0, 8 * kind.itemsize, 3000).astype(kind)
        return np.concatenate([np.array(ends, dtype=kind), wide >> shifts])
    ends = [0.0, -0.0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 65504, 65519, 65520, 448, 464, 57344, 61440, 1e-45, 1e-38]
    halves = np.arange(0, 65536, 7, dtype=np.uint16).view(np.float16).astype(kind)
    between = (halves[1:] + halves[:-1]) / 2
    spread = random.standard_normal(3000) * 10.0 ** random.integers(-40, 38, 3000)
    return np.concatenate([np.array(ends, dtype=kind), halves, between, spread.astype(kind)])


def defined(source, name, target):
    """Those of the numbers of dtype `name` whose conversion to `target` is defined, and the same in both."""
    if target == "bool" or name == "bool" or target in COMPLEX:
        return source
    real = source.real if name in COMPLEX else source
    exact = real.astype(np.float64) if name in NARROW else real
    if target in INTEGERS:
        info = np.iinfo(target)
        if name in INTEGERS:
            wide = exact.astype(object)
            keep = (wide >= info.min) & (wide <= info.max)
            return source[keep.astype(bool)]
        # The upper end is a power of two, which a float holds exactly.
        limit = float(info.max + 1)
        truncated = np.trunc(exact.astype(np.float64))
        return source[np.isfinite(truncated) & (truncated >= float(info.min)) & (truncated < limit)]
    if target in NARROW:
        values = np.abs(exact.astype(np.float64))
        greatest = float(ml_dtypes.finfo(getattr(ml_dtypes, target)).max)
        keep = values <= greatest
        if not target.startswith(("float4", "float6")):
            keep |= np.isnan(values)
        if name in ("float64", "complex128"):
            # Through float32, which rounds: only numbers that it does not round.
            keep &= (exact.astype(np.float32).astype(np.float64) == exact) | np.isnan(exact)
        if name in INTEGERS:
            keep &= values <= 2**24
        return source[keep]
    return source


def main(folder):
    # Leaves out numbers out of range, of which NumPy warns.
    np.seterr(all="ignore")
    corpus, rows = bytearray(), []

    def put(array):
        at = len(corpus)
        corpus.extend(array.tobytes())
        return at

    everything = ["bool", *INTEGERS, *FLOATS, *NARROW, *COMPLEX]
    for name in everything:
        source = numbers(name)
        for target in everything:
            if target == name:
                continue
            some = defined(source, name, target)
            order, to_order = (random.choice(["<", ">"]) if other not in NARROW else "<" for other in (name, target))
            via = some.real if name in COMPLEX and target not in [*COMPLEX, "bool"] else some
            result = via.astype(dtype(target)).astype(dtype(target, to_order))
            given = some.astype(dtype(name, order))
            rows.append(
                {
                    "from": name,
                    "from_order": order,
                    "to": target,
                    "to_order": to_order,
                    "len": len(some),
                    "source": put(given),
                    "result": put(result),
                }
            )
    Path(folder, "casts.bin").write_bytes(corpus)
    Path(folder, "casts.json").write_text(json.dumps(rows))
    versions = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
    print(f"{len(rows)} conversions, {sum(row['len'] for row in rows)} numbers, {versions}")


main(sys.argv[1])
