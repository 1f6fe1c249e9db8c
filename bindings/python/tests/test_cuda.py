"""Arrays on CUDA devices, with the driver without a GPU: streams are ordered as the protocols require, by consumers
and producers that call that driver themselves. The behaviour of a real GPU is not tested."""

import ctypes
import gc
import multiprocessing
import multiprocessing.reduction
import pickle
import time

import mock_cuda
import numpy as np
import pytest
import workers
from hostile import Tensor, Versioned
from peers import needed

import crossdock

driver = mock_cuda.load()
pytestmark = needed(driver, "CROSSDOCK_CUDA_DRIVER names no driver without a GPU: build the crate crossdock-mock-cuda")

LEGACY = 1
api = ctypes.pythonapi
api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_New.restype = ctypes.py_object


@pytest.fixture(autouse=True)
def nothing_wrong():
    """The driver is used correctly, and all memory is freed."""
    gc.collect()
    before = driver.count("device_memory")
    with driver.context():
        yield
        gc.collect()
        driver.call("mock_cuda_settle")
    assert driver.misuses() == ""
    # A thread of the library releases the leases of finished work.
    deadline = time.monotonic() + 10
    while driver.count("device_memory") > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert driver.count("device_memory") <= before, "memory of a device was left behind"


def four():
    return crossdock.array([1, 2, 3, 4], "i4", device="cuda:0")


def tensor_of(array, **arguments):
    """The capsule, which must be kept, and its tensor."""
    capsule = array.__dlpack__(max_version=(1, 0), **arguments)
    return capsule, Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")).tensor


def being_written(stream):
    """A Crossdock array that a stream is writing."""
    return crossdock.array([5, 6, 7, 8], "i4").to_device("cuda:0", stream=stream)


# ===== places


def test_kinds_of_memory_are_places_of_their_own():
    there = four()
    assert {"cuda:0", "cuda_host:0", "cuda_managed:1"} <= crossdock.devices().keys()
    assert there.device == "cuda:0" and there.__dlpack_device__() == (2, 0)
    # DLPack numbers neither pinned nor managed memory by device.
    for place, told in [("cuda:1", (2, 1)), ("cuda_host:0", (3, 0)), ("cuda_managed:1", (13, 0))]:
        moved = there.to_device(place)
        assert moved.device == place and moved.__dlpack_device__() == told
        assert moved.to_device("cpu").tolist() == [1, 2, 3, 4]
    # Memory that is accessible from the CPU has no device.
    for place in ["cuda_host:0", "cuda_managed:0"]:
        pinned = there.to_device(place)
        assert np.asarray(pinned).tolist() == [1, 2, 3, 4] and np.from_dlpack(pinned).tolist() == [1, 2, 3, 4]
        assert "[1, 2, 3, 4]" in repr(pinned)
    with pytest.raises(BufferError, match="cuda:9"):
        there.to_device("cuda:9")


# ===== DLPack exports


def test_the_consumers_stream_waits_and_the_host_does_not():
    there = four()
    with driver.stream() as ours, driver.stream() as theirs:
        with driver.paused(ours):
            written = being_written(ours)
            capsule, tensor = tensor_of(written, stream=theirs)
            seen = (ctypes.c_int32 * 4)()
            driver.read_in(theirs, seen, tensor.data)
            assert not driver.is_idle(ours) and not driver.is_idle(theirs), "no thread has waited"
        driver.call("cuStreamSynchronize", ctypes.c_void_p(theirs))
        assert list(seen) == [5, 6, 7, 8]
        del capsule, tensor


@pytest.mark.parametrize("named", [None, 1, 2])
def test_default_streams_wait_as_well(named):
    with driver.stream() as ours:
        with driver.paused(ours):
            written = being_written(ours)
            capsule, tensor = tensor_of(written, stream=named)
            seen = (ctypes.c_int32 * 4)()
            driver.read_in(named or LEGACY, seen, tensor.data)
            assert not driver.is_idle(ours)
        driver.call("cuStreamSynchronize", ctypes.c_void_p(named or LEGACY))
        assert list(seen) == [5, 6, 7, 8]
        del capsule, tensor


