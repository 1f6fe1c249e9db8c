"""What the functions check of their arguments."""

from .._crossdock import Array


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


def axes_of(axis: int | tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Axes by their numbers, from one integer or several."""
    return tuple(axis_of(one, ndim) for one in ((axis,) if hasattr(axis, "__index__") else axis))


def at(axis: int, part: object) -> tuple[object, ...]:
    """An index of one axis, for arrays of any rank."""
    return (slice(None),) * axis + (part,)
