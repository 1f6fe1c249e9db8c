"""The items of a sequence of Python objects, and the memory of a column of pandas."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from . import buffers, native

#: Items of several classes; nested sequences of several lengths; integers that exceed 64 bits; items that were not read.
SEVERAL, RAGGED, LARGE, UNREAD = "several classes", "several lengths", "large integers", "unread classes"
#: The most items that are read.
MOST_ITEMS = 100_000
#: The deepest nesting that is followed.
MOST_LEVELS = 32

LEAST, MOST = -(2**63), 2**63 - 1


def is_sequence(thing: object) -> bool:
    """Whether it has a length and items by position, as C functions request them."""
    try:
        return bool(native.is_sequence(thing)) and native.sequence_size(thing) >= 0
    except Exception:
        return False


def item(thing: object) -> str | None:
    """The class of the items; empty if there are none, None if they cannot be read.

    Sequences of one dtype are known by their first item. Of lists, tuples and arrays of Python objects, all items are read.
    """
    if not is_sequence(thing):
        return ""
    try:
        length = native.sequence_size(thing)
        if length == 0:
            return ""
        items = objects(thing)
        if items is not None:
            return common(items, 0) if length <= MOST_ITEMS else UNREAD
        if is_open(thing):
            return UNREAD
        return buffers.class_name(native.sequence_item(thing, 0))
    except Exception:
        return None


def objects(thing: Any) -> Iterable[object] | None:
    """The items of a sequence of Python objects whose class is known; None for other sequences."""
    if type(thing) in (list, tuple):
        return thing  # type: ignore[no-any-return]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(thing, numpy.ndarray):
            return thing.ravel() if thing.dtype == object else None
        if is_pandas(thing) and str(getattr(thing, "dtype", "")) in ("object", "NumpyEADtype('object')"):
            return numpy.asarray(thing)  # type: ignore[no-any-return]
    return None


def is_open(thing: object) -> bool:
    """Whether a sequence may have items of any class: those of classes that the caller or an unknown library defined."""
    known = (str, bytes, bytearray, memoryview, range)
    return isinstance(thing, Sequence) and not isinstance(thing, known) and not native.has_buffer(thing)


def common(items: Iterable[object], level: int) -> str:
    """The class of all items, without regard to None."""
    classes = {type(item) for item in items}
    if len(classes) > 1:
        classes.discard(type(None))
    nested = [item for item in items if isinstance(item, (list, tuple)) or is_array(item)]
    if nested and (len(classes) > 1 or is_ragged(items)):
        return RAGGED
    if len(classes) > 1:
        return SEVERAL
    if level < MOST_LEVELS and any(type(item) in (list, tuple) for item in nested):
        inner = [inner for item in nested if type(item) in (list, tuple) for inner in item]  # type: ignore[attr-defined]
        if inner and common(inner, level + 1) == RAGGED:
            return RAGGED
    if classes == {int} and any(type(item) is int and not LEAST <= item <= MOST for item in items):
        return LARGE
    return buffers.class_name(next((item for item in items if item is not None), None))


def is_array(item: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(item, numpy.ndarray)


def is_ragged(items: Iterable[Any]) -> bool:
    """Whether nested sequences differ in their shapes."""
    return len({item.shape if is_array(item) else len(item) for item in items if item is not None}) > 1


def is_pandas(thing: object) -> bool:
    """Whether it is a column of pandas, alone or as an index."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "Series"):
        return False
    return isinstance(thing, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray))


#: The memory of pandas' arrays by their classes: a kind, and the attribute with the NumPy array.
STORAGES = {
    "NumpyExtensionArray": ("numpy", ""), "DatetimeArray": ("dates", "_ndarray"), "TimedeltaArray": ("dates", "_ndarray"),
    "IntegerArray": ("masked", "_data"), "FloatingArray": ("masked", "_data"), "BooleanArray": ("masked booleans", "_data"),
    "ArrowExtensionArray": ("arrow", ""), "ArrowStringArray": ("arrow", ""),
}  # fmt: skip


def storage(thing: Any) -> str:
    """The memory of a column of pandas: a kind, with gaps or without; or the class of the array. Empty for other objects."""
    if not is_pandas(thing):
        return ""
    try:
        array = getattr(thing, "array", thing)
        name = type(array).__name__
        if not type(array).__module__.startswith("pandas.") or name not in STORAGES:
            return name
        kind, attribute = STORAGES[name]
        flags = getattr(getattr(array, attribute, None), "flags", None) if attribute else None
        return kind if flags is None or flags.c_contiguous else f"{kind} with gaps"
    except Exception:
        return "an unreadable array"