def test_a_consumer_that_asks_for_no_synchronization_gets_none():
    with driver.stream() as ours, driver.stream() as theirs:
        with driver.paused(ours):
            written = being_written(ours)
            waits = driver.calls("cuStreamWaitEvent")
            capsule, tensor = tensor_of(written, stream=-1)
            assert driver.calls("cuStreamWaitEvent") == waits and driver.is_idle(theirs)
        del capsule, tensor


def test_nothing_is_put_into_a_stream_where_nothing_is_under_way():
    there = four()
    with driver.stream() as theirs:
        waits = driver.calls("cuStreamWaitEvent")
        for stream in [None, 1, 2, theirs, -1]:
            tensor_of(there, stream=stream)
        assert driver.calls("cuStreamWaitEvent") == waits


def test_streams_that_are_none_are_refused():
    there = four()
    for stream in [0, -2]:
        with pytest.raises(BufferError, match=f"stream {stream}"):
            there.__dlpack__(stream=stream)
    with pytest.raises(TypeError):
        there.__dlpack__(stream="legacy")


def test_a_consumer_of_the_processor_is_given_a_copy():
    there = four()
    assert np.from_dlpack(there, device="cpu").tolist() == [1, 2, 3, 4]
    with pytest.raises(BufferError, match=r"to_device\(.cpu"):
        there.__dlpack__(dl_device=(1, 0), copy=False)
    _, tensor = tensor_of(there, dl_device=(1, 0))
    assert tuple(tensor.device) == (1, 0)


# ===== DLPack imports


