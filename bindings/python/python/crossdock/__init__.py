"""Share n-dimensional arrays between libraries without copying them.

>>> import crossdock
>>> x = crossdock.asarray(bytearray(range(6)))
>>> x[1::2].tolist()
[1, 3, 5]
"""

# Gives arrays the methods that PyTorch and JAX call.
from . import _operands  # noqa: F401
from ._crossdock import (
    Archive,
    Array,
    ArrowColumn,
    Buffer,
    Device,
    __version__,
    _rebuild,
    arange,
    array,
    asarray,
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
    register_numpy_dtypes,
    save,
    set_num_threads,
    shared,
    to_arrow,
    zeros,
    zeros_like,
)

__all__ = [
    "Archive",
    "Array",
    "ArrowColumn",
    "Buffer",
    "Device",
    "arange",
    "array",
    "array_api",
    "asarray",
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
    "register_numpy_dtypes",
    "save",
    "set_num_threads",
    "shared",
    "to_arrow",
    "zeros",
    "zeros_like",
]


def __getattr__(name):
    # Modules that exports and imports do not need are loaded at the first use.
    if name == "explain":
        from ._explain import explain

        return globals().setdefault(name, explain)
    if name == "array_api":
        # `from . import array_api` would look the name up here again.
        import crossdock.array_api

        return crossdock.array_api
    raise AttributeError(f"module 'crossdock' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
