"""Functions that run in other processes. It imports only fast modules."""

import os
import time

import crossdock


def facts(array):
    """The receiver's description of an array."""
    return array.backing, array.shape, array.strides, array.readonly, array.dtype, array.tolist()


def add_one(array):
    """Writes, and returns the address."""
    for index in range(len(array)):
        array[index] = array[index] + 1
    return os.getpid()


def facts_on_device(array):
    """The receiver's description of an array on a device."""
    try:
        array[...] = 1
    except (BufferError, ValueError, TypeError) as error:
        refused = str(error)
    else:
        refused = None
    return str(array.device), array.shape, array.readonly, array.dtype, array.to_device("cpu").tolist(), refused


def keep_from(connection):
    """Keeps an array that arrives, and sends its elements whenever it is asked."""
    array = connection.recv()
    while connection.recv():
        connection.send(array.to_device("cpu").tolist())


def row_of_a_set(name, row):
    """Sends a view of the only array of a set that this process reads."""
    return crossdock.connect(name)[name][row]


def relay(array):
    """Returns a view of the received array."""
    return array[::-2]


def serve(connection):
    """Adds one to each array that arrives, and reports its previous value, until none arrives."""
    while (array := connection.recv()) is not None:
        before = len(os.listdir("/proc/self/fd"))
        connection.send((facts(array), add_one(array)))
        del array
        connection.recv()
        connection.send(len(os.listdir("/proc/self/fd")) - before)


def put_one_and_end(queue):
    queue.put(crossdock.shared((2, 2)))


def put_and_wait(queue, event):
    queue.put(crossdock.shared(crossdock.full((2, 2), 7)))
    event.wait()


def overwrite(array):
    """The reason for a refusal, or None."""
    try:
        array[0] = 1
    except (ValueError, BufferError) as error:
        return str(error)


def fill(array, value):
    """Writes every element, and returns the process."""
    array.fill(value)
    return os.getpid()


def keep(connection):
    """Receives one array, and reports what it holds each time that it is asked."""
    array = connection.recv()
    while connection.recv() is not None:
        connection.send(array.tobytes())


def produce(channel, count):
    """Sends frames in place, and closes the channel."""
    sender = channel.sender()
    for number in range(count):
        with sender.loan((3, number % 5), "uint16") as frame:
            frame[:] = number
    channel.close()


def consume(channel, attached, totals):
    """Adds up what arrives, until the channel is closed."""
    receiver = channel.receiver()
    attached.set()
    total = sum(sum(view.tolist()) for view in receiver)
    totals.put(total)


def vanish(channel, loaned):
    """Borrows a slot, and waits to be killed."""
    loan = channel.sender().loan(1)
    loan.__enter__()
    loaned.set()
    time.sleep(1000)


def send_tables(channel, counts):
    """Sends tables of so many rows."""
    sender = channel.sender()
    for count in counts:
        sender.send(crossdock.table({"n": crossdock.zeros(count), "s": ["x"] * count}))


def table_facts(table):
    """The receiver's description of a table, and the bytes that it has copied."""
    return table.shape, table["n"].array().readonly, crossdock.copied_bytes()


def same_table(table):
    """Sends a table back."""
    return table
