"""The result of `explain`."""

from dataclasses import dataclass, field

from .offers import Offer


@dataclass(frozen=True)
class Consumer:
    """The behaviour of one consumer with the object.

    Attributes
    ----------
    name : str
        The function, such as ``'numpy.asarray'``.
    outcome : str
        ``'in place'``, ``'copies'``, ``'refuses'``, ``'misreads'``: it reads other elements than those offered, breaks a rule of
        the protocol, or crashes; or ``'unknown'``: the description of the object does not tell, and the reason names what decides.
    reason : str
        The reason, or a note. Often empty for ``'in place'``.
    library, measured_on : str
        The distribution, and the version that was measured.
    installed : str or None
        The installed version.
    verified : bool
        Whether the tests of this package compare the profile with the installed version of the
        library; with the measured version, if extensions contain the library (Cython, nanobind, PyO3).
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
class TableColumn:
    """What happens to a column of a table.

    Attributes
    ----------
    name, type : str
        Its name, and its type as PyArrow names it.
    outcome, reason : str
        What consumers of Arrow get: ``'in place'``, ``'copies'``: its producer makes other memory for each export, or ``'refuses'``.
    array, array_reason : str
        The same for an array of it: ``'copies'`` if elements are text, bits, null, or in several chunks.
    batches : int
        The number of batches that it comes in. 0 if it could not be imported.
    """

    name: str
    type: str
    outcome: str
    reason: str
    array: str
    array_reason: str
    batches: int = 0


@dataclass(frozen=True)
class Explanation:
    """The protocols of an object, and the behaviour of known consumers: text for ``print``, a table in a notebook, or attributes.

    Attributes
    ----------
    type_name : str
        The object's class.
    offers : list of Offer
        One for each protocol: ``protocol``, ``refusal``, ``address``, ``shape``, ``strides``, ``dtype``, ``itemsize``, ``readonly``,
        ``alignment``, ``suboffsets``, ``device``, ``owner``, ``spelling``, ``notes``.
    disagreements : list of str
        The contradictions between the offers.
    consumers : list of Consumer
        The behaviour of each.
    columns : list of TableColumn
        Of a table, what happens to each column; empty for other objects.
    """

    type_name: str
    offers: list[Offer] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)
    columns: list[TableColumn] = field(default_factory=list)

    def __str__(self) -> str:
        from .text import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .html import html

        return html(self)
