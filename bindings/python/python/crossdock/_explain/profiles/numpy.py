"""NumPy, as measured on 2.4.6."""

from ..offers import BUFFER, INTERFACE, METHOD, STRUCT, VERSIONED, LEGACY, Offer, Subject
from ..verdicts import Profile, Verdict, copies, in_place, misreads, refuses
from .formats import numpy_reads

MOST_AXES = 64


def how(offer: Offer) -> str:
    """What a user sees of an array in place."""
    parts = ["read-only" if offer.readonly else "", "" if offer.is_aligned() else "unaligned"]
    return ", ".join(part for part in parts if part)


def asarray(subject: Subject) -> Verdict:
    """`np.asarray(x)`: the buffer, then the two interfaces, then `__array__`, then items."""
    if subject.kind == "numpy.ndarray":
        return in_place("it is one")
    if subject.kind in ("numpy.generic", "builtins.str"):
        return copies("a value becomes an array without axes")
    if subject.kind == "builtins.bytes":
        return misreads("bytes are one string for NumPy, an array without axes: np.frombuffer reads them")
    buffer = subject.given(BUFFER)
    if buffer is not None:
        return by_buffer(subject, buffer)
    for protocol in (STRUCT, INTERFACE):
        offer = subject.given(protocol)
        if offer is not None and not (protocol == INTERFACE and offer.element is None):
            return by_interface(subject, offer)
    return by_method(subject)


def by_buffer(subject: Subject, buffer: Offer) -> Verdict:
    """By PEP 3118."""
    text = str(buffer.extra["format"])
    if buffer.is_indirect:
        return refuses("suboffsets: NumPy follows no pointers")
    if not numpy_reads(text):
        return refuses(f"NumPy has no type for the format '{text}'")
    if (
        buffer.notes
        and buffer.element is not None
        and buffer.element.kind == "V"
        and subject.kind.startswith("_ctypes.")
    ):
        return in_place("by the class of ctypes, not by the format, which is wrong")
    return in_place(how(buffer))


def by_interface(subject: Subject, offer: Offer) -> Verdict:
    """By `__array_interface__`, or the struct of the same kind."""
    if subject.kind == "crossdock.Array":
        return in_place(how(offer))
    if offer.extra.get("is_bytes"):
        return copies("the interface makes bytes")
    if offer.element is not None and offer.element.kind == "V":
        return misreads(f"the type is lost: elements of {offer.itemsize} bytes without a meaning")
    return in_place(how(offer))


def by_method(subject: Subject) -> Verdict:
    """By `__array__`, or item by item."""
    offer = subject.offers.get(METHOD)
    if offer is not None:
        if any(given.refusal is None and not given.is_on_host for given in subject.offers.values()):
            return refuses("the processor cannot address the memory, and __array__ does not bring it")
        if offer.address is None:
            return copies("__array__ gives nothing without a copy")
        if offer.extra.get("is_old"):
            return copies("what __array__ makes may be a copy")
        if subject.address != offer.address:
            return copies("__array__(copy=False) makes a copy all the same")
        return in_place(how(offer))
    if subject.is_sequence and subject.item is None:
        return refuses("its items cannot be had")
    if subject.is_sequence:
        return copies("item by item")
    return misreads("one Python object in an array without axes")


def from_dlpack(subject: Subject) -> Verdict:
    """`np.from_dlpack(x)`: asks for version 1.0, and again without a word about versions."""
    offer = subject.offers.get(VERSIONED)
    if offer is None:
        return refuses("it has no __dlpack__")
    if "__dlpack_device__" not in subject.methods:
        return refuses("it has no __dlpack_device__")
    if offer.refusal is not None and offer.extra.get("is_old"):
        offer = subject.offers[LEGACY]
    if offer.refusal is not None:
        return refuses(f"the producer refuses {offer.protocol}")
    if not offer.is_on_host:
        return refuses("the processor cannot address the memory")
    if offer.element is None or not offer.element.is_number:
        return refuses(f"no type for elements of {offer.dtype}")
    if offer.extra.get("version") is None:
        return in_place("read-only, since the struct from before 1.0 cannot say what it is")
    return in_place(how(offer))


def frombuffer(subject: Subject) -> Verdict:
    """`np.frombuffer(x, dtype)`: bytes in one row, whatever the format says."""
    refusal = subject.refusal_of_bytes("simple")
    if refusal is not None:
        return refuses(refusal)
    offer = subject.offers[BUFFER]
    if offer.refusal is not None and subject.kind == "crossdock.Array":
        return refuses(f"NumPy makes a memoryview of what is released, which asks for a format: {offer.refusal}")
    words = "one row; shape and type are the caller's to name"
    return in_place(f"{words}; read-only" if offer.readonly else words)


PROFILES = [
    Profile("numpy.asarray", "numpy", "2.4.6", asarray),
    Profile("numpy.from_dlpack", "numpy", "2.4.6", from_dlpack),
    Profile("numpy.frombuffer", "numpy", "2.4.6", frombuffer),
]
