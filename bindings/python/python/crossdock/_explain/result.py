"""What `explain` gives back."""

from dataclasses import dataclass, field

from .offers import Offer


@dataclass(frozen=True)
class Consumer:
    """What one consumer would do with the object.

    Attributes
    ----------
    name : str
        The function, such as ``'numpy.asarray'``.
    outcome : str
        ``'in place'``, ``'copies'``, ``'refuses'``, or ``'misreads'``: it takes something else than what was offered, breaks a rule of
        the protocol, or the process.
    reason : str
        Why so, or what else there is to know. Often empty where it is in place.
    library, measured_on : str
        The distribution, and the version on which the facts were measured.
    installed : str or None
        The version that is installed here.
    verified : bool
        Whether the tests of this package compare the profile with the installed version of the
        library.
    tested : bool
        Whether they compare it with the measured version.
    """

    name: str
    outcome: str
    reason: str
    library: str
    measured_on: str
    installed: str | None
    verified: bool
    tested: bool


@dataclass(frozen=True)
class Explanation:
    """What an object offers, and what known consumers would do with it: text by ``print``, a table in a notebook, or attributes.

    Attributes
    ----------
    type_name : str
        The object's class.
    offers : list of Offer
        By protocol: ``protocol``, ``refusal``, ``address``, ``shape``, ``strides``, ``dtype``, ``itemsize``, ``readonly``,
        ``alignment``, ``suboffsets``, ``device``, ``owner``, ``spelling``, ``notes``.
    disagreements : list of str
        In what the offers contradict each other.
    consumers : list of Consumer
        What each would do.
    """

    type_name: str
    offers: list[Offer] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)

    def __str__(self) -> str:
        from .text import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .html import html

        return html(self)
