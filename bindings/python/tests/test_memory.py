"""`Buffer`: bytes with an owner."""

import gc
import random

import numpy as np
import pytest

import crossdock
from peers import SEED


def test_buffers_are_zeros_or_copies():
    for buffer, wanted in [
        (crossdock.Buffer(), b""),
        (crossdock.Buffer(5), bytes(5)),
        (crossdock.Buffer(np.int64(2)), bytes(2)),
        (crossdock.Buffer(b"abc"), b"abc"),
        (crossdock.Buffer(memoryview(b"abcd")[::-2]), b"db"),
        (crossdock.Buffer(np.array([[1, 2], [3, 4]], "i2").T), b"\1\0\3\0\2\0\4\0"),
        (crossdock.Buffer(crossdock.array([1.0])), np.array([1.0]).tobytes()),
        (crossdock.Buffer(crossdock.Buffer(b"ab")), b"ab"),
    ]:
        assert buffer.tobytes() == bytes(buffer) == wanted and len(buffer) == buffer.nbytes == len(wanted)
        assert not buffer.readonly and buffer.place == "cpu"
    source = bytearray(b"abc")
    copy = crossdock.Buffer(source)
    source[0] = 0
    assert copy == b"abc" and copy != source
    assert np.asarray(crossdock.Buffer(3)).ctypes.data % 64 == 0
    for wrong, error in [(-1, ValueError), (1.5, TypeError), ("text", TypeError), (2**70, OverflowError)]:
        with pytest.raises(error):
            crossdock.Buffer(wrong)
    with pytest.raises(TypeError, match="unhashable"):
        hash(copy)
    assert "3 bytes" in repr(copy)


def test_random_slices_are_those_of_a_bytearray():
    rng = random.Random(SEED)
    for _ in range(500):
        plain = bytearray(rng.randbytes(rng.randint(0, 20)))
        buffer = crossdock.Buffer(plain)
        key = slice(rng.choice([None, rng.randint(-25, 25)]), rng.choice([None, rng.randint(-25, 25)]))
        part = buffer[key]
        assert isinstance(part, crossdock.Buffer) and part == plain[key]
        # A view, which shares the buffer's bytes.
        new = rng.randbytes(len(part))
        part[:] = new
        plain[key] = new
        assert buffer == plain
        if plain:
            index = rng.randint(-len(plain), len(plain) - 1)
            buffer[index] = plain[index] = rng.randint(0, 255)
            assert buffer[index] == plain[index] and buffer == plain


def test_what_does_not_fit_a_buffer_is_refused():
    buffer = crossdock.Buffer(4)
    for index in (4, -5, 2**40):
        with pytest.raises(IndexError, match=str(index)):
            buffer[index]
    for value in (256, -1):
        with pytest.raises(ValueError, match=str(value)):
            buffer[0] = value
    with pytest.raises(ValueError, match="3 bytes for a slice of 2"):
        buffer[1:3] = b"abc"
    with pytest.raises(ValueError, match=r"asarray\(buffer\)\[::2\]"):
        buffer[::2]
    with pytest.raises(TypeError):
        buffer["a"]
    buffer[1:] = buffer[:-1]
    assert buffer == bytes(4)


def test_buffers_are_exported_and_adopted_in_place():
    buffer = crossdock.Buffer(8)
    view, theirs, ours = memoryview(buffer), np.frombuffer(buffer, "i4"), crossdock.asarray(buffer)
    assert (view.format, view.shape, view.readonly, view.nbytes) == ("B", (8,), False, 8)
    theirs[1] = -1
    assert ours.tolist() == [0, 0, 0, 0, 255, 255, 255, 255] and ours.dtype == "uint8" and view[7] == 255
    array = buffer.array("i4")
    assert array.tolist() == [0, -1] and np.shares_memory(np.asarray(array), theirs)
    assert buffer.array("i2", (2, 1)).shape == (2, 1) and buffer.array(shape=3).tolist() == [0, 0, 0]
    for wrong in [("i4", 3), ("V3", None), ("f8", (1, 2))]:
        with pytest.raises((ValueError, IndexError)):
            buffer.array(*wrong)
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(buffer.array("bfloat16"))


def holders():
    return {
        "a slice": (lambda buffer: buffer[1:3], "2 handles"),
        "an array": (lambda buffer: buffer.array("i2"), "2 handles"),
        "asarray": (crossdock.asarray, "2 handles"),
        "memoryview": (memoryview, r"1 share lease, .*exported by PEP 3118"),
        "np.asarray": (np.asarray, r"1 share lease, .*exported by PEP 3118"),
        "DLPack": (lambda buffer: np.from_dlpack(buffer.array()), r"1 share lease.*exported by DLPack"),
    }


@pytest.mark.parametrize("name", holders())
def test_a_buffer_that_others_have_is_not_resized(name):
    hold, words = holders()[name]
    buffer = crossdock.Buffer(b"abcd")
    held = hold(buffer)
    for change in (lambda: buffer.resize(100), lambda: buffer.resize(2), lambda: buffer.extend(b"x")):
        with pytest.raises(BufferError, match="cannot be resized.*" + words):
            change()
    assert buffer == b"abcd"
    del held
    gc.collect()
    buffer.resize(6)
    assert buffer == b"abcd\0\0"
    buffer.resize(1)
    buffer.resize(3)
    assert buffer == b"a\0\0"
    with pytest.raises(ValueError):
        buffer.resize(-1)


def test_with_the_ledger_a_refusal_names_who_holds_the_memory():
    crossdock.ledger(on=True)
    try:
        buffer = crossdock.Buffer(4)
        view = memoryview(buffer)
        with pytest.raises(BufferError, match=r"1 share lease \(PEP 3118, .* old\)"):
            buffer.resize(5)
    finally:
        crossdock.ledger(on=False)
    view.release()


def test_buffers_grow_piece_by_piece():
    buffer, plain = crossdock.Buffer(), bytearray()
    for number in range(2_000):
        piece = bytes([number % 256]) * (number % 7)
        buffer.extend(piece)
        plain += piece
    assert buffer == plain
    buffer.extend(buffer)
    assert buffer == plain * 2
    # A slice uses the memory that would have to move.
    with pytest.raises(BufferError):
        buffer.extend(buffer[-3:])


def test_memory_of_a_buffer_is_kept_by_whatever_lies_on_it():
    part, view = crossdock.Buffer(b"abcdef")[2:5], memoryview(crossdock.Buffer(b"xyz"))
    gc.collect()
    assert part == b"cde" and view.tobytes() == b"xyz"
    part.extend(b"!")
    assert part == b"cde!"
