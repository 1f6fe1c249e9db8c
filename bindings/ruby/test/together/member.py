"""The member in Python of `test_together.rb`, which says what a member does."""

import sys
import time

import crossdock
from crossdock import _channel, _crossdock

SENDERS = 4


def refused(array):
    for target in [array, memoryview(array)]:
        try:
            target[1] = -1
        except (TypeError, ValueError):
            continue
        raise AssertionError("it was written")


label, fd, text, number, count = sys.argv[1:]
number, count = int(number), int(count)
held = crossdock.connect(label)
squares, rows = held["squares"], held["rows"]
assert squares.tolist() == [k * k for k in range(100)]
assert rows["k"].to_list() == list(range(10)) and rows["name"].to_list()[2:4] == ["größe", None]
refused(squares)
refused(rows["k"].array())
channel = _channel._open(_crossdock._map(int(fd), text))
sender, receiver = channel.sender(), channel.receiver()
while channel.receivers < SENDERS:
    time.sleep(0.001)
sent, received = 0, [0] * SENDERS
while sent < count or received != [count] * SENDERS:
    if sent < count:
        try:
            with sender.loan(2 + sent % 3, "int64", timeout=0) as array:
                array[:] = sent
                array[0] = number
            sent += 1
        except TimeoutError:
            pass  # receives meanwhile
    view = receiver.receive(0.001)
    if view is not None:
        first, *rest = view.tolist()
        assert rest == [received[first]] * (1 + received[first] % 3)
        refused(view)
        received[first] += 1
        del view
print("python", sent, received, receiver.missed)
