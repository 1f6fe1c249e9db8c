"""NumPy's array interface, `__array__`, `__buffer__` of Python classes, and the order of the protocols."""

import ctypes
import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import PIL.Image
import polars
import pyarrow as pa
import pytest

import crossdock
from handing.tensors import new_capsule


class Told:
    """An object with only a dictionary."""

    def __init__(self, theirs, **changes):
        self.theirs, self.changes = theirs, changes

    @property
    def __array_interface__(self):
        told = self.theirs.__array_interface__ | self.changes
        return {key: value for key, value in told.items() if value is not ...}


class Struct:
    """An object with only the capsule."""

    def __init__(self, theirs):
        self.theirs = theirs

    @property
    def __array_struct__(self):
        return self.theirs.__array_struct__


LAYOUTS = [
    np.arange(24.0).reshape(2, 3, 4),
    np.arange(24.0).reshape(2, 3, 4)[::-1, :, ::2].T,
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.broadcast_to(np.arange(3), (4, 3)),
    np.array(5),
    np.zeros((3, 0)),
    np.arange(17, dtype="u1")[1:].view("f8"),
]
DTYPES = ["?", "i1", "<i2", ">i4", "u8", "f2", "g", "c16", ">c8", "S3", "<U2", ">U2"]


@pytest.mark.parametrize("theirs", LAYOUTS + [np.zeros((2, 2), dtype) for dtype in DTYPES])
@pytest.mark.parametrize("only", [Told, Struct])
def test_interfaces_tell_all_layouts_both_ways(theirs, only):
    ours = crossdock.asarray(only(theirs))
    assert np.asarray(ours).dtype == theirs.dtype and ours.shape == theirs.shape
    assert ours.readonly is not theirs.flags.writeable
    assert np.asarray(ours).tolist() == theirs.tolist()
    if only is Struct and theirs.dtype.kind == "U":
        # NumPy takes the number of bytes for a number of letters, and reads beyond the end.
        assert not hasattr(ours, "__array_struct__")
        return
    back = np.asarray(only(ours))
    assert back.dtype == theirs.dtype and back.shape == theirs.shape and back.flags.writeable is theirs.flags.writeable
    assert back.tolist() == theirs.tolist()
    if theirs.size:
        assert ours.strides == theirs.strides == back.strides
        assert ours.__array_interface__["data"][0] == theirs.ctypes.data == back.ctypes.data


def test_dictionaries_tell_records_and_dates():
    for dtype in [[("a", "i4"), ("b", "f8", (2,))], {"names": ["a"], "formats": ["u1"], "itemsize": 4}, "M8[ms]", "m8[25us]"]:
        theirs = np.zeros(3, dtype)
        ours = crossdock.asarray(Told(theirs))
        assert np.asarray(Told(ours)).dtype == np.asarray(Told(theirs)).dtype
        assert np.asarray(ours).dtype == theirs.dtype and np.asarray(ours).ctypes.data == theirs.ctypes.data
    # The struct has no place for a unit.
    assert not hasattr(crossdock.zeros(3, "M8[s]"), "__array_struct__")
    with pytest.raises(BufferError, match="unit"):
        crossdock.asarray(Struct(np.zeros(3, "M8[s]")))
    # For records, NumPy's struct has all flags cleared, including the one for the fields.
    opaque = crossdock.asarray(Struct(np.zeros(3, [("a", "i4")])))
    assert opaque.dtype == crossdock.zeros(3, "V4").dtype and opaque.readonly


def test_dates_of_numpy_come_in_place_and_go_back():
    theirs = np.array(["2026-11-22", "NaT"], "M8[D]")
    ours = crossdock.asarray(theirs)
    assert ours.dtype == "datetime64[D]"
    back = np.asarray(ours)
    assert back.dtype == theirs.dtype and back.ctypes.data == theirs.ctypes.data


def test_the_memory_is_lent_until_the_array_goes():
    ours = crossdock.array([1, 2, 3])
    back = np.asarray(Told(ours))
    ours[0] = 7
    assert back[0] == 7
    with pytest.raises(BufferError, match="array interface"):
        ours.__arrow_c_array__()
    frozen = crossdock.array([1, 2, 3]).frozen()
    assert np.asarray(Told(frozen)).flags.writeable is False
    assert pa.array(frozen).to_pylist() == [1, 2, 3], "what is only read is lent to all"
    # A consumer that only keeps the capsule keeps the memory nevertheless.
    capsule = crossdock.array([1, 2, 3]).__array_struct__
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    gc.collect()
    data = ctypes.c_void_p.from_address(get(capsule, None) + 40).value
    assert list((ctypes.c_int64 * 3).from_address(data)) == [1, 2, 3]


