import ctypes
import gc

import pytest

from pinned import pytest_make_collect_report, pytest_report_header  # noqa: F401: hooks
from pybuffer import Buffer, get, release


@pytest.fixture(autouse=True, scope="module")
def only_own_garbage():
    """Excludes the allocations of imported libraries from the tests' garbage collections, which otherwise take half
    of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def ask():
    """The parts of the buffer for a request, or the reason for a refusal."""

    def ask(thing, flags):
        buffer = Buffer()
        try:
            get(thing, ctypes.byref(buffer), flags)
        except (BufferError, SystemError) as error:
            # From 3.13 on, the interpreter itself answers the INDIRECT bit alone, which is not a
            # request.
            assert not buffer.obj and (type(error) is BufferError or flags == 0x100)
            return str(error)
        assert buffer.obj == id(thing)
        parts = buffer.parts()
        release(ctypes.byref(buffer))
        return parts

    return ask