class Lent:
    """A producer that lends memory of the driver, which its own stream writes."""

    def __init__(self, stream):
        self.stream, self.asked, self.deleted = stream, [], 0
        self.address = driver.allocate(16)
        self.numbers = (ctypes.c_int32 * 4)(11, 12, 13, 14)
        driver.write_in(stream, self.address, self.numbers)
        driver.call("cuStreamSynchronize", ctypes.c_void_p(stream))
        self.shape = (ctypes.c_int64 * 1)(4)
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.delete)
        self.lent = []

    def rewrite(self, *numbers):
        """Enqueues a write of other numbers."""
        self.numbers = (ctypes.c_int32 * 4)(*numbers)
        driver.write_in(self.stream, self.address, self.numbers)

    def delete(self, _):
        self.deleted += 1

    def order(self, stream):
        """Orders a stream after the work in the producer's stream."""
        event = ctypes.c_void_p()
        driver.call("cuEventCreate", ctypes.byref(event), 2)
        driver.call("cuEventRecord", event, ctypes.c_void_p(self.stream))
        driver.call("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
        driver.call("cuEventDestroy_v2", event)

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(stream)
        if stream is not None:
            self.order(stream)
        tensor = Tensor(self.address, (2, 0), 1, 0, 32, 1, self.shape, None, 0)
        managed = Versioned((1, 0), None, ctypes.cast(self.deleter, ctypes.c_void_p), 0, tensor)
        self.lent.append(managed)
        made = DROPPED(self.drop)
        self.lent.append(made)
        return api.PyCapsule_New(ctypes.addressof(managed), b"dltensor_versioned", ctypes.cast(made, ctypes.c_void_p))

    def drop(self, capsule):
        if api.PyCapsule_IsValid(ctypes.c_void_p(capsule), b"dltensor_versioned"):
            self.deleted += 1

    def __dlpack_device__(self):
        return (2, 0)


DROPPED = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def test_a_producer_is_asked_for_a_stream_and_whoever_touches_the_memory_waits():
    with driver.stream() as theirs:
        lent = Lent(theirs)
        with driver.paused(theirs):
            lent.rewrite(21, 22, 23, 24)
            ours = crossdock.from_dlpack(lent)
            assert ours.device == "cuda:0" and lent.asked[-1] == LEGACY
            assert not driver.is_idle(theirs), "no thread has waited"
            # A later consumer of this library is ordered after the producer.
            with driver.stream() as further:
                capsule, tensor = tensor_of(ours, stream=further)
                seen = (ctypes.c_int32 * 4)()
                driver.read_in(further, seen, tensor.data)
                assert not driver.is_idle(further)
                driver.library.mock_cuda_resume(ctypes.c_void_p(theirs))
                driver.call("cuStreamSynchronize", ctypes.c_void_p(further))
                assert list(seen) == [21, 22, 23, 24]
                del capsule, tensor
                driver.call("mock_cuda_pause", ctypes.c_void_p(theirs))
        assert ours.to_device("cpu").tolist() == [21, 22, 23, 24]
        # Before the device was known there may have been another capsule, which no consumer took.
        unasked = lent.asked.count(None)
        assert lent.asked.count(LEGACY) == 1 and lent.deleted == unasked <= 1
        del ours
        assert lent.deleted == unasked + 1, "given back once each"
        # Its type is now known to be on devices: one query for the device, then one call.
        lent.asked.clear()
        assert crossdock.from_dlpack(lent).device == "cuda:0" and lent.asked == [LEGACY]
        driver.free(lent.address)


def test_what_is_idle_is_taken_without_a_trace():
    with driver.stream() as theirs:
        lent = Lent(theirs)
        ours = crossdock.asarray(lent)
        assert ours[2] == 13 and ours.to_device("cpu").tolist() == [11, 12, 13, 14]
        ours[2] = 33
        seen = (ctypes.c_int32 * 4)()
        driver.read_in(theirs, seen, lent.address)
        driver.call("cuStreamSynchronize", ctypes.c_void_p(theirs))
        assert list(seen) == [11, 12, 33, 14]
        del ours
        driver.free(lent.address)


# ===== CUDA's array interface


class Told:
    """An object with only the dictionary."""

    def __init__(self, **says):
        self.says = says

    @property
    def __cuda_array_interface__(self):
        return self.says


def test_interfaces_say_address_layout_and_stream():
    there = four()
    told = there[::-2].__cuda_array_interface__
    assert told["data"][0] == there[::-2].ptr == there.ptr + 12
    assert told["shape"] == (2,) and told["strides"] == (-8,) and told["version"] == 3
    assert told["typestr"] == "<i4" and told["data"][1] is False and told["stream"] is None
    assert crossdock.zeros(0, device="cuda:0").__cuda_array_interface__["data"][0] == 0
    with pytest.raises(AttributeError, match="cuda_host"):
        there.to_device("cuda_host:0").__cuda_array_interface__
    for name in ["__array_interface__", "__array_struct__"]:
        with pytest.raises(AttributeError, match=r"to_device\(.cpu"):
            getattr(there, name)


def test_an_interface_names_the_legacy_stream_while_work_is_under_way():
    with driver.stream() as ours:
        with driver.paused(ours):
            written = being_written(ours)
            told = written.__cuda_array_interface__
            assert told["stream"] == LEGACY and not driver.is_idle(ours)
            seen = (ctypes.c_int32 * 4)()
            driver.read_in(LEGACY, seen, told["data"][0])
        driver.call("cuStreamSynchronize", ctypes.c_void_p(LEGACY))
        assert list(seen) == [5, 6, 7, 8]
        driver.call("mock_cuda_settle")
        assert written.to_device("cpu").tolist() == [5, 6, 7, 8]
        assert written.__cuda_array_interface__["stream"] is None


def test_interfaces_come_in_on_the_device_that_the_driver_knows():
    there = four()
    for place in ["cuda:0", "cuda:1", "cuda_managed:0"]:
        array = there.to_device(place)
        ours = crossdock.asarray(Told(**array[::-1].__cuda_array_interface__))
        assert ours.device == place and ours.strides == (-4,)
        assert ours.to_device("cpu").tolist() == [4, 3, 2, 1]
        assert crossdock.asarray(Told(**array.__cuda_array_interface__ | {"data": (array.__cuda_array_interface__["data"][0], True)})).readonly
    empty = crossdock.asarray(Told(shape=(0,), typestr="<f4", data=(0, False), version=3))
    assert empty.shape == (0,) and empty.device == "cuda:0"


def test_the_stream_of_an_interface_is_waited_for():
    with driver.stream() as theirs:
        address = driver.allocate(16)
        with driver.paused(theirs):
            numbers = (ctypes.c_int32 * 4)(21, 22, 23, 24)
            driver.write_in(theirs, address, numbers)
            ours = crossdock.asarray(Told(shape=(4,), typestr="<i4", data=(address, False), version=3, stream=theirs))
            assert not driver.is_idle(theirs), "no thread has waited"
            there = ours.__cuda_array_interface__
            assert there["stream"] == LEGACY
            capsule, _ = tensor_of(ours, stream=-1)
            del capsule
        assert ours.to_device("cpu").tolist() == [21, 22, 23, 24]
        del ours
        driver.free(address)


@pytest.mark.parametrize(
    "changes, kind, words",
    [
        ({"stream": 0}, BufferError, "stream"),
        ({"stream": -1}, BufferError, "stream"),
        ({"mask": "something"}, BufferError, "masked"),
        ({"data": (0, False)}, BufferError, "null"),
        ({"data": None}, TypeError, "address"),
        ({"typestr": "<f3"}, BufferError, "f3"),
        ({"shape": (-1,)}, BufferError, "length -1"),
        ({"typestr": None}, TypeError, "typestr"),
    ],
)
def test_interfaces_that_lie_are_refused(changes, kind, words):
    there = four()
    with pytest.raises(kind, match=words):
        crossdock.asarray(Told(**there.__cuda_array_interface__ | changes))


def test_memory_of_the_processor_is_not_taken_for_a_devices():
    numbers = (ctypes.c_int32 * 4)()
    with pytest.raises(BufferError, match="cpu cannot be exported by CUDA"):
        crossdock.asarray(Told(shape=(4,), typestr="<i4", data=(ctypes.addressof(numbers), False), version=3))


# ===== Arrow


class Column(ctypes.Structure):
    """`ArrowDeviceArray`, whose first 80 bytes are the column."""

    _fields_ = [("column", ctypes.c_char * 80), ("id", ctypes.c_int64), ("kind", ctypes.c_int32), ("event", ctypes.c_void_p)]


def test_columns_of_a_device_come_back_in_place():
    there = crossdock.array([1, 2, 3], "i4", device="cuda:1")
    schema, column = there.__arrow_c_device_array__()
    says = Column.from_address(api.PyCapsule_GetPointer(column, b"arrow_device_array"))
    assert (says.id, says.kind, says.event) == (1, 2, None)
    holder = type("Holder", (), {"__arrow_c_device_array__": lambda self, requested_schema=None: (schema, column)})()
    back = crossdock.from_arrow(holder)
    assert back.device == "cuda:1" and back.to_device("cpu").tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match=r"cuda:1.*to_device\(.cpu"):
        there.__arrow_c_array__()


