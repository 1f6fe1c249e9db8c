"""Files of NumPy, safetensors and Pillow for the tests of the library, and a check of what the library writes.

write FOLDER: writes files, and beside each FILE its arrays as FILE.NAME.npy.
check FOLDER: compares the files ours-* with those arrays.
"""

import pathlib
import sys

import numpy as np
import safetensors
import safetensors.numpy
from PIL import Image

ARRAYS = {
    "a": np.arange(60, dtype="<f8").reshape(3, 4, 5),
    "b": np.asfortranarray(np.arange(12, dtype=">i4").reshape(3, 4)),
    "c": np.array(7, dtype="u2"),
    "d": np.zeros((0, 3), dtype="c16"),
    "e": np.array([("x", 1.5), ("yz", -2.0)], dtype=[("name", "S3"), ("value", "<f4")]),
    "f": np.tile(np.arange(1000, dtype="i2"), 100),
}

TENSORS = {
    "layer.weight": np.linspace(-1, 1, 24, dtype="f4").reshape(2, 3, 4),
    "bias": np.array([True, False, True]),
    "half": np.arange(5, dtype="f2"),
    "count": np.array(-3, dtype="i8"),
    "none": np.zeros((0, 4), dtype="u1"),
    "odd": np.arange(3, dtype="u1"),
    "wide": np.arange(3, dtype="u8") << 60,
}


def pictures():
    y, x = np.mgrid[0:24, 0:36]
    rgb = np.stack([x * 7, y * 9, (x + y) * 4], axis=-1).astype("u1")
    return rgb, (x * 1000 + y).astype("u2")


def write(folder):
    def beside(file, name, array):
        np.save(folder / f"{file}.{name}.npy", array)

    np.savez(folder / "stored.npz", **ARRAYS)
    np.savez_compressed(folder / "deflated.npz", **ARRAYS)
    for name, array in ARRAYS.items():
        beside("stored.npz", name, array)
        beside("deflated.npz", name, array)
    safetensors.numpy.save_file(TENSORS, folder / "torch.safetensors", metadata={"format": "np"})
    for name, array in TENSORS.items():
        beside("torch.safetensors", name, array)
    rgb, grey16 = pictures()
    Image.fromarray(rgb).save(folder / "rgb.png")
    beside("rgb.png", "", rgb)
    Image.fromarray(grey16).save(folder / "grey16.png")
    beside("grey16.png", "", grey16)
    palette = Image.fromarray(rgb).quantize(16)
    palette.save(folder / "palette.png")
    beside("palette.png", "", np.asarray(palette.convert("RGB")))
    for file, picture in [("rgb.jpg", Image.fromarray(rgb)), ("grey.jpg", Image.fromarray(rgb[..., 0].copy()))]:
        picture.save(folder / file, quality=95, subsampling=0)
        beside(file, "", np.asarray(Image.open(folder / file)))


def same(got, wanted):
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), (got.dtype, got.shape, wanted.dtype, wanted.shape)
    assert got.tobytes() == wanted.tobytes()


def check(folder):
    for file in ["ours-stored.npz", "ours-deflated.npz"]:
        with np.load(folder / file, allow_pickle=False) as archive:
            assert archive.files == list(ARRAYS)
            for name, array in ARRAYS.items():
                same(archive[name], array)
                assert archive[name].flags.f_contiguous == array.flags.f_contiguous
    ours = safetensors.numpy.load_file(folder / "ours.safetensors")
    assert ours.keys() == TENSORS.keys()
    for name, array in TENSORS.items():
        same(ours[name], array)
    with safetensors.safe_open(folder / "ours.safetensors", framework="np") as opened:
        assert opened.metadata() == {"format": "np", "größe": "1"}
    rgb, grey16 = pictures()
    same(np.asarray(Image.open(folder / "ours-rgb.png")), rgb)
    same(np.asarray(Image.open(folder / "ours-grey16.png")).astype("u2"), grey16)
    wanted = np.load(folder / "rgb.jpg..npy").astype(int)
    got = np.asarray(Image.open(folder / "ours-rgb.jpg")).astype(int)
    assert np.abs(got - wanted).mean() < 4


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
