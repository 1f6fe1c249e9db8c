"""Libraries of columns: PyArrow, nanoarrow, arro3 and Polars."""

import struct

from ..offers import BUFFER, COLUMN, DEVICE_COLUMN, INTERFACE, STREAM, Offer, Subject
from .formats import memoryview_reads
from ..verdicts import Profile, Verdict, copies, in_place, misreads, refuses

#: Formats that arro3 reads, but for what stands before them.
ARRO3 = set("cbBhHiIlLqQfd")

#: Classes whose values have types in Arrow; "" where there is no item.
ITEMS = ("", "bool", "int", "float", "str", "bytes", "list", "tuple", "dict", "NoneType")

#: What becomes of Python's own values, by kind of the element.
VALUES = {"b": "bool", "i": "int64", "u": "int64", "f": "float64", "S": "binary", "U": "string"}


def py_buffer(subject: Subject) -> Verdict:
    """`pyarrow.py_buffer(x)`: bytes in the order in which they lie."""
    refusal = subject.refusal_of_bytes("any")
    if refusal is not None:
        return refuses(refusal)
    offer = subject.offers[BUFFER]
    return in_place("as bytes in the order in which they lie" + ("" if offer.is_c else ", which is column-major"))


def by_capsule(subject: Subject, *protocols: str) -> Verdict | None:
    """By the first of these that there is."""
    for protocol in protocols:
        offer = subject.offers.get(protocol)
        if offer is not None:
            if offer.refusal is not None:
                return refuses(f"the producer refuses {protocol}")
            nulls = offer.extra.get("nulls")
            return in_place(f"nulls: {nulls}" if nulls else "")
    return None


def array(subject: Subject) -> Verdict:
    """`pyarrow.array(x)`: Arrow's capsules, an array of NumPy's, or a sequence of values."""
    if subject.kind == "pyarrow.Array":
        return in_place("it is one")
    by = by_capsule(subject, DEVICE_COLUMN, COLUMN)
    if by is not None:
        return by
    if subject.kind == "numpy.ndarray":
        return of_numpy(subject.offers[INTERFACE])
    return item_by_item(subject)


def of_numpy(offer: Offer) -> Verdict:
    """`pyarrow.array` of an array of NumPy's."""
    element = offer.element
    if offer.ndim != 1:
        return refuses(f"an array of {offer.ndim} axes is no column")
    if element is None or element.kind in ("records", "V", "c") or element.kind == "f" and not element.is_number:
        return refuses(f"no type for elements of {offer.dtype}")
    if element.swapped:
        return refuses("the other byte order")
    if element.kind == "b":
        return copies("Arrow's truth values are bits")
    if element.kind in "SU":
        return copies("strings have no fixed width")
    if element.kind == "O":
        return copies("value by value")
    if not offer.is_c:
        return copies("Arrow's columns have no strides")
    return in_place()


def item_by_item(subject: Subject) -> Verdict:
    """A sequence of Python's values, whose type is found anew."""
    offer = subject.given(BUFFER)
    if not subject.is_sequence:
        return refuses("neither a column, nor an array of NumPy's, nor a sequence")
    if offer is None or offer.element is None:
        is_value = (
            subject.item in ITEMS
            or (subject.item or "").startswith("pyarrow.")
            and str(subject.item).endswith("Scalar")
        )
        return copies("value by value") if is_value else refuses(f"items of {subject.item} are no values for Arrow")
    if subject.kind == "builtins.memoryview" and not memoryview_reads(str(offer.extra["format"])):
        return refuses("memoryview gives no values of this format")
    if offer.ndim != 1 or offer.element.kind not in VALUES:
        return refuses(f"items of {offer.dtype} along {offer.ndim} axes are no values for Arrow")
    if VALUES[offer.element.kind] != offer.dtype:
        return misreads(f"value by value, which makes {VALUES[offer.element.kind]} of {offer.dtype}")
    return copies("value by value")


def tensor(subject: Subject) -> Verdict:
    """`pyarrow.Tensor.from_numpy(x)`."""
    if subject.kind != "numpy.ndarray":
        return refuses("it is no numpy.ndarray")
    offer = subject.offers[INTERFACE]
    element = offer.element
    if element is None or element.kind not in "biuf" or not element.is_number:
        return refuses(f"no type for elements of {offer.dtype}")
    if offer.is_negative:
        return refuses("strides backwards")
    if element.swapped:
        return misreads("the other byte order is not looked at: numbers are read wrongly")
    if element.kind == "b":
        return misreads("truth values become uint8")
    return in_place()


