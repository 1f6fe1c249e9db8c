"""What Python itself has."""

from ..offers import BUFFER, Subject
from ..verdicts import Profile, Verdict, copies, in_place, misreads, refuses
from .formats import memoryview_reads

MEASURED_ON = "3.11, 3.12 and 3.13"


def view(subject: Subject) -> Verdict:
    """`memoryview(x)`."""
    offer = subject.given(BUFFER)
    if offer is None:
        return refuses(subject.refusal(BUFFER))
    text = str(offer.extra["format"])
    words = "" if memoryview_reads(text) else f"elements of format '{text}' cannot be indexed"
    return in_place(words or ("read-only" if offer.readonly else ""))


def items(subject: Subject) -> Verdict:
    """`memoryview(x).tolist()`."""
    offer = subject.given(BUFFER)
    if offer is None:
        return refuses(subject.refusal(BUFFER))
    text = str(offer.extra["format"])
    if not memoryview_reads(text):
        return refuses(f"memoryview does not take '{text}' apart")
    if offer.itemsize != 1 and text in "bBc?":
        return misreads("one byte of each item is read, as the format says")
    return copies("each element becomes a value of Python's")


def raw(subject: Subject) -> Verdict:
    """Functions that take bytes: `hashlib`, `socket.send`, `file.write`, `struct.unpack_from`."""
    refusal = subject.refusal_of_bytes("simple")
    if refusal is not None:
        return refuses(refusal)
    if subject.offers[BUFFER].extra["simple"] > 1:
        return refuses("the object gives several axes to whoever asks for none: hashlib minds")
    return in_place("as bytes, whatever the format says")


PROFILES = [
    Profile("memoryview", "python", MEASURED_ON, view),
    Profile("memoryview.tolist", "python", MEASURED_ON, items),
    Profile("hashlib, sockets, files", "python", MEASURED_ON, raw),
]
