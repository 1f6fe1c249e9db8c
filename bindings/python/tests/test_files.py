"""Files: what `open` and `save` do beside NumPy and safetensors, archives by name, modes, and raw files."""

import collections
import copy
import io
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

import crossdock


@pytest.fixture
def arrays():
    rng = np.random.default_rng(7)
    return {
        "layers.0.w": rng.random((3, 4), dtype=np.float32),
        "layers.0.b": np.arange(4, dtype=np.int16),
        "layers.1.w": np.zeros((0, 2)),
        "head": np.array(5),
    }


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_an_archive_is_a_mapping_of_names_to_arrays(tmp_path, arrays, ending):
    path = tmp_path / f"model.{ending}"
    if ending == "npz":
        np.savez(path, **arrays)
    else:
        safetensors.numpy.save_file(arrays, path, metadata={"epoch": "3"})
    before = crossdock.copied_bytes()
    archive = crossdock.open(path)
    assert isinstance(archive, collections.abc.Mapping) and len(archive) == 4
    assert set(archive) == set(archive.keys()) == set(arrays) and "head" in archive and "nope" not in archive
    assert sorted(archive.keys("layers.0.")) == ["layers.0.b", "layers.0.w"] and archive.keys("x") == []
    for name, array in arrays.items():
        own = archive[name]
        assert own.dtype == array.dtype and own.shape == array.shape and own.tolist() == array.tolist()
        assert archive.describe(name) == (array.dtype, array.shape) and own.backing == "file map" or own.size == 0
    assert archive.format == ending and archive.path == path and archive.refused == {}
    assert archive.metadata == ({} if ending == "npz" else {"epoch": "3"})
    assert archive.get("head").item() == 5 and archive.get("nope") is None and archive.get("nope", 3) == 3
    assert crossdock.open(path, name="head").item() == 5
    for wrong in [lambda: archive["nope"], lambda: archive.describe("nope")]:
        with pytest.raises(KeyError, match="nope"):
            wrong()
    with pytest.raises(KeyError, match="nope"):
        crossdock.open(path, name="nope")
    assert repr(archive).startswith(f"Archive of 4 arrays ({ending})") and "float32  (3, 4)" in repr(archive)
    counted = sum(array.nbytes for array in arrays.values())  # by tolist() above
    assert crossdock.copied_bytes() - before <= counted
    array = archive["layers.0.w"]
    del archive
    with crossdock.open(path) as again:
        assert np.array_equal(again["layers.0.w"], array)
    np.savez(tmp_path / "copy.npz", **crossdock.open(path))
    assert set(np.load(tmp_path / "copy.npz")) == set(arrays)


def test_the_path_may_name_an_array_and_a_view(tmp_path):
    record = np.zeros(4, [("price", "f8"), ("unit price", "f4")])
    np.savez(tmp_path / "two.npz", a=np.arange(12).reshape(4, 3), b=record)
    np.save(tmp_path / "x[0].npy", np.arange(5))
    for text, expected in [
        ("two.npz:a", np.arange(12).reshape(4, 3)),
        ("two.npz:a[::2, 0]", np.array([0, 6])),
        ("two.npz:b[1:].price", np.zeros(3)),
        ("two.npz['b']['unit price']", np.zeros(4, "f4")),
        ("x[0].npy", np.arange(5)),
        ("x[0].npy[1:3]", np.array([1, 2])),
    ]:
        for path in [tmp_path / text, str(tmp_path / text)]:
            array = np.asarray(crossdock.open(path))
            assert array.dtype == expected.dtype and np.array_equal(array, expected), text
    assert crossdock.open(tmp_path / "two.npz[0]", name="a").shape == (3,)
    with pytest.raises(KeyError, match="did you mean"):
        crossdock.open(tmp_path / "two.npz:aa")
    with pytest.raises(TypeError, match="name one before the view"):
        crossdock.open(tmp_path / "two.npz[0]")
    with pytest.raises(FileNotFoundError) as missing:
        crossdock.open(tmp_path / "missing.npz:a")
    assert missing.value.filename == str(tmp_path / "missing.npz")


def test_a_long_archive_is_listed_in_part(tmp_path):
    crossdock.save(tmp_path / "long.safetensors", {f"a{index}": [index] for index in range(300)})
    archive = crossdock.open(tmp_path / "long.safetensors")
    assert len(archive) == 300 and repr(archive).count("\n") == 21 and "… and 280 more" in repr(archive)


