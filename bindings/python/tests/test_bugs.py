"""Known bugs of other libraries, and what Crossdock does. Each test has the name of its row in `docs/python.md`."""

import ctypes
import mmap
import pathlib
import re
import subprocess
import sys
import threading
from multiprocessing import shared_memory

import pytest

import crossdock
from handing.counterparts import need

np = need("numpy")

from handing.memory import numbers
from handing.tensors import Handmade

PAGE = pathlib.Path(__file__).parents[3] / "docs/python.md"


def rows():
    lines = PAGE.read_text().partition("| bug |")[2].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_every_bug_of_the_page_has_a_test_and_says_what_is_done():
    tested = {name.removeprefix("test_bug_").replace("_", "-") for name in globals() if name.startswith("test_bug_")}
    assert {name for name, _, _ in rows()} == tested and len(rows()) == len(tested) > 30
    for name, _, done in rows():
        assert re.match(r"avoided: |reported|not affected: ", done), name


def test_the_programs_of_the_page_print_what_stands_below_them():
    programs = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", PAGE.read_text(), re.S)
    assert len(programs) == PAGE.read_text().count("```python") == 3
    need("pyarrow")
    need("pandas")
    for program, printed in programs:
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (run.stdout, run.stderr) == (printed, "")


def told(thing, name):
    """The outcome of a consumer for an object."""
    (one,) = (consumer for consumer in crossdock.explain(thing).consumers if consumer.name == name)
    return one


def offer(thing, protocol):
    (one,) = (offer for offer in crossdock.explain(thing).offers if offer.protocol == protocol)
    return one


def odd_arrays():
    """Crossdock arrays in every layout."""
    ours = crossdock.array([[float(k + 6 * row) for k in range(6)] for row in range(4)])
    return [ours, ours[1:, ::2], ours[::-1, ::-1], ours.T, ours[2], ours[1:2], ours[:, 3:4], ours[:0], ours[0, 0:1]]


# ----- DLPack


def test_bug_legacy_readonly():
    theirs = need("pyarrow").array([1.0, 2.0])
    with pytest.warns(DeprecationWarning):
        capsule = theirs.__dlpack__()
    assert crossdock.from_dlpack(Handmade(np.zeros(3), "legacy")).readonly
    assert capsule is not None and crossdock.asarray(theirs).readonly
    assert any("cannot say that the memory is read-only" in words for words in crossdock.explain(theirs).disagreements)
    with pytest.raises(BufferError, match="read-only"):
        crossdock.asarray(b"abc").__dlpack__()
    assert np.from_dlpack(crossdock.zeros(3)).flags.writeable


@pytest.mark.parametrize("speaks", ["legacy", "versioned"])
def test_bug_legacy_answer(speaks):
    theirs = numbers("f8", (2, 3))
    ours = crossdock.from_dlpack(Handmade(theirs, speaks))
    assert ours.tolist() == theirs.tolist() and ours.readonly == (speaks == "legacy")


def test_bug_unknown_arguments():
    theirs = numbers("f8", (2, 3))
    assert crossdock.from_dlpack(Handmade(theirs, "old")).tolist() == theirs.tolist()


@pytest.mark.parametrize("kind", [TypeError, NotImplementedError, RuntimeError, ValueError, AttributeError])
def test_bug_wrong_exceptions(kind):
    class Refusing:
        def __dlpack__(self, **_):
            raise kind("not these")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(BufferError, match="not these"):
        crossdock.from_dlpack(Refusing())
    assert "not these" in offer(Refusing(), "DLPack").refusal


def test_bug_copied_flag():
    theirs = numbers("f8", (3,))
    for flags in [0, 2]:
        made = Handmade(theirs, flags=flags)
        assert crossdock.from_dlpack(made, copy=True).tolist() == theirs.tolist()
        assert made.taken == made.given_back == 1


def test_bug_negative_bit():
    class Lazy(Handmade):
        def is_neg(self):
            return True

    lazy = Lazy(np.ones(3))
    assert "sign" in offer(lazy, "DLPack").lost
    taken = lazy.taken
    for take in [crossdock.asarray, crossdock.from_dlpack, lambda tensor: crossdock.from_dlpack(tensor, copy=True)]:
        with pytest.raises(BufferError, match=r"is_neg.*resolve_neg"):
            take(lazy)
    assert lazy.taken == taken
    lazy.is_neg = lambda: False
    assert crossdock.asarray(lazy).tolist() == [1, 1, 1]
    assert not offer(Handmade(np.ones(3)), "DLPack").notes


