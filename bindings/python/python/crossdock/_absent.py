"""The names that need descriptors, on Windows, which has none: every call raises."""

from typing import Any, NoReturn


def _raise(name: str, needs: str) -> NoReturn:
    raise NotImplementedError(f"crossdock.{name} needs {needs}, which this library does not have on Windows")


class Channel:
    """A stream of arrays and tables between processes, which Windows does not have."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _raise("Channel", "shared memory and descriptors")

    @staticmethod
    def open(descriptor: Any, /) -> NoReturn:
        """Open the channel in the memory of a descriptor: raises ``NotImplementedError``."""
        _raise("Channel", "shared memory and descriptors")


class HeldArrays:
    """The arrays and tables that another process holds, which Windows does not have."""

    def __init__(self) -> None:
        _raise("HeldArrays", "shared memory and descriptors")


def connect(name: str | None = None, /) -> NoReturn:
    """The arrays and tables that another process holds: raises ``NotImplementedError``."""
    _raise("connect", "shared memory and sockets of Unix")


def publish(name: str, arrays: Any, /, *, metadata: Any = None) -> NoReturn:
    """Publish arrays and tables for other processes: raises ``NotImplementedError``."""
    _raise("publish", "shared memory and sockets of Unix")