def test_what_an_interface_cannot_say_is_not_there():
    for ours in [crossdock.zeros(3, "bfloat16"), crossdock.zeros(3, "float4_e2m1fn")]:
        for name in ["__array_interface__", "__array_struct__", "__cuda_array_interface__"]:
            assert not hasattr(ours, name)
    for name in ["__cuda_array_interface__"]:
        with pytest.raises(AttributeError, match="is on cpu"):
            getattr(crossdock.zeros(3), name)


def test_owners_are_kept_and_given_back():
    theirs = np.arange(3)
    for thing in [Told(theirs), Struct(theirs)]:
        before = sys.getrefcount(thing)
        ours = crossdock.asarray(thing)
        assert sys.getrefcount(thing) > before
        del ours
        assert sys.getrefcount(thing) == before


def test_dictionaries_that_lie_are_refused():
    theirs = np.arange(3.0)
    for changes, kind, word in [
        ({"shape": (-3,)}, BufferError, "length -3"),
        ({"shape": (1 << 62, 8), "strides": None}, BufferError, "takes more than"),
        ({"strides": (8, 8)}, BufferError, "2 strides for 1 axes"),
        ({"typestr": "<f3"}, BufferError, "f3"),
        ({"typestr": "|O8"}, BufferError, "object"),
        ({"typestr": ..., "data": (0, False)}, TypeError, "typestr"),
        ({"shape": ...}, TypeError, "shape"),
        ({"data": (0, False)}, BufferError, "null"),
        ({"data": ((1 << 64) - 8, False)}, BufferError, "address space"),
        ({"mask": theirs}, BufferError, "masked"),
        ({"shape": "abc"}, TypeError, "Vec|str"),
        ({"typestr": "|V8", "descr": [("a", "<i4")]}, BufferError, "4 bytes"),
    ]:
        with pytest.raises(kind, match=word):
            crossdock.asarray(Told(theirs, **changes))
    with pytest.raises(TypeError, match="no dictionary"):
        crossdock.asarray(type("Odd", (), {"__array_interface__": 5})())
    with pytest.raises(TypeError, match="no capsule"):
        crossdock.asarray(type("Odd", (), {"__array_struct__": 5})())


def test_data_may_be_a_buffer_of_which_a_part_is_meant():
    memory = bytearray(range(20))
    ours = crossdock.asarray(Told(np.zeros(3, "<u2"), data=memory, offset=2))
    assert ours.tolist() == [0x302, 0x504, 0x706] and not ours.readonly
    ours[0] = 0
    assert memory[2] == 0
    with pytest.raises(BufferError):
        memory.append(1)
    assert crossdock.asarray(Told(np.zeros(3, "<u2"), data=bytes(6))).readonly
    backwards = Told(np.zeros(3, "u1"), data=memory, offset=2, strides=(-1,))
    assert crossdock.asarray(backwards).tolist() == [0, 1, 0]
    for changes in [{"offset": 15}, {"offset": 1, "strides": (-2,)}, {"strides": (10,)}]:
        with pytest.raises((BufferError, IndexError)):
            crossdock.asarray(Told(np.zeros(3, "<u2"), data=memory, **changes))

    class Own(bytearray):
        @property
        def __array_interface__(self):
            return {"shape": (2,), "typestr": "<u2", "version": 3}

    # A buffer takes precedence.
    assert crossdock.asarray(Own(4)).dtype == "uint8"


def test_a_producer_that_copies_is_found_out():
    class Copying:
        @property
        def __array_interface__(self):
            return {"shape": (3,), "typestr": "|u1", "data": bytes([1, 2, 3]), "version": 3}

    with pytest.raises(BufferError, match="new copy of the data each time"):
        crossdock.asarray(Copying())
    ours = crossdock.asarray(Copying(), copy=None)
    assert ours.tolist() == [1, 2, 3] and "new copy" in ours.copied_because
    copied = crossdock.asarray(Copying(), copy=True)
    assert copied.copied_because is None and not copied.readonly