def test_the_event_of_a_column_is_waited_for():
    with driver.stream() as theirs:
        lent = Lent(theirs)
        with driver.paused(theirs):
            lent.rewrite(21, 22, 23, 24)
            ours = crossdock.asarray(
                Told(shape=(4,), typestr="<i4", data=(lent.address, False), version=3, stream=theirs)
            ).frozen()
            schema, column = ours.__arrow_c_device_array__()
            says = Column.from_address(api.PyCapsule_GetPointer(column, b"arrow_device_array"))
            assert says.event, "the column comes with an event"
            event = ctypes.c_void_p.from_address(says.event)
            assert driver.library.cuEventQuery(event) == 600
            holder = type("Holder", (), {"__arrow_c_device_array__": lambda self, requested_schema=None: (schema, column)})()
            back = crossdock.from_arrow(holder)
            assert not driver.is_idle(theirs), "no thread has waited"
        assert back.to_device("cpu").tolist() == [21, 22, 23, 24]
        del back, ours, schema, column, holder
        gc.collect()
        driver.free(lent.address)


# ===== DLPack's exchange API


def test_the_table_gives_the_default_stream_which_comes_after_all_work():
    table = api.PyCapsule_GetPointer(crossdock.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    functions = (ctypes.c_void_p * 7).from_address(table)
    lend = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(functions[3])
    describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))(functions[5])
    usual = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(functions[6])
    stream = ctypes.c_void_p(5)
    assert usual(2, 0, ctypes.addressof(stream)) == 0 and stream.value is None
    with driver.stream() as ours:
        for is_lent in [True, False]:
            with driver.paused(ours):
                written = being_written(ours)
                tensor, managed = Tensor(), ctypes.c_void_p()
                if is_lent:
                    assert lend(written, ctypes.addressof(managed)) == 0
                    tensor = Versioned.from_address(managed.value).tensor
                else:
                    assert describe(written, tensor) == 0
                seen = (ctypes.c_int32 * 4)()
                driver.read_in(stream.value, seen, tensor.data)
                assert not driver.is_idle(ours), "no thread has waited"
            driver.call("cuStreamSynchronize", stream)
            assert list(seen) == [5, 6, 7, 8]
            if is_lent:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(Versioned.from_address(managed.value).deleter)(managed)


