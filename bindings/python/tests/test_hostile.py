"""Exporters that lie and producers that misbehave: a refusal that says why, or an array of what can be true; and all is given back once."""

import ctypes
import gc

import pytest

import crossdock
from hostile import Exporter, Producer, lies

HUGE, LOW = 2**63 - 1, -(2**63)

LIES = {
    "a length below none": (dict(shape=(2, -3)), "-3"),
    "lengths that overflow": (dict(shape=(HUGE, 3)), str(HUGE)),
    "lengths whose product wraps to what is said": (dict(shape=(2**62, 4), len=0), "overflow|address space|more"),
    "fewer bytes than elements": (dict(len=20), "20 bytes"),
    "more bytes than elements": (dict(len=28), "28 bytes"),
    "bytes below none": (dict(len=-24), "-24 bytes"),
    "items below no bytes": (dict(itemsize=-4), "-4 bytes"),
    "items of another size": (dict(itemsize=8), "24 bytes"),
    "no address": (dict(buf=None), "null"),
    "no address of one item": (dict(buf=None, ndim=0, shape=(), strides=(), len=4), "null"),
    "an address at the end": (dict(buf=2**64 - 4), "address space"),
    "strides that leave the address space": (dict(strides=(HUGE, 4)), str(HUGE)),
    "strides that leave it downwards": (dict(buf=16, strides=(-12, -4)), "address space"),
    "the least stride": (dict(strides=(LOW, 4)), str(LOW)),
    "65 axes": (dict(ndim=65, shape=(1,) * 65, strides=None, len=4), "65 axes"),
    "axes below none": (dict(ndim=-1), "-1 axes"),
    "the least number of axes": (dict(ndim=-(2**31), len=4), "axes"),
    "axes without lengths": (dict(shape=None), "2 axes, and no lengths"),
    "a format that is none": (dict(format=b"what?"), "byte 2 of the format"),
    "a format that does not end": (dict(format=b"T{i:a:"), "not closed"),
    "a format that is not text": (dict(format=b"\xff\xfe"), "format"),
    "a format of a great depth": (dict(format=b"T{" * 100_000), "deep|nest"),
    "a format of great counts": (dict(format=b"(99999999,99999999,99999999)d"), "99999999"),
    "a format of objects": (dict(format=b"O", itemsize=8, len=48), "object"),
    "a null pointer to a row": (dict(shape=(2, 3), strides=(8, 4), suboffsets=(0, -1)), "null pointer"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_and_given_back(lie):
    said, words = LIES[lie]
    lies.tell(**said)
    given, released = lies.given, lies.released
    with pytest.raises(BufferError, match=words):
        crossdock.asarray(Exporter())
    gc.collect()
    assert (lies.given - given, lies.released - released) == (1, 1)


TRUTHS = {
    "nothing odd": (dict(), (2, 3), "int32"),
    "no strides": (dict(strides=None), (2, 3), "int32"),
    "one axis without a length": (dict(shape=None, strides=None, ndim=1), (6,), "int32"),
    "no format": (dict(format=None), (2, 3), "V4"),
    "bytes": (dict(format=None, itemsize=1, shape=(24,), strides=None, ndim=1), (24,), "uint8"),
    "a format of another size": (dict(format=b"B"), (2, 3), "V4"),
    "no axis": (dict(ndim=0, len=4, shape=None, strides=None), (), "int32"),
    "no axis, and lists that mean nothing": (dict(ndim=0, len=4, shape=(LOW,), strides=(HUGE,)), (), "int32"),
    "no elements and no address": (dict(buf=None, shape=(2, 0), len=0), (2, 0), "int32"),
    "no elements and wild strides": (dict(shape=(0, 3), strides=(HUGE, LOW), len=0), (0, 3), "int32"),
    "64 axes": (dict(ndim=64, shape=(1,) * 64, strides=(HUGE,) * 64, len=4), (1,) * 64, "int32"),
    "suboffsets that are none": (dict(suboffsets=(-1, -7)), (2, 3), "int32"),
    "a truth value that is not one": (dict(readonly=-7), (2, 3), "int32"),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_what_may_be_true_is_taken(truth):
    said, shape, dtype = TRUTHS[truth]
    lies.tell(**said)
    given, released = lies.given, lies.released
    ours = crossdock.asarray(Exporter())
    assert (ours.shape, ours.dtype, ours.readonly) == (shape, dtype, "readonly" in said)
    assert ours.exports == 0 and lies.released == released
    part = ours[...]
    memoryview(ours).release()
    del ours
    assert lies.released == released
    assert len(part.tobytes()) == lies.told["len"]
    del part
    gc.collect()
    assert (lies.given - given, lies.released - released) == (1, 1)


def test_a_buffer_of_nobody_is_taken():
    lies.tell(obj=None)
    given, released = lies.given, lies.released
    assert crossdock.asarray(Exporter()).tolist() == [[0] * 3] * 2
    assert (lies.given, lies.released) == (given, released)


def test_a_failure_without_an_exception_is_one():
    lies.tell(result=-1)
    with pytest.raises(BufferError):
        crossdock.asarray(Exporter())


MISBEHAVIOURS = {
    "another major version": (dict(version=(2, 0), shape=None, ndim=-7, data=1), "2.0"),
    "version none": (dict(version=(0, 9)), "0.9"),
    "axes below none": (dict(ndim=-1), "-1"),
    "65 axes": (dict(ndim=65, shape=(1,) * 65, strides=None), "65"),
    "no shape": (dict(shape=None), "shape"),
    "a length below none": (dict(shape=(2, -3)), "-3"),
    "lengths that overflow": (dict(shape=(HUGE, HUGE), strides=None), str(HUGE)),
    "strides that overflow": (dict(strides=(HUGE, 1)), str(HUGE)),
    "no data": (dict(data=None), "null"),
    "no data, and an offset": (dict(data=None, byte_offset=64), "null"),
    "an offset that wraps": (dict(byte_offset=2**64 - 4, data=2**64 - 64), "address"),
    "two lanes": (dict(lanes=2), "lanes"),
    "no lanes": (dict(lanes=0), "lanes"),
    "a type that there is not": (dict(code=99), "99"),
    "a width that there is not": (dict(bits=7), "7"),
    "packed elements of four bits": (dict(code=17, bits=4), "4"),
    "a handle for data": (dict(device=(4, 0)), "opencl|OpenCL|4"),
}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS)
def test_a_tensor_that_cannot_be_is_refused_and_given_back(misbehaviour, legacy):
    said, words = MISBEHAVIOURS[misbehaviour]
    if legacy and "version" in said:
        pytest.skip("the struct of old has no version")
    producer = Producer(legacy, **said)
    with pytest.raises(BufferError, match=words):
        crossdock.from_dlpack(producer)
    assert producer.is_taken() and producer.deleted == 1


@pytest.mark.parametrize("legacy", [False, True])
def test_a_tensor_that_may_be_is_taken(legacy):
    for said, values in [
        (dict(), [[0, 1, 2], [3, 4, 5]]),
        (dict(strides=None), [[0, 1, 2], [3, 4, 5]]),
        (dict(byte_offset=8), [[2, 3, 4], [5, 6, 7]]),
        (dict(strides=(-3, -1), byte_offset=20), [[5, 4, 3], [2, 1, 0]]),
        (dict(strides=(0, 1)), [[0, 1, 2], [0, 1, 2]]),
        (dict(ndim=0, shape=None, strides=None), 0),
        (dict(shape=(0, 3), data=None), []),
        (dict(shape=(1, 3), strides=(HUGE, 1)), [[0, 1, 2]]),
        (dict(device=(3, 7)), [[0, 1, 2], [3, 4, 5]]),
        (dict(version=(1, 99), flags=2**64 - 2 - 4), [[0, 1, 2], [3, 4, 5]]),
    ]:
        producer = Producer(legacy, **said)
        ours = crossdock.from_dlpack(producer)
        assert ours.tolist() == values and producer.is_taken() and producer.deleted == 0
        assert ours.readonly is legacy
        part = ours[...]
        del ours
        assert producer.deleted == 0 and part.tolist() == values
        del part
        assert producer.deleted == 1


def test_a_tensor_without_a_deleter_is_taken():
    for legacy in (False, True):
        producer = Producer(legacy, deleter=False)
        assert crossdock.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
        assert producer.is_taken() and producer.deleted == 0


def test_a_tensor_that_is_read_only_is_so():
    assert crossdock.from_dlpack(Producer(flags=1)).readonly
    assert not crossdock.from_dlpack(Producer(flags=0)).readonly


def test_a_capsule_of_another_name_is_left_alone():
    for name in (b"tensor", b"used_dltensor_versioned", b"dltensor_versioned\xff"):
        producer = Producer(name=name)
        with pytest.raises(ValueError, match="capsule"):
            crossdock.from_dlpack(producer)
        assert producer.deleted == 0 and not producer.is_taken()
    for thing in (None, 5, object(), b"dltensor", ctypes.c_int(5)):
        with pytest.raises(ValueError, match="capsule"):
            crossdock.from_dlpack(type("Odd", (), {"__dlpack__": lambda self, **_: thing})())
