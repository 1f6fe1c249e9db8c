"""The consumers with a profile in the library, and the installed versions."""

from typing import NamedTuple

from .._crossdock import _consumers

IN_PLACE, COPIES, REFUSES, MISREADS, UNKNOWN = "in place", "copies", "refuses", "misreads", "unknown"


#: Libraries whose code is compiled into the extensions that use them: no distribution has its version.
COMPILED = {"cython", "nanobind", "pyo3"}


class Profile(NamedTuple):
    """A consumer: its name, the distribution, the measured version, and whether tests compare it with the profile."""

    name: str
    library: str
    measured_on: str
    is_tested: bool

    def holds_for(self, installed: str | None) -> bool:
        """Whether the tests compare the profile with the installed version, if the library has one."""
        return self.is_tested and (self.library in COMPILED or is_measured(installed, self.measured_on))


PROFILES = [Profile(*known) for known in _consumers()]


def is_measured(installed: str | None, measured_on: str) -> bool:
    """Whether a version is one of those measured (`2.4.6`, `3.11, 3.12 and 3.13`), ignoring its
    local build tag."""
    if installed is None:
        return False
    public = installed.partition("+")[0] + "."
    return any(public.startswith(version + ".") for version in measured_on.replace(" and ", ", ").split(", "))
