"""The part of the package in Rust."""

from collections.abc import Sequence
from typing import Any

from . import (
    Archive as Archive,
    Array as Array,
    ArrowColumn as ArrowColumn,
    Buffer as Buffer,
    Device as Device,
    HeldArrays as HeldArrays,
    __version__ as __version__,
    arange as arange,
    array as array,
    asarray as asarray,
    connect as connect,
    copied_bytes as copied_bytes,
    devices as devices,
    dtype as dtype,
    empty as empty,
    empty_like as empty_like,
    from_address as from_address,
    from_arrow as from_arrow,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    get_num_threads as get_num_threads,
    ledger as ledger,
    ones as ones,
    ones_like as ones_like,
    open as open,
    publish as publish,
    register_numpy_dtypes as register_numpy_dtypes,
    save as save,
    set_num_threads as set_num_threads,
    shared as shared,
    to_arrow as to_arrow,
    zeros as zeros,
    zeros_like as zeros_like,
)

def _consumers() -> list[tuple[str, str, str, bool]]: ...
def _judge(
    answers: Sequence[Any],
    class_name: str,
    storage: str,
    is_sequence: bool,
    item: str | None,
    is_registered: bool,
    methods: Sequence[str],
    jax_in_64_bits: bool,
) -> list[tuple[str, str]]: ...
def _judge_array(object: object, jax_in_64_bits: bool) -> list[tuple[str, str]] | None: ...
def _lend(array: Array) -> tuple[int, str] | None: ...
def _linspace(start: float, stop: float, num: int, endpoint: bool, /) -> Array: ...
def _note_shareable(is_entered: bool) -> None: ...
def _map(descriptor: int, text: str) -> Array: ...
def _protocols() -> list[str]: ...
def _rebuild(text: str, data: Any, copy: bool = False, /) -> Array: ...
def _saturated(x: Array, dtype: dtype, /) -> Array: ...
def _set_numpy_handler(handler: object | None, is_reserved: bool = False, /) -> object: ...
def _unsafe_dlpack(object: object) -> str | None: ...
