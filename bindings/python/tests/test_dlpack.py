"""DLPack, in both directions, with NumPy."""

import ctypes
import sys

import numpy as np
import pytest
from hostile import Producer

import crossdock

CAPSULE = ctypes.pythonapi.PyCapsule_GetName
CAPSULE.argtypes, CAPSULE.restype = [ctypes.py_object], ctypes.c_char_p


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_arrays_travel_in_place(dtype):
    theirs = np.arange(24).astype(dtype).reshape(2, 3, 4)[::-1, :, ::2].T
    ours = crossdock.from_dlpack(theirs)
    assert (ours == theirs).all() and ours.strides == theirs.strides and not ours.readonly
    back = np.from_dlpack(ours)
    assert back.ctypes.data == theirs.ctypes.data and back.flags.writeable
    assert back.tolist() == theirs.tolist()


def test_versions_are_as_asked_for():
    ours = crossdock.zeros(3)
    assert CAPSULE(ours.__dlpack__()) == b"dltensor"
    assert CAPSULE(ours.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert CAPSULE(ours.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    assert CAPSULE(ours.__dlpack__(max_version=(2, 0), stream=None)) == b"dltensor_versioned"
    assert ours.__dlpack_device__() == (1, 0)


def test_read_only_arrays_say_so_or_stay():
    ours = crossdock.asarray(b"abc")
    back = np.from_dlpack(ours)
    assert not back.flags.writeable and back.tolist() == [97, 98, 99]
    with pytest.raises(BufferError, match="read-only"):
        ours.__dlpack__()
    theirs = np.arange(3)
    theirs.flags.writeable = False
    assert crossdock.from_dlpack(theirs).readonly


def test_copies_are_made_when_asked_for():
    ours = crossdock.array([1, 2, 3])
    copied = np.from_dlpack(ours, copy=True)
    copied[0] = 9
    assert ours[0] == 1
    assert np.from_dlpack(ours, copy=False).ctypes.data == np.asarray(ours).ctypes.data
    theirs = np.arange(3)
    assert not np.shares_memory(np.asarray(crossdock.from_dlpack(theirs, copy=True)), theirs)


def in_the_middle_of_records():
    """A field whose stride of 9 bytes is no whole number of elements of 8 bytes."""
    records = crossdock.zeros(3, "[('a', '|u1'), ('b', '<f8')]")
    records["b"] = [1.5, 2.5, 3.5]
    return records["b"]


@pytest.mark.parametrize("arguments", [{}, {"copy": None}, {"max_version": (1, 3)}, {"max_version": (1, 0), "copy": None}])
def test_what_dlpack_cannot_describe_in_place_is_copied_and_counted(arguments):
    field = in_the_middle_of_records()
    before = crossdock.copied_bytes()
    capsule = field.__dlpack__(**arguments)
    assert crossdock.copied_bytes() - before == field.nbytes

    class Producer:
        def __dlpack__(self, **_):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    assert crossdock.from_dlpack(Producer()).tolist() == [1.5, 2.5, 3.5]
    assert np.from_dlpack(field).tolist() == [1.5, 2.5, 3.5]
    np.from_dlpack(field)[0] = 9
    assert field[0] == 1.5


def test_nothing_is_copied_where_copies_are_forbidden():
    field, square = in_the_middle_of_records(), crossdock.zeros((3, 4))[::2, ::-1]
    before = crossdock.copied_bytes()
    with pytest.raises(BufferError, match="stride of axis 0, 9 bytes"):
        field.__dlpack__(max_version=(1, 0), copy=False)
    with pytest.raises(BufferError, match="stride of axis 0, 9 bytes"):
        np.from_dlpack(field, copy=False)
    square.__dlpack__(max_version=(1, 0))
    crossdock.explain(field)
    with pytest.raises(BufferError, match="read-only"):
        crossdock.asarray(b"abc").__dlpack__()
    assert crossdock.copied_bytes() == before


def test_refusals_are_buffer_errors():
    ours = crossdock.zeros(3)
    for arguments in [{"dl_device": (8, 0)}, {"stream": 1}]:
        with pytest.raises(BufferError):
            ours.__dlpack__(max_version=(1, 0), **arguments)
    for dtype in ["S3", ">f8", "U2", "[('a', '<i4')]"]:
        with pytest.raises(BufferError):
            crossdock.zeros(3, dtype).__dlpack__(max_version=(1, 0))
    with pytest.raises(TypeError, match="nonsense"):
        ours.__dlpack__(nonsense=1)
    with pytest.raises(BufferError, match="byte order"):
        crossdock.from_dlpack(np.zeros(3, ">f8"))

    class Refusing(Old):
        def __dlpack__(self, **arguments):
            raise RuntimeError("not today")

    with pytest.raises(BufferError, match="__dlpack__.. refused: not today"):
        crossdock.from_dlpack(Refusing(None))


class Old:
    """A producer from before version 1.0."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class Once(Old):
    def __dlpack__(self, **arguments):
        capsule = self.array.__dlpack__(**arguments)
        np.from_dlpack(type("Given", (), {"__dlpack__": lambda _, **__: capsule, "__dlpack_device__": lambda _: (1, 0)})())
        return capsule


def test_old_producers_are_taken_read_only():
    theirs = np.arange(3)
    assert crossdock.from_dlpack(Old(theirs)).readonly
    assert (crossdock.asarray(Old(theirs)) == theirs).all()


def test_a_capsule_is_taken_once():
    with pytest.raises(ValueError, match="once"):
        crossdock.from_dlpack(Once(np.arange(3)))
    with pytest.raises(AttributeError):
        crossdock.from_dlpack(object())


def test_a_producer_that_refuses_is_asked_once():
    class Typed(TypeError):
        """A producer like PyArrow's."""

    class Refusing:
        asked = 0

        def __dlpack__(self, **arguments):
            self.asked += 1
            raise Typed("no nulls")

        def __dlpack_device__(self):
            return (1, 0)

    refusing = Refusing()
    with pytest.raises(BufferError, match="no nulls"):
        crossdock.from_dlpack(refusing)
    assert refusing.asked == 1


def test_a_consumer_of_an_older_version_gets_a_struct_that_says_no_newer_one():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    for asked, said in [((1, 0), [1, 0]), ((1, 2), [1, 2]), ((1, 3), [1, 3]), ((1, 9), [1, 3]), ((2, 0), [1, 3])]:
        capsule = crossdock.zeros(3).__dlpack__(max_version=asked)
        version = (ctypes.c_uint32 * 2).from_address(pointer(capsule, b"dltensor_versioned"))
        assert list(version) == said
    for asked in [None, (0, 8)]:
        assert pointer(crossdock.zeros(3).__dlpack__(max_version=asked), b"dltensor")


class Counting:
    """A CPU array that counts the calls."""

    def __init__(self):
        self.elements, self.asked, self.devices = np.arange(3.0), [], 0

    def __dlpack__(self, **named):
        self.asked.append(named)
        return self.elements.__dlpack__(**named)

    def __dlpack_device__(self):
        self.devices += 1
        return self.elements.__dlpack_device__()


def test_a_producer_is_asked_for_what_the_caller_wants_and_no_more():
    thing, version = Counting(), {"max_version": (1, 3)}
    crossdock.from_dlpack(thing)
    crossdock.from_dlpack(thing)
    assert thing.asked == [version, version] and thing.devices == 0
    crossdock.from_dlpack(thing, copy=True)
    assert thing.asked[2] == version | {"dl_device": None, "copy": True} and thing.devices == 1
    crossdock.from_dlpack(thing)
    assert thing.asked[3] == version and thing.devices == 1


def test_a_tensor_on_a_device_without_a_driver_is_handed_on():
    ours = crossdock.from_dlpack(Producer(device=(10, 0)))
    assert ours.device == "rocm:0" and ours.shape == (2, 3)


def address_of_tensor(array):
    """The address of the tensor of NumPy's capsule, which no other code consumes then."""
    capsule = array.__dlpack__(max_version=(1, 0))
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
    assert api.PyCapsule_SetName(capsule, USED) == 0
    return address


USED = b"used_dltensor_versioned"


def test_a_tensor_of_c_comes_in_by_its_address_and_is_released_once():
    numbers = np.zeros((2, 3))
    before = sys.getrefcount(numbers)
    x = crossdock.from_dlpack(address_of_tensor(numbers.T))
    assert (x.shape, x.ptr, x.copied_because) == ((3, 2), numbers.ctypes.data, None)
    x[2, 1] = 50
    assert numbers[1, 2] == 50 and sys.getrefcount(numbers) > before
    del x
    assert sys.getrefcount(numbers) == before


@pytest.mark.parametrize("address, says", [(0, "is 0"), (True, "0x1, which is no multiple of 8"), (-8, "uint64"), (1 << 64, "uint64")])
def test_an_address_that_begins_no_tensor_is_refused(address, says):
    with pytest.raises((ValueError, OverflowError), match=says):
        crossdock.from_dlpack(address)


def test_the_tensor_at_an_address_has_no_producer_to_ask():
    for arguments in [{"copy": True}, {"copy": False}, {"device": "cpu"}]:
        with pytest.raises(TypeError, match="has none; call to_device"):
            crossdock.from_dlpack(8, **arguments)


def test_every_spelling_of_the_usual_call_gives_the_same_capsule():
    ours = crossdock.asarray(np.arange(6.0).reshape(2, 3))
    usual = {"dl_device": None, "copy": None, "max_version": (1, 0), "stream": None}
    for left_out in [(), ("stream",), ("dl_device", "copy"), ("copy", "stream", "dl_device")]:
        asked = {name: value for name, value in usual.items() if name not in left_out}
        for named in (asked, dict(reversed(asked.items())), {"".join(list(name)): value for name, value in asked.items()}):
            assert CAPSULE(ours.__dlpack__(**named)) == b"dltensor_versioned"
    assert ours.exports == 0


@pytest.mark.parametrize("wrong", [{"max_versions": (1, 0)}, {"max_version": (1, 0), "unknown": None}])
def test_a_wrong_name_beside_the_usual_ones_is_refused(wrong):
    with pytest.raises(TypeError, match="max_versions|unknown"):
        crossdock.zeros(3).__dlpack__(**wrong)


@pytest.mark.parametrize("version", [(1,), (1, 0, 0), [1, 0, 0], (1.5, 0), (-1, 0), (2**40, 0), ("1", "0"), 1])
def test_a_version_that_is_no_pair_of_numbers_is_refused(version):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        crossdock.zeros(3).__dlpack__(max_version=version)


def test_a_capsule_that_is_put_back_is_released_once():
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    names = [b"used_dltensor_versioned", b"dltensor_" + b"versioned"]
    ours = crossdock.zeros(3)
    capsule = ours.__dlpack__(max_version=(1, 0))
    for name in names:
        assert rename(capsule, name) == 0
    assert ours.exports == 1
    del capsule
    assert ours.exports == 0


@pytest.mark.parametrize("version", [(1, 0), (1, 3), (0, 8), None])
@pytest.mark.parametrize("device", [(2, 0), (3, 0), (99, 0)])
def test_an_array_is_not_lent_where_another_device_was_asked_for(version, device):
    ours = crossdock.ones(3)
    with pytest.raises(BufferError):
        ours.__dlpack__(max_version=version, dl_device=device, copy=False)
    assert np.from_dlpack(ours, device="cpu", copy=False).tolist() == [1, 1, 1]


def test_memory_of_another_device_than_the_one_asked_for_is_refused():
    # A producer that does not know the argument, or takes no notice of it.
    assert crossdock.from_dlpack(Producer(), device="cpu").shape == (2, 3)
    ignores = Producer()
    with pytest.raises(BufferError, match="asked for a tensor on opencl:0, and gave one on cpu"):
        crossdock.from_dlpack(ignores, device="opencl:0")
    assert ignores.deleted == 1


def test_a_deleter_in_python_runs_while_an_exception_is_on_its_way():
    made = [Producer() for _ in range(3)]
    with pytest.raises(ZeroDivisionError):
        [crossdock.from_dlpack(made[0]), 1 / 0]
    with pytest.raises(IndexError, match="100"):
        crossdock.from_dlpack(made[1])[100]
    with pytest.raises(AttributeError, match="use NumPy's"):
        crossdock.from_dlpack(made[2]).sum()
    assert [producer.deleted for producer in made] == [1, 1, 1]
