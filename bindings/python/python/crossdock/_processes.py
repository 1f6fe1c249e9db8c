"""Arrays in shared memory, and tables, are sent to other processes of `multiprocessing` as descriptors.

Imported when the first such array or table is created or received, since its imports from the standard library take longer than the
whole package.
"""

import os
from multiprocessing import reduction, util
from multiprocessing.context import get_spawning_popen
from typing import Any

from ._crossdock import Array, Column, Table, _lend, _map, _reduce_shared


def _reduce(array: Array) -> tuple[Any, ...]:
    lent = _lend(array)
    if lent is None:
        return array.__reduce_ex__(4)
    descriptor, text = lent
    child = get_spawning_popen()
    try:
        # A new process inherits it by its number. Every other process requests the duplicate that
        # is made here from a thread of this process.
        handle = reduction.DupFd(descriptor)
    finally:
        if child is None:
            os.close(descriptor)
        else:
            util.Finalize(child, os.close, (descriptor,))
    return _attach, (text, handle)


def _attach(text: str, handle: Any) -> Array:
    try:
        descriptor = handle.detach()
    except (OSError, EOFError) as error:
        raise ConnectionError(
            "the process that sent an array in shared memory does not hand its descriptor over: "
            "it has ended, or another process has received the array"
        ) from error
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
