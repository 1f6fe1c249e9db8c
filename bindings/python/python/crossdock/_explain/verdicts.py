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

    def holds_for(self, installed: str | None) -> bool:
        """Whether the tests compare it with the installed version, not with another one."""
        return self.is_verified and is_measured(installed, self.measured_on)


def is_measured(installed: str | None, measured_on: str) -> bool:
    """Whether a version is one of those measured (`2.4.6`, `3.11, 3.12 and 3.13`), ignoring its
    local build tag."""
    if installed is None:
        return False
    public = installed.partition("+")[0] + "."
    return any(public.startswith(version + ".") for version in measured_on.replace(" and ", ", ").split(", "))
