"""Everyday lines of other libraries give with Crossdock's arrays what they give with NumPy's, or the page says otherwise."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import crossdock
from handing.counterparts import need

np = need("numpy")

ROOT = pathlib.Path(__file__).parents[3]
PAGE = ROOT / "docs/evidence/everyday.md"
SCRIPT = ROOT / "bindings/python/examples/everyday_lines.py"

spec = importlib.util.spec_from_file_location("everyday_lines", SCRIPT)
everyday = importlib.util.module_from_spec(spec)
spec.loader.exec_module(everyday)

#: The libraries of `requirements.txt`. The others are compared where they are installed.
REQUIRED = {
    "NumPy": ["numpy"], "Python": [], "pandas": ["pandas"], "Polars": ["polars"], "PyArrow": ["pyarrow"], "OpenCV": ["cv2"],
    "Pillow": ["PIL"], "Dask": ["dask"], "safetensors": ["safetensors"], "TVM FFI": ["tvm_ffi"],
}  # fmt: skip

HEADING = """# Everyday lines

What lines from tutorials and programs give with a Crossdock array instead of a NumPy array of the same elements, at an address with the
same alignment. `bindings/python/examples/everyday_lines.py` runs them and prints these tables. A test compares
those of NumPy, Python, pandas, Polars, PyArrow, OpenCV, Pillow, Dask, safetensors and TVM FFI; the other libraries were run by hand, in
the versions that their headings name.

- **in place**: the result is in the array's memory.
- **the same**: the result has the same class, dtype, shape and elements, and is in the array's memory, or not, like NumPy's. An array
  of Crossdock counts as one of NumPy, and a number of Python as a scalar of NumPy.
- **foretold**: what `crossdock.explain` says about the call.

Arithmetic is left out: a Crossdock array has none, and its error names `np.asarray(x)`.
"""


def sections():
    """The tables of the page, by the library."""
    parts = re.split(r"^## (.+)\n\n", PAGE.read_text(), flags=re.MULTILINE)[1:] if PAGE.exists() else []
    found = {}
    for heading, body in zip(parts[::2], parts[1::2]):
        library = next(one for one in everyday.LIBRARIES if f"{heading} ".startswith(f"{one} "))
        found[library] = heading, body.strip() + "\n"
    return found


def bless(library):
    """Writes the section of a library."""
    made = sections() | {library: (f"{library} {everyday.version(library)}".strip(), everyday.table(library))}
    ordered = [made[name] for name in everyday.LIBRARIES if name in made]
    PAGE.write_text(HEADING + "".join(f"\n## {heading}\n\n{body}" for heading, body in ordered))


def unforetold(library):
    """The lines of a library that differ from NumPy's and of which `crossdock.explain` does not say so."""
    missing = []
    for line in everyday.lines(library):
        theirs, ours = everyday.compared(line)
        told = everyday.foretold(line) if theirs != ours else None
        if theirs == ours or told is not None and (told.reason or told.outcome == "in place" and ours.is_in_place):
            continue
        missing.append(f"{line.code}: {ours.words()}, {told}")
    return missing


def is_as_the_page_says(library):
    if "CROSSDOCK_BLESS" in os.environ:
        bless(library)
    assert not unforetold(library)
    heading, body = sections()[library]
    assert everyday.table(library) == body, f"measured with {heading}, and {everyday.version(library)} is installed"


@pytest.mark.parametrize("library", REQUIRED)
def test_everyday_lines_give_what_the_page_says(library):
    for module in REQUIRED[library]:
        need(module)
    is_as_the_page_says(library)


@pytest.mark.parametrize("library", [library for library in everyday.LIBRARIES if library not in REQUIRED])
def test_everyday_lines_of_optional_libraries_give_what_the_page_says(library):
    if not everyday.is_installed(library):
        pytest.skip(f"{library} is not installed")
    is_as_the_page_says(library)


def test_the_page_has_every_line_once():
    page = PAGE.read_text()
    assert page.startswith(HEADING)
    lines = [line for library in everyday.LINES for line in everyday.lines(library)]
    for line in lines:
        cell = line.code.replace("|", "\\|")
        assert page.count(f"\n| `{cell}` |") == 1, line.code
    assert page.count("\n| `") == len(lines) > 120
    assert list(everyday.LINES) == list(everyday.LIBRARIES) == list(sections())


def test_a_difference_is_noticed():
    line = everyday.Line("Python", "type(x).__module__", "")
    theirs, ours = everyday.compared(line)
    assert theirs != ours and (theirs.elements, ours.elements) == ("numpy", "crossdock")
    line = everyday.Line("NumPy", "np.array(x)", "")
    assert not everyday.compared(line)[0].is_in_place
    assert everyday.compared(everyday.Line("NumPy", "np.asarray(x)", ""))[1].is_in_place


def test_the_script_prints_the_tables():
    done = subprocess.run([sys.executable, SCRIPT, "Python"], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == f"Python \n\n{sections()['Python'][1]}\n"


def test_a_dtype_is_found_among_those_of_numpy():
    for name in ["float64", "uint8", ">i4", "M8[ns]", "S3", [("a", "f4"), ("b", "i8")], "bool"]:
        own = crossdock.dtype(name)
        assert {np.dtype(name): 1}[own] == 1 and {own: 1}[np.dtype(name)] == 1 and own in {np.dtype(name)}
