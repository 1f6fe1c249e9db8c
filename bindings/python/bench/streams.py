"""Messages between two processes, by channels and by other libraries: each is filled and read by NumPy.

Every class is one end of a pair of streams. `made` returns what both ends need, which the other process inherits. `send` sends
a message that begins with a number, and `view` returns the next message as a NumPy array.
"""

import contextlib
import ctypes
import mmap
import multiprocessing
import os
import tempfile
import time

import numpy as np

import crossdock

SPAWN = multiprocessing.get_context("spawn")


def shared_file(nbytes):
    """The path of a new file in memory."""
    descriptor, path = tempfile.mkstemp(dir="/dev/shm")
    os.truncate(descriptor, nbytes)
    os.close(descriptor)
    return path


def mapped(path):
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


class Channel:
    name, module, ways = "crossdock.Channel", None, ("polling", "waking")

    @staticmethod
    def made(nbytes):
        return [crossdock.Channel(8, nbytes) for _ in range(2)]

    def __init__(self, made, side, nbytes, way):
        self.nbytes, self.way = nbytes, way
        self.receiver, self.sender = made[1 - side].receiver(), made[side].sender()

    def send(self, number):
        with self.sender.loan(self.nbytes, "u1") as frame:
            np.asarray(frame)[0] = number

    def view(self):
        if self.way == "waking":
            return np.asarray(self.receiver.receive())
        receive = self.receiver.try_receive
        while (view := receive()) is None:
            pass
        return np.asarray(view)


class Iceoryx:
    """As its own example of publish and subscribe with slices is written, and its events where a process sleeps."""

    name, module, ways = "iceoryx2", "iceoryx2", ("polling", "waking")

    @staticmethod
    def made(nbytes):
        return f"crossdock-bench-{os.getpid()}-{nbytes}"

    def __init__(self, made, side, nbytes, way):
        import iceoryx2

        self.nbytes, self.way = nbytes, way
        iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
        self.node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)
        self.second = iceoryx2.Duration.from_secs(1)

        def service(index, what):
            return self.node.service_builder(iceoryx2.ServiceName.new(f"{made}-{way}-{index}-{what}"))

        def stream(index):
            of = service(index, "stream").publish_subscribe(iceoryx2.Slice[ctypes.c_uint8])
            of = of.max_publishers(1).max_subscribers(1).history_size(0).subscriber_max_buffer_size(2)
            return of.open_or_create()

        self.publisher = stream(side).publisher_builder().initial_max_slice_len(nbytes).create()
        self.subscriber = stream(1 - side).subscriber_builder().create()
        self.notifier = service(side, "event").event().open_or_create().notifier_builder().create()
        self.listener = service(1 - side, "event").event().open_or_create().listener_builder().create()

    def send(self, number):
        sample = self.publisher.loan_slice_uninit(self.nbytes)
        np.frombuffer(sample.payload().as_memory_view(), np.uint8)[0] = number
        sample.assume_init().send()
        if self.way == "waking":
            self.notifier.notify()

    def view(self):
        receive = self.subscriber.receive
        while (sample := receive()) is None:
            if self.way == "waking":
                self.listener.timed_wait(self.second)
        # The view does not keep it.
        self.sample = sample
        return np.frombuffer(sample.payload().as_memory_view(), np.uint8)


class Zmq:
    """Without copies in Python from the size on at which pyzmq avoids them."""

    name, module, ways = "ZeroMQ, ipc", "zmq", ("waking",)

    @staticmethod
    def made(nbytes):
        return [f"ipc://{tempfile.gettempdir()}/crossdock-bench-{os.getpid()}-{nbytes}-{way}" for way in "ab"]

    def __init__(self, made, side, nbytes, way):
        import zmq

        self.context = zmq.Context()
        self.out, self.back = self.context.socket(zmq.PUSH), self.context.socket(zmq.PULL)
        self.out.bind(made[side])
        self.back.connect(made[1 - side])
        self.copies = nbytes < zmq.COPY_THRESHOLD
        self.array = np.zeros(nbytes, "u1")

    def send(self, number):
        self.array[0] = number
        self.out.send(self.array, copy=self.copies)

    def view(self):
        if self.copies:
            return np.frombuffer(self.back.recv(), np.uint8)
        return np.frombuffer(self.back.recv(copy=False).buffer, np.uint8)


class Pipe:
    name, module, ways = "multiprocessing.Pipe, bytes", None, ("waking",)

    @staticmethod
    def made(nbytes):
        return SPAWN.Pipe()

    def __init__(self, made, side, nbytes, way):
        self.connection, self.array = made[side], np.zeros(nbytes, "u1")

    def send(self, number):
        self.array[0] = number
        self.connection.send_bytes(self.array)

    def view(self):
        return np.frombuffer(self.connection.recv_bytes(), np.uint8)