def test_type_strings_that_lose_the_type_are_read_by_its_name():
    for name in ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn", "complex32"]:
        theirs = np.array([1, 2, 0.5], getattr(ml_dtypes, name))
        ours = crossdock.asarray(theirs)
        assert ours.dtype == name and ours.itemsize == theirs.itemsize
        back = np.asarray(ours)
        assert back.dtype == theirs.dtype and back.ctypes.data == theirs.ctypes.data
        assert back.tolist() == theirs.tolist()
        assert crossdock.asarray(theirs[::-2]).strides == theirs[::-2].strides
    with pytest.raises(BufferError, match="int4"):
        crossdock.asarray(np.array([1], ml_dtypes.int4))
    assert crossdock.asarray(Told(np.zeros(3, "V2"))).dtype == crossdock.zeros(3, "V2").dtype


def test_numpy_asks_for_an_array_by_its_rules():
    ours = crossdock.array([1, 2, 3])
    assert ours.__array__().ctypes.data == ours.__array_interface__["data"][0]
    assert ours.__array__(copy=False).tolist() == [1, 2, 3]
    copied = ours.__array__(copy=True)
    copied[0] = 9
    assert ours[0] == 1
    assert ours.__array__("f4").dtype == np.float32 and ours.__array__(np.dtype("i8"), copy=False).dtype == np.int64
    assert ours.__array__(dtype="f4", copy=None).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="copy=False"):
        ours.__array__("f4", copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(crossdock.zeros(3, "bfloat16"), dtype="f4", copy=False)
    assert np.asarray(crossdock.zeros(3, "bfloat16"), dtype="f4").dtype == np.float32
    with pytest.raises(BufferError, match=">bfloat16|bfloat16"):
        crossdock.zeros(3, ">bfloat16").__array__()


class Array:
    """An object with only `__array__`, as for NumPy 2."""

    def __init__(self, theirs, shares=True):
        self.theirs, self.shares = theirs, shares

    def __array__(self, dtype=None, copy=None):
        if copy is False and not self.shares:
            raise ValueError("it would have to be copied")
        return self.theirs if self.shares else self.theirs.copy()


class Old(Array):
    """The same, for NumPy before version 2."""

    def __array__(self, dtype=None):
        return self.theirs if self.shares else self.theirs.copy()


class Deaf(Array):
    """Copies, although `copy` is false."""

    def __array__(self, dtype=None, copy=None):
        return self.theirs if self.shares else self.theirs.copy()


@pytest.mark.parametrize("kind", [Array, Old, Deaf])
def test_objects_that_only_give_an_array_are_taken_in_place_where_they_share(kind):
    theirs = np.arange(6.0).reshape(2, 3)
    ours = crossdock.asarray(kind(theirs))
    assert np.shares_memory(np.asarray(ours), theirs)
    copying = kind(theirs, shares=False)
    with pytest.raises(BufferError, match="cop"):
        crossdock.asarray(copying)
    copied = crossdock.asarray(copying, copy=None)
    assert (copied == theirs).all() and "cop" in copied.copied_because
    assert crossdock.asarray(kind(np.zeros(2, ml_dtypes.bfloat16))).dtype == "bfloat16"


def test_polars_frames_are_copied_only_where_it_is_permitted():
    # Columns with a gap between them: Polars lends columns of which one happens to lie right behind the other.
    numbers = polars.Series([1.0, 2.0, 9.0, 3.0, 4.0])
    frame = polars.DataFrame({"a": numbers[:2], "b": numbers[3:]})
    with pytest.raises(BufferError):
        crossdock.asarray(frame)
    assert crossdock.asarray(frame, copy=None).tolist() == [[1, 3], [2, 4]]


class Exporter:
    """PEP 688 in pure Python."""

    def __init__(self, memory):
        self.memory, self.events = memory, []

    def __buffer__(self, flags):
        self.events.append("lent")
        return memoryview(self.memory)

    def __release_buffer__(self, view):
        self.events.append("given back")
        view.release()


def test_buffers_of_pure_python_are_lent_and_given_back():
    exporter = Exporter(bytearray(3))
    ours = crossdock.asarray(exporter)
    ours[0] = 5
    part = ours[1:]
    assert exporter.memory[0] == 5 and exporter.events == ["lent"]
    del ours
    assert exporter.events == ["lent"]
    del part
    assert exporter.events == ["lent", "given back"]
    exporter.memory.append(1)
    with pytest.raises((TypeError, BufferError), match="memoryview"):
        crossdock.asarray(type("Odd", (), {"__buffer__": lambda self, flags: 5})())


# ===== Pillow


def image(mode, width=5, height=3):
    pixels = PIL.Image.new(mode, (width, height))
    for x in range(width):
        for y in range(height):
            bands = len(pixels.getbands())
            pixels.putpixel((x, y), 7 * x + y if bands == 1 else tuple(10 * x + 3 * y + band for band in range(bands)))
    return pixels


@pytest.mark.parametrize("mode", ["L", "P", "LA", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "La", "RGBa", "I", "F", "I;16", "I;16L", "I;16B"])
def test_images_come_in_place_as_rows_columns_and_bands(mode):
    theirs = image(mode)
    ours = crossdock.asarray(theirs)
    assert np.asarray(ours).tolist() == np.asarray(theirs).tolist()
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype and ours.readonly
    theirs.putpixel((0, 0), theirs.getpixel((4, 2)))
    assert np.asarray(ours[0, 0]).tolist() == np.asarray(ours[2, 4]).tolist(), "it is the image's own memory"


@pytest.mark.parametrize("mode", ["1", "LAB"])
def test_images_whose_memory_has_other_values_than_numpy_are_copied(mode):
    """Of any size: a large image has no single block of memory, and is always copied."""
    for width in (5, 5000):
        theirs = PIL.Image.new(mode, (width, 1500), 1 if mode == "1" else (10, 20, 30))
        with pytest.raises(BufferError, match=f"mode .{mode}. lie in memory"):
            crossdock.asarray(theirs)
        ours = crossdock.asarray(theirs, copy=None)
        assert np.array_equal(np.asarray(ours), np.asarray(theirs)) and ours.dtype == np.asarray(theirs).dtype


def test_large_images_are_copied_where_that_is_permitted():
    theirs = PIL.Image.new("RGB", (5000, 1500), (1, 2, 3))
    with pytest.raises(BufferError, match=r"(?s)Pillow: .*__array_interface__: .*new copy"):
        crossdock.asarray(theirs)
    ours = crossdock.asarray(theirs, copy=None)
    assert ours.shape == (1500, 5000, 3) and ours[7, 9].tolist() == [1, 2, 3] and "new copy" in ours.copied_because


def test_images_are_made_of_arrays():
    theirs = np.arange(60, dtype="u1").reshape(4, 5, 3)
    made = PIL.Image.fromarray(crossdock.asarray(theirs))
    assert made.size == (5, 4) and np.asarray(made).tolist() == theirs.tolist()
    assert np.asarray(PIL.Image.fromarray(crossdock.asarray(theirs)[::-1])).tolist() == theirs[::-1].tolist()


# ===== the order


def test_each_protocol_says_why_it_gave_nothing():
    class Many:
        __cuda_array_interface__ = {}

        def __dlpack__(self, **arguments):
            raise BufferError("no DLPack today")

        def __arrow_c_array__(self, requested_schema=None):
            raise ValueError("no column today")

    with pytest.raises(BufferError) as caught:
        crossdock.asarray(Many())
    said = str(caught.value)
    assert said.startswith("test_each") and "Many shares no memory" in said
    found = [said.index(word) for word in ["Arrow: ", "no column today", "DLPack: no DLPack", "__cuda_array_interface__: "]]
    assert found == sorted(found)
    with pytest.raises(TypeError, match="__cuda_array_interface__ has no .typestr"):
        crossdock.asarray(type("Cuda", (), {"__cuda_array_interface__": {}})())


def test_classes_lend_nothing():
    for kind in [np.ndarray, pa.Array, Array]:
        with pytest.raises(TypeError, match="shares no memory"):
            crossdock.asarray(kind)


def test_the_first_protocol_that_gives_it_is_taken():
    asked = []

    class Both:
        theirs = np.arange(3)

        def __arrow_c_array__(self, requested_schema=None):
            asked.append("Arrow")
            return pa.array(self.theirs).__arrow_c_array__()

        def __dlpack__(self, **arguments):
            asked.append("DLPack")
            return self.theirs.__dlpack__(**arguments)

        @property
        def __array_interface__(self):
            asked.append("dictionary")
            return self.theirs.__array_interface__

    assert crossdock.asarray(Both()).tolist() == [0, 1, 2] and asked[-1] == "Arrow" and "DLPack" not in asked


# ===== NumPy's registry


def test_numpy_is_told_the_types_of_ml_dtypes_where_it_has_a_registry(monkeypatch):
    told = {}

    def register(key, dtype):
        if key == (12, 8):
            raise ValueError("there is one for it")
        told[key] = dtype

    monkeypatch.setattr(np.dtypes, "register_dlpack_dtype", register, raising=False)
    names = crossdock.register_numpy_dtypes()
    assert told[4, 16] == np.dtype(ml_dtypes.bfloat16) and told[17, 4] == np.dtype(ml_dtypes.float4_e2m1fn)
    assert "bfloat16" in names and "float8_e5m2" not in names and len(names) == len(told)
    monkeypatch.undo()
    if not hasattr(np.dtypes, "register_dlpack_dtype"):
        with pytest.raises(NotImplementedError, match="2.5"):
            crossdock.register_numpy_dtypes()


# ===== devices


def test_memory_of_cuda_is_told_to_consumers_of_cuda():
    # Host memory under a device's name is described and never accessed. If there is such a device,
    # its default stream may be named.
    theirs = np.arange(6.0).reshape(2, 3)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p

    class Device:
        def __dlpack__(self, **arguments):
            capsule = theirs.__dlpack__(max_version=(1, 0))
            device = get(capsule, b"dltensor_versioned") + 40
            (ctypes.c_int32 * 2).from_address(device)[:] = [2, 1]
            return capsule

    ours = crossdock.from_dlpack(Device())
    assert ours.place == "cuda:1"
    told = ours[:, ::2].__cuda_array_interface__
    assert told.pop("descr") == [("", "<f8")]
    assert told.pop("stream") in (None, 1)
    expected = {"shape": (2, 2), "typestr": "<f8", "data": (theirs.ctypes.data, False), "strides": (24, 16), "version": 3}
    assert told == expected
    assert not hasattr(ours, "__array_interface__") and not hasattr(ours, "__array_struct__")
    with pytest.raises(BufferError, match="cuda"):
        ours.__arrow_c_array__()


class Interface(ctypes.Structure):
    """`PyArrayInterface`."""

    _fields_ = [
        ("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char), ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int), ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p), ("descr", ctypes.c_void_p),
    ]  # fmt: skip


def told_by_hand(memory, **changes):
    """An object with a struct that describes eight floats."""
    lengths = (ctypes.c_ssize_t * 2)(2, 4)
    said = dict(two=2, nd=2, typekind=b"f", itemsize=8, flags=0x701, shape=lengths, strides=None, data=memory.ctypes.data)
    struct = Interface(**(said | changes))
    capsule = new_capsule(ctypes.addressof(struct), None, None)
    return type("By hand", (), {"__array_struct__": capsule, "kept": (struct, lengths, memory)})()


def test_a_struct_that_cannot_be_is_refused_with_its_numbers():
    memory = np.arange(8.0)
    assert crossdock.asarray(told_by_hand(memory)).tolist() == memory.reshape(2, 4).tolist()
    assert crossdock.asarray(told_by_hand(memory, nd=0, shape=None)).tolist() == 0.0
    null = ctypes.POINTER(ctypes.c_ssize_t)()
    for changes, words in [
        (dict(nd=-1), "-1 axes"), (dict(nd=-(2**31)), "-2147483648 axes"), (dict(nd=65), "65 axes"),
        (dict(nd=2**31 - 1), "2147483647 axes"), (dict(shape=null), "no shape"), (dict(two=3), "3"), (dict(two=-2), "-2"),
        (dict(itemsize=-8), "-8"), (dict(itemsize=3), None), (dict(typekind=b"?"), None), (dict(data=None), "null"),
        (dict(shape=(ctypes.c_ssize_t * 2)(2, -4)), "-4"), (dict(shape=(ctypes.c_ssize_t * 2)(2**62, 2**62)), None),
        (dict(strides=(ctypes.c_ssize_t * 2)(2**62, 2**62)), None),
    ]:  # fmt: skip
        with pytest.raises((BufferError, TypeError, ValueError), match=words):
            crossdock.asarray(told_by_hand(memory, **changes))


def test_an_interface_lives_as_long_as_its_dictionary():
    """A NumPy scalar creates an array for each dictionary and stores it there."""

    class Each:
        made = 0

        @property
        def __array_interface__(self):
            Each.made += 1
            array = np.arange(3.0)
            return dict(array.__array_interface__, __ref=array)

    class One:
        def __init__(self):
            array = np.arange(3.0)
            self.told = dict(array.__array_interface__, __ref=array)

        __array_interface__ = property(lambda self: self.told)

    with pytest.raises(BufferError, match="makes a new copy"):
        crossdock.asarray(Each())
    one = One()
    ours = crossdock.asarray(one)
    kept = weakref.ref(one.told["__ref"])
    one.told = None
    gc.collect()
    assert kept() is not None and ours.tolist() == [0, 1, 2]
    del ours
    gc.collect()
    assert kept() is None


class Fresh:
    """Creates its elements for each caller, as read-only bytes."""

    @property
    def __array_interface__(self):
        return dict(version=3, shape=(4,), typestr="<i4", data=bytes(range(16)))


def test_a_copy_that_the_producer_made_is_copied_again_only_if_it_must_be_writable():
    before = crossdock.copied_bytes()
    read = crossdock.asarray(Fresh(), copy=None)
    assert read.readonly and crossdock.copied_bytes() - before == 16
    before = crossdock.copied_bytes()
    written = crossdock.asarray(Fresh(), copy=True)
    assert not written.readonly and crossdock.copied_bytes() - before == 32
    assert read.tolist() == written.tolist() == np.frombuffer(bytes(range(16)), "<i4").tolist()


def test_a_copy_that_the_producer_made_to_be_written_is_not_copied_again():
    pa = pytest.importorskip("pyarrow")
    chunks = pa.chunked_array([[1, 2], [3]])
    for copy in (None, True):
        before = crossdock.copied_bytes()
        ours = crossdock.asarray(chunks, copy=copy)
        assert crossdock.copied_bytes() - before == 24
        assert ours.tolist() == [1, 2, 3]


def test_a_dtype_that_is_not_numpys_describes_no_fields():
    class Dtype:
        names = ("a",)

    class Thing:
        dtype = Dtype()
        elements = np.zeros(2, "V8")
        __array_interface__ = elements.__array_interface__

    assert str(crossdock.asarray(Thing()).dtype) == "|V8"


def test_the_refusal_of_a_sparse_array_names_what_has_its_elements():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.eye(3))
    with pytest.raises(TypeError, match=r"its toarray\(\) copies all elements, and its data is an array of the stored ones"):
        crossdock.asarray(matrix)
    assert crossdock.asarray(matrix.data).tolist() == [1, 1, 1]
    assert crossdock.asarray(matrix.toarray()).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize("protocol", ["buffer", "dlpack", "interface", "struct"])
def test_elements_that_overlap_are_imported_read_only(protocol):
    """NumPy's own repeated axes are read-only; `as_strided` makes writable ones, as other libraries do."""
    strided = np.lib.stride_tricks.as_strided
    base = np.arange(4.0)
    takes = {
        "buffer": crossdock.asarray,
        "dlpack": crossdock.from_dlpack,
        "interface": lambda array: crossdock.asarray(Told(array)),
        "struct": lambda array: crossdock.asarray(Struct(array)),
    }
    for shape, strides in [((4, 2), (0, 8)), ((4,), (0,)), ((3, 2), (8, 8))]:
        theirs = strided(base, shape, strides)
        assert theirs.flags.writeable
        ours = takes[protocol](theirs)
        assert ours.readonly and ours.strides == strides and ours.tolist() == theirs.tolist()
        with pytest.raises(ValueError, match="read-only"):
            ours[(0,) * len(shape)] = 5
        assert base[0] == 0
    for shape, strides in [((1, 2), (0, 8)), ((2, 2), (8, 16)), ((2,), (-8,)), ((4, 0), (0, 8))]:
        ours = takes[protocol](strided(base[1:2] if strides == (-8,) else base, shape, strides))
        assert not ours.readonly, (shape, strides)
