"""NumPy fills an array before it is known that another process will need it."""

import multiprocessing

import numpy as np

import crossdock


def total(array):
    """Runs in the other process, on the same memory."""
    pixels = np.asarray(array)
    pixels[0, 0] = 255
    return int(pixels.sum(dtype="u8"))


def main():
    with crossdock.shareable():  # NumPy's new arrays lie in memory that can be shared
        pixels = np.zeros((4000, 4000, 3), "u1")
    pixels[100:200] = 7  # an ordinary array, also outside the block

    before = crossdock.copied_bytes()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print("their sum:", pool.apply(total, (crossdock.asarray(pixels),)))
    print("ours:", int(pixels.sum(dtype="u8")), "and pixel [0, 0]:", pixels[0, 0].tolist())
    print("copied:", crossdock.copied_bytes() - before, "bytes of", pixels.nbytes)


if __name__ == "__main__":
    main()
