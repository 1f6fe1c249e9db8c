"""Arrays and tables as a stream between processes: `crossdock.Channel`."""

import asyncio
from collections.abc import AsyncIterator
from operator import index
from typing import Any, SupportsIndex

# Registers arrays with `multiprocessing`, before it makes the pickler of a message.
from . import _processes  # noqa: F401
from ._crossdock import Array, Loan, Receiver, Sender, Table, _Channel  # noqa: F401


class Channel:
    """A stream of arrays and tables between processes.

    A sender borrows one of the channel's slots as a writable array, fills it and sends it. A receiver gets a read-only
    array on the same memory, and the slot is free again when the last view of it is gone. No element is copied. Dtype
    and shape can be others in each message. A table is copied into a slot when it is sent, and received in place.

    Queues, pipes and pools of ``multiprocessing`` send a channel to other processes, also as an argument of a new
    process. Programs in other languages open it by the descriptor of its memory: :meth:`fileno`. A killed process loses
    the message that it was filling, and its slots come back.

    Parameters
    ----------
    slots : int
        The number of slots, 1 to 1024. Views keep slots, so there must be more of them than all receivers together keep
        views.
    nbytes : int
        The most bytes of a message.
    delivery : {'each', 'one', 'latest'}
        Who gets a message: each receiver that is attached; one receiver, and it waits for one; or each receiver that
        has not seen a newer one.
    drop_oldest : bool, default False
        Whether a sender that finds no free slot takes that of the oldest message that waits, instead of waiting.
    name : str, optional
        The name by which the command ``crossdock tap`` finds the channel. Programs cannot open the channel by it.

    Raises
    ------
    NotImplementedError
        On Windows.

    Examples
    --------
    >>> import crossdock
    >>> channel = crossdock.Channel(4, 1 << 20)
    >>> receiver, sender = channel.receiver(), channel.sender()
    >>> with sender.loan((2, 3), 'float32') as frame:
    ...     frame[:] = 1.5
    >>> receiver.receive().tolist()
    [[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]]
    """

    __slots__ = ("_channel",)

    def __init__(
        self,
        slots: int,
        nbytes: int,
        *,
        delivery: str = "each",
        drop_oldest: bool = False,
        name: str | None = None,
    ) -> None:
        if not isinstance(drop_oldest, bool):
            raise TypeError(f"drop_oldest must be True or False, not {drop_oldest!r}")
        self._channel = _Channel(slots, nbytes, delivery, drop_oldest, name)

    @staticmethod
    def open(descriptor: SupportsIndex, /) -> "Channel":
        """Open the channel in the memory of a descriptor.

        The descriptor comes from another process, by inheritance or through a socket: from :meth:`fileno`, or from
        ``xd_channel_fd`` in C. A process that is not trusted can send wrong elements, and change them later; it cannot
        make this process fault.

        Parameters
        ----------
        descriptor : int
            It is duplicated, so the caller still closes it.

        Returns
        -------
        Channel

        Raises
        ------
        OSError
            If the descriptor is not open.
        ValueError, TypeError
            If its memory is not a channel.

        Examples
        --------
        >>> import crossdock
        >>> channel = crossdock.Channel(4, 1000)
        >>> crossdock.Channel.open(channel.fileno()).slots
        4
        """
        return _wrapped(_Channel.open_fd(index(descriptor)))

    def fileno(self) -> int:
        """The descriptor of the channel's memory, by which a program in another language opens it.

        Pass it to a child (``pass_fds`` of ``subprocess``) or through a socket (``socket.send_fds``). C opens it by
        ``xd_channel_open``, and Python by :meth:`open`. The channel owns the descriptor, and closes it; ``os.dup`` makes
        one that lives longer.

        Returns
        -------
        int

        Examples
        --------
        >>> import crossdock
        >>> import os
        >>> channel = crossdock.Channel(4, 1000)
        >>> os.get_inheritable(channel.fileno())
        False
        """
        return self._channel.fileno()

    def sender(self) -> Sender:
        """Attach a sender.

        Returns
        -------
        Sender

        Examples
        --------
        >>> import crossdock
        >>> channel = crossdock.Channel(4, 1000, delivery='one')
        >>> sender = channel.sender()
        >>> sender.send(b'abc')
        >>> channel.senders, channel.sent
        (1, 1)
        """
        return self._channel.sender()

    def receiver(self) -> Receiver:
        """Attach a receiver.

        Returns
        -------
        Receiver

        Examples
        --------
        >>> import crossdock
        >>> channel = crossdock.Channel(4, 1000)
        >>> receiver = channel.receiver()
        >>> channel.receivers, receiver.try_receive()
        (1, None)
        """
        return self._channel.receiver()

    def close(self) -> None:
        """End the stream.

        Senders fail from now on, and receivers get what was sent before.

        Examples
        --------
        >>> import crossdock
        >>> channel = crossdock.Channel(4, 1000)
        >>> receiver, sender = channel.receiver(), channel.sender()
        >>> sender.send(b'ab')
        >>> channel.close()
        >>> [view.tolist() for view in receiver]
        [[97, 98]]
        """
        self._channel.close()

    @property
    def slots(self) -> int:
        """The number of slots."""
        return self._channel.slots

    @property
    def nbytes(self) -> int:
        """The most bytes of a message."""
        return self._channel.nbytes

    @property
    def delivery(self) -> str:
        """Who gets a message: ``'each'``, ``'one'`` or ``'latest'``."""
        return self._channel.delivery

    @property
    def senders(self) -> int:
        """The number of senders in all processes. A killed process counts until another member notices."""
        return self._channel.senders

    @property
    def receivers(self) -> int:
        """The number of receivers in all processes. A killed process counts until another member notices."""
        return self._channel.receivers

    @property
    def sent(self) -> int:
        """The number of messages sent so far."""
        return self._channel.sent

    def __repr__(self) -> str:
        return f"Channel({self.slots}, {self.nbytes}, delivery={self.delivery!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (self._channel.array(),)


def _open(array: Array) -> Channel:
    return _wrapped(_Channel.open(array))


def _wrapped(opened: _Channel) -> Channel:
    channel = object.__new__(Channel)
    channel._channel = opened
    return channel


class _Messages(AsyncIterator[Array | Table]):
    """What `async for` iterates over."""

    __slots__ = ("_receiver",)

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    async def __anext__(self) -> Array | Table:
        # A task that is cancelled cannot end the thread, so the thread does not wait for long. And nothing may be lost
        # with its result, so it takes no message: that is done here, without a point at which the task is cancelled.
        while (found := self._receiver._next()) is None:
            await asyncio.to_thread(self._receiver._wait, 0.1)
        if found is False:
            raise StopAsyncIteration
        return found
