"""Channels: arrays as a stream between processes."""

import asyncio
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest
import workers
from peers import required

import crossdock

SPAWN = multiprocessing.get_context("spawn")


def test_another_process_sends_frames_in_place():
    channel = crossdock.Channel(3, 1000)
    receiver = channel.receiver()
    process = SPAWN.Process(target=workers.produce, args=(channel, 200))
    process.start()
    before = crossdock.copied_bytes()
    for number in range(200):
        view = receiver.receive(60)
        assert view.dtype == "uint16" and view.shape == (3, number % 5) and view.readonly
        assert (np.asarray(view) == number).all()
    process.join()
    assert list(receiver) == []
    assert (number, receiver.missed, crossdock.copied_bytes() - before) == (199, 0, 0)


def test_another_process_receives():
    channel, totals = crossdock.Channel(3, 1000, delivery="one"), SPAWN.Queue()
    attached = SPAWN.Event()
    process = SPAWN.Process(target=workers.consume, args=(channel, attached, totals))
    process.start()
    assert attached.wait(60)
    sender = channel.sender()
    for number in range(100):
        sender.send(np.full(5, number), timeout=60)
    channel.close()
    assert totals.get(timeout=60) == 5 * sum(range(100))
    process.join()


SENDER = """
import sys
import crossdock
channel = crossdock.Channel.open(int(sys.argv[1]))
sender = channel.sender()
sender.send([1, 2, 3])
sender.send(crossdock.array([4.5]))
channel.close()
"""


def test_an_unrelated_process_opens_the_descriptor_that_it_inherits():
    channel = crossdock.Channel(3, 1000, delivery="one")
    receiver = channel.receiver()
    # As a program in C inherits it: by its number.
    kept = os.dup(channel.fileno())
    subprocess.run([sys.executable, "-c", SENDER, str(kept)], pass_fds=[kept], check=True, timeout=60)
    os.close(kept)
    assert [view.tolist() for view in receiver] == [[1, 2, 3], [4.5]]
    assert (channel.sent, channel.receivers) == (2, 1)


def test_a_channel_lives_in_a_duplicate_of_its_descriptor():
    channel = crossdock.Channel(3, 1000)
    assert channel.fileno() == channel.fileno() and not os.get_inheritable(channel.fileno())
    kept, nbytes = os.dup(channel.fileno()), channel.nbytes
    del channel
    channel = crossdock.Channel.open(np.int64(kept))
    os.close(kept)
    receiver, again = channel.receiver(), crossdock.Channel.open(channel.fileno())
    assert (again.slots, again.nbytes, again.delivery) == (3, nbytes, "each")
    again.sender().send([7])
    assert receiver.receive(60).tolist() == [7]


def test_a_descriptor_that_is_no_channel_is_refused():
    with pytest.raises(OSError, match="-1 is no descriptor"):
        crossdock.Channel.open(-1)
    with pytest.raises(OSError, match="Bad file descriptor"):
        crossdock.Channel.open(2**30)
    for wrong in ["3", 3.0, None]:
        with pytest.raises(TypeError):
            crossdock.Channel.open(wrong)
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 16)
        with pytest.raises((ValueError, TypeError), match="sealed against shrinking"):
            crossdock.Channel.open(file.fileno())


def test_the_slot_of_a_killed_process_comes_back():
    channel, loaned = crossdock.Channel(1, 100), SPAWN.Event()
    process = SPAWN.Process(target=workers.vanish, args=(channel, loaned))
    process.start()
    assert loaned.wait(60)
    sender = channel.sender()
    with pytest.raises(TimeoutError, match="no slot"):
        sender.loan(1, timeout=0)
    process.kill()
    process.join()
    assert channel.senders == 2
    sender.loan(1, timeout=60)
    assert channel.senders == 1


def test_a_block_that_raises_sends_nothing():
    channel = crossdock.Channel(1, 100)
    receiver, sender = channel.receiver(), channel.sender()
    with pytest.raises(ZeroDivisionError), sender.loan(3):
        1 / 0
    assert receiver.try_receive() is None
    loan = sender.loan(3, timeout=0)
    with loan as x:
        assert not x.readonly and x.backing == "shared memory"
    assert channel.sent == 1
    with pytest.raises(ValueError, match="ended"), loan:
        pass


