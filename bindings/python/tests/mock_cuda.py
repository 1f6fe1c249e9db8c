"""The functions of CUDA's driver, for code that calls them directly. It is the driver without a GPU, which takes
orders."""

import ctypes
import os
from contextlib import contextmanager

#: The path of the driver without a GPU. The library loads it instead of the real one, if this is set
#: before the first use of CUDA.
PATH = os.environ.get("CROSSDOCK_CUDA_DRIVER", "")


def load():
    """The driver, if it is the one without a GPU."""
    if "mock" not in os.path.basename(PATH):
        return None
    library = ctypes.CDLL(PATH)
    library.mock_cuda_count.restype = library.mock_cuda_misuses.restype = ctypes.c_size_t
    library.mock_cuda_set.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    return Driver(library)


class Driver:
    def __init__(self, library):
        self.library = library
        self.call("cuInit", 0)

    def call(self, function, *arguments):
        """A function of the driver that must succeed."""
        status = getattr(self.library, function)(*arguments)
        assert status == 0, f"{function}: {status}"

    @contextmanager
    def context(self, ordinal=0):
        """The context that libraries share on a device."""
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(context))
            self.call("cuDevicePrimaryCtxRelease_v2", ordinal)

    @contextmanager
    def stream(self):
        """A stream without dependencies on others."""
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        try:
            yield stream.value
        finally:
            self.call("cuStreamSynchronize", ctypes.c_void_p(stream.value))
            self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream.value))

    def is_idle(self, stream):
        """Whether all work of a stream is done."""
        status = self.library.cuStreamQuery(ctypes.c_void_p(stream))
        assert status in (0, 600), status
        return status == 0

    def allocate(self, nbytes):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def write_in(self, stream, address, host):
        """Enqueues a copy from the host."""
        size = ctypes.c_size_t(ctypes.sizeof(host))
        self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), host, size, ctypes.c_void_p(stream))

    def read_in(self, stream, host, address):
        """Enqueues a copy to the host."""
        size = ctypes.c_size_t(ctypes.sizeof(host))
        self.call("cuMemcpyDtoHAsync_v2", host, ctypes.c_uint64(address), size, ctypes.c_void_p(stream))

    @contextmanager
    def paused(self, stream=0):
        """Holds back the work of one stream, or of all, during the block."""
        self.call("mock_cuda_pause", ctypes.c_void_p(stream))
        try:
            yield
        finally:
            self.library.mock_cuda_resume(ctypes.c_void_p(stream))

    def count(self, what):
        return self.library.mock_cuda_count(what.encode())

    def calls(self, function):
        self.library.mock_cuda_calls.restype = ctypes.c_size_t
        return self.library.mock_cuda_calls(function.encode())

    def misuses(self):
        text = ctypes.create_string_buffer(10000)
        self.library.mock_cuda_misuses(text, ctypes.c_size_t(10000))
        return text.value.decode()
