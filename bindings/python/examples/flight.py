"""Arrow Flight between languages: the receiver gets an array on a column of tensors.

pip install pyarrow numpy; python flight.py
"""

import multiprocessing

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

import crossdock


def column(array):
    """A column with one tensor in each row, on the array's memory, in Arrow's canonical type for all languages."""
    rows, *shape = array.shape
    values = pa.Array.from_buffers(pa.float64(), array.size, [None, pa.py_buffer(array)])
    lists = pa.FixedSizeListArray.from_arrays(values, array.size // rows)
    return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float64(), shape), lists)


class Server(flight.FlightServerBase):
    """Serves one batch."""

    def __init__(self, batch):
        super().__init__("grpc://127.0.0.1:0")
        self.batch = batch

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(pa.Table.from_batches([self.batch]))


def serve(connection):
    """Runs in another process, which could be a program in another language."""
    array = crossdock.asarray(np.arange(24_000.0).reshape(1000, 4, 6))
    with Server(pa.record_batch([column(array)], ["frame"])) as server:
        connection.send(server.port)
        connection.recv()


def demonstrate(port):
    """The demonstration, with a server at the port."""
    before = crossdock.copied_bytes()
    with flight.connect(f"grpc://127.0.0.1:{port}") as client:
        received = client.do_get(flight.Ticket(b"")).read_chunk().data.column("frame")
    frames = crossdock.asarray(received.to_tensor())
    assert frames.shape == (1000, 4, 6) and frames.readonly and frames[999, 3, 5] == 23_999
    buffer = received.storage.values.buffers()[1]
    assert np.asarray(frames).ctypes.data == buffer.address, "it lies in what was received"
    assert crossdock.copied_bytes() == before
    return f"{frames.nbytes} bytes are an array where they were received"


def main():
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there,))
    process.start()
    print(demonstrate(here.recv()))
    here.send("done")
    process.join()


if __name__ == "__main__":
    main()
