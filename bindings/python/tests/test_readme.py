"""The examples of the two READMEs run, the repository's and the package's."""

import pathlib
import re
import subprocess
import sys

import numpy as np
from peers import required

import crossdock

ROOT = pathlib.Path(__file__).parents[3]


def test_the_example_of_the_readme_runs(monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    monkeypatch.chdir(ROOT)
    names = {}
    exec(example, names)
    x, z, photo = names["x"], names["z"], names["photo"]
    assert np.asarray(x).ctypes.data == names["a"].ctypes.data and z.backing == "shared memory"
    assert (photo.backing, np.asarray(photo).ctypes.data) == ("file map", photo.ptr)
    printed = capsys.readouterr().out
    assert "  numpy.asarray               in place  read-only\n" in printed and "  pyarrow.array               refuses" in printed
    assert printed.endswith("[np.float64(3.0), np.float64(3.0)]\n")


def test_a_table_of_a_file_goes_to_others_as_the_readme_says(monkeypatch, tmp_path):
    pl = required("polars")
    (of_file,) = re.findall(r"t = crossdock.table\(frame\); t = (crossdock.open\(.*?\)); pl", (ROOT / "README.md").read_text())
    crossdock.save(tmp_path / "trades.arrow", {"n": [1, None], "name": ["a", "b"]})
    monkeypatch.chdir(tmp_path)
    t = eval(of_file)
    assert pl.DataFrame(t)["name"].to_list() == ["a", "b"]
    assert required("duckdb").sql("from t").fetchall() == [(1, "a"), (None, "b")]


def test_the_examples_of_the_package_print_what_they_show(monkeypatch, capsys):
    readme = (ROOT / "bindings/python/README.md").read_text()
    examples = re.findall(r"^```python\n((?:(?!^```).)*)^```\n\n```text\n(.*?)^```$", readme, re.M | re.S)
    monkeypatch.chdir(ROOT)
    before, names = crossdock.copied_bytes(), {}
    monkeypatch.setattr(crossdock, "copied_bytes", lambda counted=crossdock.copied_bytes: counted() - before)
    for program, shown in examples:
        exec(program, names)
        assert capsys.readouterr().out == shown
    assert len(examples) == 2


def test_the_drawing_is_what_the_example_draws():
    import importlib.util

    spec = importlib.util.spec_from_file_location("one_address", ROOT / "bindings/python/examples/one_address.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    drawn = (ROOT / "docs/one_address.svg").read_text()
    (address,) = re.findall(r">(0x[0-9a-f]+)<", drawn)
    photo = crossdock.open(ROOT / "data/rocket.npy")
    assert drawn == example.drawing(int(address, 16), photo.dtype, photo.shape)
