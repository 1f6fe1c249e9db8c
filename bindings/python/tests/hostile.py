"""An exporter of buffers and a producer of DLPack that fill in whatever they are told, and count what comes back."""

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
    """What every buffer of the exporter says from now on, and how many were given and came back."""

    def __init__(self):
        self.memory = ctypes.create_string_buffer(1024)
        self.given = self.released = 0
        self.tell()

    def tell(self, **lie):
        """Two by three numbers of four bytes, but for what is named."""
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


#: Deleters are called with the interpreter or without it.
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
api.PyCapsule_GetName.argtypes, api.PyCapsule_GetName.restype = [ctypes.py_object], ctypes.c_char_p


class Producer:
    """Two by three numbers of four bytes, but for what is named; `names` are those of the capsule."""

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
