"""Exporters and producers with errors: the result is a refusal with a reason, or a valid array, and every export is
released once."""

import ctypes
import gc
import inspect
import sys

import pytest

import crossdock
from hostile import LIES, MISBEHAVIOURS, TENSORS, TRUTHS, Exporter, Producer, lies


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_and_given_back(lie):
    said, words = LIES[lie]
    lies.tell(**said)
    given, released = lies.given, lies.released
    with pytest.raises(BufferError, match=words):
        crossdock.asarray(Exporter())
    gc.collect()
    assert (lies.given - given, lies.released - released) == (1, 1)


@pytest.mark.parametrize("truth", TRUTHS)
def test_what_may_be_true_is_taken(truth):
    said, shape, dtype = TRUTHS[truth]
    lies.tell(**said)
    given, released = lies.given, lies.released
    ours = crossdock.asarray(Exporter())
    assert (ours.shape, ours.dtype, ours.readonly) == (shape, dtype, "readonly" in said)
    assert ours.exports == 0 and lies.released == released
    part = ours[...]
    if not str(dtype).startswith("|V"):
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
    for said, values in TENSORS:
        producer = Producer(legacy, **said)
        ours = crossdock.from_dlpack(producer)
        assert ours.tolist() == values and producer.is_taken() and producer.deleted == 0
        overlap = any(step == 0 for length, step in zip(ours.shape, ours.strides) if length > 1)
        assert ours.readonly is (legacy or overlap)
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


class ItsOwnInterface:
    """Asks for itself, without end."""

    @property
    def __array_interface__(self):
        return crossdock.asarray(self).__array_interface__

    def __dlpack__(self, **options):
        return crossdock.from_dlpack(self).__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)

    def __arrow_c_array__(self, requested_schema=None):
        return crossdock.from_arrow(self).__arrow_c_array__()


class ItsOwnStream:
    """Asks for its own columns, without end."""

    def __arrow_c_stream__(self, requested_schema=None):
        return crossdock.table(self).__arrow_c_stream__()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: crossdock.asarray(ItsOwnInterface()),
        lambda: crossdock.from_dlpack(ItsOwnInterface()),
        lambda: crossdock.from_arrow(ItsOwnInterface()),
        lambda: crossdock.table(ItsOwnStream()),
    ],
)
def test_a_producer_that_asks_for_itself_ends_at_the_limit_of_calls(ask):
    # Frames of this build may be too large for Python's usual limit.
    limit = sys.getrecursionlimit()
    depth = len(inspect.stack(0))
    sys.setrecursionlimit(depth + 100)
    try:
        with pytest.raises(RecursionError):
            ask()
    finally:
        sys.setrecursionlimit(limit)