def nanoarrow(subject: Subject) -> Verdict:
    """`nanoarrow.c_array(x)`: Arrow's capsules, or a buffer, whose format it reads by `struct`."""
    by = by_capsule(subject, COLUMN)
    if by is not None:
        return by
    offer = subject.offers.get(BUFFER)
    if offer is None:
        return refuses("neither a column nor a buffer (a sequence only with a schema)")
    if offer.refusal is not None:
        return refuses(f"the producer: {offer.refusal}")
    if "__len__" in subject.methods and (not offer.shape or offer.shape[0] == 0):
        return refuses("no length, or a length of 0")
    refusal = subject.refusal_of_bytes("any")
    if refusal is not None:
        return refuses(refusal)
    text = str(offer.extra["format"])
    try:
        size = struct.calcsize(text)
    except struct.error:
        return refuses(f"Python's struct module does not know the format '{text}'")
    if text[:1] in (">", "!"):
        return refuses("the other byte order")
    if offer.ndim != 1:
        return misreads("one column of all elements, in the order in which they lie")
    if size != offer.extra["itemsize"]:
        return misreads("the format does not say what an item is, and is believed")
    if text[:1] in ("<", "@") and len(text) == 2:
        return misreads(f"elements of '{text}' become {size} bytes without a meaning")
    if text in ("?", "c"):
        return misreads(f"{offer.dtype} becomes {'uint8' if text == '?' else 'int8'}")
    return in_place()


def arro3(subject: Subject) -> Verdict:
    """`arro3.core.Array(x)`: Arrow's capsule, or a buffer; axes become lists of one length."""
    by = by_capsule(subject, COLUMN)
    if by is not None:
        return by
    offer = subject.offers.get(BUFFER)
    if offer is None:
        return refuses("neither a column nor a buffer")
    if offer.refusal is not None:
        return refuses(f"the producer: {offer.refusal}")
    element, text = offer.element, str(offer.extra["format"])
    if offer.ndim == 0 or not offer.is_c:
        return refuses("no axis" if offer.ndim == 0 else "the elements do not lie in row-major order without gaps")
    if 0 in (offer.shape or ())[1:]:
        return refuses("lists of length 0")
    if (
        element is not None
        and element.kind == "V"
        or text.startswith("<")
        or text.lstrip("@=>!") not in ARRO3
        or element is None
        or element.itemsize != offer.extra["itemsize"]
    ):
        return refuses(f"no type for the format '{text}'")
    if not offer.is_aligned():
        return refuses("unaligned")
    if element.swapped:
        return misreads("the other byte order is not looked at: numbers are read wrongly")
    if text == "c":
        return misreads("characters become uint8")
    return in_place()


def polars(subject: Subject) -> Verdict:
    """`polars.Series(x)`: a column of others, an array of NumPy's, or a sequence of values."""
    if subject.kind in ("polars.Series", "pyarrow.Array", "pyarrow.ChunkedArray"):
        return in_place()
    if subject.kind == "numpy.ndarray":
        return polars_of_numpy(subject.offers[INTERFACE])
    by = by_capsule(subject, STREAM, COLUMN)
    if by is not None:
        column = subject.given(STREAM) or subject.given(COLUMN)
        if column is not None and "arrow.bool8" in column.extra.get("extensions", ()):
            return misreads("truth values of one byte (arrow.bool8) become int8")
        return by
    if subject.kind == "builtins.str":
        return misreads("a text is taken for the name of a column without values")
    offer = subject.given(BUFFER)
    if not subject.is_registered:
        return refuses("neither a column, nor an array of NumPy's, nor a registered sequence")
    if offer is None:
        return copies("value by value")
    return item_by_item(subject)


def polars_of_numpy(offer: Offer) -> Verdict:
    """`polars.Series` of an array of NumPy's."""
    element = offer.element
    if offer.ndim == 0:
        return misreads("an array without axes becomes a column of one value")
    if element is None or element.kind not in "biufMmSUO" or element.kind in "biuf" and not element.is_number:
        return misreads(f"elements of {offer.dtype} become Python objects")
    if element.kind in "Mm" and element.unit not in ("[D]", "[ms]", "[us]", "[ns]"):
        return refuses(f"no column of {offer.dtype}")
    if element.kind in "Mm" and offer.ndim > 1:
        return refuses("dates along one axis only")
    if element.kind not in "iuf" or element.swapped:
        return copies(f"elements of {offer.dtype} are not taken as they are")
    if not offer.is_c or not offer.is_aligned():
        return copies("gaps between the elements" if offer.is_aligned() else "unaligned")
    return in_place("Polars believes that nobody writes it")


PROFILES = [
    Profile("pyarrow.py_buffer", "pyarrow", "26.0.1", py_buffer),
    Profile("pyarrow.array", "pyarrow", "26.0.1", array),
    Profile("pyarrow.Tensor.from_numpy", "pyarrow", "26.0.1", tensor),
    Profile("nanoarrow.c_array", "nanoarrow", "0.9.0", nanoarrow),
    Profile("arro3.core.Array", "arro3-core", "0.9.1", arro3),
    Profile("polars.Series", "polars", "2.1.0", polars),
]
