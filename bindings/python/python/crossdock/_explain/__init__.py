"""`crossdock.explain`: the protocols of an object, and the behaviour of known consumers with it.

Probing (`subject.py`, and a file for each family of protocols) makes a description that keeps no part of the object. The
library compares the description with its profiles of consumers.
"""

import functools
import warnings

from .._crossdock import asarray
from .buffers import refusal
from .consumers import COPIES, IN_PLACE, PROFILES, REFUSES
from .facts import verdicts
from .offers import METHOD, STREAM, Subject
from .result import Consumer, Explanation, TableColumn
from .subject import agreement, subject
from .tables import table_columns

__all__ = ["Consumer", "Explanation", "TableColumn", "explain"]


def explain(obj: object, /, *, streams: bool | None = None) -> Explanation:
    """The protocols that export an object, what each describes, and what known consumers would do with it.

    Nothing is kept: buffers, tensors and columns are released at once, and the result reports producers that fail.

    Parameters
    ----------
    obj : object
        Any object.
    streams : bool, optional
        Whether to open streams of Arrow arrays, some of which can be read only once. By default, those of objects with a length are
        opened.

    Returns
    -------
    Explanation
        Text for ``print``, a table in a notebook, and ``offers``, ``consumers``, ``disagreements`` and, of a table, ``columns`` for
        programs.

    Examples
    --------
    >>> import crossdock
    >>> told = crossdock.explain(bytearray(6))
    >>> [(offer.protocol, offer.shape, offer.dtype, offer.readonly) for offer in told.offers]
    [('PEP 3118', (6,), 'uint8', False)]
    >>> {consumer.name: consumer.outcome for consumer in told.consumers}['numpy.from_dlpack']
    'refuses'
    """
    found = subject(obj, streams)
    consumers = [ours(obj, found)]
    for profile, (outcome, reason) in zip(PROFILES, verdicts(obj, found)):
        version = installed(profile.library)
        about = profile.library, profile.measured_on, version, profile.holds_for(version), profile.is_tested
        consumers.append(Consumer(profile.name, outcome, reason, *about))
    told = table_columns(obj, found, streams if streams is not None else hasattr(obj, "__len__"))
    return Explanation(found.type_name, list(found.offers.values()), agreement(found.offers), consumers, told)


def ours(obj: object, found: Subject) -> Consumer:
    """The behaviour of this package, found by an import."""
    consumer = functools.partial(
        Consumer, "crossdock.asarray", library="crossdock", measured_on="", installed=None, verified=True, tested=True
    )
    stream = found.offers.get(STREAM)
    if stream is not None and stream.shape is None and stream.refusal is None:
        return consumer(outcome=REFUSES, reason="not tried, since the stream was not opened")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = asarray(obj)
    except Exception as error:
        return consumer(outcome=REFUSES, reason=refusal(error).partition("; on offer is")[0])
    if is_elsewhere(made, found):
        return consumer(outcome=COPIES, reason="pandas makes another column for Arrow")
    reasons = ["it is one"] if found.kind == "crossdock.Array" else []
    if getattr(made, "backing", None) == "shared memory":
        reasons.append("in memory that other processes can map")
    return consumer(outcome=IN_PLACE, reason=", ".join(reasons))


#: The distributions that contain a library, where there are several.
DISTRIBUTIONS = {
    "tensorflow": ["tensorflow", "tensorflow-cpu"],
    "opencv-python-headless": ["opencv-python-headless", "opencv-python", "opencv-contrib-python"],
}


def is_elsewhere(made: object, found: Subject) -> bool:
    """Whether an array that pandas made for Arrow has another address than the column itself."""
    own = found.offers.get(METHOD)
    if not found.storage or own is None or not own.address or not own.size:
        return False
    addresses = {offer.address for offer in subject(made, False).offers.values()} - {None}
    return bool(addresses) and own.address not in addresses


@functools.cache
def installed(library: str) -> str | None:
    """The version of an installed distribution, or of the interpreter, which is none."""
    from importlib.metadata import PackageNotFoundError, version

    if library == "python":
        import platform

        return platform.python_version()
    for name in DISTRIBUTIONS.get(library, [library]):
        try:
            return version(name)
        except PackageNotFoundError:
            pass
    return None
