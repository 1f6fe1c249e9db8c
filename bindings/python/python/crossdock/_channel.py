"""Arrays as a stream between processes: `crossdock.Channel`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

# Registers arrays with `multiprocessing`, before it makes the pickler of a message.
from . import _processes  # noqa: F401
from ._crossdock import Array, _Channel, _Loan, _Receiver, _Sender


class Channel:
    """A stream of arrays between processes.

    A sender borrows one of the channel's slots as a writable array, fills it and sends it. A receiver gets a read-only
    array on the same memory, and the slot is free again when the last view of it is gone. No element is copied. Dtype
    and shape can be others in each message.

    Queues, pipes and pools of ``multiprocessing`` send a channel to other processes, also as an argument of a new
    process. A killed process loses the message that it was filling, and its slots come back.

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

    def sender(self) -> "Sender":
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
        return Sender(self._channel.sender())

    def receiver(self) -> "Receiver":
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
        return Receiver(self._channel.receiver())

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
        """The number of senders in all processes."""
        return self._channel.senders

    @property
    def receivers(self) -> int:
        """The number of receivers in all processes."""
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
    channel = object.__new__(Channel)
    channel._channel = _Channel.open(array)
    return channel


class Sender:
    """The end of a channel that sends. `Channel.sender` returns it."""

    __slots__ = ("_sender",)

    def __init__(self, sender: _Sender) -> None:
        self._sender = sender

    def loan(self, shape: Any, dtype: Any = "float64", *, timeout: float | None = None) -> "Loan":
        """Borrow a slot as an array.

        The result is a context manager: the ``with`` statement binds the array, and sends it at the end of the block,
        unless the block raises. Do not write to the array, or to views of it, after the block: receivers would see it.

        Parameters
        ----------
        shape : int or tuple of int
            The shape of the array. Its elements are those of an earlier message, or zero.
        dtype : str or dtype
            The dtype of the elements.
        timeout : float, optional
            The most seconds to wait for a free slot; by default as long as it takes.

        Returns
        -------
        Loan

        Raises
        ------
        TimeoutError
            If no slot became free in time.

        Examples
        --------
        >>> import crossdock
        >>> channel = crossdock.Channel(4, 1000)
        >>> receiver, sender = channel.receiver(), channel.sender()
        >>> with sender.loan(3, 'int16') as x:
        ...     x[:] = 7
        >>> receiver.receive().tolist()
        [7, 7, 7]
        """
        return Loan(self._sender.loan(shape, dtype, timeout))

    def send(self, obj: Any, /, *, timeout: float | None = None) -> None:
        """Copy an array into a slot, and send it.

        Parameters
        ----------
        obj : object
            What :func:`array` takes, such as an array or nested lists.
        timeout : float, optional
            The most seconds to wait for a free slot; by default as long as it takes.

        Raises
        ------
        TimeoutError
            If no slot became free in time.

        Examples
        --------
        >>> import crossdock
        >>> channel = crossdock.Channel(4, 1000)
        >>> receiver, sender = channel.receiver(), channel.sender()
        >>> sender.send(crossdock.array([1, 2]))
        >>> receiver.receive().tolist()
        [1, 2]
        """
        self._sender.send(obj, timeout)


class Loan:
    """A slot on loan, as a context manager. `Sender.loan` returns it."""

    __slots__ = ("_loan",)

    def __init__(self, loan: _Loan) -> None:
        self._loan = loan

    def __enter__(self) -> Array:
        return self._loan.array()

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        if kind is None:
            self._loan.send()
        else:
            self._loan.drop()


class Receiver:
    """The end of a channel that receives. `Channel.receiver` returns it.

    Iteration, also by ``async for``, gives the messages until the channel is closed.
    """

    __slots__ = ("_receiver",)

    def __init__(self, receiver: _Receiver) -> None:
        self._receiver = receiver

    def receive(self, timeout: float | None = None) -> Array | None:
        """The next message.

        Parameters
        ----------
        timeout : float, optional
            The most seconds to sleep; by default as long as it takes.

        Returns
        -------
        Array or None
            A read-only view; None if no message came in time, or the channel is closed.

        Examples
        --------
        >>> import crossdock
        >>> receiver = crossdock.Channel(4, 1000).receiver()
        >>> receiver.receive(timeout=0.01)
        """
        return _unless_closed(self._receiver.receive(timeout))

    def try_receive(self) -> Array | None:
        """The next message, if it is there. Never waits: call it in a loop to poll.

        Returns
        -------
        Array or None

        Examples
        --------
        >>> import crossdock
        >>> receiver = crossdock.Channel(4, 1000).receiver()
        >>> receiver.try_receive()
        """
        return _unless_closed(self._receiver.try_receive())

    @property
    def missed(self) -> int:
        """The number of messages that were dropped before this receiver received them."""
        return self._receiver.missed

    def __iter__(self) -> Iterator[Array]:
        while (found := self._receiver.receive(None)) is not False:
            if found is not None:
                yield found

    async def __aiter__(self) -> AsyncIterator[Array]:
        while True:
            found = self._receiver.try_receive()
            while found is None:
                # In a thread, and not for long: a task that is cancelled cannot end the thread.
                found = await asyncio.to_thread(self._receiver.receive, 0.1)
            if found is False:
                return
            yield found


def _unless_closed(found: Any) -> Array | None:
    return None if found is False else found
