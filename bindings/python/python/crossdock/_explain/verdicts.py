"""What a consumer does with an object: in place, a copy, a refusal, or a misreading; and the profile that knows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .offers import Subject

IN_PLACE, COPIES, REFUSES, MISREADS = "in place", "copies", "refuses", "misreads"


class Verdict(NamedTuple):
    """An outcome, and the reason in a few words."""

    outcome: str
    reason: str = ""


def in_place(reason: str = "") -> Verdict:
    """The consumer works on the object's memory."""
    return Verdict(IN_PLACE, reason)


def copies(reason: str) -> Verdict:
    """The consumer has the right elements, in memory of its own."""
    return Verdict(COPIES, reason)


def refuses(reason: str) -> Verdict:
    """The consumer raises."""
    return Verdict(REFUSES, reason)


def misreads(reason: str) -> Verdict:
    """The consumer takes something else than what was offered, breaks a rule of the protocol, or the process."""
    return Verdict(MISREADS, reason)


@dataclass(frozen=True)
class Profile:
    """What is known of a consumer: a rule, the version that it was measured on, and whether the tests hold it to that."""

    name: str
    library: str
    measured_on: str
    judge: Callable[[Subject], Verdict]
    is_verified: bool = True