def test_bug_sub_byte_lanes():
    with pytest.raises(BufferError, match="2 lanes"):
        crossdock.from_dlpack(Handmade(numbers("u1", (3,)), code=17, bits=4, lanes=2))


def test_bug_version():
    made = Handmade(np.zeros(3), "versioned", version=(2, 0))
    with pytest.raises(BufferError, match="2.0"):
        crossdock.from_dlpack(made)
    assert made.taken == made.given_back == 1
    assert "2.0" in offer(made, "DLPack").refusal and told(made, "nanobind").outcome == "misreads"
    assert crossdock.from_dlpack(Handmade(np.zeros(3), version=(1, 9))).shape == (3,)


def test_bug_null_strides_in():
    theirs = numbers("f8", (2, 3))
    for speaks in ["versioned", "legacy"]:
        assert crossdock.from_dlpack(Handmade(theirs, speaks, strides=None)).tolist() == theirs.tolist()


def test_bug_null_strides_out():
    for ours in odd_arrays():
        for protocol in ["DLPack", "DLPack before 1.0"]:
            given = offer(ours, protocol)
            assert given.strides is not None and len(given.strides) == ours.ndim


def test_bug_null_deleter():
    theirs = numbers("f8", (3,))
    made = Handmade(theirs, has_deleter=False)
    assert crossdock.from_dlpack(made).tolist() == theirs.tolist()
    assert told(made, "jax.dlpack.from_dlpack").outcome == "misreads"
    assert all(
        offer(ours, protocol).extra["deleter"] for ours in odd_arrays() for protocol in ["DLPack", "DLPack before 1.0"]
    )


def test_bug_byte_offset():
    theirs = numbers("f8", (6,))
    made = Handmade(theirs, lead=64)
    assert crossdock.from_dlpack(made).tolist() == theirs.tolist()
    assert told(made, "torch.from_dlpack (1.x)").outcome == "misreads"
    assert all(
        offer(ours, protocol).extra["byte_offset"] == 0
        for ours in odd_arrays()
        for protocol in ["DLPack", "DLPack before 1.0"]
    )


def test_bug_huge_strides():
    with pytest.raises(BufferError, match="4611686018427387903"):
        crossdock.from_dlpack(Handmade(numbers("f8", (2, 3)), strides=[2**62 - 1, 1]))
    assert [offer(ours, "DLPack").strides for ours in odd_arrays()[2:3]] == [(-48, -8)]


def test_bug_readonly_flag():
    for consumer in ["torch.from_dlpack", "tvm_ffi.from_dlpack"]:
        assert told(crossdock.asarray(b"abc"), consumer).outcome == "misreads"
        assert told(crossdock.asarray(bytearray(b"abc")), consumer).outcome == "in place"
    passed_on = need("tvm_ffi").from_dlpack(crossdock.asarray(b"abc"))
    assert np.from_dlpack(passed_on).flags.writeable
    assert not np.from_dlpack(crossdock.asarray(b"abc")).flags.writeable


def test_bug_silent_copy():
    made = [
        make(count, "u1")
        for make in [crossdock.zeros, crossdock.empty]
        for count in [1, 3, 8, 31, 63, 64, 65, 1000, 5000, 10**6]
    ]
    made += [
        crossdock.full(3, 1.5).astype("f4"),
        crossdock.array([1, 2]).astype("i4"),
        made[3].copy(),
        made[3].astype("f4"),
        crossdock.asarray([1], copy=None).astype("u2"),
    ]
    for ours in made:
        assert offer(ours, "DLPack").alignment >= 64
        assert told(ours, "jax.dlpack.from_dlpack").outcome == "in place"
    theirs = told(numbers("f4", (3,), lead=16), "jax.dlpack.from_dlpack")
    assert theirs.outcome == "copies" and "64" in theirs.reason and not theirs.verified


def test_bug_refused_strides():
    ours = crossdock.zeros((4, 6), "f4")
    for name in ["jax.dlpack.from_dlpack", "tf.experimental.dlpack"]:
        assert told(ours, name).outcome == "in place"
        assert told(ours[:, ::2], name).outcome == told(ours[::-1], name).outcome == "refuses"
    assert told(ours.T, "tf.experimental.dlpack").outcome == "refuses"
    assert told(ours.T, "jax.dlpack.from_dlpack").outcome == "in place"
    for name in ["torch.from_dlpack", "mlx.core.array"]:
        assert told(ours[::-1], name).outcome == "refuses" != told(ours[:, ::2], name).outcome


