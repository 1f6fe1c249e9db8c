"""The array API standard, version 2025.12, for arrays that are held and not computed with.

Creation, manipulation, dtypes, constants and inspection are here. Arrays have no ``__array_namespace__``, since they do not compute.
Functions that compute raise an ``AttributeError`` with the call of NumPy that works on the same memory.

>>> import crossdock
>>> xp = crossdock.array_api
>>> xp.stack([xp.zeros(2), xp.ones(2)], axis=1).tolist()
[[0.0, 1.0], [0.0, 1.0]]
"""

from typing import TYPE_CHECKING

from .. import (
    __version__,
    arange,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from ._creation import asarray, eye, linspace, meshgrid, tril, triu
from ._dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from ._indexing import take, take_along_axis
from ._info import DTYPES, __array_namespace_info__
from ._manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)

__array_api_version__ = "2025.12"

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

bool = DTYPES["bool"]
int8 = DTYPES["int8"]
int16 = DTYPES["int16"]
int32 = DTYPES["int32"]
int64 = DTYPES["int64"]
uint8 = DTYPES["uint8"]
uint16 = DTYPES["uint16"]
uint32 = DTYPES["uint32"]
uint64 = DTYPES["uint64"]
float32 = DTYPES["float32"]
float64 = DTYPES["float64"]
complex64 = DTYPES["complex64"]
complex128 = DTYPES["complex128"]

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "arange",
    "asarray",
    "astype",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "complex64",
    "complex128",
    "concat",
    "e",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "finfo",
    "flip",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "linspace",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "nan",
    "newaxis",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "tril",
    "triu",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "zeros",
    "zeros_like",
]


# Type checkers report names that are missing.
if not TYPE_CHECKING:

    def __getattr__(name):
        from ._computing import call_of_numpy

        if call := call_of_numpy(name):
            raise AttributeError(f"crossdock holds arrays and does not compute: {call}, on the same memory")
        raise AttributeError(f"module 'crossdock.array_api' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