def test_views_keep_their_slots():
    channel = crossdock.Channel(1, 100)
    receiver, sender = channel.receiver(), channel.sender()
    sender.send([1.5, 2.5])
    pixels = np.asarray(receiver.receive())[1:]
    assert pixels.tolist() == [2.5] and not pixels.flags.writeable
    with pytest.raises(TimeoutError):
        sender.send([0], timeout=0.01)
    del pixels
    sender.send([0], timeout=0)


def test_the_latest_value():
    channel = crossdock.Channel(3, 100, delivery="latest")
    receiver, sender = channel.receiver(), channel.sender()
    for number in range(10):
        sender.send([number])
    assert receiver.receive().tolist() == [9] and receiver.receive(0) is None
    assert channel.receiver().receive().tolist() == [9]


def test_the_oldest_is_dropped():
    channel = crossdock.Channel(2, 100, drop_oldest=True)
    receiver, sender = channel.receiver(), channel.sender()
    for number in range(5):
        sender.send([number])
    assert [receiver.try_receive().tolist(), receiver.missed] == [[3], 3]


def test_a_waiting_thread_leaves_the_others_alone():
    channel = crossdock.Channel(2, 100)
    receiver, got = channel.receiver(), []
    thread = threading.Thread(target=lambda: got.append(receiver.receive().tolist()))
    thread.start()
    while channel.sent == 0:
        with channel.sender().loan(1, "int8") as x:
            x[:] = 5
    thread.join()
    assert got == [[5]]


def test_async_iteration():
    channel = crossdock.Channel(2, 100)
    receiver, sender = channel.receiver(), channel.sender()

    async def receive():
        return [view.tolist() async for view in receiver]

    async def send():
        for number in range(20):
            with await asyncio.to_thread(sender.loan, 1, "int32") as x:
                x[:] = number
            await asyncio.sleep(0)
        channel.close()

    async def both():
        return (await asyncio.gather(receive(), send()))[0]

    assert asyncio.run(both()) == [[number] for number in range(20)]


@pytest.mark.parametrize("delivery", ["each", "one", "latest"])
def test_a_receive_that_is_cancelled_loses_no_message(delivery):
    channel = crossdock.Channel(4, 100, delivery=delivery)
    receiver, sender = channel.receiver(), channel.sender()

    async def first():
        async for view in receiver:
            return view.tolist()

    async def check():
        # The thread still waits when the task has ended, and sees the message.
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(first(), 0.02)
        sender.send([7])
        await asyncio.sleep(0.12)
        assert receiver.try_receive().tolist() == [7]
        # The task is cancelled when its thread has seen the message.
        task = asyncio.create_task(first())
        await asyncio.sleep(0.01)
        sender.send([8])
        threading.Event().wait(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.wait_for(first(), 20) == [8]
        # An iterator goes on.
        messages = aiter(receiver)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(messages), 0.01)
        sender.send([9])
        assert (await anext(messages)).tolist() == [9]

    asyncio.run(check())


def test_tasks_of_which_some_are_cancelled_share_a_receiver_without_loss():
    channel, got = crossdock.Channel(8, 100), []
    receiver, sender = channel.receiver(), channel.sender()

    async def take():
        async for view in receiver:
            got.append(int(view[0]))

    async def check():
        tasks = [asyncio.create_task(take()) for _ in range(2)]
        for number in range(60):
            await asyncio.to_thread(sender.send, [number])
            if number % 3 == 0:
                tasks.pop(0).cancel()
                tasks.append(asyncio.create_task(take()))
        channel.close()
        await asyncio.gather(*tasks)

    asyncio.run(check())
    assert sorted(got) == list(range(60))


def test_a_sender_that_waits_in_vain_is_told_what_the_slots_are_used_for():
    channel = crossdock.Channel(3, 100, delivery="one")
    sender = channel.sender()
    sender.send([1])
    view = channel.receiver().receive()
    sender.send([2])
    loan = sender.loan(1)
    with pytest.raises(TimeoutError, match="of 3, 1 are on loan to senders, 1 wait for receivers, and receivers have views of 1"):
        sender.send([3], timeout=0)
    del view, loan