def test_bug_fatal_strides():
    ours = crossdock.zeros((4, 6))
    one = told(ours[::-1], "torch.from_dlpack (1.x)")
    assert one.outcome == "misreads" and "the process ends" in one.reason
    assert told(ours[:, ::2], "torch.from_dlpack (1.x)").outcome == "in place"


def test_bug_narrowed():
    for dtype, outcome in [
        ("float64", "misreads"),
        ("complex128", "misreads"),
        ("float32", "copies"),
        ("int64", "copies"),
    ]:
        assert told(crossdock.zeros(3, dtype), "mlx.core.array").outcome == outcome


def test_bug_lanes():
    assert told(Handmade(numbers("f8", (3,)), lanes=2, bits=32), "tf.experimental.dlpack").outcome == "misreads"
    assert all(offer(ours, "DLPack").extra["lanes"] == 1 for ours in odd_arrays())


def test_bug_extended_types():
    ours = crossdock.zeros(3, "bfloat16")
    assert (
        told(ours, "numpy.from_dlpack").outcome == "refuses" and told(ours, "torch.from_dlpack").outcome == "in place"
    )
    assert told(crossdock.zeros(3, "float8_e5m2"), "tf.experimental.dlpack").outcome == "refuses"
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(ours)
    assert offer(ours, "DLPack").dtype == "bfloat16"


# ----- buffers


def test_bug_prefixed_formats():
    for theirs in [(ctypes.c_double * 3)(1, 2, 3), (ctypes.c_float * 3)(1, 2, 3)]:
        with pytest.raises(NotImplementedError):
            memoryview(theirs)[0]
        ours = crossdock.asarray(theirs)
        assert ours.tolist() == [1, 2, 3] and memoryview(ours)[1] == 2
        assert memoryview(theirs).format == "<" + memoryview(ours).format


class Padded(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_double)]


class Either(ctypes.Union):
    _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]


class Bits(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int, 3), ("b", ctypes.c_int, 5)]


class Pointing(ctypes.Structure):
    _fields_ = [("a", ctypes.POINTER(ctypes.c_int)), ("b", ctypes.c_int)]


def is_believed(theirs):
    """Whether the items are read by their format, which is then correct."""
    ours = crossdock.asarray(theirs)
    believed = not str(ours.dtype).startswith("|V")
    assert ours.itemsize == memoryview(theirs).itemsize and ours.tobytes() == bytes(theirs)
    assert believed or any("does not stand for" in note for note in offer(theirs, "PEP 3118").notes)
    return believed


def test_bug_struct_padding():
    theirs = (Padded * 2)((1, 2), (3, 4))
    assert is_believed(theirs) == (sys.version_info >= (3, 12))
    if is_believed(theirs):
        assert crossdock.asarray(theirs)["b"].tolist() == [2, 4]


def test_bug_bytes_for_items():
    assert not is_believed((Either * 2)())
    assert told((Either * 2)(), "memoryview.tolist").outcome == "misreads"
    packed = (Packed * 2)((1, 2), (3, 4))
    if is_believed(packed):
        assert crossdock.asarray(packed)["b"].tolist() == [2, 4]


def test_bug_bit_fields():
    assert not is_believed((Bits * 2)())


def test_bug_record_formats():
    flags = np.dtype([("inner", [("x", "i8"), ("flag", "?")]), ("y", "f8")])
    union = np.dtype({"names": ["a", "b"], "formats": ["f8", "u4"], "offsets": [0, 4]})
    for dtype in [flags, union]:
        theirs = np.frombuffer(bytes(range(3 * dtype.itemsize)), dtype)
        for ours in [crossdock.asarray(theirs), crossdock.asarray(theirs[0:1])]:
            for name in dtype.names:
                assert ours[name].tobytes() == theirs[: len(ours)][name].tobytes()
            assert np.asarray(ours).dtype == dtype
    theirs = np.frombuffer(bytes(range(3 * flags.itemsize)), flags)
    assert crossdock.asarray(memoryview(theirs))["y"].tobytes() == theirs["y"].tobytes()


def test_bug_opaque_bytes():
    theirs = np.frombuffer(b"abcdefghij", "V5")
    assert np.asarray(memoryview(theirs)).dtype == np.dtype({"names": [], "formats": [], "itemsize": 5})
    ours = crossdock.asarray(theirs)
    assert np.asarray(ours).dtype == "V5" and np.shares_memory(np.asarray(ours), theirs)
    assert bytes(ours) == b"abcdefghij" == ours.tobytes()
    assert told(ours, "numpy.asarray").outcome == "in place"


