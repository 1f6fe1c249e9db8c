"""Errors say what to do in Python's words: no message names an item of Rust."""

import re

import crossdock
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

COPY = "copy it with `copy()`"
BYTE_ORDER = 'convert it with `astype`, as in `x.astype("=f8")` for float64'
VOUCH = "copy it with `copy()`, or vouch with `frozen()` that nothing writes it any more"
COLUMNS = "import them one by one with `from_arrow(obj)`, or as records with `asarray(obj, copy=None)`"


def swapped():
    return crossdock.asarray(np.arange(3, dtype=">f8"), frozen=True)


def write(x):
    x[0] = 1


#: What is done, and how the message begins and ends.
ERRORS = {
    "a tensor of swapped numbers": (
        lambda: np.from_dlpack(swapped()),
        "DLPack has no non-native byte order: >float64; on offer is ",
        f"; {BYTE_ORDER}",
    ),
    "a column of swapped numbers": (
        lambda: crossdock.to_arrow(swapped()),
        "Arrow has no elements in non-native byte order: >float64; on offer is ",
        f"; {BYTE_ORDER}",
    ),
    "a tensor of records": (
        lambda: np.from_dlpack(crossdock.asarray(np.zeros(2, [("a", "i4"), ("b", "f8")]))),
        "DLPack has no records: ",
        "; export one field at a time with `field`",
    ),
    "a column of memory that NumPy may write": (
        lambda: crossdock.to_arrow(crossdock.asarray(np.arange(3.0))),
        "a read lease was refused: another owner may write the memory at any time; on offer is ",
        f"; {VOUCH}",
    ),
    "a column without axes": (
        lambda: crossdock.to_arrow(crossdock.asarray(np.array(1.5), frozen=True)),
        "an array of rank 0 is no column; on offer is ",
        "; insert an axis with `x[None]`, or export it with `to_arrow(x, whole=True)`",
    ),
    "nulls": (
        lambda: crossdock.from_arrow(pa.array([1, None])),
        "importing an Arrow column: 1 of 2 elements are null, which no dtype says; ",
        "; fill them, leave them out, or import the truth values beside them with `from_arrow(obj, validity=True)`",
    ),
    "columns of a struct": (
        lambda: crossdock.asarray(pa.record_batch({"a": [1], "b": [1.5]})),
        "\n  Arrow: importing an Arrow column: the 2 columns of a struct lie apart; ",
        f"; {COLUMNS}\n",
    ),
    "a write to a constant": (
        lambda: write(crossdock.asarray(b"abc")),
        "the memory is read-only through this handle; ",
        "; copy it with `copy()` to write it",
    ),
    "a read-only tensor from before 1.0": (
        lambda: crossdock.asarray(b"abc").__dlpack__(),
        "the array is read-only, and DLPack's legacy struct cannot say so; ",
        "; request DLPack 1.0 by `__dlpack__(max_version=(1, 0))`, or copy it with `copy()`",
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_ends_with_advice_in_python(what):
    act, fact, advice = ERRORS[what]
    with pytest.raises((BufferError, TypeError, ValueError)) as raised:
        act()
    text = str(raised.value)
    assert fact.removesuffix("; ") in text and advice in text, text
    assert "\n" in advice or text.startswith(fact.removesuffix("; ")) and text.endswith(advice), text
    assert not re.search(r"::|`(to_order|to_byte_order|insert_axis|into_\w+|trust_\w+)`|host", text), text
