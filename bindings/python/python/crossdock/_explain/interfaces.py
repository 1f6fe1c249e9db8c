"""Reads the attributes that NumPy and CUDA libraries use, and requests a NumPy array if there is no other protocol."""

import ctypes
import sys
from typing import Any

from .._crossdock import Array
from . import buffers, native
from .buffers import MOST_AXES, refusal
from .elements import Element, from_typestr
from .offers import CUDA, INTERFACE, METHOD, STRUCT, Offer


def ask(thing: object) -> list[Offer]:
    """The array interface, its struct, and the CUDA array interface."""
    if isinstance(thing, Array):
        # A consumer of an address counts as long as the object that exported it lives: here that is
        # a separate view.
        thing = thing[...]
    offers = []
    for name, read in [(INTERFACE, from_dict), (STRUCT, from_struct), (CUDA, from_dict)]:
        value, words = buffers.attribute(thing, name)
        if words is not None:
            offers.append(Offer(name, refusal=words))
        if value is not None:
            try:
                offers.append(read(name, value))
            except Exception as error:
                offers.append(Offer(name, refusal=f"it cannot be read: {refusal(error)}"))
    return offers


def from_dict(name: str, says: dict[str, Any]) -> Offer:
    """The description of a dictionary of version 3."""
    shape = tuple(int(length) for length in says["shape"])
    if len(shape) > MOST_AXES:
        return Offer(name, refusal=f"it has {len(shape)} axes")
    strides = says.get("strides")
    element = from_typestr(says["typestr"], says.get("descr"))
    offer = Offer(
        name,
        shape=shape,
        element=element,
        spelling=f"typestr '{says['typestr']}'",
        device=(2, 0) if name == CUDA else (1, 0),
    )
    offer.strides = None if strides is None else tuple(int(stride) for stride in strides)
    if element is None:
        offer.notes.append("the type is none of NumPy's")
    data, begin = says.get("data"), int(says.get("offset", 0))
    if isinstance(data, tuple):
        offer.address, offer.readonly = int(data[0]), bool(data[1])
        offer.owner = "the holder of the object"
    elif isinstance(data, bytes):
        offer.readonly = True
        offer.owner = "bytes"
        offer.extra["is_bytes"] = True
        offer.notes.append("the data are bytes: a copy for each consumer")
    elif data is not None:
        lent = buffers.ask(data)
        if lent is not None and lent.refusal is None:
            offer.address, offer.readonly = (lent.address or 0) + begin, lent.readonly
            offer.owner = buffers.class_name(data)
    else:
        offer.notes.append("no data: those of the buffer are meant")
    if says.get("mask") is not None:
        offer.notes.append("a mask, which most consumers do not look at")
    offer.extra["typestr"] = says["typestr"]
    if offer.strides is None:
        offer.strides = rows(shape, element)
        offer.extra["no_strides"] = True
    return offer


def rows(shape: tuple[int, ...], element: Element | None) -> tuple[int, ...] | None:
    """The strides of a row-major array."""
    if element is None:
        return None
    strides: list[int] = []
    step = element.itemsize
    for length in reversed(shape):
        strides.insert(0, step)
        step *= max(length, 1)
    return tuple(strides)


def from_struct(name: str, capsule: object) -> Offer:
    """The description of NumPy's struct, in a capsule without a name."""
    _, pointer = native.capsule(capsule, None)
    says = ctypes.cast(pointer, ctypes.POINTER(native.PyArrayInterface)).contents
    if says.two != 2 or not 0 <= says.nd <= MOST_AXES:
        return Offer(name, refusal=f"the struct begins with {says.two} instead of 2, and has {says.nd} axes")
    kind, native_order = says.typekind.decode("latin-1"), bool(says.flags & 0x200)
    element = Element(kind, says.itemsize, not native_order and says.itemsize > 1)
    if kind == "V" and says.flags & 0x800:
        element = Element("records", says.itemsize)
    return Offer(
        name,
        address=says.data or 0,
        shape=native.numbers(says.shape, says.nd) or (),
        strides=native.numbers(says.strides, says.nd) or (),
        element=element,
        spelling=f"kind '{kind}' of {says.itemsize} bytes",
        readonly=not says.flags & 0x400,
        owner="the holder of the object",
    )


def ask_method(thing: object) -> Offer | None:
    """The description of `__array__` without a copy. Requested last, since some objects compute the whole array for
    it."""
    method, words = buffers.attribute(thing, METHOD)
    if method is None:
        return None if words is None else Offer(METHOD, refusal=words)
    if "numpy" not in sys.modules:
        return Offer(METHOD, notes=["not asked, since NumPy is not imported"])
    try:
        try:
            made = method(copy=False)
            is_old = False
        except TypeError:
            # A producer for NumPy 1 does not know `copy`; NumPy then calls it without.
            made, is_old = method(), True
        except Exception as error:
            # NumPy's error for a copy that was not permitted is a ValueError; other libraries have their own.
            if not isinstance(error, ValueError) and "copy" not in str(error):
                raise
            return Offer(METHOD, refusal=f"not without a copy: {refusal(error)}")
        if not isinstance(made, sys.modules["numpy"].ndarray):
            return Offer(METHOD, refusal="ValueError: object __array__ method not producing an array")
        says = from_dict(METHOD, made.__array_interface__)
        # For types defined by another library, the dictionary describes only bytes, which need no
        # alignment.
        says.extra["is_aligned"] = bool(made.flags.aligned)
    except Exception as error:
        return Offer(METHOD, refusal=refusal(error))
    says.owner = buffers.class_name(made)
    says.extra["is_old"] = is_old
    if is_old:
        says.notes.append("it knows no copy=False: whether this is a copy is not known")
    return says
