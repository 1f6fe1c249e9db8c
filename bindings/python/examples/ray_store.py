"""Arrays in Ray's object store: each `get` maps the stored memory, also for strided views.

pip install ray numpy; python ray_store.py
"""

import contextlib
import os
import tempfile

import numpy as np

import crossdock

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray  # noqa: E402 (it reads the environment when it is imported)


@contextlib.contextmanager
def start():
    """One worker and a small store, with clean-up."""
    quiet = dict(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            ray.init(num_cpus=1, object_store_memory=80 << 20, _temp_dir=folder, **quiet)
            yield
        finally:
            ray.shutdown()


def address(array):
    return np.asarray(array).ctypes.data


@ray.remote
def look(array):
    """Runs on the worker."""
    return array.backing, array.readonly, array.strides, float(np.asarray(array).sum()), crossdock.copied_bytes()


def demonstrate():
    """The demonstration, while Ray is running."""
    table = crossdock.asarray(np.arange(1_000_000.0).reshape(1000, 1000))
    before = crossdock.copied_bytes()

    stored = ray.put(table[::2])
    first, second = ray.get(stored), ray.get(stored)
    assert first.backing == "foreign" and first.strides == (16000, 8) and first[1, 1] == 2001
    assert address(first) == address(second), "two gets are one memory"
    assert first.readonly, "the store's memory is"
    assert crossdock.copied_bytes() == before

    *seen, total, copied = ray.get(look.remote(stored))
    assert seen == ["foreign", True, (16000, 8)] and copied == 0
    assert total == np.asarray(table)[::2].sum()
    return f"{table.nbytes // 2} bytes were put once, and mapped thrice, of which this library copied {copied}"


def main():
    with start():
        print(demonstrate())


if __name__ == "__main__":
    main()