def test_bug_lost_titles():
    dtype = np.dtype([(("seconds", "t"), "f8"), ("n", "u1")], align=True)
    theirs = np.zeros(2, dtype)
    assert np.asarray(memoryview(theirs)).dtype != dtype
    ours = crossdock.asarray(theirs)
    assert np.asarray(ours).dtype == dtype and np.shares_memory(np.asarray(ours), theirs)
    with pytest.raises(BufferError, match="titles"):
        memoryview(ours)


def test_bug_pointers():
    for theirs in [(Pointing * 2)(), (ctypes.c_char_p * 2)()]:
        with pytest.raises(BufferError, match="pointer"):
            crossdock.asarray(theirs)


def test_bug_narrow_text():
    with pytest.raises(BufferError, match="'u'"):
        crossdock.asarray((ctypes.c_wchar * 3)())


def test_bug_other_errors():
    theirs = np.array(["a", "b"], np.dtypes.StringDType())
    with pytest.raises(ValueError):
        memoryview(theirs)
    with pytest.raises(BufferError, match="StringDType|'T'"):
        crossdock.asarray(theirs)


def test_bug_complex_formats():
    for dtype, written in [("c8", "Zf"), ("c16", "Zd")]:
        ours = crossdock.zeros(3, dtype)
        assert memoryview(ours).format == written and np.asarray(ours).dtype == dtype
        assert crossdock.asarray(np.ones(2, dtype)).tolist() == [1, 1]


def test_bug_signed_bytes():
    theirs = need("pyarrow").py_buffer(b"\xff\x01")
    assert memoryview(theirs).format == "b"
    assert crossdock.asarray(theirs).tobytes() == b"\xff\x01"
    assert np.frombuffer(crossdock.asarray(theirs), "u1").tolist() == [255, 1]


def test_bug_size_one_strides(ask):
    theirs = np.lib.stride_tricks.as_strided(np.arange(6.0), (1, 6, 1), (13, 8, 7))
    ours = crossdock.asarray(theirs)
    assert offer(ours, "PEP 3118").strides == offer(ours, "DLPack").strides == (48, 8, 8)
    assert ask(ours, 0x11C)[6] == [48, 8, 8]


# ----- Arrow, images, the array interface


def test_bug_lost_types():
    theirs = np.zeros(3, need("ml_dtypes").bfloat16)

    class Says:
        __array_interface__ = theirs.__array_interface__

    assert told(Says(), "numpy.asarray").outcome == "misreads" and np.asarray(Says()).dtype.kind == "V"


def test_bug_image_bytes():
    picture = need("PIL.Image").new("RGB", (3, 2))
    assert told(picture, "numpy.asarray").outcome == "copies"
    assert any("a copy" in note for note in offer(picture, "__array_interface__").notes)


def test_bug_silent_column_copy():
    numbers = np.arange(6.0)
    assert told(numbers, "pyarrow.array").outcome == "in place"
    assert told(numbers[::2], "pyarrow.array").outcome == told(numbers > 2, "pyarrow.array").outcome == "copies"


def test_bug_object_bytes():
    polars = need("polars")
    series = polars.Series("a", [object()], dtype=polars.Object)
    for thing in [series, series.to_frame(), polars.DataFrame({"n": [1]}).with_columns(series)]:
        for take in [crossdock.asarray, crossdock.from_arrow, lambda thing: crossdock.asarray(thing, copy=None)]:
            with pytest.raises(BufferError, match="object"):
                take(thing)
    assert crossdock.asarray(polars.Series([1])).tolist() == [1]


def test_bug_swapped_order():
    swapped = np.arange(1.0, 7.0).astype(">f8").reshape(2, 3)
    for name in ["pyarrow.Tensor.from_numpy", "arro3.core.Array", "cv2 (inputs)"]:
        one = told(swapped, name)
        assert one.outcome == "misreads" and "byte order" in one.reason and one.verified
    tensor = need("pyarrow").Tensor.from_numpy(swapped)
    assert np.asarray(tensor).tolist() != swapped.tolist()
    assert crossdock.asarray(swapped).astype("f8").tolist() == swapped.tolist()


def test_bug_flattened():
    for theirs in [np.zeros((2, 3)), np.zeros((2, 3)).T]:
        assert told(theirs, "nanoarrow.c_array").outcome == "misreads"
    assert told(np.zeros(3), "nanoarrow.c_array").outcome == "in place"