def test_names_in_a_list_of_an_archive_do_not_reach_the_terminal(tmp_path):
    crossdock.save(tmp_path / "odd.safetensors", {"a\x1b[2J\x07\r\nb": [1], "größe": [2]})
    text = repr(crossdock.open(tmp_path / "odd.safetensors"))
    assert "a\\u{1b}[2J\\u{7}\\r\\nb  int64" in text and "größe" in text
    assert text.count("\n") == 2 and not set("\x1b\x07\r") & set(text)


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_save_writes_what_the_peers_read(tmp_path, arrays, ending):
    path = tmp_path / f"new.{ending}"
    crossdock.save(path, arrays)
    found = np.load(path) if ending == "npz" else safetensors.numpy.load_file(path)
    assert {name: (found[name].dtype, found[name].tolist()) for name in arrays} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }
    crossdock.save(path, crossdock.open(path))  # over the file that it maps
    assert crossdock.open(path)["head"].item() == 5
    if ending == "npz":
        crossdock.save(path, {"z": np.zeros(1000)}, compress=True)
        assert path.stat().st_size < 1000 and np.load(path)["z"].shape == (1000,)
        assert crossdock.open(path)["z"].backing == "heap"
    else:
        crossdock.save(path, {"z": [1.0]}, metadata={"by": "me"})
        assert crossdock.open(path).metadata == {"by": "me"}


def test_one_array_is_saved(tmp_path):
    path = tmp_path / "x.npy"
    for given in [np.arange(6).reshape(2, 3)[:, ::-1], crossdock.ones((2, 3), "bfloat16").astype("f4"), [[1, 2], [3, 4]], range(3)]:
        crossdock.save(path, given)
        assert np.load(path).tolist() == np.asarray(given).tolist()
    crossdock.save(str(path), np.arange(6).reshape(3, 2).T)
    assert np.load(path).flags.f_contiguous
    with pytest.raises(TypeError, match="one array without a name"):
        crossdock.save(path, {"a": [1]})
    with pytest.raises((TypeError, ValueError)):
        crossdock.save(path, {"a", "b"})
    with pytest.raises(OSError):
        crossdock.save(tmp_path / "missing" / "x.npy", [1])
    assert np.load(path).shape == (2, 3)


def test_modes(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(crossdock.open(path))[0] = 1
    private = crossdock.open(path, mode="c")
    private[0] = 1
    assert private.backing == "heap" and np.load(path).tolist() == [0, 0, 0]
    shared = crossdock.open(path, mode="r+")
    shared[0] = 2
    assert np.load(path).tolist() == [2, 0, 0] and shared.backing == "file map"
    with pytest.raises(ValueError, match="'r' .*, 'r\\+' .* or 'c' "):
        crossdock.open(path, mode="w")
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(3))
    with pytest.raises(TypeError, match="npz"):
        crossdock.open(tmp_path / "x.npz", mode="r+")


def test_raw_files(tmp_path):
    path = tmp_path / "x.raw"
    numbers = np.arange(12, dtype=">i2")
    path.write_bytes(b"head" + numbers.tobytes())
    assert crossdock.open(path, dtype=">i2", offset=4).tolist() == numbers.tolist()
    assert crossdock.open(path, dtype=">i2", offset=4, shape=(3, 4)).tolist() == numbers.reshape(3, 4).tolist()
    assert crossdock.open(path, dtype=">i2", offset=4, shape=(3, 4), order="F").tolist() == numbers.reshape((3, 4), order="F").tolist()
    records = crossdock.open(path, dtype=[("a", "i1"), ("b", "i1")], offset=4)
    assert records["b"].tolist() == list(range(12))
    writable = crossdock.open(path, dtype="u1", mode="r+")
    writable[0] = 65
    assert path.read_bytes()[:4] == b"Aead"
    with pytest.raises((IndexError, ValueError)):
        crossdock.open(path, dtype=">i2", shape=(100,))
    with pytest.raises(ValueError, match="whole number"):
        crossdock.open(path, dtype=">i4", offset=3)
    with pytest.raises(TypeError, match="dtype"):
        crossdock.open(path, shape=(3,))


