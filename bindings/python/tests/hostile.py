"""A buffer exporter and a DLPack producer with arbitrary descriptions, which count releases."""

import ctypes

from pybuffer import Buffer

api = ctypes.pythonapi


class Slot(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("function", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int), ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(Slot))]


GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.c_int)
RELEASE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Buffer))
BF_GETBUFFER, BF_RELEASEBUFFER = 1, 2


class Lies:
    """The description of all later buffers, and the numbers of exports and releases."""

    def __init__(self):
        self.memory = ctypes.create_string_buffer(1024)
        self.given = self.released = 0
        self.tell()

    def tell(self, **lie):
        """Two by three numbers of four bytes, with the named changes."""
        told = dict(buf=ctypes.addressof(self.memory), len=24, itemsize=4, readonly=0, ndim=2, format=b"i", shape=(2, 3), strides=(12, 4))
        told |= dict(suboffsets=None, obj="exporter", result=0) | lie
        self.told = told
        for name in ("shape", "strides", "suboffsets"):
            numbers = told[name]
            told[name] = (ctypes.c_ssize_t * max(len(numbers), 1))(*numbers) if numbers is not None else None

    def get(self, exporter, view, flags):
        told, view = self.told, view.contents
        if told["result"]:
            return told["result"]
        for name in ("buf", "len", "itemsize", "readonly", "ndim", "format"):
            setattr(view, name, told[name])
        for name in ("shape", "strides", "suboffsets"):
            setattr(view, name, ctypes.cast(told[name], ctypes.POINTER(ctypes.c_ssize_t)) if told[name] else None)
        view.internal = None
        view.obj = exporter if told["obj"] == "exporter" else None
        if view.obj:
            api.Py_IncRef(ctypes.c_void_p(exporter))
            self.given += 1
        return 0

    def release(self, exporter, view):
        self.released += 1


lies = Lies()
_get, _release = GET(lies.get), RELEASE(lies.release)
_slots = (Slot * 3)(Slot(BF_GETBUFFER, ctypes.cast(_get, ctypes.c_void_p)), Slot(BF_RELEASEBUFFER, ctypes.cast(_release, ctypes.c_void_p)), Slot(0, None))
_spec = Spec(b"hostile.Exporter", object.__basicsize__, 0, 0, _slots)
api.PyType_FromSpec.argtypes, api.PyType_FromSpec.restype = [ctypes.POINTER(Spec)], ctypes.py_object
Exporter = api.PyType_FromSpec(ctypes.byref(_spec))


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


#: Deleters are called with or without the GIL.
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
api.PyCapsule_GetName.argtypes, api.PyCapsule_GetName.restype = [ctypes.py_object], ctypes.c_char_p


class Producer:
    """Two by three numbers of four bytes, with the named changes; `names` are those of the capsule."""

    def __init__(self, legacy=False, name=None, deleter=True, version=(1, 3), flags=0, shape=(2, 3), strides=(3, 1), device=(1, 0), **tensor):
        self.memory = (ctypes.c_int32 * 64)(*range(64))
        self.deleted = 0
        self.lists = [(ctypes.c_int64 * max(len(numbers), 1))(*numbers) if numbers is not None else None for numbers in (shape, strides)]
        self.deleter = DELETER(self.delete)
        self.managed = Legacy() if legacy else Versioned()
        if deleter:
            self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        if not legacy:
            self.managed.version[:], self.managed.flags = version, flags
        told = dict(data=ctypes.addressof(self.memory), ndim=2, code=0, bits=32, lanes=1, byte_offset=0) | tensor
        for field, value in told.items():
            setattr(self.managed.tensor, field, value)
        self.managed.tensor.device[:] = device
        for field, numbers in zip(("shape", "strides"), self.lists):
            setattr(self.managed.tensor, field, ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64)) if numbers is not None else None)
        self.name = name or (b"dltensor" if legacy else b"dltensor_versioned")
        self.capsule = api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)

    def delete(self, managed):
        assert managed == ctypes.addressof(self.managed)
        self.deleted += 1

    def is_taken(self):
        return api.PyCapsule_GetName(self.capsule) == b"used_" + self.name

    def __dlpack__(self, **arguments):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


HUGE, LOW = 2**63 - 1, -(2**63)

#: False descriptions of a buffer, and the required text of the refusal.
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
    "pointers to follow without strides": (dict(strides=None, suboffsets=(0, -1)), "no strides"),
    "a null pointer to a row": (dict(shape=(2, 3), strides=(8, 4), suboffsets=(0, -1)), "null pointer"),
}

#: Valid descriptions: the shape and the dtype.
TRUTHS = {
    "nothing odd": (dict(), (2, 3), "int32"),
    "no strides": (dict(strides=None), (2, 3), "int32"),
    "one axis without a length": (dict(shape=None, strides=None, ndim=1), (6,), "int32"),
    "no format": (dict(format=None), (2, 3), "|V4"),
    "bytes": (dict(format=None, itemsize=1, shape=(24,), strides=None, ndim=1), (24,), "uint8"),
    "a format of another size": (dict(format=b"B"), (2, 3), "|V4"),
    "no axis": (dict(ndim=0, len=4, shape=None, strides=None), (), "int32"),
    "no axis, and lists that mean nothing": (dict(ndim=0, len=4, shape=(LOW,), strides=(HUGE,)), (), "int32"),
    "no elements and no address": (dict(buf=None, shape=(2, 0), len=0), (2, 0), "int32"),
    "no elements and wild strides": (dict(shape=(0, 3), strides=(HUGE, LOW), len=0), (0, 3), "int32"),
    "64 axes": (dict(ndim=64, shape=(1,) * 64, strides=(HUGE,) * 64, len=4), (1,) * 64, "int32"),
    "suboffsets that are none": (dict(suboffsets=(-1, -7)), (2, 3), "int32"),
    "a truth value that is not one": (dict(readonly=-7), (2, 3), "int32"),
}

#: False descriptions of a tensor, and the required text of the refusal.
MISBEHAVIOURS = {
    "another major version": (dict(version=(2, 0), shape=None, ndim=-7, data=1), "2.0"),
    "version none": (dict(version=(0, 9)), "0.9"),
    "flags of a later version": (dict(version=(1, 99), flags=8), "bits 0x8 of version 1.99"),
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
    "a handle for data": (dict(device=(7, 0)), "vulkan"),
}

#: Valid descriptions: the values.
TENSORS = [
    (dict(), [[0, 1, 2], [3, 4, 5]]),
    (dict(strides=None), [[0, 1, 2], [3, 4, 5]]),
    (dict(byte_offset=8), [[2, 3, 4], [5, 6, 7]]),
    (dict(strides=(-3, -1), byte_offset=20), [[5, 4, 3], [2, 1, 0]]),
    (dict(strides=(0, 1)), [[0, 1, 2], [0, 1, 2]]),
    (dict(ndim=0, shape=None, strides=None), 0),
    (dict(shape=(0, 3), data=None), []),
    (dict(shape=(1, 3), strides=(HUGE, 1)), [[0, 1, 2]]),
    (dict(device=(3, 7)), [[0, 1, 2], [3, 4, 5]]),
    (dict(version=(1, 99)), [[0, 1, 2], [3, 4, 5]]),
    # Bits without a meaning in any version so far.
    (dict(version=(1, 3), flags=2**64 - 2 - 4), [[0, 1, 2], [3, 4, 5]]),
]
