"""Arrays on an OpenCL device: created, moved, exchanged with PyOpenCL, and refused for accesses by the CPU."""

import ctypes
import pickle

import numpy as np
import pytest
from hostile import Tensor, Versioned
from peers import needed, required

import crossdock

cl = required("pyopencl")
DEVICE = "opencl:0"

pytestmark = needed(DEVICE in crossdock.devices(), "there is no device of OpenCL here: PoCL makes one of the processor")

get = ctypes.pythonapi.PyCapsule_GetPointer
get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


@pytest.fixture
def there():
    return crossdock.array([[1, 2, 3], [4, 5, 6]], "i4", device=DEVICE)


# ===== places


def test_devices_are_named(there):
    assert crossdock.devices()["cpu"] == "the processor"
    assert there.device == there.place == DEVICE and crossdock.zeros(1).device == "cpu"
    assert there.__dlpack_device__() == (4, 0)
    assert there.backing == "device"
    here = crossdock.asarray(np.arange(3))
    assert here.ptr == np.asarray(here).ctypes.data and here[:0].ptr == 0
    with pytest.raises(AttributeError, match="handle"):
        there.ptr
    for unknown in ["gpu", "cuda:x", ""]:
        with pytest.raises(ValueError, match="is not a place"):
            crossdock.zeros(1, device=unknown)
    with pytest.raises(BufferError, match="opencl:77"):
        crossdock.zeros(1, device="opencl:77")


def test_arrays_are_made_there():
    for made, values in [
        (crossdock.zeros((2, 2), "u1", device=DEVICE), [[0, 0], [0, 0]]),
        (crossdock.empty(2, "f4", device="opencl"), [0, 0]),
        (crossdock.full((2, 1), 7, "i2", device=(4, 0)), [[7], [7]]),
        (crossdock.array([1.5, 2.5], device=DEVICE), [1.5, 2.5]),
        (crossdock.array([], "f4", device=DEVICE), []),
    ]:
        assert made.device == DEVICE and made.to_device("cpu").tolist() == values


def test_arrays_go_there_and_come_back_as_copies():
    here = crossdock.asarray(np.arange(24.0).reshape(2, 3, 4)[::-1, :, ::2])
    there = here.to_device(DEVICE)
    back = there.to_device("cpu")
    assert (here.device, there.device, back.device) == ("cpu", DEVICE, "cpu")
    assert back == here and back.dtype == here.dtype
    here[0, 0, 0] = 99
    assert back[0, 0, 0] == 12.0 and there[0, 0, 0] == 12.0
    assert there.to_device(DEVICE).__dlpack_device__() == (4, 0)
    with pytest.raises(TypeError):
        here.to_device()
    with pytest.raises(TypeError, match="nonsense"):
        here.to_device("cpu", nonsense=1)


def test_asarray_moves_as_copy_permits(there):
    assert crossdock.asarray(there, device=DEVICE) is there
    before = crossdock.copied_bytes()
    copied = crossdock.asarray(there, device="cpu", copy=True)
    assert crossdock.copied_bytes() - before == 24
    assert copied.tolist() == [[1, 2, 3], [4, 5, 6]] and copied.copied_because is None
    beside = crossdock.asarray(there, device=DEVICE, copy=True)
    there[0, 0] = 9
    assert copied[0, 0] == 1 and beside[0, 0] == 1 and beside.device == DEVICE
    # PoCL's memory is host memory, which the CPU can access in place.
    seen = crossdock.asarray(there, device="cpu", copy=False)
    assert seen[0, 0] == 9
    brought = crossdock.asarray(np.arange(3), device=DEVICE, copy=True)
    assert brought.device == DEVICE and brought.to_device("cpu").tolist() == [0, 1, 2]


# ===== what the CPU does with them


def test_texts_say_where_an_array_is_and_show_nothing(there):
    assert repr(there) == str(there) == "Array(shape=(2, 3), dtype='int32', device='opencl:0')"
    assert "opencl:0" in there._repr_html_()
    text = str(crossdock.explain(there))
    assert "device (4, 0)" in text and "in the object with the handle" in text


def test_single_elements_are_read_and_written(there):
    assert there[1, 2] == 6 and there.item(0, 1) == 2 and list(there[0]) == [1, 2, 3]
    there[1, 2] = -6
    assert there.to_device("cpu").tolist() == [[1, 2, 3], [4, 5, -6]]
    assert there[:, ::-1].T[0, 1] == -6


@pytest.mark.parametrize(
    "look",
    [
        memoryview,
        bytes,
        np.asarray,
        np.frombuffer,
        lambda x: x.tolist(),
        lambda x: x.tobytes(),
        lambda x: x.__array__(),
        lambda x: x.__arrow_c_array__(),
        lambda x: x.__arrow_c_device_array__(),
        lambda x: x == x.to_device("cpu"),
        lambda x: crossdock.to_arrow(x),
        lambda x: pickle.dumps(x),
    ],
)
def test_whoever_would_have_to_look_is_told_the_place_and_the_way_out(there, look):
    with pytest.raises(BufferError, match="opencl:0") as refused:
        look(there)
    assert 'copy it with `to_device("cpu")`' in str(refused.value)


