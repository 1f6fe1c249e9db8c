"""The part of the package in Rust."""

from collections.abc import Sequence
from typing import Any, Literal, final

from . import (
    Archive as Archive,
    Array as Array,
    ArrowColumn as ArrowColumn,
    Buffer as Buffer,
    Column as Column,
    Device as Device,
    HeldArrays as HeldArrays,
    Table as Table,
    __version__ as __version__,
    arange as arange,
    array as array,
    asarray as asarray,
    column as column,
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
    table as table,
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

@final
class _Channel:
    def __new__(cls, slots: int, nbytes: int, delivery: str, drop_oldest: bool, name: str | None) -> _Channel: ...
    @staticmethod
    def open(array: Array) -> _Channel: ...
    def array(self) -> Array: ...
    def sender(self) -> _Sender: ...
    def receiver(self) -> _Receiver: ...
    def close(self) -> None: ...
    @property
    def slots(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def delivery(self) -> str: ...
    @property
    def senders(self) -> int: ...
    @property
    def receivers(self) -> int: ...
    @property
    def sent(self) -> int: ...

@final
class _Sender:
    def loan(self, shape: Any, dtype: Any, timeout: float | None) -> _Loan: ...
    def send(self, obj: Any, timeout: float | None) -> None: ...

@final
class _Loan:
    def array(self) -> Array: ...
    def send(self) -> None: ...
    def drop(self) -> None: ...

@final
class _Receiver:
    def receive(self, timeout: float | None) -> Array | None | Literal[False]: ...
    def try_receive(self) -> Array | None | Literal[False]: ...
    @property
    def missed(self) -> int: ...
