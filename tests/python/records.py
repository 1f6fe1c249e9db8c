"""Records of NumPy for the tests of the library: records.py FOLDER.

For each case: the records (N.from.npy), the records converted by the names of their fields (N.to.npy), and the
columns (N.NAME.npy).
"""

import pathlib
import sys

import numpy as np

POINT = [("x", "<f4"), ("y", "<f4")]
FROM = np.dtype(
    [
        ("kind", "u1"),
        ("price", "<f8"),
        ("volume", ">u4"),
        ("flags", "?", (3,)),
        ("name", "S5"),
        ("at", POINT),
        ("path", POINT, (2,)),
        ("phase", ">c8"),
        ("when", "<M8[s]"),
        ("half", "<f2"),
    ]
)


def aligned(fields):
    return np.dtype(fields, align=True)


TO = [
    FROM,
    aligned([(name, FROM[name]) for name in FROM.names]),
    aligned([(name, FROM[name]) for name in reversed(FROM.names)]),
    np.dtype([("volume", "<u4"), ("price", ">f8")]),
    aligned([("half", ">f4"), ("kind", "<i8"), ("phase", "<c16"), ("flags", "?", (3,))]),
    aligned(
        [
            ("path", [("y", "<f8"), ("x", ">f4")], (2,)),
            ("kind", "u1"),
            ("at", aligned([("x", "<f8"), ("y", "<f4")])),
        ]
    ),
    np.dtype({"names": ["name", "price"], "formats": ["S5", "<f8"], "offsets": [3, 41], "itemsize": 60}),
    np.dtype({"names": ["kind", "when"], "formats": ["<u2", "<M8[s]"], "offsets": [0, 7], "itemsize": 15}),
]


def fill(array, random):
    """Numbers that every dtype of the cases can represent."""
    if array.dtype.names:
        for name in array.dtype.names:
            fill(array[name], random)
    elif array.dtype.kind == "S":
        array[...] = random.choice([b"", b"a", b"bcd", b"efghi"], array.shape)
    elif array.dtype.kind == "c":
        array[...] = random.integers(-99, 99, array.shape) / 4 + 1j * random.integers(-99, 99, array.shape)
    elif array.dtype.kind == "f":
        array[...] = random.integers(-999, 999, array.shape) / 8
    else:
        array[...] = random.integers(0, 2 if array.dtype.kind == "b" else 200, array.shape)


def assign(to, source):
    for name in to.dtype.names:
        if to.dtype[name].base.names:
            assign(to[name], source[name])
        else:
            to[name] = source[name]


folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(6)
number = 0
for shape in [(), (0,), (1,), (7,), (1000,), (3, 0, 2), (20, 30), (2, 3, 4, 5)]:
    for dtype in TO:
        source = np.zeros(shape, FROM)
        fill(source, random)
        to = np.zeros(shape, dtype)
        assign(to, source)
        np.save(folder / f"{number}.from.npy", source)
        np.save(folder / f"{number}.to.npy", to)
        for name in FROM.names:
            np.save(folder / f"{number}.{name}.npy", np.ascontiguousarray(source[name]).reshape(source[name].shape))
        number += 1
print(number)
