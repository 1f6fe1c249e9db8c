"""CUDA's driver, by its functions, as somebody else's code calls them: here the one without a GPU, which can also be told what to do."""

import ctypes
import os
from contextlib import contextmanager

#: The path of the driver without a GPU. The library loads it instead of the real one, if this is set
#: before the first use of CUDA.
PATH = os.environ.get("CROSSDOCK_CUDA_DRIVER", "")


def load():
    """The driver, where it is the one without a GPU."""
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
        """A function of the driver's, that has to go well."""
        status = getattr(self.library, function)(*arguments)
        assert status == 0, f"{function}: {status}"

    @contextmanager
    def context(self, ordinal=0):
        """The context that libraries have in common on a device."""
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
        """A stream that waits for no other."""
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        try:
            yield stream.value
        finally:
            self.call("cuStreamSynchronize", ctypes.c_void_p(stream.value))
            self.call("cuStreamDestroy_v2", ctypes.c_void_p(stream.value))

    def is_idle(self, stream):
        """Whether all that was put into a stream is done."""
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
        """Puts a copy from the host into a stream."""
        size = ctypes.c_size_t(ctypes.sizeof(host))
        self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), host, size, ctypes.c_void_p(stream))

    def read_in(self, stream, host, address):
        """Puts a copy to the host into a stream."""
        size = ctypes.c_size_t(ctypes.sizeof(host))
        self.call("cuMemcpyDtoHAsync_v2", host, ctypes.c_uint64(address), size, ctypes.c_void_p(stream))

    @contextmanager
    def paused(self, stream=0):
        """What is in a stream, or in all of them, is not done meanwhile."""
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
