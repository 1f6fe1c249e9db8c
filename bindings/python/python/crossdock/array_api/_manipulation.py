"""Shapes and axes: views where the standard permits them, and copies where it does not."""

from .. import Array, zeros
from ._dtypes import result_type
from ._own import arrays_of, at, axis_of, beside, integers, numbers, own


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that several shapes are broadcast to.

    Parameters
    ----------
    *shapes : tuple of int
        The shapes.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If the shapes do not match.

    Examples
    --------
    >>> import crossdock
    >>> crossdock.array_api.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    ndim = max(map(len, shapes), default=0)
    made = [1] * ndim
    for shape in shapes:
        for axis, length in enumerate(shape, ndim - len(shape)):
            if length != 1 and made[axis] not in (1, length):
                raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast: axis {axis} has {made[axis]} and {length}")
            made[axis] = made[axis] if length == 1 else length
    return tuple(made)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """A read-only view with repeated axes.

    Parameters
    ----------
    x : Array
        The array.
    shape : tuple of int
        The shape of the view.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return own(x, "broadcast_to").broadcast_to(shape)


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Read-only views of several arrays with one shape.

    Parameters
    ----------
    *arrays : Array
        The arrays.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> [x.shape for x in xp.broadcast_arrays(xp.zeros((2, 1)), xp.zeros(3))]
    [(2, 3), (2, 3)]
    """
    shape = broadcast_shapes(*(own(x, "broadcast_arrays").shape for x in arrays))
    return tuple(x.broadcast_to(shape) for x in arrays)


def concat(arrays: tuple[Array, ...] | list[Array], /, *, axis: int | None = 0) -> Array:
    """A new array of several arrays, one after the other along an axis.

    Parameters
    ----------
    arrays : tuple or list of Array
        The arrays, which differ at most in this axis. Their dtypes are promoted.
    axis : int or None, default 0
        The axis; None joins all elements in one axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])]).tolist()
    [1, 2, 3]
    """
    arrays = arrays_of(arrays, "concat")
    first = arrays[0]
    dtype = result_type(*(x.dtype for x in arrays))
    if axis is None:
        made = zeros(sum(x.size for x in arrays), dtype, device=first.device)
        end = 0
        for x in arrays:
            start, end = end, end + x.size
            made[start:end].reshape(x.shape)[...] = x
        return made
    axis = axis_of(axis, first.ndim)
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    for x in arrays:
        if x.ndim != first.ndim or x.shape[:axis] + x.shape[axis + 1 :] != rest:
            raise ValueError(f"shapes {first.shape} and {x.shape} differ in more than axis {axis}")
    length = sum(x.shape[axis] for x in arrays)
    made = zeros(first.shape[:axis] + (length,) + first.shape[axis + 1 :], dtype, device=first.device)
    end = 0
    for x in arrays:
        start, end = end, end + x.shape[axis]
        made[at(axis, slice(start, end))] = x
    return made


