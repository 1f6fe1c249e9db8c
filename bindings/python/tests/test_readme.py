"""The examples of the two READMEs run, the repository's and the package's."""

import pathlib
import re
import subprocess
import sys

import numpy as np

import crossdock

ROOT = pathlib.Path(__file__).parents[3]


def test_the_example_of_the_readme_runs(monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S)
    monkeypatch.chdir(ROOT)
    names = {}
    exec(example, names)
    assert names["a"].ctypes.data == names["x"].ptr
    assert not names["a"].flags.writeable and names["y"].tolist() == np.ones((2, 3)).tolist()
    printed = capsys.readouterr().out.splitlines()
    rows = [line for line in readme.splitlines() if line.startswith("  ") and "  read-only" in line or "tobytes" in line]
    assert len(rows) >= 2 and all(row in printed for row in rows)


def test_the_first_lines_of_the_package_print_what_its_readme_shows():
    readme = (ROOT / "bindings/python/README.md").read_text()
    program, shown = re.search(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", readme, re.M | re.S).groups()
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (run.stdout, run.stderr) == (shown, "")


def test_the_drawing_is_what_the_example_draws():
    import importlib.util

    spec = importlib.util.spec_from_file_location("one_address", ROOT / "bindings/python/examples/one_address.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    drawn = (ROOT / "docs/one_address.svg").read_text()
    (address,) = re.findall(r">(0x[0-9a-f]+)<", drawn)
    photo = crossdock.open(ROOT / "data/rocket.npy")
    assert drawn == example.drawing(int(address, 16), photo.dtype, photo.shape)