def test_bug_null_strides_of_buffers(ask):
    theirs = (ctypes.c_double * 3)()
    assert ask(theirs, 0x11C)[6] is None and "the process ends" in told(theirs, "nanobind").reason
    assert ask(crossdock.asarray(theirs), 0x11C)[6] == [8]
    assert told(crossdock.asarray(theirs), "nanobind").outcome == "in place"


def test_bug_swapped_buffers():
    for swapped in [np.arange(3, dtype=">f8"), crossdock.arange(3, dtype=">f8")]:
        assert told(swapped, "PyO3 PyBuffer<T>").outcome == "misreads"
    assert told(crossdock.arange(3.0), "PyO3 PyBuffer<T>").outcome == "in place"


# ----- lifetimes


def test_bug_unaligned_memory():
    received = bytearray(29) + np.arange(6.0).tobytes()
    ours = crossdock.asarray(np.frombuffer(received, "f8", offset=29))
    assert ours.tolist() == [0, 1, 2, 3, 4, 5]
    ours[1] = 7
    assert np.frombuffer(received[29:], "f8")[1] == 7 and not np.asarray(ours).flags.aligned


def test_bug_closed_memory():
    pages = mmap.mmap(-1, 4096)
    shared = shared_memory.SharedMemory(create=True, size=4096)
    try:
        for lent, close in [(pages, pages.close), (shared.buf, shared.close)]:
            ours = crossdock.asarray(lent)
            ours[3] = 9
            with pytest.raises(BufferError):
                close()
            assert ours[3] == 9
            del ours
            close()
    finally:
        shared.unlink()


def deleter_of(ours):
    """Takes the array's tensor out of its capsule: its address, and its deleter."""
    from crossdock._explain.native import DLManagedTensorVersioned, capsule

    python = ctypes.PyDLL(None)
    made = ours.__dlpack__(max_version=(1, 0))
    _, address = capsule(made, b"dltensor_versioned")
    python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = b"used_dltensor_versioned"
    python.PyCapsule_SetName(made, name)
    del made
    managed = ctypes.cast(address, ctypes.POINTER(DLManagedTensorVersioned)).contents
    # A plain C function: while it runs, the thread does not hold the GIL.
    return address, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter), name


def test_bug_replaced_storage():
    """`test_tensors.py` has every way and dtype."""
    torch = pytest.importorskip("torch")
    tensor = torch.ones(1000)
    ours = crossdock.asarray(tensor)
    with pytest.raises(RuntimeError, match="not resizable"):
        tensor.resize_(10**6)
    address, tensor.data = tensor.data_ptr(), torch.zeros(4)
    assert ours.ptr == address and set(ours.tolist()) == {1}


def test_bug_fatal_dtypes():
    pytest.importorskip("tensorflow")
    code = """
import crossdock, tensorflow as tf
variable = tf.Variable([1.0])
for thing in [tf.constant(["a"]), variable.handle, tf.data.Dataset.range(3)._variant_tensor]:
    for take in [crossdock.asarray, crossdock.from_dlpack]:
        try:
            take(thing)
        except BufferError as error:
            assert "would end the process" in str(error), error
    refused = [offer.refusal for offer in crossdock.explain(thing).offers if offer.protocol.startswith("DLPack")]
    assert refused and all("would end the process" in text for text in refused), refused
print(crossdock.asarray(variable.read_value()).tolist())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "[1.0]\n"), run.stderr


def test_bug_raising_attributes():
    class Raises:
        @property
        def __array_struct__(self):
            raise RuntimeError("no backend")

        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("no device")

    with pytest.raises(BufferError, match="(?s)__array_struct__ refused: no backend.*__cuda_array_interface__ refused: no device"):
        crossdock.asarray(Raises())


def test_bug_foreign_thread():
    theirs = np.arange(6.0)
    before = sys.getrefcount(theirs)
    for _ in range(50):
        address, deleter, _kept = deleter_of(crossdock.asarray(theirs)[1:])
        assert sys.getrefcount(theirs) > before
        thread = threading.Thread(target=deleter, args=(address,))
        thread.start()
        thread.join()
    # A reference that cannot be released at once is released at the interpreter's next pending
    # call.
    crossdock.zeros(1)
    for _ in range(1000):
        pass
    assert sys.getrefcount(theirs) == before


def test_bug_exit():
    code = """
import atexit, sys
import numpy as np, crossdock
theirs = np.arange(3.0)
ours = crossdock.asarray(theirs)
kept = [np.from_dlpack(ours), np.asarray(crossdock.zeros(3)), memoryview(ours), ours]
sys.kept, sys.modules["kept"] = kept, kept
kept.append(kept)
"""
    run = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
