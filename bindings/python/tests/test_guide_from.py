"""The guide's "Coming from NumPy" and "Coming from Arrow C++": both columns of the first one's table are run and compared, and the
pages show what their programs print."""

import pathlib
import subprocess
import sys

import pytest
from peers import required

import crossdock

np = required("numpy")

ROOT = pathlib.Path(__file__).parents[3]
GUIDE = ROOT / "docs/guide"


def rows(page):
    """The cells of a page's first table, without the backticks of code."""
    lines = (GUIDE / page).read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|--")) + 1
    found = []
    for line in lines[first:]:
        if not line.startswith("|"):
            return found
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        assert len(cells) == 3 and all(cells[:2]), line
        found.append([cell.strip("`") for cell in cells])
    raise AssertionError(page)


def run(code, names):
    """The value of an expression, or the array after an assignment."""
    if " = " in code:
        exec(code, names)
        return names["a"]
    return eval(code, names)


@pytest.mark.parametrize(("theirs", "here", "_differs"), rows("from-numpy.md"))
def test_a_row_has_two_ways_to_the_same_value(theirs, here, _differs, monkeypatch, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    a = np.arange(6.0).reshape(2, 3)
    x = crossdock.asarray(a)
    expected = run(theirs, {"np": np, "a": a.copy() if " = " in theirs else a})
    value = run(here, {"np": np, "crossdock": crossdock, "a": a, "x": x})
    if isinstance(value, crossdock.Array):
        assert (value.dtype, value.shape) == (expected.dtype.name, expected.shape)
    assert np.array_equal(expected, value if isinstance(value, str) else np.asarray(value)) or expected == value


def test_the_table_has_the_rows_that_come_first():
    assert 12 <= len(rows("from-numpy.md")) <= 18


@pytest.mark.parametrize("name", ["numpy", "arrow"])
def test_a_page_shows_its_program_and_what_it_prints(name):
    if name == "arrow":
        required("pyarrow")
    program = GUIDE / f"programs/from_{name}.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.stderr, done.returncode) == ("", 0)
    assert f"```python\n{program.read_text()}```\n\n```text\n{done.stdout}```\n" in (GUIDE / f"from-{name}.md").read_text()


def test_the_differences_from_numpy_are_as_the_page_says():
    a = np.array([300, 2, 3])
    assert a.astype("uint8")[0] == 44
    with pytest.raises(ValueError, match="300 does not fit"):
        crossdock.asarray(a).astype("uint8")
    x = crossdock.asarray(a)
    for key in [a > 2, [0, 1]]:
        with pytest.raises(IndexError):
            x[key]
    assert (x == crossdock.array([300, 2, 3], "f4"), x == crossdock.array([1, 2, 3])) == (True, False)
    assert (x == a).tolist() == [True] * 3
    with pytest.raises(TypeError, match="compares each element"):
        x == 300
    assert np.asarray(x[:2]).tolist() == [300, 2] and not np.asarray(x.frozen()).flags.writeable
    assert crossdock.asarray(a, frozen=True).readonly
    with pytest.raises(TypeError):
        x + 1
    assert (np.asarray(x) + 1).tolist() == [301, 3, 4]


def test_a_column_for_arrow_needs_a_promise():
    pa = required("pyarrow")
    x = crossdock.asarray(np.zeros(3))
    with pytest.raises(BufferError):
        pa.array(x)
    assert pa.array(x.frozen()).buffers()[1].address == x.ptr
    own = crossdock.zeros(3)
    column = pa.array(own)
    with pytest.raises(BufferError):
        own.fill(1)
    del column
    own.fill(1)
