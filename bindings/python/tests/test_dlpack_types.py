"""Dtypes and devices change hands by DLPack's numbers, in both directions, with tvm_ffi as the counterpart."""

import copy
import json
import pickle

import mock_cuda
import numpy as np
import pytest
from peers import needed, required

import crossdock
from crossdock import Device, dtype

tvm_ffi = required("tvm_ffi")

cuda = needed(mock_cuda.load(), "CROSSDOCK_CUDA_DRIVER names no driver without a GPU: build the crate crossdock-mock-cuda")

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
NAMES += ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn"]


class TypeOf:
    """A dtype object of a library that exchanges dtypes by DLPack's numbers."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def __dlpack_data_type__(self):
        return self.numbers


class DeviceOf:
    """A device object of a library that exchanges devices by DLPack's numbers."""

    def __init__(self, *numbers):
        self.numbers = numbers

    def __dlpack_device__(self):
        return self.numbers


# ===== dtypes


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_has_dlpacks_numbers_and_is_read_from_them(name):
    own = dtype(name)
    theirs = tvm_ffi.dtype(name)
    assert own.__dlpack_data_type__() == (theirs.type_code, theirs.bits, 1)
    assert dtype(TypeOf(*own.__dlpack_data_type__())) == own
    assert own == TypeOf(*own.__dlpack_data_type__())


@pytest.mark.parametrize("name", NAMES)
def test_tvm_ffi_takes_a_dtype(name):
    converted = tvm_ffi.convert(dtype(name))
    assert type(converted) is tvm_ffi.dtype and converted == name
    passed = tvm_ffi.get_global_func("testing.schema_id_dtype")(dtype(name))
    assert passed == name and dtype(passed) == name


def test_complex_numbers_have_the_code_of_dlpack():
    assert dtype("complex64").__dlpack_data_type__() == (5, 64, 1)
    assert dtype(TypeOf(5, 128, 1)) == np.complex128


REFUSED = [
    ([("a", "i4")], "no records.*`field`"),
    (("f4", (2,)), "no sub-arrays"),
    (">f4", "non-native byte order.*astype"),
    ("U3", "no such dtype: U3"),
    ("S3", "no such dtype"),
    ("M8[s]", "no such dtype: datetime64"),
    ("longdouble", "no such dtype"),
]


@pytest.mark.parametrize("given, words", REFUSED, ids=str)
def test_a_dtype_that_dlpack_cannot_say_is_refused_with_the_reason(given, words):
    with pytest.raises(BufferError, match=words):
        dtype(given).__dlpack_data_type__()
    with pytest.raises(BufferError, match=words):
        tvm_ffi.get_global_func("testing.echo")(dtype(given))


def test_dtypes_of_other_libraries_are_read_wherever_a_dtype_is_taken():
    bfloat16 = TypeOf(4, 16, 1)
    assert crossdock.zeros(2, bfloat16).dtype == "bfloat16"
    assert crossdock.array([1, 2], dtype=bfloat16).dtype == "bfloat16"
    assert crossdock.full(2, 1, dtype=TypeOf(0, 16, 1)).dtype == np.int16
    assert crossdock.zeros(2).astype(TypeOf(2, 32, 1)).dtype == "float32"
    assert crossdock.zeros(2).view(TypeOf(1, 8, 1)).shape == (16,)
    assert dtype([("a", bfloat16)])["a"] == "bfloat16"
    assert crossdock.zeros(1, tvm_ffi.dtype("float16")).dtype == "float16"


@pytest.mark.parametrize(
    "numbers, words",
    [
        ((2, 32, 4), "4 lanes"),
        ((0, 4, 1), "no width of 4 bits"),
        ((99, 8, 1), "type code 99 is unknown"),
        ((2, 32), r"TypeOf.__dlpack_data_type__\(\) returned \(2, 32\)"),
        ((2, 1000, 1), r"returned \(2, 1000, 1\)"),
    ],
)
def test_numbers_that_are_no_dtype_here_are_refused(numbers, words):
    with pytest.raises(TypeError, match=words):
        dtype(TypeOf(*numbers))
    assert dtype("float32") != TypeOf(*numbers)


def test_a_class_is_not_asked_for_the_numbers_of_its_instances():
    with pytest.raises((TypeError, ValueError), match="TypeOf"):
        dtype(TypeOf)
    with pytest.raises(ValueError, match="DeviceOf"):
        Device(DeviceOf)


# ===== devices


def test_a_device_is_a_text():
    device = crossdock.zeros(1).device
    assert type(device) is Device and isinstance(device, str)
    assert device == "cpu" and hash(device) == hash("cpu") and {device: 1}["cpu"] == 1
    assert f"{device}" == str(device) == "cpu" and repr(device) == "'cpu'" and type(str(device)) is str
    assert json.loads(json.dumps({"device": device})) == {"device": "cpu"}
    for made in [pickle.loads(pickle.dumps(device)), copy.copy(device), copy.deepcopy(device)]:
        assert type(made) is Device and made == device
    with pytest.raises(AttributeError):
        device.index_of_the_best = 1
    with pytest.raises(TypeError):
        type("Sub", (Device,), {})


