"""`crossdock lend` gives NumPy the same view as NumPy's own subscript, in place."""

import json
import random
import sys

import numpy as np
import pytest

RECORD = np.dtype([("id", "<u4"), ("price", ">f8"), ("at", "<M8[ms]"), ("rgb", "u1", (3,))])
DTYPES = ["?", "<i2", ">u4", "<f4", ">f8", "<c16", "S5", "<U3", "<m8[s]", RECORD]

# The lines that `lend --help` shows, followed by a description of the array.
TELL = """
flat = numpy.ascontiguousarray(x)
print(json.dumps([list(x.shape), list(x.strides), x.dtype.str, flat.tobytes().hex()]))
"""


def random_array(rng):
    dtype = np.dtype(rng.choice(DTYPES))
    shape = [rng.choice([0, 1, 2, 3, 5]) for _ in range(rng.randrange(4))]
    count = int(np.prod(shape)) * dtype.itemsize
    array = np.frombuffer(rng.randbytes(count), dtype).reshape(shape) if count else np.zeros(shape, dtype)
    if dtype == np.dtype("<U3"):
        array = np.array([chr(97 + n % 26) * (n % 4) for n in range(array.size)], dtype).reshape(shape)
    return np.asfortranarray(array) if rng.random() < 0.3 else array


def random_subscript(rng, shape):
    """The text of a subscript that is valid for the shape."""
    items = []
    for length in shape[: rng.randrange(len(shape) + 1)]:
        if length and rng.random() < 0.3:
            items.append(str(rng.randrange(-length, length)))
        else:
            bound = lambda: rng.choice(["", str(rng.randrange(-7, 8))])
            step = rng.choice(["", ":", ":1", ":2", ":-1", ":-3"])
            items.append(f"{bound()}:{bound()}{step}")
    if rng.random() < 0.3:
        items.insert(rng.randrange(len(items) + 1), "...")
    if rng.random() < 0.2:
        items.insert(rng.randrange(len(items) + 1), "None")
    return ", ".join(items)


@pytest.fixture(scope="module")
def snippet(request):
    folder = request.config.rootpath / "crates/crossdock-cli/src/lend/snippets"
    return (folder / "numpy.py").read_text()


@pytest.mark.parametrize("seed", range(60))
def test_a_random_view_is_the_one_that_numpy_makes(crossdock, snippet, tmp_path, seed):
    rng = random.Random(seed)
    array = random_array(rng)
    text = random_subscript(rng, array.shape)
    expected = eval(f"array[{text}]" if text else "array", {"array": array})
    if array.dtype == RECORD and rng.random() < 0.7:
        name = rng.choice(RECORD.names)
        expected = expected[name]
        text = f"{text}, .{name}" if text else f".{name}"
    np.save(tmp_path / "a.npy", array)

    lent = crossdock("lend", f"{tmp_path}/a.npy:{text}", "--", sys.executable, "-c", snippet + TELL)

    assert lent.returncode == 0 and lent.stderr == "", f"{array.dtype} {array.shape} [{text}]: {lent.stderr}"
    shape, strides, dtype, content = json.loads(lent.stdout)
    expected = np.asarray(expected)
    assert shape == list(expected.shape), text
    assert dtype == expected.dtype.str
    assert content == np.ascontiguousarray(expected).tobytes().hex(), f"{array.dtype} {array.shape} [{text}]"
    used = [axis for axis, length in enumerate(shape) if length > 1 and expected.size]
    assert [strides[axis] for axis in used] == [expected.strides[axis] for axis in used], text
