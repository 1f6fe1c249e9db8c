"""What compiled extensions take buffers by: Cython's typed memoryviews and PyO3's `PyBuffer`."""

from ..offers import BUFFER, Subject
from ..verdicts import Profile, Verdict, in_place, refuses

CYTHON = set("?cbBhHiIlLqQfdgZOspTx{}:(),") | set("<=!@^") | set("0123456789")
PYO3 = set("?cbBhHiIlLqQnNefd")


def cython(subject: Subject) -> Verdict:
    """A typed memoryview, `T[:, :]`, of the type that fits."""
    offer = subject.given(BUFFER)
    if offer is None:
        return refuses(subject.refusal(BUFFER))
    text = str(offer.extra["format"])
    outside = "".join(part for at, part in enumerate(text.split(":")) if at % 2 == 0)
    if ">" in text or offer.element is not None and offer.element.swapped:
        return refuses("the other byte order")
    if not set(outside) <= CYTHON:
        return refuses(f"Cython does not read the format '{text}'")
    return in_place("only as const" if offer.readonly else "")


def pyo3(subject: Subject) -> Verdict:
    """`PyBuffer<T>` of the type that fits."""
    offer = subject.given(BUFFER)
    if offer is None:
        return refuses(subject.refusal(BUFFER))
    text = str(offer.extra["format"])
    if (
        text.lstrip("@=<>!") not in PYO3
        or offer.element is not None
        and (offer.element.swapped or offer.element.kind == "V")
    ):
        return refuses(f"no type for the format '{text}'")
    return in_place("read-only" if offer.readonly else "")


PROFILES = [
    Profile("Cython memoryview", "cython", "3.3", cython, is_verified=False),
    Profile("PyO3 PyBuffer<T>", "pyo3", "0.30", pyo3, is_verified=False),
]
