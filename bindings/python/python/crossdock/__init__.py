"""Hand n-dimensional arrays between libraries without copying them.

>>> import crossdock
>>> x = crossdock.asarray(bytearray(range(6)))
>>> x[1::2].tolist()
[1, 3, 5]
"""

from ._crossdock import (
    Array,
    Buffer,
    _rebuild,
    array,
    asarray,
    copied_bytes,
    empty,
    from_address,
    from_dlpack,
    full,
    ledger,
    open,
    shared,
    zeros,
)

__all__ = [
    "Array",
    "Buffer",
    "array",
    "asarray",
    "copied_bytes",
    "empty",
    "explain",
    "from_address",
    "from_dlpack",
    "full",
    "ledger",
    "open",
    "shared",
    "zeros",
]


def __getattr__(name):
    # What is not needed to hand arrays over is imported when it is asked for.
    if name == "explain":
        from ._explain import explain

        return globals().setdefault(name, explain)
    raise AttributeError(f"module 'crossdock' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
