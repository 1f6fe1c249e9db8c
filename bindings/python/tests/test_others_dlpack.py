"""NumPy's and pyarrow's tests of DLPack, through Crossdock: it imports each array before one of their consumers gets it, and exports
it again.

In a second run, NumPy's tests call the methods of a producer on Crossdock's array of it.
"""

import functools

import numpy as np
import pytest

import crossdock
from elsewhere import load, require

#: The old structs, which some of these tests request.
pytestmark = pytest.mark.filterwarnings("ignore:Exporting an unversioned DLPack capsule")
relayed = {"taken": 0, "refused": 0}


def ours(thing):
    """Crossdock's array of a producer's memory. A refusal raises the producer's exception."""
    try:
        array = crossdock.from_dlpack(thing)
    except BufferError as error:
        relayed["refused"] += 1
        raise error.__cause__ or error
    relayed["taken"] += 1
    return array


def consumer(theirs):
    """A consumer of the other library, behind Crossdock."""

    @functools.wraps(theirs)
    def take(thing, *arguments, **named):
        return theirs(ours(thing), *arguments, **named)

    return take


def through(name, thing):
    """Calls `x.__dlpack__` of NumPy arrays on the Crossdock array, and consumers such as `np.from_dlpack` behind
    Crossdock."""
    if name == "from_dlpack":
        return consumer(thing.from_dlpack)
    return getattr(ours(thing) if isinstance(thing, np.ndarray) else thing, name)


def adopt(module, prefix, leaving_out=()):
    """Defines the other library's tests in this module."""
    found = 0
    for name, thing in vars(module).items():
        if name.startswith("test_") and callable(thing):
            globals()[f"test_{prefix}_{name[5:]}"] = thing
            found += 1
        elif name.startswith("Test"):
            thing.__name__ = f"Test{prefix.title()}{name[4:]}"
            for left_out in leaving_out:
                delattr(thing, left_out)
            globals()[thing.__name__] = thing
            found += 1
    assert found, module.__file__


NUMPY = "numpy._core.tests.test_dlpack"
adopt(load(NUMPY, ["from_dlpack"], through), "numpy")

#: Refusals by other exception classes: BufferError for a stream, TypeError for a non-boolean.
OTHER_ERRORS = ["test_dunder_dlpack_stream", "test_dunder_dlpack_copy"]
asked = load(NUMPY, ["from_dlpack", "__dlpack__", "__dlpack_device__"], through)
adopt(asked, "producers", leaving_out=OTHER_ERRORS)

require("pyarrow")
adopt(load("pyarrow.tests.test_dlpack", ["from_dlpack"], through), "pyarrow")


def test_whatever_was_relayed_went_through_ours():
    print(relayed)
    # The file can be run alone.
    assert relayed["taken"] > 100 or not relayed["taken"]