# ===== other processes


@pytest.fixture(scope="module")
def pool():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool
        pool.close()
        pool.join()


@pytest.fixture
def attribute():
    """Sets attributes of the first device, until the test ends."""
    former = {102: 1, 103: 1}

    def to(number, value):
        driver.library.mock_cuda_set_attribute(0, number, value)

    yield to
    for number, value in former.items():
        to(number, value)


def test_memory_of_a_device_that_other_processes_map_is_made_of_a_shape_or_as_a_copy():
    zeros = crossdock.shared((2, 3), "i2", device="cuda:0")
    assert (zeros.device, zeros.backing, zeros.readonly) == ("cuda:0", "device", False)
    assert zeros.to_device("cpu").tolist() == [[0] * 3] * 2
    assert crossdock.shared((2, 0), device="cuda:0").shape == (2, 0)
    source = np.arange(12, dtype="i4").reshape(3, 4)
    before = crossdock.copied_bytes()
    copy = crossdock.shared(source, device="cuda:0")
    assert crossdock.copied_bytes() - before == source.nbytes
    assert copy.to_device("cpu").tolist() == source.tolist()
    wide = crossdock.shared(source[:, ::2], "f8", order="F", device="cuda:0")
    assert (wide.dtype, wide.strides) == ("float64", (8, 24)) and wide.to_device("cpu").tolist() == source[:, ::2].tolist()
    # Memory of the device that has no descriptor is copied within the device.
    there = crossdock.shared(four(), device="cuda:0")
    assert there.to_device("cpu").tolist() == [1, 2, 3, 4]
    there[0] = 9
    for allowed in (None, False):
        same = crossdock.shared(there[:2], device="cuda:0", copy=allowed)
        there[1] = 7 if allowed is None else 8
        assert same.to_device("cpu").tolist() == there[:2].to_device("cpu").tolist()
    assert crossdock.shared([1, 2], device="cuda:1").device == "cuda:1"


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"sealed": True}, ValueError, "cuda:0 has no seal"),
        ({"copy": False}, BufferError, "allow a copy"),
        ({"device": "opencl:0"}, BufferError, "map memory on opencl:0"),
        ({"device": "cuda_host:0"}, BufferError, "map memory on cuda_host:0"),
        ({"device": "cuda:99"}, BufferError, "cuda:99"),
    ],
)
def test_what_other_processes_cannot_map_is_refused(given, error, says):
    with pytest.raises(error, match=says):
        crossdock.shared(four(), **{"device": "cuda:0", **given})


def test_new_arrays_on_a_device_have_descriptors_inside_the_block():
    model = np.asfortranarray([[1, 2, 3], [4, 5, 6]], "i2")
    there = {"device": "cuda:0"}

    def made():
        yield from (crossdock.zeros(3, **there), crossdock.ones(3, "i4", **there), crossdock.full(3, 7, **there))
        yield from (crossdock.array([1, 2], **there), crossdock.array(model, **there), crossdock.arange(5, **there))
        yield from (crossdock.zeros_like(model, **there), crossdock.full_like(model, 7, **there))
        yield from (crossdock.asarray(model, copy=None, **there), crossdock.array(model).to_device("cuda:0"))
        yield from (crossdock.full(2, "text", **there), crossdock.full(2, 1.5, "bfloat16", **there), crossdock.zeros(0, **there))

    outside = list(made())
    with crossdock.shareable():
        before = driver.count("handles")
        inside = list(made())
    assert driver.count("handles") == before + len(inside) - 1, "all but the empty one"
    for one, other in zip(inside, outside, strict=True):
        assert (one.device, one.dtype, one.strides, one.readonly) == ("cuda:0", other.dtype, other.strides, False)
        assert one.to_device("cpu").tolist() == other.to_device("cpu").tolist()
    assert crossdock.shared(inside[0], device="cuda:0", copy=False).ptr == inside[0].ptr
    with pytest.raises(BufferError, match="allow a copy"):
        crossdock.shared(outside[0], device="cuda:0", copy=False)


