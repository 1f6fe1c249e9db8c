"""Rust → NumPy: memory of a Rust library as a NumPy array, which Rust frees after the last view.

Needs ``rustc``, which makes the library of ``lib.rs``.

Prints::

    [0.0, 1.0, 4.0, 9.0, 16.0]
    still there: 16.0
    freed by Rust
"""

import ctypes
import pathlib
import subprocess
import tempfile

import numpy as np

import crossdock


def build(folder):
    made = pathlib.Path(folder) / "squares.so"
    subprocess.run(
        [
            "rustc",
            "--edition=2024",
            "--crate-type=cdylib",
            "-O",
            "-o",
            made,
            pathlib.Path(__file__).with_name("lib.rs"),
        ],
        check=True,
    )
    return ctypes.CDLL(made)


class Squares:
    """Owns Rust's memory while Python uses it."""

    def __init__(self, library, count):
        library.make_squares.restype = ctypes.c_void_p
        library.free_squares.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.library, self.count = library, count
        self.address = library.make_squares(ctypes.c_size_t(count))

    def __del__(self):
        self.library.free_squares(self.address, self.count)

    def array(self):
        return crossdock.from_address(self.address, 8 * self.count, self, dtype="float64")


with tempfile.TemporaryDirectory() as folder:
    squares = np.asarray(Squares(build(folder), 5).array())
    print(squares.tolist())

    last = squares[-1:]
    del squares
    print("still there:", last[0], flush=True)
    del last
