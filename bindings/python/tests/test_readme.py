"""The example in the repository's README runs."""

import pathlib
import re
import shutil

import numpy as np

import crossdock

ROOT = pathlib.Path(__file__).parents[3]


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    shutil.copy(ROOT / "data/rocket.npy", tmp_path / "photo.npy")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example, names)
    assert isinstance(names["red"], np.ndarray) and names["red"].shape == (427, 640)
    assert names["red"].ctypes.data == names["x"].ptr
    assert "numpy" in capsys.readouterr().out.lower()


def test_the_drawing_is_what_the_example_draws():
    import importlib.util

    spec = importlib.util.spec_from_file_location("one_address", ROOT / "bindings/python/examples/one_address.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    drawn = (ROOT / "docs/one_address.svg").read_text()
    (address,) = re.findall(r">(0x[0-9a-f]+)<", drawn)
    photo = crossdock.open(ROOT / "data/rocket.npy")
    assert drawn == example.drawing(int(address, 16), photo.dtype, photo.shape)
