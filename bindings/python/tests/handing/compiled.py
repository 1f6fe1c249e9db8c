"""Consumers in compiled extensions, as in `consumers.py`. Their functions declare the type of the elements, which is chosen here by the
description of the object."""

import numpy as np

import crossdock

from extension import extension
from handing import typed
from handing.consumers import Got
from handing.memory import lying
from handing.specimens import RECORDS

#: The structs of the Cython extension.
STRUCTS = {
    "aligned": RECORDS["aligned records"],
    "packed": RECORDS["packed records"],
    "arrays": RECORDS["records of arrays"],
    "nested": RECORDS["nested records"],
    "floats": np.dtype([("a", "f4"), ("b", "f4")]),
}

#: The types of elements that PyO3 has.
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def described(thing):
    """The types of elements that an author would declare for the buffer, and the number of axes; one axis of bytes if there is none."""
    for offer in crossdock.explain(thing).offers:
        if offer.protocol == "PEP 3118" and offer.element is not None:
            kind, size = offer.element.kind, offer.element.itemsize
            structs = [name for name, dtype in STRUCTS.items() if dtype.itemsize == size]
            if kind in ("records", "V") and structs and "T{" in offer.spelling:
                return structs, len(offer.shape)
            return [f"{kind}{size}"], len(offer.shape)
    return ["u1"], 1


def cython(thing):
    names, rank = described(thing)
    # More axes than a type of Cython has are refused as the wrong number.
    rank = min(max(rank, 1), 3)
    if names == ["O8"]:
        made = getattr(typed.load(), f"objects_{min(rank, 2)}")(thing)
        yield
        yield Got(made, copied=False)
        return
    name, parts, is_writable = tried([name if name in typed.TYPES else "u1" for name in names], rank, thing)
    yield
    got = seen_at(parts, "?" if name == "b1" else name, thing)
    got.broken = "it may be written" if is_writable and memoryview(thing).readonly else ""
    yield got


def tried(names, rank, thing):
    """The first of these types that is accepted, with the parts, and whether the elements may be written."""
    for name in names:
        for access in ["writable", "const"]:
            try:
                return name, getattr(typed.load(), f"{access}_{name}_{rank}")(thing), access == "writable"
            except (BufferError, ValueError) as error:
                refusal = error
                if "read-only" not in str(error) and "not writable" not in str(error):
                    break
    raise refusal


def pyo3(thing):
    (name, *_), _ = described(thing)
    parts = extension("arguments").pybuffer(thing, name if name in NUMBERS else "u1")
    yield
    yield seen_at(parts, name, thing)


def seen_at(parts, name, thing):
    address, shape, strides = parts
    dtype = STRUCTS.get(name) or np.dtype(name)
    return Got(lying(address, shape, strides, dtype, thing), address)


#: Each with a function that builds or finds its extension.
COMPILED = {
    "Cython memoryview": (cython, typed.load),
    "PyO3 PyBuffer<T>": (pyo3, lambda: extension("arguments")),
}