def test_what_is_wrong_is_refused():
    with pytest.raises(ValueError, match="1 to 1024"):
        crossdock.Channel(0, 100)
    with pytest.raises(ValueError, match="delivery"):
        crossdock.Channel(1, 100, delivery="all")
    with pytest.raises(TypeError, match="drop_oldest"):
        crossdock.Channel(1, 100, drop_oldest=1)
    channel = crossdock.Channel(1, 100)
    sender = channel.sender()
    with pytest.raises(IndexError, match="104"):
        sender.loan(13)
    with pytest.raises(ValueError, match="timeout"):
        sender.loan(1, timeout=-1)
    with pytest.raises((TypeError, ValueError, BufferError)):
        pickle.loads(pickle.dumps(channel))  # only `multiprocessing` passes descriptors on
    channel.close()
    with pytest.raises(ValueError, match="closed"):
        sender.loan(1)
    assert channel.receiver().receive() is None


def test_a_name_is_checked():
    assert crossdock.Channel(2, 10, name="cam-1.left").slots == 2
    for name in ["", "1", "a b", "a/b", "x" * 49]:
        with pytest.raises(ValueError, match="name"):
            crossdock.Channel(2, 10, name=name)


def test_a_receiver_is_its_own_iterator():
    channel = crossdock.Channel(4, 100)
    receiver, sender = channel.receiver(), channel.sender()
    for number in range(3):
        sender.send([number])
    assert iter(receiver) is receiver and next(receiver).tolist() == [0]
    channel.close()
    assert [view.tolist() for view in receiver] == [[1], [2]]
    with pytest.raises(StopIteration):
        next(receiver)


def test_tables_and_arrays_share_a_channel_and_are_received_in_place():
    channel = crossdock.Channel(4, 1 << 16)
    receiver, sender = channel.receiver(), channel.sender()
    table = crossdock.table({"n": [1, 2, 3], "s": ["a", None, "größe"]})
    before = crossdock.copied_bytes()
    sender.send(table)
    copied = crossdock.copied_bytes() - before
    sender.send(crossdock.array([7, 8]))
    before = crossdock.copied_bytes()
    received = receiver.receive()
    assert copied > 0 and crossdock.copied_bytes() == before
    assert isinstance(received, crossdock.Table) and received.to_dict() == table.to_dict()
    assert receiver.try_receive().tolist() == [7, 8] and receiver.try_receive() is None
    # Another process may write the slot, so consumers that rely on constancy get a copy, by name.
    with pytest.raises(BufferError):
        received.__arrow_c_stream__()
    assert received.copy().to_dict() == table.to_dict()


def test_tables_of_any_library_are_sent_as_tables_and_their_columns_as_arrays():
    pa, pl = required("pyarrow"), required("polars")
    channel = crossdock.Channel(8, 10_000)
    receiver, sender = channel.receiver(), channel.sender()
    columns = {"n": [1, 2, 3], "s": ["a", None, "größe"]}
    for table in [pa.table(columns), pa.RecordBatch.from_pydict(columns), pl.DataFrame(columns)]:
        sender.send(table)
        received = receiver.receive(timeout=10)
        assert isinstance(received, crossdock.Table) and received.to_dict() == columns
    for array in [pa.chunked_array([[1, 2, 3]]), pl.Series([1, 2, 3]), np.array([1, 2, 3])]:
        sender.send(array)
        assert receiver.receive(timeout=10).tolist() == [1, 2, 3]
    for column in [pl.Series(["a"]), pa.chunked_array([["a"]]), pl.Series([[1], []])]:
        with pytest.raises(TypeError, match="is a column of type .*, which no array has; put it into a table"):
            sender.send(column)


def test_a_column_of_a_received_table_keeps_its_slot():
    channel = crossdock.Channel(1, 1 << 14)
    receiver, sender = channel.receiver(), channel.sender()
    sender.send(crossdock.table({"n": [1, 2, 3]}))
    column = receiver.receive()["n"]
    with pytest.raises(TimeoutError):
        sender.send(crossdock.table({"n": [4]}), timeout=0.01)
    assert column.to_list() == [1, 2, 3]
    del column
    sender.send(crossdock.table({"n": [4]}))
    assert next(receiver)["n"].to_list() == [4]
    with pytest.raises(IndexError, match="send fewer rows"):
        sender.send(crossdock.table({"n": np.zeros(10_000)}))


def test_tables_go_to_another_process_and_come_by_async_for():
    channel = crossdock.Channel(4, 1 << 16)
    receiver = channel.receiver()

    async def rows():
        return [table.shape[0] async for table in receiver]

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        sent = pool.apply_async(workers.send_tables, (channel, [3, 0, 5]))
        sent.get(60)
        channel.close()
        assert asyncio.run(rows()) == [3, 0, 5]
