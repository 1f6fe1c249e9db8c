"""What runs in other processes. It imports nothing that takes long."""

import os

import crossdock


def facts(array):
    """What a receiver sees of an array."""
    return array.backing, array.shape, array.strides, array.readonly, array.dtype, array.tolist()


def add_one(array):
    """Writes, and says where that was."""
    for index in range(len(array)):
        array[index] = array[index] + 1
    return os.getpid()


def relay(array):
    """A view of what came goes back."""
    return array[::-2]


def serve(connection):
    """Adds one to whatever comes, and says what it was, until nothing comes."""
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
    """Why not, or None."""
    try:
        array[0] = 1
    except (ValueError, BufferError) as error:
        return str(error)
