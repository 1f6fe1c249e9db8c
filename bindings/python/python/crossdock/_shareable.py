"""The context in which new arrays lie in memory that other processes can map later."""

from contextlib import AbstractContextManager
from contextvars import ContextVar

from ._crossdock import _note_shareable, _set_numpy_handler

# What each `with` block that is entered in this context found: NumPy's former handler.
_entries: ContextVar[tuple[object, ...]] = ContextVar("crossdock.shareable", default=())


def shareable(*, reserve: bool = False) -> AbstractContextManager[None]:
    """New arrays in memory that other processes can map later, without a copy.

    In the ``with`` block, arrays that NumPy makes (of 4096 bytes and more), and those of :func:`array`, :func:`arange`,
    :func:`zeros`, :func:`ones`, :func:`full`, :func:`empty` and their ``_like`` siblings, lie in shared memory. They are
    ordinary arrays, and can outlive the block. Queues, pipes and pools of ``multiprocessing`` send
    ``crossdock.asarray(a)`` in place, and each process then sees what the other writes.

    Arrays that this library makes on a CUDA device, or copies there (``device=``, ``to_device``), lie in memory of the
    device that other processes map read-only, as with :func:`shared`. A device without such memory is refused.

    The block is valid in its context: in the thread or task that entered it, and in tasks that are started there.

    An array takes a descriptor of the process. If half of the limit (``ulimit -n``) is in use, NumPy's arrays come from
    ordinary memory, and this library's fail. A process that is forked shares the arrays with its parent.

    Parameters
    ----------
    reserve : bool, default False
        Whether the memory of NumPy's arrays is allocated when they are made, rather than when they are written:
        ``MemoryError`` is raised if the system refuses, as it does at limits of files and of overcommitted memory. It
        does not refuse at the limit of a memory control group, or when the machine has no memory left: it ends a
        process then, here as on a write.

    Returns
    -------
    context manager
        It can be entered several times.

    Raises
    ------
    TypeError
        When it is entered on Windows, whose memory this library does not share.

    Examples
    --------
    >>> import crossdock
    >>> with crossdock.shareable():
    ...     x = crossdock.zeros((2, 3))
    >>> x.backing
    'shared memory'
    >>> import numpy as np
    >>> with crossdock.shareable():
    ...     a = np.ones((100, 100))
    >>> crossdock.asarray(a).backing
    'shared memory'
    """
    if not isinstance(reserve, bool):
        raise TypeError(f"reserve must be True or False, not {reserve!r}")
    return _Context(reserve)


class _Context(AbstractContextManager[None]):
    """What `shareable` returns."""

    __slots__ = ("_reserve",)

    def __init__(self, reserve: bool) -> None:
        self._reserve = reserve

    def __enter__(self) -> None:
        try:
            import numpy  # noqa: F401, ICN001
        except ImportError:
            former = None
        else:
            former = _set_numpy_handler(None, self._reserve)
        _note_shareable(True)
        _entries.set((*_entries.get(), former))

    def __exit__(self, *error: object) -> None:
        entries = _entries.get()
        # A generator can be closed in another context than the one that it began in.
        if entries:
            former = entries[-1]
            _entries.set(entries[:-1])
            if former is not None:
                _set_numpy_handler(former)
        _note_shareable(False)

    def __repr__(self) -> str:
        return f"crossdock.shareable(reserve={self._reserve})"
