"""What the namespace can do: `__array_namespace_info__`."""

from typing import Any

from .. import devices, dtype
from ._dtypes import KINDS

#: The dtypes of the standard by their names.
DTYPES = {
    name: dtype(name) for name in (*KINDS["bool"], *KINDS["numeric"]) if name not in ("float16", "bfloat16")
}


class Info:
    """The inspection functions of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional parts of the standard are supported."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """The dtypes of new arrays of each kind, which are the same on every device."""
        return {
            "real floating": DTYPES["float64"],
            "complex floating": DTYPES["complex128"],
            "integral": DTYPES["int64"],
            "indexing": DTYPES["int64"],
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, dtype]:
        """The dtypes of the standard, all or those of some kinds; every device has all of them."""
        if kind is None:
            return dict(DTYPES)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in KINDS:
                raise ValueError(f"the array API has no kind {one!r} of dtypes; on offer is {', '.join(KINDS)}")
        return {name: one for name, one in DTYPES.items() if any(name in KINDS[kind] for kind in kinds)}

    def devices(self) -> tuple[str, ...]:
        """The devices that are available."""
        # Pinned and managed memory belongs to no GPU in particular: it is named after the first one.
        shared = ("cuda_host:", "cuda_managed:")
        return tuple(name for name in devices() if name.endswith(":0") or not name.startswith(shared))


def __array_namespace_info__() -> Info:
    """What the namespace can do: devices, dtypes and capabilities.

    Returns
    -------
    object
        With the methods ``capabilities``, ``default_device``, ``default_dtypes``, ``dtypes`` and ``devices``.

    Examples
    --------
    >>> import crossdock
    >>> crossdock.array_api.__array_namespace_info__().default_device()
    'cpu'
    """
    return Info()
