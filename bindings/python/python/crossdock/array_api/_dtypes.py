"""Dtypes: conversion, promotion and limits."""

from typing import Any

from .. import Array, asarray, dtype
from .._crossdock import _saturated
from ._own import beside, own

#: The kinds of the standard, and the dtypes of each, the narrow ones first. `float16` and `bfloat16` are additions.
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
REAL = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
KINDS = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}
#: Bits of the significand without the leading one, and the largest exponent.
FLOATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


def dtype_of(x: Any) -> dtype:
    """The dtype of an array, or the dtype itself."""
    return x.dtype if isinstance(x, Array) else dtype(x)


def kind_of(name: str) -> str | None:
    """The kind of a dtype, none of which contains another."""
    for kind in ("bool", "signed integer", "unsigned integer", "real floating", "complex floating"):
        if name in KINDS[kind]:
            return kind
    return None


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """A copy with converted elements, whatever the promotion rules are.

    Floats are truncated to integers, and numbers out of range become the nearest that the dtype has. Numbers that are not 0 become
    True. :meth:`Array.astype` refuses what does not fit instead.

    Parameters
    ----------
    x : Array
        The array.
    dtype : dtype
        The dtype of the result.
    copy : bool, default True
        False returns ``x`` itself if it has the dtype and the device.
    device : str, optional
        The device of the result; by default that of ``x``.

    Returns
    -------
    Array

    Raises
    ------
    TypeError
        If complex numbers would lose their imaginary parts.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int8).tolist()
    [1, -2]
    """
    to = dtype_of(dtype)
    x = own(x, "astype")
    if x.dtype.name in COMPLEX and to.name not in COMPLEX and to.name != "bool":
        raise TypeError(f"{x.dtype} has imaginary parts, which {to} lacks: convert np.real(np.asarray(x))")
    if x.dtype != to:
        made = _saturated(x, to)
    elif copy:
        made = x.copy()
    else:
        made = x
    return beside(x, made) if device is None else asarray(made, copy=None, device=device)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether the promotion rules of the standard lead from one dtype to another.

    Parameters
    ----------
    from_ : dtype or Array
        The dtype of the elements.
    to : dtype
        The other dtype.

    Returns
    -------
    bool

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.int8, xp.uint16)
    (True, False)
    """
    to = dtype_of(to)
    try:
        return bool(result_type(dtype_of(from_), to) == to)
    except TypeError:
        return False


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The dtype that the promotion rules of the standard lead to.

    Parameters
    ----------
    *arrays_and_dtypes : Array, dtype, bool, int, float or complex
        At least one of them is an array or a dtype.

    Returns
    -------
    dtype

    Raises
    ------
    TypeError
        If the standard has no rule, as for ``int64`` with ``float32``, and ``uint64`` with ``int8``.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.result_type(xp.uint8, xp.int8), xp.result_type(xp.zeros(3), 1j)
    (dtype('int16'), dtype('complex128'))
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float, complex))]
    dtypes = [dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    if not dtypes:
        raise TypeError(f"result_type() takes at least one array or dtype, beside {len(numbers)} numbers")
    made = dtypes[0]
    for other in dtypes[1:]:
        made = promoted(made, other)
    for number in numbers:
        made = promoted_by(made, number)
    return made


def promoted(one: dtype, other: dtype) -> dtype:
    """The dtype for two dtypes."""
    if one == other:
        return one
    names = (one.name, other.name)
    kinds = tuple(kind_of(name) for name in names)
    for family in (SIGNED, UNSIGNED, COMPLEX):
        if all(name in family for name in names):
            return dtype(family[max(family.index(name) for name in names)])
    if sorted(map(str, kinds)) == ["signed integer", "unsigned integer"]:
        signed, unsigned = names if kinds[0] == "signed integer" else names[::-1]
        wider = max(SIGNED.index(signed), UNSIGNED.index(unsigned) + 1)
        if wider < len(SIGNED):
            return dtype(SIGNED[wider])
    elif all(kind in ("real floating", "complex floating") for kind in kinds) and set(names) != {"float16", "bfloat16"}:
        size = max(item.itemsize // (2 if kind == "complex floating" else 1) for item, kind in zip((one, other), kinds))
        return dtype(f"complex{size * 16}" if "complex floating" in kinds else max(names, key=REAL.index))
    raise TypeError(f"the array API has no promotion of {one} and {other}: convert one of them with astype")


def promoted_by(made: dtype, number: bool | int | float | complex) -> dtype:
    """The dtype for an array and a Python number, which has no width of its own."""
    kind = kind_of(made.name)
    if isinstance(number, bool):
        fits = kind == "bool"
    elif isinstance(number, int):
        fits = kind not in ("bool", None)
    else:
        fits = kind in ("real floating", "complex floating")
        if fits and isinstance(number, complex):
            return promoted(made, dtype("complex64"))
    if fits:
        return made
    raise TypeError(f"the array API has no promotion of {made} and a number of {type(number).__name__}: convert with astype")


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        The dtype.
    kind : dtype, str or tuple
        A dtype, a kind of the standard such as ``'integral'``, or several of them. ``'real floating'`` includes ``float16`` and
        ``bfloat16``.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If the standard has no such kind.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.isdtype(xp.int8, 'integral'), xp.isdtype(xp.int8, ('bool', xp.int16))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    own = dtype_of(dtype)
    if not isinstance(kind, str):
        return bool(own == dtype_of(kind))
    if kind not in KINDS:
        raise ValueError(f"the array API has no kind {kind!r} of dtypes; on offer is {', '.join(KINDS)}")
    return own.name in KINDS[kind]


class Limits:
    """The limits of a dtype."""

    def __init__(self, **limits: Any) -> None:
        self.__dict__.update(limits)

    def __repr__(self) -> str:
        return f"Limits({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def finfo(type: Any, /) -> Limits:
    """The limits of a floating-point dtype.

    Parameters
    ----------
    type : dtype or Array
        A dtype of floats or of complex numbers, whose parts are described.

    Returns
    -------
    object
        With the attributes ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` and ``dtype``.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    """
    of = dtype_of(type)
    name = {"complex64": "float32", "complex128": "float64"}.get(of.name, of.name)
    if name not in FLOATS:
        raise TypeError(f"finfo() describes {', '.join(FLOATS)} and complex numbers of them, not {of}; iinfo() describes integers")
    significand, exponent = FLOATS[name]
    most = (2.0 - 2.0**-significand) * 2.0**exponent
    return Limits(
        bits=dtype(name).itemsize * 8,
        eps=2.0**-significand,
        max=most,
        min=-most,
        smallest_normal=2.0 ** (1 - exponent),
        dtype=dtype(name),
    )


def iinfo(type: Any, /) -> Limits:
    """The limits of an integer dtype.

    Parameters
    ----------
    type : dtype or Array
        A dtype of integers.

    Returns
    -------
    object
        With the attributes ``bits``, ``max``, ``min`` and ``dtype``.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.iinfo(xp.int16).max
    32767
    """
    of = dtype_of(type)
    if of.name not in SIGNED + UNSIGNED:
        raise TypeError(f"iinfo() describes integers, not {of}; finfo() describes floats")
    bits = of.itemsize * 8
    if of.name in UNSIGNED:
        return Limits(bits=bits, max=2**bits - 1, min=0, dtype=dtype(of.name))
    return Limits(bits=bits, max=2 ** (bits - 1) - 1, min=-(2 ** (bits - 1)), dtype=dtype(of.name))
