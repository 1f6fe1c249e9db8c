"""Examples print the output that they show."""

import ast
import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig
import textwrap

import pytest

from handing.counterparts import need, need_program

FOLDER = pathlib.Path(__file__).parents[1] / "examples"

#: Scripts, and their needs.
EXAMPLES = {
    "ctypes_records.py": [],
    "one_address.py": ["numpy", "pyarrow", "polars", "nanoarrow", "tvm_ffi"],
    "opencv_image.py": ["numpy", "cv2"],
    "polars_to_dlpack.py": ["numpy", "polars", "pyarrow"],
    "rust_to_numpy/rust_to_numpy.py": ["numpy"],
}
#: Those whose libraries are too large to be required.
OPTIONAL = {"torch_tensor.py": ["torch"]}


def run(script):
    path = FOLDER / script
    _, _, printed = ast.get_docstring(ast.parse(path.read_text())).partition("Prints::\n\n")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == (textwrap.dedent(printed) + "\n", "", 0)


@pytest.mark.parametrize("script", EXAMPLES)
def test_examples_print_what_they_say(script):
    for library in EXAMPLES[script]:
        need(library)
    if script.startswith("rust"):
        need_program("rustc")
    run(script)


@pytest.mark.parametrize("script", OPTIONAL)
def test_examples_of_optional_libraries_print_what_they_say(script):
    for library in OPTIONAL[script]:
        pytest.importorskip(library)
    run(script)


def test_an_extension_with_the_header_for_producers_lends_its_pixels(tmp_path):
    need("numpy")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    need_program(compiler[0])
    root = FOLDER.parents[2]
    source = root / "examples/producer/image_python.c"
    includes = [root / "crates/crossdock-capi/include", sysconfig.get_path("include")]
    flags = ["-shared", "-fPIC", "-o", tmp_path / "image.so", *(f"-I{folder}" for folder in includes)]
    subprocess.run([*compiler, *flags, source], check=True)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    script = source.with_suffix(".py")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path}
    )
    printed = """\
        NumPy     (480, 640, 3) True
        Crossdock (480, 640, 3) True [1, 2, 3]
        the pixels outlive the image: [1, 2, 3]
    """
    assert (done.stdout, done.stderr, done.returncode) == (textwrap.dedent(printed), "", 0)
