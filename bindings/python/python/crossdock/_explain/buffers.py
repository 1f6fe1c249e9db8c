"""Requests a buffer (PEP 3118), describes it, and releases it."""

import ctypes
from typing import Any

from .._crossdock import asarray
from . import native
from .elements import Element, from_format
from .offers import BUFFER, Offer

#: Requests: all properties, plain bytes in row-major order, and plain bytes in either order.
FULL_READ_ONLY, SIMPLE, ANY_CONTIGUOUS = 0x11C, 0x0, 0x98
#: The largest credible number of axes.
MOST_AXES = 64


def class_name(thing: object) -> str:
    """The full name of an object's class."""
    kind = type(thing)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def ask(thing: object) -> Offer | None:
    """The description of the object's buffer; None if it has none."""
    if not native.has_buffer(thing):
        return None
    view = native.PyBuffer()
    try:
        native.get_buffer(thing, ctypes.byref(view), FULL_READ_ONLY)
    except Exception as error:
        offer = Offer(BUFFER, refusal=refusal(error))
    else:
        try:
            offer = describe(view, thing)
        finally:
            native.release_buffer(ctypes.byref(view))
    offer.extra["simple"] = axes(thing, SIMPLE)
    offer.extra["any"] = axes(thing, ANY_CONTIGUOUS)
    if offer.refusal is not None and isinstance(offer.extra["simple"], int):
        offer.notes.append("the bytes alone are given to those who ask for no format")
    return offer


def is_believed(thing: object) -> bool:
    """Whether the fields of a format add up to the item. True also if the import fails."""
    try:
        return not str(asarray(thing).dtype).startswith("|V")
    except Exception:
        return True


def axes(thing: object, flags: int) -> int | str:
    """The number of axes of the answer to a request, or the text of its refusal."""
    view = native.PyBuffer()
    try:
        native.get_buffer(thing, ctypes.byref(view), flags)
    except Exception as error:
        return refusal(error)
    ndim: int = view.ndim
    native.release_buffer(ctypes.byref(view))
    return ndim


def attribute(thing: object, name: str) -> tuple[Any, str | None]:
    """An attribute, or None; and the reason, if reading it failed."""
    try:
        return getattr(thing, name, None), None
    except Exception as error:
        return None, refusal(error)


def refusal(error: BaseException) -> str:
    """The text of an exception, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe(view: native.PyBuffer, thing: object) -> Offer:
    """The description of a buffer."""
    if not 0 <= view.ndim <= MOST_AXES:
        return Offer(BUFFER, refusal=f"the buffer has {view.ndim} axes")
    if view.ndim and not view.shape:
        return Offer(BUFFER, refusal=f"the buffer has {view.ndim} axes and no shape")
    text = view.format.decode("ascii", "replace") if view.format is not None else None
    shape = native.numbers(view.shape, view.ndim)
    strides = native.numbers(view.strides, view.ndim)
    offer = Offer(
        BUFFER,
        address=view.buf or 0,
        shape=shape or (),
        strides=strides if strides is not None or view.ndim else (),
        element=from_format(text, view.itemsize),
        spelling="no format, which stands for 'B'" if text is None else f"format '{text}'",
        readonly=bool(view.readonly),
        suboffsets=native.numbers(view.suboffsets, view.ndim) or None,
        extra={"format": "B" if text is None else text, "itemsize": view.itemsize, "len": view.len},
    )
    owner = ctypes.cast(view.obj, ctypes.py_object).value if view.obj else None
    if isinstance(owner, memoryview):
        owner = owner.obj
    offer.owner = "no object" if owner is None else "the object" if owner is thing else class_name(owner)
    if offer.size * view.itemsize != view.len:
        offer.notes.append(f"its length is {view.len}, and its shape makes {offer.size * view.itemsize}")
    if text is not None and "T{" in text and not is_believed(thing):
        offer.element = Element("V", view.itemsize)
    if offer.element is not None and offer.element.kind == "V" and text not in (None, f"{view.itemsize}x"):
        offer.notes.append(f"the format does not stand for the {view.itemsize} bytes of an item")
    if offer.is_indirect:
        offer.notes.append(f"suboffsets {offer.suboffsets}: pointers have to be followed")
    return offer
