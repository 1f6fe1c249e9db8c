"""Writes, with NumPy, arrays of every dtype, shape and magnitude as .npy files, and NumPy's text of each:
python make_texts.py DIRECTORY

DIRECTORY/texts.json is a list of {file, options, text, literal}: `text` is str() of the array under np.printoptions(**options), and
`literal` the part of its repr() between the brackets, if its class were called Array."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

rng = np.random.default_rng(20261121)

SHAPES = [(), (1,), (2,), (7,), (30,), (0,), (3, 0), (0, 4), (2, 3), (5, 1), (12, 9), (2, 3, 4), (1, 1, 1, 1), (2, 1, 3, 2, 2)]
LARGE = [(1001,), (1200,), (40, 40), (500, 3), (3, 500), (6, 200), (7, 160), (12, 10, 11), (2, 2, 300), (8, 5, 5, 8)]
FLOATS = ["f2", "f4", "f8", "g"]
COMPLEX = ["c8", "c16", "G"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "25us", "7D"]


EDGES = [5e-324, 1e-4, 9.999e-5, 1e8, 99999999.0, 1e16, 1e3, 999.5, 1e6, 999999.5, 0.1]


def floats(shape, char, style):
    """Numbers of the type. Those of most styles are doubles."""
    wide = np.finfo(char)
    normal = rng.standard_normal(shape)
    long = normal.astype(char)
    values = {
        "unit": lambda: normal,
        "whole": lambda: np.round(normal * 50),
        "tenths": lambda: np.round(normal * 10) / 10,
        "eighths": lambda: np.round(normal * 800) / 8,
        "large": lambda: normal * 1e7,
        "larger": lambda: normal * 1e12,
        "small": lambda: normal * 1e-5,
        "spread": lambda: normal * 10.0 ** rng.integers(-7, 8, shape),
        "any": lambda: normal * 10.0 ** rng.integers(-300, 300, shape),
        "powers": lambda: 2.0 ** rng.integers(-60, 60, shape),
        "decades": lambda: 10.0 ** rng.integers(-5, 9, shape),
        "zeros": lambda: np.where(normal > 0, 0.0, -0.0),
        "nothing": lambda: rng.choice([np.nan, np.inf, -np.inf], shape),
        "mixed": lambda: np.where(normal > 0.5, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), normal * 100),
        "nan": lambda: np.where(normal > 0.5, np.nan, np.round(normal)),
        "edge": lambda: rng.choice(EDGES, shape),
        "thirds": lambda: long / 3,
        "steps": lambda: 1 + np.round(long * 4) * wide.eps,
        "reach": lambda: long * wide.dtype.type(10) ** rng.integers(-12 * wide.precision, 12 * wide.precision, shape),
    }[style]()
    with np.errstate(all="ignore"):
        values = np.asarray(values, wide.dtype)
        if style not in ("nothing", "mixed", "nan"):
            values = np.clip(values, wide.min, wide.max)
        return values.astype(char)


FLOAT_STYLES = ["unit", "whole", "tenths", "eighths", "large", "larger", "small", "spread", "any", "powers", "decades", "zeros"]
FLOAT_STYLES += ["nothing", "mixed", "nan", "edge", "thirds", "steps", "reach"]
PART = {"c8": "f4", "c16": "f8", "G": "g"}


def complexes(shape, char, style):
    array = np.zeros(shape, char)
    array.real = floats(shape, PART[char], style)
    array.imag = floats(shape, PART[char], rng.choice(FLOAT_STYLES))
    return array


def integers(shape, char):
    limits = np.iinfo(char)
    top = min(limits.max, 10 ** int(rng.integers(1, 19)))
    return rng.integers(max(limits.min, -top), top, shape, dtype=char, endpoint=True)


def times(shape, char):
    top = 10 ** int(rng.integers(1, 16))
    counts = rng.integers(-top, top, shape)
    counts = np.where(rng.random(shape) < rng.choice([0, 0.3]), np.iinfo("i8").min, counts)
    unit = rng.choice(UNITS)
    if char == "M8" and unit in ("Y", "M", "W", "D", "7D"):
        counts = np.where(counts == np.iinfo("i8").min, counts, counts % 10**6)
    return counts.astype("i8").view(f"{char}[{unit}]") if shape else np.array(int(counts), "i8").view(f"{char}[{unit}]")


LETTERS = list("abcXYZ 019'\"\\\n\t\r") + ["é", "ß", "語", "😀", "\x7f", "\xa0", "\u200b", "e\u0301", "\x01", "\ufeff", "\u2028"]


def texts(shape, char):
    many = int(rng.integers(1, 12))
    if char == "S":
        return rng.integers(0, 256, (*shape, many), dtype="u1").view(f"S{many}")[..., 0]
    if char == "V":
        return rng.integers(0, 256, (*shape, many), dtype="u1").view(f"V{many}")[..., 0]
    word = lambda: "".join(rng.choice(LETTERS, int(rng.integers(0, many))))
    count = int(np.prod(shape, dtype=int))
    return np.array([word() for _ in range(count)], f"U{2 * many}").reshape(shape)


RECORDS = [
    [("a", "i4")],
    [("a", "i4"), ("b", ">f4"), ("c", "S3")],
    [("x", "f8"), ("y", "c16"), ("ok", "?"), ("at", "M8[s]"), ("for", "m8[ms]"), ("name", "U4"), ("raw", "V2")],
    [("flags", "?", (2,)), ("matrix", "f4", (2, 3)), ("none", "u1", (2, 0)), ("when", "M8[D]", (2,))],
    [("inner", [("p", "f2"), ("q", [("r", "i2", (2,)), ("s", "f8")])]), ("last", "g")],
    [("many", "u2", (30, 40))],
    [("rows", [("u", "f4"), ("v", "?")], (2,)), ("z", "c8", (2,))],
    [],
]


def fill(array):
    """Fills every field of an array of records with distinct values."""
    for name in array.dtype.names:
        part = array[name]
        if part.dtype.names is not None:
            fill(part)
        elif part.size:
            part[...] = values(part.shape, part.dtype)


def values(shape, dtype):
    kind, char = dtype.kind, dtype.str[1:]
    if kind == "f":
        return floats(shape, "g" if dtype.itemsize == 16 else char, rng.choice(FLOAT_STYLES))
    if kind == "c":
        return complexes(shape, char, rng.choice(FLOAT_STYLES))
    if kind in "iu":
        return integers(shape, char)
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "Mm":
        return rng.integers(-(10**9), 10**9, shape).astype("i8").astype(dtype)
    return texts(shape, kind)


def records(shape, fields):
    array = np.zeros(shape, fields)
    fill(array)
    return array


def arrays():
    for shape in SHAPES + LARGE:
        for char in FLOATS:
            for style in FLOAT_STYLES if len(shape) < 3 else rng.choice(FLOAT_STYLES, 4, replace=False):
                yield floats(shape, char, style)
        for char in COMPLEX:
            for style in rng.choice(FLOAT_STYLES, 5, replace=False):
                yield complexes(shape, char, style)
        for char in INTEGERS:
            yield integers(shape, char).astype(rng.choice(["<", ">"]) + char)
        yield rng.random(shape) < 0.5
        for char in ["M8", "m8"] * 4:
            yield times(shape, char)
        for char in "SVU":
            # For a single `bytes`, NumPy also prints its type's name.
            if char != "S" or shape:
                yield texts(shape, char)
        for fields in RECORDS:
            yield records(shape, fields)


OPTIONS = [
    {},
    {"precision": 3},
    {"precision": 0},
    {"precision": 17, "linewidth": 120},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 20, "edgeitems": 2, "linewidth": 30},
    {"linewidth": 12},
    {"threshold": 0, "edgeitems": 3},
]


def main(directory):
    directory = Path(directory)
    said = []
    for array in arrays():
        options = OPTIONS[len(said) % len(OPTIONS)] if rng.random() < 0.5 else {}
        name = f"{len(said)}.npy"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.save(directory / name, array, allow_pickle=False)
            array = np.load(directory / name)
        with np.printoptions(**options):
            literal = np.array2string(array, separator=", ", prefix="Array(", suffix=")")
            texts = {"text": str(array), "literal": literal}
            said.append({"file": name, "dtype": str(array.dtype), "shape": array.shape, "options": options, **texts})
    (directory / "texts.json").write_text(json.dumps(said))
    print(f"{len(said)} arrays, printed by NumPy {np.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
