"""Files that the command converts are read by NumPy, safetensors and Pillow, and the reverse."""

import json

import numpy as np
import pytest
import safetensors.numpy
from PIL import Image


@pytest.fixture(scope="session")
def photo(data):
    return np.load(data / "rocket.npy")


@pytest.mark.parametrize("deflate", [False, True])
def test_an_archive_is_what_numpy_reads(crossdock, data, photo, tmp_path, deflate):
    out = tmp_path / "photo.npz"
    done = crossdock("convert", data / "rocket.npy", out, *["--deflate"] * deflate)
    assert done.returncode == 0, done.stderr
    with np.load(out, allow_pickle=False) as archive:
        assert archive.files == ["rocket"]
        np.testing.assert_array_equal(archive["rocket"], photo)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_of_numpy_is_listed_and_taken_apart(crossdock, photo, tmp_path, save):
    rng = np.random.default_rng(5)
    arrays = {
        "prices": rng.normal(size=(7, 3)),
        "columns": np.asfortranarray(rng.integers(0, 9, size=(4, 5), dtype="i2")),
        "one": np.array(3, dtype=">u4"),
        "none": np.zeros((0, 2), dtype="c8"),
        "trades": np.array([("a", 1.5)], dtype=[("name", "U3"), ("price", "<f8")]),
    }
    save(tmp_path / "all.npz", **arrays)
    listed = json.loads(crossdock("inspect", "--json", tmp_path / "all.npz").stdout)
    assert [array["name"] for array in listed["arrays"]] == list(arrays)
    in_place = save is np.savez
    for said, (name, array) in zip(listed["arrays"], arrays.items(), strict=True):
        assert (said["shape"], said["nbytes"]) == (list(array.shape), array.nbytes)
        assert (said["offset"] is not None, said["decoded"]) == (in_place, None if in_place else "deflated")
        out = tmp_path / f"{name}.npy"
        done = crossdock("convert", f"{tmp_path / 'all.npz'}:{name}", out)
        assert done.returncode == 0, done.stderr
        back = np.load(out, allow_pickle=False)
        assert (back.dtype, back.flags.f_contiguous) == (array.dtype, array.flags.f_contiguous)
        np.testing.assert_array_equal(back, array)


def test_tensors_go_both_ways(crossdock, data, tmp_path):
    tensors = {"weight": np.linspace(0, 1, 12, dtype="f4").reshape(3, 4), "mask": np.array([True, False])}
    safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "np"})
    assert crossdock("convert", tmp_path / "model.safetensors", tmp_path / "model.npz").returncode == 0
    with np.load(tmp_path / "model.npz") as archive:
        assert set(archive.files) == set(tensors)
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(archive[name], tensor)
    assert crossdock("convert", tmp_path / "model.npz", tmp_path / "back.safetensors").returncode == 0
    back = safetensors.numpy.load_file(tmp_path / "back.safetensors")
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(back[name], tensor)


def test_images_go_both_ways(crossdock, data, photo, tmp_path):
    assert crossdock("convert", data / "rocket.npy", tmp_path / "photo.png").returncode == 0
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "photo.png")), photo)
    assert crossdock("convert", data / "rocket.npy", tmp_path / "photo.jpg", "--quality", "95").returncode == 0
    near = np.asarray(Image.open(tmp_path / "photo.jpg")).astype(int)
    assert np.abs(near - photo).mean() < 3
    Image.fromarray(photo[..., 0].copy()).save(tmp_path / "grey.png")
    assert crossdock("convert", tmp_path / "grey.png", tmp_path / "grey.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "grey.npy"), photo[..., 0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_raw_elements_are_what_numpy_maps(crossdock, data, tmp_path, order):
    heights = np.load(data / "elevation.npy")
    out = tmp_path / "heights.raw"
    done = crossdock("convert", f"{data / 'elevation.npy'}:::2", out, "--order", order, "--dtype", "float64")
    assert done.returncode == 0, done.stderr
    wanted = heights[::2].astype("f8")
    np.testing.assert_array_equal(np.memmap(out, dtype="f8", mode="r", shape=wanted.shape, order=order), wanted)
    said = done.stdout.split("--raw '")[1].split("'")[0]
    assert crossdock("convert", out, tmp_path / "back.npy", "--raw", said).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "back.npy"), wanted)
