"""What the functions check of their arguments."""

from .. import Array, asarray


def own(x: object, function: str) -> Array:
    """The array itself; a `TypeError` for the arrays of another library."""
    if isinstance(x, Array):
        return x
    kind = type(x)
    raise TypeError(
        f"{function}() takes a crossdock.Array, not {kind.__module__}.{kind.__qualname__}: import it with asarray"
    )


def axis_of(axis: int, ndim: int) -> int:
    """An axis by its number, from the end if it is negative."""
    found = axis.__index__()
    if not -ndim <= found < ndim:
        raise IndexError(f"axis {found} is out of bounds for an array of {ndim} axes")
    return found % ndim


def beside(x: Array, made: Array) -> Array:
    """A result on the device of its source. Copies of pinned and managed memory are in memory of the CPU first."""
    return made if made.device == x.device else asarray(made, copy=None, device=x.device)


def numbers(x: Array) -> list[int]:
    """The elements of an array of integers; those on a device are copied to the CPU."""
    if x.dtype.kind not in "iu":
        raise TypeError(f"positions and counts are integers, not {x.dtype}")
    found = asarray(x, copy=None, device="cpu").tolist()
    return found if x.ndim else [found]


def integers(value: int | tuple[int, ...], function: str, name: str) -> tuple[int, ...]:
    """The numbers of one integer or several."""
    try:
        return tuple(one.__index__() for one in ((value,) if hasattr(value, "__index__") else value))
    except (AttributeError, TypeError):
        raise TypeError(f"{function}() takes integers as {name}, not {value!r}") from None


def arrays_of(arrays: object, function: str) -> tuple[Array, ...]:
    """The arrays of a list or a tuple, at least one."""
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(f"{function}() takes a list or a tuple of arrays, not {type(arrays).__qualname__}")
    if not arrays:
        raise ValueError(f"{function}() takes one array or more")
    return tuple(own(x, function) for x in arrays)


def at(axis: int, part: int | slice) -> tuple[int | slice, ...]:
    """An index of one axis, for arrays of any rank."""
    return (slice(None),) * axis + (part,)