class Queue:
    name, module, ways = "multiprocessing.Queue", None, ("waking",)

    @staticmethod
    def made(nbytes):
        return [SPAWN.Queue() for _ in range(2)]

    def __init__(self, made, side, nbytes, way):
        self.out, self.back, self.array = made[side], made[1 - side], np.zeros(nbytes, "u1")

    def send(self, number):
        self.array[0] = number
        # A thread pickles it later.
        self.out.put(self.array)

    def view(self):
        return self.back.get()


class TorchQueue:
    """A tensor that is in shared memory already."""

    name, module, ways = "torch.multiprocessing.Queue", "torch", ("waking",)

    @staticmethod
    def made(nbytes):
        import torch.multiprocessing as processes

        return [processes.get_context("spawn").Queue() for _ in range(2)]

    def __init__(self, made, side, nbytes, way):
        import torch

        self.out, self.back = made[side], made[1 - side]
        self.tensor = torch.zeros(nbytes, dtype=torch.uint8).share_memory_()
        self.array = self.tensor.numpy()

    def send(self, number):
        self.array[0] = number
        self.out.put(self.tensor)

    def view(self):
        return self.back.get().numpy()


class Byte:
    """The limit in Python: a message in one place, and a byte that says so. Nothing keeps its reader's memory."""

    name, module, ways = "a byte in Python, the limit", None, ("polling", "waking")

    @staticmethod
    def made(nbytes):
        return [shared_file(nbytes + 4096) for _ in range(2)], [SPAWN.Pipe(duplex=False) for _ in range(2)]

    def __init__(self, made, side, nbytes, way):
        self.way, (self.paths, pipes) = way, made
        out, back = (mapped(self.paths[index]) for index in (side, 1 - side))
        self.out, self.back = (np.frombuffer(memory, np.uint8)[:nbytes] for memory in (out, back))
        self.flag, self.other, self.last = memoryview(out)[-4096:], memoryview(back)[-4096:], 0
        self.writes, self.reads = pipes[side][1], pipes[1 - side][0]
        self.fds = self.writes.fileno(), self.reads.fileno()

    def send(self, number):
        self.out[0] = number
        if self.way == "waking":
            os.write(self.fds[0], b"x")
        else:
            self.flag[0] = number

    def view(self):
        if self.way == "waking":
            os.read(self.fds[1], 1)
            return self.back[:]
        flag, last = self.other, self.last
        while (number := flag[0]) == last:
            pass
        self.last = number
        return self.back[:]

    def close(self):
        for path in self.paths:
            os.unlink(path)


STREAMS = [Channel, Iceoryx, Zmq, Pipe, Queue, TorchQueue, Byte]


def run_on(cpu):
    """Each process has a CPU of its own, if there are two."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {cpu})


def number_of(index):
    """Not 0, and another one than before."""
    return index % 100 + 1


def send_back(kind, made, nbytes, way, control):
    """The other process: sends back as many messages as `control` says, until it says none."""
    run_on(1)
    end = kind(made, 1, nbytes, way)
    control.send("ready")
    with contextlib.suppress(EOFError):
        while count := control.recv():
            for _ in range(count):
                view = end.view()
                number = int(view[0])
                del view
                end.send(number)


class Pair:
    """This process's end, and the other process."""

    def __init__(self, kind, nbytes, way):
        made = kind.made(nbytes)
        self.control, there = SPAWN.Pipe()
        self.process = SPAWN.Process(target=send_back, args=(kind, made, nbytes, way, there), daemon=True)
        # The receiver of a channel gets what is sent after it was made.
        self.end = kind(made, 0, nbytes, way)
        self.process.start()
        assert self.control.recv() == "ready"
        self.nbytes, self.sent = nbytes, 0
        self.microseconds(4)
        self.count = 300 if way == "polling" else min(300, max(4, int(1000 / self.microseconds(4))))

    def microseconds(self, count=None):
        """Of one hand-over: half of the way there and back."""
        count = count or self.count
        self.control.send(count + 1)
        send, receive, first = self.end.send, self.end.view, self.sent
        numbers = [number_of(first + index) for index in range(count + 1)]
        self.sent += count + 1
        # The other process wakes up before the clock starts, and the whole message is looked at.
        send(numbers[0])
        whole = receive()
        assert whole.shape == (self.nbytes,) and whole.dtype == np.uint8 and whole[0] == numbers[0] and not whole[1:].any()
        del whole
        got = []
        start = time.perf_counter()
        for number in numbers[1:]:
            send(number)
            got.append(int(receive()[0]))
        elapsed = time.perf_counter() - start
        assert got == numbers[1:]
        return elapsed * 1e6 / count / 2

    def close(self):
        self.control.send(0)
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        if hasattr(self.end, "close"):
            self.end.close()
