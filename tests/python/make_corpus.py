"""Writes, with NumPy, one .npy file for each kind of array that NumPy can save without a pickle, and a manifest of NumPy's
descriptions: python make_corpus.py DIRECTORY

The manifest is a list of {file, shape, strides, offset, hex, values}: `hex` holds the bytes of all elements in row-major
order of their indices, `values` the elements, for dtypes that JSON can represent."""

import json
import struct
import sys
import warnings
from pathlib import Path

import numpy as np

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
SHAPES = [(), (1,), (5,), (0,), (2, 3), (2, 0, 3), (3, 1, 2)]
rng = np.random.default_rng(20260823)


def scalars():
    """Every scalar dtype of fixed width, in both byte orders."""
    names = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32"]
    names += ["S0", "S1", "S7", "U0", "U1", "U5", "V0", "V1", "V9", "M8", "m8"]
    for order in "<>":
        yield from (np.dtype(order + name) for name in names)
        for kind in "Mm":
            yield from (np.dtype(f"{order}{kind}8[{unit}]") for unit in UNITS)
            yield from (np.dtype(f"{order}{kind}8[{unit}]") for unit in ["25s", "7D", "1000ns", "2147483647as"])


def records():
    """Records of every kind that can be saved; overlapping fields and fields out of order cannot."""
    fields = [("kind", "u1"), ("price", ">f8"), ("at", "<M8[ns]"), ("code", "S3")]
    yield np.dtype(fields)
    yield np.dtype(fields, align=True)
    yield np.dtype([("only", "<i4")])
    yield np.dtype([("a", "<i2", (2, 3)), ("b", "f4", 4), ("c", ">c16", (1,)), ("d", "u1", (2, 0))])
    yield np.dtype([("point", [("x", "<f4"), ("y", "<f4")]), ("deep", [("er", [("est", ">i8", (2,))])], (3,))])
    yield np.dtype([(("a title", "x"), "<f8"), (("another one", "y"), "<f8", (2,)), ("z", "U2")])
    yield np.dtype({"names": ["a", "b"], "formats": ["<i4", "u1"], "offsets": [4, 13], "itemsize": 20})
    yield np.dtype({"names": ["a", "b"], "formats": ["u1", "<f8"], "titles": ["first", None], "offsets": [0, 8]})
    yield np.dtype([("inner", np.dtype([("c", "u1"), ("d", "<f8")], align=True)), ("last", "?")], align=True)
    yield np.dtype([("it's", "<i4"), ('"quoted"', "u1"), ("back\\slash", "u1"), ("a b", "u1")])
    yield np.dtype([("größe", "<f8"), ("ñ", "u1")])  # Latin-1: still version 1.0
    yield np.dtype([("大小", "<f8"), ("🦀", "u1")])  # forces version 3.0
    yield np.dtype([(f"field_with_a_long_name_{i:04}", "<f4") for i in range(2000)])  # forces version 2.0
    yield np.dtype([("empty", "S0"), ("void", "V4"), ("x", "<f4")])
    yield np.dtype([])


def fill(dtype, shape, order):
    """Elements of every kind of value: random bytes, including padding, if every pattern is a value."""
    count = int(np.prod(shape, dtype=int))
    array = np.frombuffer(rng.bytes(count * dtype.itemsize), np.uint8).copy() if dtype.itemsize else None
    array = np.ndarray(shape, dtype, array, order=order)
    if array.size and dtype.itemsize:
        tame(array)
    return array


