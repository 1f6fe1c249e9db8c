"""Creation, as far as the functions of the package differ from the standard."""

from typing import Any, Literal

from .. import Array, array, zeros
from .. import asarray as imported
from .._crossdock import _linspace
from ._dtypes import COMPLEX, dtype_of
from ._manipulation import broadcast_arrays
from ._own import beside, own


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Array:
    """An array of numbers, nested sequences, or anything that shares its memory.

    Parameters
    ----------
    obj : object
        A number, nested sequences of numbers, or an object that :func:`crossdock.asarray` accepts.
    dtype : dtype, optional
        The dtype of the elements. Every conversion is checked; :func:`astype` truncates.
    device : str, optional
        The device of the array.
    copy : bool, optional
        False never copies, None copies if necessary, True always copies.

    Returns
    -------
    Array

    Raises
    ------
    ValueError
        If ``copy`` is False and no memory can be shared, or an element does not fit the dtype.

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.asarray([[1, 2], [3, 4]], dtype=xp.float32).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(obj, (bool, int, float, complex, list, tuple, range)):
        if copy is False:
            raise ValueError(f"{type(obj).__name__} shares no memory: copy=False permits no copy of its elements")
        return array(obj, dtype, device=device)
    to = None if dtype is None else dtype_of(dtype)
    # A conversion copies anyway.
    x = lent(obj, None if copy and to is not None else copy)
    made, is_new = x, copy and to is None
    if to is not None and x.dtype != to:
        if copy is False:
            raise ValueError(f"copy=False permits no conversion from {x.dtype} to {to}")
        made, is_new = x.astype(to), True
    if copy and not is_new:
        made = x.copy()
    if device is not None:
        return lent(made, False if copy is False else None, device)
    return beside(obj if isinstance(obj, Array) else x, made)


def lent(obj: Any, copy: bool | None, device: Any = None) -> Array:
    """An array on the memory of an object, with the standard's error."""
    try:
        return imported(obj, copy=copy, device=device)
    except BufferError as error:
        if copy is False:
            raise ValueError(f"copy=False permits no copy: {error}") from error
        raise


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Ones on a diagonal, and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    n_cols : int, optional
        The number of columns; by default that of the rows.
    k : int, default 0
        The diagonal: above the main one if positive, below it if negative.
    dtype : dtype, optional
        The dtype of the elements, by default ``float64``.
    device : str, optional
        The device of the array.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> crossdock.array_api.eye(2, 3, k=1, dtype='int8').tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    columns = n_rows if n_cols is None else n_cols
    made = zeros((n_rows, columns), dtype, device=device)
    length = min(n_rows, columns - k) if k >= 0 else min(n_rows + k, columns)
    if length > 0:
        first = k if k >= 0 else -k * columns
        diagonal = made.reshape(-1)[first :: columns + 1][:length]
        diagonal.fill(1)
    return made


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """Evenly spaced numbers over an interval.

    Parameters
    ----------
    start : int, float or complex
        The first number.
    stop : int, float or complex
        The last number, or the end of the interval.
    num : int
        How many numbers.
    dtype : dtype, optional
        The dtype of the elements: by default ``complex128`` for complex numbers, otherwise ``float64``.
    device : str, optional
        The device of the array.
    endpoint : bool, default True
        Whether ``stop`` is the last number.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> crossdock.array_api.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if num < 0:
        raise ValueError(f"linspace() makes 0 numbers or more, not {num}")
    if isinstance(start, complex) or isinstance(stop, complex) or dtype_of(dtype or "float64").name in COMPLEX:
        first, last = complex(start), complex(stop)
        made = zeros(num, "complex128")
        parts = made.view("float64").reshape(num, 2)
        parts[:, 0] = _linspace(first.real, last.real, num, endpoint)
        parts[:, 1] = _linspace(first.imag, last.imag, num, endpoint)
    else:
        made = _linspace(start, stop, num, endpoint)
    return asarray(made, dtype=dtype, device=device)


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """The coordinates of a grid, as read-only views of the arrays.

    Parameters
    ----------
    *arrays : Array
        The coordinates along each axis.
    indexing : {'xy', 'ij'}
        Whether the first axis of the results is that of the second array, or of the first one.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> x, y = xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4, 5]))
    >>> x.tolist(), y.tolist()
    ([[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing {indexing!r} is neither 'xy' nor 'ij'")
    places = list(range(len(arrays)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    lines = []
    for place, x in zip(places, arrays):
        if own(x, "meshgrid").ndim > 1:
            raise ValueError(f"meshgrid() takes arrays of one axis, not of {x.ndim}")
        lines.append(x.reshape(*(x.size if axis == place else 1 for axis in range(len(arrays)))))
    return broadcast_arrays(*lines)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """A copy of matrices with zeros above a diagonal.

    Parameters
    ----------
    x : Array
        Matrices in the last two axes.
    k : int, default 0
        The diagonal: above the main one if positive, below it if negative.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.tril(xp.ones((2, 3), dtype=xp.int8)).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    made = beside(x, matrices(x, "tril").copy())
    rows, columns = made.shape[-2:]
    for row in range(rows):
        made[..., row, min(max(row + k + 1, 0), columns) :].fill(0)
    return made


def triu(x: Array, /, *, k: int = 0) -> Array:
    """A copy of matrices with zeros below a diagonal.

    Parameters
    ----------
    x : Array
        Matrices in the last two axes.
    k : int, default 0
        The diagonal: above the main one if positive, below it if negative.

    Returns
    -------
    Array

    Examples
    --------
    >>> import crossdock
    >>> xp = crossdock.array_api
    >>> xp.triu(xp.ones((2, 3), dtype=xp.int8)).tolist()
    [[1, 1, 1], [0, 1, 1]]
    """
    made = beside(x, matrices(x, "triu").copy())
    rows, columns = made.shape[-2:]
    for row in range(rows):
        made[..., row, : min(max(row + k, 0), columns)].fill(0)
    return made


def matrices(x: Array, function: str) -> Array:
    if own(x, function).ndim < 2:
        raise ValueError(f"{function}() needs 2 axes or more, and this array has {x.ndim}")
    return x
