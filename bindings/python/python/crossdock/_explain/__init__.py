"""`crossdock.explain`: what an object offers, and what known consumers do with it.

Probing (`subject.py`, and a file for each family of protocols) makes a description that keeps no part of the object. The library has the
profiles of consumers, and compares the description with them.
"""

import functools
import warnings

from .._crossdock import asarray
from .buffers import refusal
from .consumers import IN_PLACE, PROFILES, REFUSES
from .facts import verdicts
from .offers import STREAM, Subject
from .result import Consumer, Explanation
from .subject import agreement, subject

__all__ = ["Consumer", "Explanation", "explain"]


def explain(obj: object, /, *, streams: bool | None = None) -> Explanation:
    """Which protocols an object offers, what is behind each, and what known consumers would do with it.

    Nothing is taken: what has to be asked for (a buffer, a tensor, a column) is given back at once, and a producer that fails is told of
    in the answer.

    Parameters
    ----------
    obj : object
        Anything.
    streams : bool, optional
        Whether streams of Arrow arrays are opened. Some can be read only once; without a word, those of objects with a length are opened.

    Returns
    -------
    Explanation
        Text by ``print``, a table in a notebook, and ``offers``, ``consumers`` and ``disagreements`` for programs.

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
    return Explanation(found.type_name, list(found.offers.values()), agreement(found.offers), consumers)


def ours(obj: object, found: Subject) -> Consumer:
    """What this package would do, which is found by doing it."""
    consumer = functools.partial(
        Consumer, "crossdock.asarray", library="crossdock", measured_on="", installed=None, verified=True, tested=True
    )
    stream = found.offers.get(STREAM)
    if stream is not None and stream.shape is None and stream.refusal is None:
        return consumer(outcome=REFUSES, reason="not tried, since the stream was not opened")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asarray(obj)
    except Exception as error:
        return consumer(outcome=REFUSES, reason=refusal(error).partition("; on offer is")[0])
    return consumer(outcome=IN_PLACE, reason="it is one" if found.kind == "crossdock.Array" else "")


@functools.cache
def installed(library: str) -> str | None:
    """The version of an installed distribution, or of the interpreter itself, which is not one."""
    from importlib.metadata import PackageNotFoundError, version

    if library == "python":
        import platform

        return platform.python_version()
    try:
        return version(library)
    except PackageNotFoundError:
        return None