def test_a_device_has_dlpacks_numbers_wherever_it_comes_from():
    x = crossdock.zeros(1)
    assert x.device.__dlpack_device__() == x.place.__dlpack_device__() == x.__dlpack_device__() == (1, 0)
    assert crossdock.Buffer(3).place.__dlpack_device__() == (1, 0)
    assert {type(device) for device in crossdock.devices()} == {Device}
    assert crossdock.devices()["cpu"] == "the processor"
    for name, numbers in [("cuda:1", (2, 1)), ("cuda_host:0", (3, 0)), ("opencl:2", (4, 2)), ("kind99:3", (99, 3)), ("rocm", (10, 0))]:
        assert Device(name).__dlpack_device__() == numbers
        assert Device(numbers) == Device(Device(name)) == Device(DeviceOf(*numbers))


@cuda
def test_arrays_of_a_device_have_it():
    x = crossdock.zeros(3, device=DeviceOf(2, 0))
    assert x.device == "cuda:0" and type(x.device) is Device and x.device.__dlpack_device__() == x.__dlpack_device__()
    assert crossdock.zeros(3, device=x.device).device == x.device
    assert x.to_device(DeviceOf(1, 0)).device == "cpu" and x.to_device(Device("cpu")).tolist() == [0.0] * 3
    assert {device.__dlpack_device__() for device in crossdock.devices()} >= {(1, 0), (2, 0), (2, 1), (3, 0), (13, 0)}
    for name, device in [("cuda:1", tvm_ffi.device("cuda", 1)), ("cpu", tvm_ffi.device("cpu"))]:
        assert crossdock.zeros(3, device=device).device == name


def test_devices_of_other_libraries_are_taken_wherever_a_device_is():
    cpu = DeviceOf(1, 0)
    x = crossdock.arange(3)
    made = [crossdock.zeros(3, device=cpu), crossdock.ones(3, device=cpu), crossdock.full(3, 1, device=cpu)]
    made += [crossdock.asarray(x, device=cpu), crossdock.array(x, device=cpu), x.to_device(cpu)]
    made += [crossdock.zeros_like(x, device=cpu), crossdock.arange(3, device=cpu)]
    made += [crossdock.from_dlpack(np.arange(3), device=cpu), crossdock.zeros(3, device=tvm_ffi.device("cpu"))]
    assert {array.device for array in made} == {"cpu"}
    with pytest.raises(BufferError, match="cuda:77|CUDA"):
        x.to_device(DeviceOf(2, 77))


def test_tvm_ffi_takes_a_device():
    same = tvm_ffi.get_global_func("testing.schema_id_device")
    for device in [crossdock.zeros(1).device, Device("cuda:1"), Device((4, 2))]:
        passed = same(device)
        assert isinstance(passed, tvm_ffi.Device)
        assert (passed.dlpack_device_type(), passed.index) == device.__dlpack_device__()
        assert Device(passed) == device and tvm_ffi.device(device) == passed


def test_what_is_no_device_is_refused_with_the_reason():
    for array in [crossdock.zeros(1), np.zeros(1), tvm_ffi.from_dlpack(np.zeros(1))]:
        with pytest.raises(TypeError, match="is an array; a device is needed"):
            crossdock.zeros(1, device=array)
    for numbers in [(1,), ("cpu", 0), (1, 2, 3)]:
        with pytest.raises(TypeError, match=r"DeviceOf.__dlpack_device__\(\) returned .* was expected"):
            Device(DeviceOf(*numbers))
    for given in ["gpu", "", 3, None, (1, 2, 3)]:
        with pytest.raises(ValueError, match="is not a place"):
            Device(given)
    for wrong in [lambda: Device(), lambda: Device("cpu", 0), lambda: Device(obj="cpu")]:
        with pytest.raises(TypeError, match="one argument"):
            wrong()


# ===== other processes


@cuda
@pytest.mark.parametrize("protocol", range(2, 6))
def test_an_array_on_a_device_is_not_pickled(protocol):
    x = crossdock.zeros(3, device="cuda:0")
    with pytest.raises(BufferError, match=r'cuda:0; copy it with `to_device\("cpu"\)`'):
        pickle.dumps(x, protocol)
    assert pickle.loads(pickle.dumps(x.to_device("cpu"), protocol)).tolist() == [0.0] * 3
    managed = crossdock.zeros(3, device="cuda_managed:0")
    assert pickle.loads(pickle.dumps(managed, protocol)).device == "cpu"


@cuda
def test_an_array_on_a_device_is_not_copied_into_shared_memory():
    x = crossdock.zeros(3, device="cuda:0")
    for sealed in [False, True]:
        with pytest.raises(BufferError, match=r'cuda:0.*`to_device\("cpu"\)`'):
            crossdock.shared(x, sealed=sealed)
    with pytest.raises(BufferError, match=r'cuda:0.*`to_device\("cpu"\)`'):
        crossdock.shared(x, "f4")
    assert crossdock.shared(x.to_device("cpu")).backing == "shared memory"