def test_paths_and_files(tmp_path, monkeypatch):
    folder = tmp_path / "a b ü"
    folder.mkdir()
    path = folder / "x.npy"
    np.save(path, np.arange(3))
    monkeypatch.chdir(folder)
    for given in [path, str(path), "x.npy", pathlib.Path("x.npy")]:
        assert crossdock.open(given).tolist() == [0, 1, 2]
    with path.open("rb") as file:
        assert crossdock.open(file).tolist() == [0, 1, 2]
    assert crossdock.open(bytes(path)).tolist() == [0, 1, 2]
    with path.open("rb") as file:
        file.read(1)
        with pytest.raises(ValueError, match="at byte 1"):
            crossdock.open(file)
    for wrong in [io.BytesIO(b""), 3, None]:
        with pytest.raises((TypeError, OSError)):
            crossdock.open(wrong)
    with pytest.raises(FileNotFoundError, match="nothing.npy"):
        crossdock.open("nothing.npy")
    (folder / "text.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TypeError):
        crossdock.open(folder / "text.csv")


def test_what_is_opened_for_reading_is_read_only_even_if_it_was_decoded(tmp_path):
    pixels = crossdock.zeros((2, 3, 3), "u1")
    crossdock.save(tmp_path / "p.png", pixels)
    crossdock.save(tmp_path / "c.npz", {"a": pixels}, compress=True)
    archive = crossdock.open(tmp_path / "c.npz")
    opened = [crossdock.open(tmp_path / "p.png"), archive["a"], dict(archive.items())["a"], *archive.values()]
    opened.append(crossdock.open(tmp_path / "c.npz", name="a"))
    for array in opened:
        assert array.readonly and array.tolist() == pixels.tolist()
    writable = [crossdock.open(tmp_path / "p.png", mode="c"), crossdock.open(tmp_path / "c.npz", mode="c")["a"]]
    for array in writable:
        array[0] = 7
        assert not array.readonly and array[0, 0, 0] == 7


def sent(array):
    channel = crossdock.Channel(2, array.nbytes)
    receiver, sender = channel.receiver(), channel.sender()
    sender.send(array, timeout=60)
    del receiver


def sent_by_loan(array):
    channel = crossdock.Channel(2, array.nbytes)
    receiver, sender = channel.receiver(), channel.sender()
    with sender.loan(array.shape, array.dtype) as loan:
        loan[:] = array
    del receiver


def assigned(array, dtype=None):
    crossdock.zeros(array.shape, dtype)[:] = array


COPIES = {
    "copy": lambda x: x.copy(),
    "deepcopy": copy.deepcopy,
    "astype": lambda x: x.astype("f4"),
    "array": crossdock.array,
    "array of a dtype": lambda x: crossdock.array(x, dtype="f4"),
    "array of a strided view": lambda x: crossdock.array(x[::2]),
    "array of a list": lambda x: crossdock.array([x, x]),
    "array of a view of NumPy's": lambda x: crossdock.array(np.asarray(x)),
    "assignment": assigned,
    "assignment with a cast": lambda x: assigned(x, "f4"),
    "concat": lambda x: crossdock.array_api.concat([x, x]),
    "reshape": lambda x: crossdock.array_api.reshape(x, (2, -1), copy=True),
    "shared": crossdock.shared,
    "tolist": lambda x: x.tolist(),
    "bytes": bytes,
    "pickle 4": lambda x: pickle.dumps(x, protocol=4),
    "pickle 5": lambda x: pickle.dumps(x, protocol=5),
    "send": sent,
    "loan": sent_by_loan,
}


@pytest.mark.parametrize("copies", COPIES.values(), ids=COPIES.keys())
def test_each_copy_of_a_guarded_file_that_shrank_is_an_error(tmp_path, copies):
    path = tmp_path / "long.npy"
    np.save(path, np.arange(1.0, 4097))
    array = crossdock.open(path, guarded=True)
    copies(array)
    os.truncate(path, 4096)
    with pytest.raises(OSError, match="the mapped file shrank"):
        copies(array)


def test_a_guarded_file_may_shrink(tmp_path):
    path = tmp_path / "long.npy"
    np.save(path, np.arange(1.0, 1e5))
    script = f"""
import os, crossdock
x = crossdock.open({str(path)!r}, guarded=True)
os.truncate({str(path)!r}, 4096)
assert (x[0], x[-1]) == (1.0, 0.0)
try:
    x.copy()
except (OSError, BufferError, RuntimeError) as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and "shr" in done.stdout + done.stderr, done


def test_a_very_long_name_is_listed_whole(tmp_path):
    name = "n" * 70_000
    crossdock.save(tmp_path / "long.safetensors", {name: [1], "m": [2]})
    assert repr(crossdock.open(tmp_path / "long.safetensors")).count(name) == 1


def test_arrays_that_cannot_be_opened_are_listed_and_never_lost_in_silence(tmp_path):
    np.savez(tmp_path / "some.npz", w=np.arange(3.0), labels=np.array(["a", None], object))
    archive = crossdock.open(tmp_path / "some.npz")
    assert list(archive) == ["w"] and list(archive.refused) == ["labels"]
    assert repr(archive).endswith("\nand 1 that cannot be opened, see `refused`:\n  labels")
    with pytest.raises(KeyError, match="pickle"):
        archive.get("labels", "default")
    assert archive.get("other", "default") == "default"
    for lose in (lambda: crossdock.save(tmp_path / "copy.npz", archive), lambda: crossdock.publish("copy", archive)):
        with pytest.raises(ValueError, match="1 of the 2 arrays of the archive cannot be opened .*labels"):
            lose()
    assert not (tmp_path / "copy.npz").exists()
    crossdock.save(tmp_path / "copy.npz", dict(archive))
    assert crossdock.open(tmp_path / "copy.npz")["w"].tolist() == [0, 1, 2]