def tame(array):
    dtype = array.dtype
    if dtype.names is not None:
        for name in dtype.names:
            if array[name].size:
                tame(array[name])
    elif dtype.kind == "b":
        array[...] = rng.integers(0, 2, array.shape)
    elif dtype.kind == "U" and dtype.itemsize:
        letters = ["", "a", "größe", "大小", "🦀x", "it's\n", "\x00mid\x00"]
        array[...] = rng.choice(letters, array.shape)
    elif dtype.kind == "S" and dtype.itemsize:
        array[...] = rng.choice([b"", b"a", b"it's\n\xff", b"\x00b\x00"], array.shape)
    elif dtype.kind in "Mm":
        unit, multiple = np.datetime_data(dtype)
        # NumPy's text of a date is wrong if the count times the multiple overflows 64 bits.
        most = 3000 if unit in "YMWD" else min(10**15, 2**62 // multiple)
        counts = rng.integers(-most, most, array.shape)
        array[...] = counts.astype(dtype.newbyteorder("="))
        array.flat[0] = np.array("NaT", dtype.newbyteorder("="))
    elif dtype.kind in "fc" and dtype.itemsize // (1 + (dtype.kind == "c")) == 16:
        # Random bytes may be an invalid x87 number.
        array.real = rng.standard_normal(array.shape) * 10.0 ** rng.integers(-300, 300, array.shape)
        if dtype.kind == "c":
            array.imag = np.inf


def raw_bytes(array):
    """The bytes of the elements, padding included, in row-major order of their indices."""
    if array.size == 0 or array.dtype.itemsize == 0:
        return b""
    return np.ascontiguousarray(array.view(f"V{array.dtype.itemsize}")).tobytes()


def double(number):
    return struct.unpack("<Q", struct.pack("<d", float(number)))[0]


def value(element, dtype):
    kind = dtype.kind
    if kind == "b":
        return {"text": str(element), "bool": bool(element)}
    if kind in "iu":
        return {"text": str(element)}
    if kind == "f":
        return {"double": double(element)}
    if kind == "c":
        return {"re": double(element.real), "im": double(element.imag)}
    if kind == "S":
        return {"bytes": bytes(element).hex()}
    if kind == "U":
        return {"string": str(element)}
    if kind in "Mm" and np.datetime_data(dtype)[0] != "generic":
        return {"text": str(element)}
    return None


def values(array):
    if array.dtype.names is not None or array.dtype.kind == "V":
        return None
    native = array.astype(array.dtype.newbyteorder("="))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [value(native[index], array.dtype) for index in np.ndindex(array.shape)]
    return None if any(one is None for one in found) else found


class Corpus:
    def __init__(self, directory):
        self.directory = Path(directory)
        self.manifest = []

    def add(self, array, version=None):
        name = f"{len(self.manifest):05}.npy"
        path = self.directory / name
        with open(path, "wb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.lib.format.write_array(file, array, version=version, allow_pickle=False)
        size = path.stat().st_size
        # Mapped, as the tests open it: if NumPy reads a file into memory, empty arrays get other strides.
        loaded = np.load(path, mmap_mode="r", max_header_size=1 << 30)
        assert loaded.dtype == array.dtype and loaded.shape == array.shape, (loaded.dtype, array.dtype)
        assert raw_bytes(loaded) == raw_bytes(np.asarray(array)), name
        self.manifest.append(
            {
                "file": name,
                "says": f"{array.dtype} {array.shape} {'C' if array.flags.c_contiguous else 'F'} version {version}"[:200],
                "shape": loaded.shape,
                "strides": loaded.strides,
                "c": bool(loaded.flags.c_contiguous),
                "f": bool(loaded.flags.f_contiguous),
                "aligned": bool(loaded.flags.aligned),
                "itemsize": loaded.dtype.itemsize,
                "offset": size - loaded.nbytes,
                "hex": raw_bytes(loaded).hex(),
                "values": values(loaded),
                # Whether writing must give the same bytes. For elements without bytes, NumPy writes the order that
                # was once requested; and Python can choose between quotes.
                "identical": version is None and array.dtype.itemsize > 0 and "it's" not in (array.dtype.names or ()),
            }
        )


def main(directory):
    corpus = Corpus(directory)
    for dtype in [*scalars(), *records()]:
        for shape in SHAPES if dtype.itemsize < 1000 else [(2,)]:
            for order in "CF" if len(shape) > 1 else "C":
                corpus.add(fill(dtype, shape, order))
    for dtype in [np.dtype("<f8"), np.dtype(">u2"), np.dtype([("a", "u1"), ("b", "<i4")])]:
        for rank in range(1, 9):
            for order in "CF":
                corpus.add(fill(dtype, tuple(rng.integers(1, 4, rank)) if rank < 6 else (1, 2) * (rank // 2) + (2,) * (rank % 2), order))
    for rank in [9, 32, 64]:
        corpus.add(fill(np.dtype("<i2"), (1,) * (rank - 2) + (2, 3), "C"))
    for version in [(1, 0), (2, 0), (3, 0)]:
        corpus.add(fill(np.dtype("<f8"), (2, 3), "F"), version)
        corpus.add(fill(np.dtype([("a", "u1"), ("b", "<i4")]), (4,), "C"), version)
    corpus.add(np.broadcast_to(np.arange(3), (2, 3)))
    corpus.add(np.arange(24).reshape(2, 3, 4)[:, ::-1, ::2])
    corpus.add(np.zeros((300, 7, 11), ">f4").transpose(1, 0, 2) + np.arange(11, dtype=">f4"))
    (corpus.directory / "manifest.json").write_text(json.dumps(corpus.manifest))


if __name__ == "__main__":
    main(sys.argv[1])
