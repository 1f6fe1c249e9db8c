"""Arrays as operands of PyTorch and JAX: the methods that these libraries call for objects of other types."""

from ._crossdock import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


def torch_function(
    cls: type,
    function: "Callable[..., Any]",
    types: object,
    args: "tuple[Any, ...]" = (),
    kwargs: "dict[str, Any] | None" = None,
) -> "Any":
    """Calls a function of PyTorch, with a tensor on the same memory in place of each array.

    PyTorch calls it for functions and operators that receive an array, such as ``torch.sum(x)`` and ``tensor + x``. The tensors are
    those of ``torch.from_dlpack``. An array that is read-only is refused where the function would write it.

    Parameters
    ----------
    function : callable
        The function of PyTorch.
    types : collection of type
        The types of the operands that have this method.
    args, kwargs : tuple, dict
        The arguments of the call.

    Returns
    -------
    object
        The function's result.

    Examples
    --------
    >>> import crossdock, torch  # doctest: +SKIP
    >>> torch.ones(3) + crossdock.ones(3, 'float32')  # doctest: +SKIP
    tensor([2., 2., 2.])
    """
    import torch  # type: ignore[import-not-found, unused-ignore]

    kwargs = kwargs or {}
    written = [kwargs.get("out")]
    name = getattr(function, "__name__", "")
    if kwargs.get("inplace") or name.endswith("_") and not name.endswith("__") or name == "__setitem__":
        written.extend(args[:1])
    if any(array.readonly for array in arrays_in(written)):
        raise ValueError(f"{name} would write to a read-only array; pass a copy, x.copy()")
    return function(*with_tensors(args, torch), **with_tensors(kwargs, torch))


def arrays_in(value: object) -> "Iterator[Array]":
    """The arrays in nested sequences."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item)


def with_tensors(value: "Any", torch: "Any") -> "Any":
    """The same arguments, with tensors in place of arrays."""
    if isinstance(value, Array):
        if min(value.strides, default=0) < 0:
            raise ValueError(f"a tensor has no negative strides, and the array has {value.strides}; pass a copy, x.copy()")
        return torch.from_dlpack(value)
    if type(value) in (list, tuple):
        return type(value)(with_tensors(item, torch) for item in value)
    if type(value) is dict:
        return {name: with_tensors(item, torch) for name, item in value.items()}
    return value


def jax_array(self: Array) -> "Any":
    """A JAX array with a copy of the elements. The functions of ``jax.numpy`` call it for their arguments.

    Arrays of JAX are constant, and this memory may be written: so JAX copies it, as it copies a NumPy array. Use ``jax.numpy.from_dlpack``
    for an array on the same memory.

    Returns
    -------
    jax.Array

    Examples
    --------
    >>> import crossdock, jax.numpy  # doctest: +SKIP
    >>> jax.numpy.sum(crossdock.ones(3))  # doctest: +SKIP
    Array(3., dtype=float32)
    """
    import jax.numpy  # type: ignore[import-not-found, unused-ignore]
    import numpy

    return jax.numpy.array(numpy.asarray(self))


for method, name in [(torch_function, "__torch_function__"), (jax_array, "__jax_array__")]:
    method.__name__, method.__qualname__ = name, f"Array.{name}"
setattr(Array, "__torch_function__", classmethod(torch_function))
setattr(Array, "__jax_array__", jax_array)
