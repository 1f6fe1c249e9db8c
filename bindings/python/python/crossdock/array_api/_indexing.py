"""Elements by their positions, which are integers in an array."""

from .. import Array, asarray, zeros
from ._manipulation import broadcast_shapes
from ._own import at, axis_of, numbers, own


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """A copy of the elements at some positions along an axis.

    Parameters
    ----------
    x : Array
        The array.
    indices : Array
        The positions, in one axis of integers; from the end if negative. They are read on the CPU.
    axis : int, optional
        The axis. Optional for arrays of one axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.take(xp.asarray([10, 20, 30]), xp.asarray([-1, 0])).tolist()
    [30, 10]
    """
    if own(indices, "take").ndim != 1:
        raise ValueError(f"take() takes indices of one axis, not of {indices.ndim}")
    if axis is None:
        if own(x, "take").ndim != 1:
            raise TypeError(f"take() needs an axis for an array of {x.ndim} axes")
        axis = 0
    axis = axis_of(axis, own(x, "take").ndim)
    length = x.shape[axis]
    made = zeros(x.shape[:axis] + indices.shape + x.shape[axis + 1 :], x.dtype, device=x.device)
    for place, index in enumerate(positions(indices, length)):
        made[at(axis, slice(place, place + 1))] = x[at(axis, slice(index, index + 1))]
    return made


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """A copy of the elements at some positions along an axis, each with positions of its own.

    Elements are moved one by one; ``np.take_along_axis`` is faster.

    Parameters
    ----------
    x : Array
        The array.
    indices : Array
        The positions; from the end if negative. They are read on the CPU. The other axes are broadcast with those of ``x``.
    axis : int, default -1
        The axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.take_along_axis(xp.asarray([[1, 2], [3, 4]]), xp.asarray([[1], [0]])).tolist()
    [[2], [3]]
    """
    axis = axis_of(axis, own(x, "take_along_axis").ndim)
    if own(indices, "take_along_axis").ndim != x.ndim:
        raise ValueError(f"take_along_axis() takes indices of {x.ndim} axes like the array, not of {indices.ndim}")
    length, count = x.shape[axis], indices.shape[axis]
    others = broadcast_shapes(*(one.shape[:axis] + (1,) + one.shape[axis + 1 :] for one in (x, indices)))
    shape = others[:axis] + (count,) + others[axis + 1 :]
    made = zeros(shape, x.dtype, device=x.device)
    # One row for each combination of the other axes.
    rows = x.broadcast_to(others[:axis] + (length,) + others[axis + 1 :]).moveaxis(axis, -1)
    chosen = asarray(indices, copy=None, device="cpu").broadcast_to(shape).moveaxis(axis, -1)
    target = made.moveaxis(axis, -1)
    for where in corners(target.shape[:-1]):
        line, out = rows[where], target[where]
        for place, index in enumerate(positions(chosen[where], length)):
            out[place : place + 1] = line[index : index + 1]
    return made


def positions(indices: Array, length: int) -> list[int]:
    """The positions as integers from 0 on."""
    found = numbers(indices)
    for index in found:
        if not -length <= index < length:
            raise IndexError(f"index {index} is out of bounds for an axis of length {length}")
    return [index % length for index in found]


def corners(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All indices of a shape, in row-major order."""
    found: list[tuple[int, ...]] = [()]
    for length in shape:
        found = [(*index, last) for index in found for last in range(length)]
    return found