def stack(arrays: tuple[Array, ...] | list[Array], /, *, axis: int = 0) -> Array:
    """A new array of several arrays of one shape, along a new axis.

    Parameters
    ----------
    arrays : tuple or list of Array
        The arrays. Their dtypes are promoted.
    axis : int, default 0
        The new axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=-1).tolist()
    [[1, 3], [2, 4]]
    """
    arrays = arrays_of(arrays, "stack")
    shape = arrays[0].shape
    axis = axis_of(axis, len(shape) + 1)
    for x in arrays:
        if x.shape != shape:
            raise ValueError(f"stack() takes arrays of one shape, not of {shape} and {x.shape}")
    return concat([x.expand_dims(axis) for x in arrays], axis=axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis, as views.

    Parameters
    ----------
    x : Array
        The array.
    axis : int, default 0
        The axis, which the parts lack.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> [part.tolist() for part in xp.unstack(xp.asarray([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    axis = axis_of(axis, own(x, "unstack").ndim)
    return tuple(x[(*at(axis, index), ...)] for index in range(x.shape[axis]))


def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """A view with new axes of length 1.

    Parameters
    ----------
    x : Array
        The array.
    axis : int or tuple of int
        The places of the new axes in the view.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.expand_dims(xp.zeros(3), 0).shape
    (1, 3)
    """
    return own(x, "expand_dims").expand_dims(axis)


def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """A view without some axes of length 1.

    Parameters
    ----------
    x : Array
        The array.
    axis : int or tuple of int
        The axes.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.squeeze(xp.zeros((1, 3, 1)), -1).shape
    (1, 3)
    """
    return own(x, "squeeze").squeeze(axis)


def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """A view with elements in reverse order.

    Parameters
    ----------
    x : Array
        The array.
    axis : int or tuple of int, optional
        The axes; by default all.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.flip(xp.asarray([1, 2, 3])).tolist()
    [3, 2, 1]
    """
    return own(x, "flip").flip(axis)


def moveaxis(x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """A view with axes at other places.

    Parameters
    ----------
    x : Array
        The array.
    source : int or tuple of int
        The axes.
    destination : int or tuple of int
        Their places in the view.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return own(x, "moveaxis").moveaxis(source, destination)


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """A view with the axes in another order.

    Parameters
    ----------
    x : Array
        The array.
    axes : tuple of int
        All axes, in the order of the view.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.permute_dims(xp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return own(x, "permute_dims").transpose(tuple(axes))


def matrix_transpose(x: Array, /) -> Array:
    """A view with the last two axes exchanged.

    Parameters
    ----------
    x : Array
        The array.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.matrix_transpose(xp.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    return own(x, "matrix_transpose").mT


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The elements with another shape: a view if possible.

    Parameters
    ----------
    x : Array
        The array.
    shape : tuple of int
        The shape. One length may be -1, which follows from the others.
    copy : bool, optional
        False never copies, None copies if necessary, True always copies.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If ``copy`` is False and no view is possible.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.reshape(xp.asarray([1, 2, 3, 4]), (2, -1)).tolist()
    [[1, 2], [3, 4]]
    """
    return beside(x, own(x, "reshape").reshape(shape, copy=copy))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """A copy in which each element follows itself several times.

    Parameters
    ----------
    x : Array
        The array.
    repeats : int or Array
        How often each element appears: one number for all, or one for each position along the axis.
    axis : int or None, optional
        The axis; None repeats all elements in one axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.repeat(xp.asarray([1, 2]), xp.asarray([1, 3])).tolist()
    [1, 2, 2, 2]
    """
    if axis is None:
        x, axis = reshape(own(x, "repeat"), (x.size,)), 0
    axis = axis_of(axis, own(x, "repeat").ndim)
    length = x.shape[axis]
    counts = tuple(numbers(repeats)) if isinstance(repeats, Array) else integers(repeats, "repeat", "repeats")
    if any(count < 0 for count in counts) or len(counts) not in (1, length):
        raise ValueError(f"repeat() takes one count of 0 or more, or one for each of {length} positions, not {counts}")
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if len(counts) == 1:
        repeated = x.expand_dims(axis + 1).broadcast_to((*before, length, counts[0], *after))
        return beside(x, repeated.reshape((*before, length * counts[0], *after), copy=True))
    made = zeros((*before, sum(counts), *after), x.dtype, device=x.device)
    end = 0
    for place, count in enumerate(counts):
        start, end = end, end + count
        part = x[at(axis, slice(place, place + 1))]
        made[at(axis, slice(start, end))] = part.broadcast_to((*before, count, *after))
    return made


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """A copy in which the whole array follows itself several times.

    Parameters
    ----------
    x : Array
        The array.
    repetitions : tuple of int
        How often it appears along each axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.tile(xp.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    counts = integers(repetitions, "tile", "repetitions")
    ndim = max(own(x, "tile").ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - x.ndim) + x.shape
    made = zeros(tuple(count * length for count, length in zip(counts, shape)), x.dtype, device=x.device)
    # An axis of tiles before each axis of elements.
    pairs = [(count, length) if count != 1 else (length,) for count, length in zip(counts, shape)]
    whole = [(1, length) if count != 1 else (length,) for count, length in zip(counts, shape)]
    if made.size:
        made.reshape(sum(pairs, ()))[...] = x.reshape(sum(whole, ()), copy=None)
    return made


def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
    """A copy in which the elements are moved along axes, and those that leave at the end enter at the start.

    Parameters
    ----------
    x : Array
        The array.
    shift : int or tuple of int
        By how many places; one number for each axis, or one for all.
    axis : int or tuple of int, optional
        The axes. By default, the elements are moved as if they lay in one axis.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.roll(xp.asarray([1, 2, 3, 4]), 1).tolist()
    [4, 1, 2, 3]
    """
    if axis is None:
        return roll(reshape(own(x, "roll"), (x.size,)), shift, axis=0).reshape(x.shape)
    axes = [axis_of(one, own(x, "roll").ndim) for one in integers(axis, "roll", "axis")]
    shifts = integers(shift, "roll", "shift")
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll() takes one shift for each axis, not {len(shifts)} for {len(axes)}")
    by = [0] * x.ndim
    for one, places in zip(axes, shifts):
        by[one] += places
    made = zeros(x.shape, x.dtype, device=x.device)
    if not x.size:
        return made
    # Each axis has two blocks, the second of which is empty if nothing moves.
    moves: list[tuple[tuple[slice, ...], tuple[slice, ...]]] = [((), ())]
    for length, places in zip(x.shape, by):
        places %= length
        halves = [(slice(places, length), slice(0, length - places))]
        if places:
            halves.append((slice(0, places), slice(length - places, length)))
        moves = [((*to, there), (*origin, here)) for to, origin in moves for there, here in halves]
    for to, origin in moves:
        made[(*to, ...)] = x[(*origin, ...)]
    return made