@pytest.mark.parametrize("number", [102, 103])
def test_a_device_without_descriptors_is_told_with_the_other_way(attribute, number):
    attribute(number, 0)
    with pytest.raises(BufferError, match=rf"cuda:0 cannot be exported as a descriptor \(attribute {number} is 0\).*legacy IPC"):
        crossdock.shared(3, device="cuda:0")
    with crossdock.shareable(), pytest.raises(BufferError, match="legacy IPC"):
        crossdock.zeros(3, device="cuda:0")


def test_an_array_of_a_device_is_sent_in_place_and_its_receiver_only_reads_it(pool):
    source = np.arange(24, dtype=">i2").reshape(4, 6)
    shared = crossdock.shared(source, device="cuda:0")
    before = crossdock.copied_bytes()
    for view, elements in [(shared, source), (shared[1:, ::-2], source[1:, ::-2]), (shared[2:3, 3:4], source[2:3, 3:4])]:
        device, shape, readonly, dtype, told, refused = pool.apply(workers.facts_on_device, (view,))
        assert (device, shape, readonly, dtype, told) == ("cuda:0", elements.shape, True, ">i2", elements.tolist())
        assert "read-only" in refused
    # What a process received is sent on.
    back = pool.apply(workers.relay, (shared,))
    assert crossdock.copied_bytes() == before, "descriptors are sent, and no elements"
    assert back.readonly and back.to_device("cpu").tolist() == source[::-2].tolist()
    shared[3, 0] = 77
    assert back[0, 0] == 77, "it is the same memory"


def test_a_receiver_keeps_the_memory_and_sees_what_the_sender_writes():
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=workers.keep_from, args=(theirs,))
    process.start()
    shared = crossdock.shared([1, 2, 3], "i4", device="cuda:0")
    ours.send(shared)

    def seen():
        ours.send(True)
        return ours.recv()

    assert seen() == [1, 2, 3]
    shared[1] = 20
    assert seen() == [1, 20, 3]
    memory = driver.count("handles")
    del shared
    gc.collect()
    assert driver.count("handles") == memory - 1 and seen() == [1, 20, 3]
    ours.send(False)
    process.join()
    assert process.exitcode == 0


def test_other_memory_of_a_device_is_not_pickled_and_the_error_says_which_is():
    for array in (four(), crossdock.shared(2, device="cuda:0")):
        with pytest.raises(BufferError, match=r"to_device\(\"cpu\"\).*crossdock\.shared\(x, device=x\.device\)"):
            pickle.dumps(array)
    with pytest.raises(BufferError, match=r"crossdock\.shared"):
        multiprocessing.reduction.ForkingPickler.dumps(four())


def test_columns_and_tables_of_numbers_go_by_arrows_interface_of_devices():
    numbers = crossdock.array([1.5, 2.5, 3.5], device="cuda:0")
    table = crossdock.table({"x": numbers, "n": crossdock.array([1, 2, 3], device="cuda:0")})
    before = crossdock.copied_bytes()
    for name in ("__arrow_c_device_array__", "__arrow_c_device_stream__"):
        holder = type("Holder", (), {name: lambda self, name=name: getattr(table, name)()})()
        taken = crossdock.table(holder)
        x = taken["x"].array()
        assert (x.device, x.ptr, taken.shape) == ("cuda:0", numbers.ptr, (3, 2))
        assert x.to_device("cpu").tolist() == [1.5, 2.5, 3.5]
    # Each to_device("cpu") and each tolist().
    assert crossdock.copied_bytes() - before == 4 * 24
    column = table["x"]
    holder = type("Holder", (), {"__arrow_c_device_array__": lambda self: column.__arrow_c_device_array__()})()
    assert crossdock.column(holder)[1:].array().ptr == numbers.ptr + 8
    for refused in (table.__arrow_c_array__, column.__arrow_c_array__, column.__arrow_c_stream__):
        with pytest.raises(BufferError, match="cuda:0"):
            refused()
    mixed = crossdock.table({"x": numbers, "y": crossdock.array([1, 2, 3])})
    with pytest.raises(BufferError, match="cpu.*cuda:0|cuda:0.*cpu"):
        mixed.__arrow_c_device_array__()
    with pytest.raises(BufferError, match="cuda:0"):
        pickle.dumps(column)
