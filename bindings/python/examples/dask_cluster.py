"""Arrays on a Dask cluster: only the network copies views that are sent between processes.

pip install "dask[distributed]" numpy; python dask_cluster.py
"""

import contextlib
import tempfile

import dask
import numpy as np
from distributed import Client, LocalCluster

import crossdock


@contextlib.contextmanager
def start():
    """A client of two processes on this machine, which use TCP. (Within one process, nothing would be sent.)"""
    here = dict(host="127.0.0.1", protocol="tcp", dashboard_address=None)
    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set(temporary_directory=folder),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **here) as cluster,
        Client(cluster) as client,
    ):
        yield client


def look(array):
    """Runs on a worker."""
    return array.backing, array.strides, float(np.asarray(array).sum()), crossdock.copied_bytes()


def flip(array):
    """Runs on a worker: returns a view of the array that it received."""
    return array[::-1]


def demonstrate(client):
    """The demonstration, with a client of any cluster."""
    table = crossdock.asarray(np.arange(1_000_000.0).reshape(1000, 1000))
    before = crossdock.copied_bytes()

    [future] = client.scatter([table[:, 1:]])
    backing, strides, total, copied = client.submit(look, future).result()
    assert (backing, strides, copied) == ("foreign", table.strides, 0), "it lies in what Dask received"
    assert total == np.asarray(table)[:, 1:].sum()

    # Dask's choice of the pickle protocol sends results through the scheduler in band: results
    # fetched from the worker are out of band.
    flipped = client.gather(client.submit(flip, future), direct=True)
    assert flipped.backing == "foreign" and flipped.strides == (-8000, 8)
    assert flipped[0, 0] == 999_001 and crossdock.copied_bytes() == before
    return f"{table.nbytes} bytes there and back, of which this library copied {copied}"


def main():
    with start() as client:
        print(demonstrate(client))


if __name__ == "__main__":
    main()
