"""Two processes work on one photograph: both map the memory that has its pixels."""

import multiprocessing

import numpy as np

import crossdock


def darken(part):
    """Runs in the other process. `part` is a view of the same memory."""
    pixels = np.asarray(part)
    pixels //= 2
    return crossdock.copied_bytes()


def may_write(constant):
    """Runs in the other process, on sealed memory."""
    return np.asarray(constant).flags.writeable


def main():
    photo = crossdock.open("data/rocket.npy")
    shared = crossdock.shared(photo)  # the only copy: into memory that other processes can map
    sealed = crossdock.shared(photo, sealed=True)  # a second one, which no process can write

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        copied = pool.apply(darken, (shared[:, :320],))  # sends a descriptor and a line of text
        print("memory:", shared.backing)
        print("copied by the other process:", copied, "bytes")
        for column in (100, 500):
            before, after = photo[200, column].tolist(), shared[200, column].tolist()
            print(f"pixel [200, {column}]: {before} became {after}")
        print("sealed memory is writable there:", pool.apply(may_write, (sealed,)))


if __name__ == "__main__":
    main()
