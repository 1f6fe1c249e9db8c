"""Share n-dimensional arrays between libraries without copying them.

>>> import crossdock
>>> x = crossdock.asarray(bytearray(range(6)))
>>> x[1::2].tolist()
[1, 3, 5]

Arrays on the memory of other objects:

- ``asarray``: by the first protocol that the object supports
- ``from_dlpack``, ``from_arrow``: by DLPack, or by Arrow with nulls, chunks and tables
- ``from_address``: on memory at an address
- ``to_arrow``: an array as an ``ArrowColumn``, with nulls or a name

New arrays:

- ``array``: of nested lists, values, or a copy of an object's elements
- ``zeros``, ``ones``, ``full``, ``empty``, ``arange``: as in NumPy
- ``zeros_like``, ``ones_like``, ``full_like``, ``empty_like``: like another array
- ``shared``: in memory that other processes map
- ``shareable``: a context in which all new arrays, those of NumPy too, are in such memory
- ``Channel``: a stream of arrays between processes

Files:

- ``open``: maps the array of a file, or the arrays of an ``Archive``
- ``save``: writes one array, or several by name

Sets of arrays that one process holds for others (the command ``crossdock hold``):

- ``connect``: the arrays of a name, as ``HeldArrays``
- ``publish``: a new version of a name

Tables, with text, nulls and lists:

- ``table``: a ``Table`` on the memory of a data frame, or of columns by name
- ``column``: a ``Column`` on the memory of a column, of an array or of a list
- ``open_batches``: a ``BatchReader``, which gives the batches of a file or a stream one at a time

What there is:

- ``explain``: which libraries take an object in place, and why others copy or refuse it
- ``ledger``: live memory and its holders
- ``copied_bytes``: the number of bytes copied so far
- ``devices``: the devices of this machine
- ``get_num_threads``, ``set_num_threads``: how many threads share large work

Types and namespaces:

- ``Array``, ``Buffer``, ``dtype``, ``Device``: arrays, bytes with an owner, types of elements, names of devices
- ``array_api``: the functions of the array API standard
- ``register_numpy_dtypes``: makes NumPy know bfloat16 and other narrow floats

Windows has no memory that processes share: there, ``Channel``, ``connect`` and ``publish`` raise ``NotImplementedError``,
``shared`` and ``shareable`` raise ``TypeError``, and processes of ``multiprocessing`` get copies.

For arithmetic, use NumPy on the same memory: ``np.asarray(x) + 1``.
"""

from sys import platform as _platform

# Gives arrays the methods that PyTorch and JAX call.
from . import _operands  # noqa: F401
from ._crossdock import (
    Archive,
    Array,
    ArrowColumn,
    BatchReader,
    Buffer,
    Column,
    Device,
    Table,
    __version__,
    _rebuild,
    _rebuild_column,
    _rebuild_table,
    arange,
    array,
    asarray,
    column,
    copied_bytes,
    devices,
    dtype,
    empty,
    empty_like,
    from_address,
    from_arrow,
    from_dlpack,
    full,
    full_like,
    get_num_threads,
    ledger,
    ones,
    ones_like,
    open,
    open_batches,
    register_numpy_dtypes,
    save,
    set_num_threads,
    shared,
    table,
    to_arrow,
    zeros,
    zeros_like,
)

if _platform == "win32":
    from ._absent import HeldArrays, connect, publish
else:
    from ._crossdock import HeldArrays, connect, publish

__all__ = [
    "Archive",
    "Array",
    "ArrowColumn",
    "BatchReader",
    "Buffer",
    "Channel",
    "Column",
    "Device",
    "HeldArrays",
    "Table",
    "arange",
    "array",
    "array_api",
    "asarray",
    "column",
    "connect",
    "copied_bytes",
    "devices",
    "dtype",
    "empty",
    "empty_like",
    "explain",
    "from_address",
    "from_arrow",
    "from_dlpack",
    "full",
    "full_like",
    "get_num_threads",
    "ledger",
    "ones",
    "ones_like",
    "open",
    "open_batches",
    "publish",
    "register_numpy_dtypes",
    "save",
    "set_num_threads",
    "shareable",
    "shared",
    "table",
    "to_arrow",
    "zeros",
    "zeros_like",
]


def __getattr__(name):
    # Modules that exports and imports do not need are loaded at the first use.
    if name == "explain":
        from ._explain import explain

        return globals().setdefault(name, explain)
    if name == "Channel":
        if _platform == "win32":
            from ._absent import Channel
        else:
            from ._channel import Channel

        return globals().setdefault(name, Channel)
    if name == "shareable":
        from ._shareable import shareable

        return globals().setdefault(name, shareable)
    if name == "array_api":
        # `from . import array_api` would look the name up here again.
        import crossdock.array_api

        return crossdock.array_api
    way = _elsewhere(name)
    raise AttributeError(f"module 'crossdock' has no attribute {name!r}{f': {way}' if way else ''}")


def _elsewhere(name):
    """What to write in place of a name that users of other libraries look for here, if it is known."""
    if name in {"load", "fromfile", "memmap", "imread", "imopen", "loadtxt"}:
        return "crossdock.open(path) opens a file"
    if name in {"from_numpy", "from_torch", "from_array", "from_buffer", "frombuffer", "as_tensor", "asanyarray", "ascontiguousarray"}:
        return "crossdock.asarray(x) uses the memory of x"
    if name in {"tensor", "ndarray", "from_list", "from_pandas", "Series", "DataFrame"}:
        return "crossdock.array(x) makes an array, crossdock.table(x) a table"
    if name in {"float", "int", "bool_", "float16", "bfloat16"} or name.rstrip("0123456789") in {"float", "int", "uint", "complex"}:
        return f"dtypes are texts, as in crossdock.zeros(3, dtype={name.rstrip('_')!r})"
    if name == "concatenate":
        return "crossdock.array_api.concat joins arrays"
    if name in {"concat", "stack", "eye", "linspace", "meshgrid", "repeat", "roll", "take", "tile", "tril", "triu", "reshape", "squeeze"}:
        return f"it is crossdock.array_api.{name}"
    return ""


def __dir__():
    return sorted({*globals(), *__all__})