def test_interfaces_without_a_place_are_not_there(there):
    for name in ["__array_interface__", "__array_struct__"]:
        with pytest.raises(AttributeError, match=r"to_device\(.cpu"):
            getattr(there, name)
    with pytest.raises(AttributeError, match="not on a device of CUDA"):
        there.__cuda_array_interface__


# ===== DLPack


def test_tensors_carry_the_handle_and_the_offset(there):
    part = there[1:, ::-1]
    capsule = part.__dlpack__(max_version=(1, 0))
    tensor = Versioned.from_address(get(capsule, b"dltensor_versioned")).tensor
    assert tuple(tensor.device) == (4, 0) and tensor.data and tensor.byte_offset == 20
    assert (tensor.shape[0], tensor.shape[1], tensor.strides[1]) == (1, 3, -1)
    back = crossdock.from_dlpack(part)
    assert back.device == DEVICE and back.to_device("cpu").tolist() == [[6, 5, 4]]
    there[1, 0] = 44
    assert back[0, 2] == 44


def test_numpy_takes_what_is_brought_to_the_processor(there):
    assert np.from_dlpack(there, device="cpu").tolist() == [[1, 2, 3], [4, 5, 6]]
    copied = there.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=True)
    managed = Versioned.from_address(get(copied, b"dltensor_versioned"))
    assert managed.flags == 2 and tuple(managed.tensor.device) == (1, 0)
    for unknown in [(8, 0), (77, 1)]:
        with pytest.raises(BufferError, match="metal|kind77"):
            there.__dlpack__(dl_device=unknown)
    for refused in [{"stream": 0}, {"stream": -2}, {"dl_device": (1, 0), "stream": 1}]:
        with pytest.raises(BufferError, match="stream"):
            there.__dlpack__(max_version=(1, 0), **refused)
    for fine in [{"stream": None}, {"stream": -1}]:
        assert there.__dlpack__(max_version=(1, 0), **fine)


def context_of(buffer):
    return buffer.get_info(cl.mem_info.CONTEXT)


def test_pyopencl_computes_in_place_on_what_is_lent(there):
    part = there[1]
    capsule = part.__dlpack__(max_version=(1, 0))
    tensor = Versioned.from_address(get(capsule, b"dltensor_versioned")).tensor
    buffer = cl.MemoryObject.from_int_ptr(tensor.data)
    context = context_of(buffer)
    queue = cl.CommandQueue(context)
    source = "kernel void twice(global int *x, long first) { x[first + get_global_id(0)] *= 2; }"
    program = cl.Program(context, source).build()
    program.twice(queue, (3,), None, buffer, np.int64(tensor.byte_offset // 4))
    queue.finish()
    assert there.to_device("cpu").tolist() == [[1, 2, 3], [8, 10, 12]]


class Lent:
    """A producer that lends a PyOpenCL buffer."""

    def __init__(self, buffer, offset, shape, size):
        self.buffer, self.given, self.asked = buffer, 0, []
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = Tensor(buffer.int_ptr, (4, 0), len(shape), 0, 8 * size, 1, self.shape, None, offset)

    def __dlpack__(self, **asked):
        self.asked.append(asked)

        def deleter(_):
            self.given -= 1

        self.given += 1
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
        self.managed = Versioned((1, 0), None, ctypes.cast(self.deleter, ctypes.c_void_p), 0, self.tensor)
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return (4, 0)


def test_memory_of_pyopencl_comes_in_with_its_offset(there):
    # In the context of this array's device, as the interface requires.
    capsule = there.__dlpack__(max_version=(1, 0))
    handle = Versioned.from_address(get(capsule, b"dltensor_versioned")).tensor.data
    context = context_of(cl.MemoryObject.from_int_ptr(handle))
    theirs = np.arange(10, dtype="i4")
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=theirs)
    lent = Lent(buffer, 8, (2, 3), 4)
    ours = crossdock.from_dlpack(lent)
    assert ours.device == DEVICE and lent.given == 1
    assert ours.to_device("cpu").tolist() == [[2, 3, 4], [5, 6, 7]]
    ours[0, 0] = 77
    cl.enqueue_copy(cl.CommandQueue(context), theirs, buffer)
    assert theirs[2] == 77
    assert lent.asked == [{"max_version": (1, 3)}]
    del ours
    assert lent.given == 0
    far = Lent(buffer, 24, (2, 3), 4)
    with pytest.raises(BufferError, match="48|40"):
        crossdock.from_dlpack(far)
    assert far.given == 0
