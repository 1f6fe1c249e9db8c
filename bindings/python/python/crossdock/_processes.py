"""Arrays in shared memory, and tables, are sent to other processes of `multiprocessing` as descriptors.

Imported when the first such array or table is created or received, since its imports from the standard library take longer than the
whole package.
"""

import os
from multiprocessing import reduction, util
from multiprocessing.context import get_spawning_popen
from typing import Any

from ._crossdock import Array, Column, Table, _lend, _map, _offer, _reduce_shared, _take


def _reduce(array: Array) -> tuple[Any, ...]:
    child = get_spawning_popen()
    if child is None:
        offered = _offer(array)
        return array.__reduce_ex__(4) if offered is None else (_received, offered)
    lent = _lend(array)
    if lent is None:
        return array.__reduce_ex__(4)
    descriptor, text = lent
    try:
        handle = reduction.DupFd(descriptor)
    finally:
        util.Finalize(child, os.close, (descriptor,))
    return _inherited, (text, handle)


def _received(text: str, ticket: bytes) -> Array:
    """Takes the descriptor from the process that pickled the array."""
    return _take(text, ticket)


def _inherited(text: str, handle: Any) -> Array:
    """A new process has the descriptor under a number, which is closed once the array is mapped."""
    descriptor = handle.detach()
    try:
        return _map(descriptor, text)
    finally:
        os.close(descriptor)


def _reduce_table(table: Table | Column) -> tuple[Any, ...]:
    # Its buffers lie in one array in sealed memory, which `_reduce` sends.
    return _reduce_shared(table) or table.__reduce_ex__(4)


reduction.ForkingPickler.register(Array, _reduce)
reduction.ForkingPickler.register(Table, _reduce_table)
reduction.ForkingPickler.register(Column, _reduce_table)
