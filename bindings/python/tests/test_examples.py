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
ROOT = FOLDER.parents[2]

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


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """The folder of the compiled module `image`, whose source includes the header twice: before and after Python.h."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    need_program(compiler[0])
    folder = tmp_path_factory.mktemp("extension")
    includes = [ROOT / "crates/crossdock-capi/include", sysconfig.get_path("include")]
    flags = ["-shared", "-fPIC", "-o", folder / "image.so", *(f"-I{include}" for include in includes)]
    once_before = ["-include", "crossdock_producer.h"]
    subprocess.run([*compiler, *flags, *once_before, ROOT / "examples/producer/image_python.c"], check=True)
    return folder


def with_the_extension(extension, *arguments):
    path = os.pathsep.join([str(extension), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, env=environment)


def test_an_extension_with_the_header_for_producers_lends_its_pixels(extension):
    need("numpy")
    done = with_the_extension(extension, ROOT / "examples/producer/image_python.py")
    printed = """\
        NumPy     (480, 640, 3) True
        Crossdock (480, 640, 3) True [1, 2, 3]
        the pixels outlive the image: [1, 2, 3]
    """
    assert (done.stdout, done.stderr, done.returncode) == (textwrap.dedent(printed), "", 0)


#: Capsules that die while an exception is pending, which stays: `rename` does what a consumer does.
PENDING = """
import ctypes, image
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = ctypes.c_char_p(b"used")
picture = image.Image(2, 3)

def capsule(version, consumed):
    made = picture.__dlpack__(max_version=version)
    if consumed:
        rename(made, USED)
    return made

for version in [(1, 0), None]:
    for consumed in [False, True]:
        try:
            print(capsule(version, consumed), {}["mine"])
        except KeyError as error:
            print(error)
"""

#: Requests that the header refuses, each with its exception.
REFUSED = """
import image
picture = image.Image(2, 3)
for request in [{"max_version": (1,)}, {"max_version": (1, 0.5)}, {"dl_device": [1, 0]}, {"dl_device": (2, 0)},
                {"copy": 1}, {"copy": "yes"}]:
    try:
        print(picture.__dlpack__(**request))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
for request in [{"copy": 0}, {"copy": None}, {"max_version": (1, 0), "dl_device": (1, 0), "copy": False}]:
    print(type(picture.__dlpack__(**request)).__name__)
"""


def test_a_capsule_of_the_header_for_producers_keeps_a_pending_exception(extension):
    done = with_the_extension(extension, "-c", PENDING)
    assert (done.stdout, done.stderr, done.returncode) == ("'mine'\n" * 4, "", 0)


def test_the_header_for_producers_names_what_it_refuses(extension):
    done = with_the_extension(extension, "-c", REFUSED)
    copies = "BufferError: __dlpack__ exports the memory in place, and copies nothing: copy the array yourself"
    assert done.stdout.splitlines() == [
        "TypeError: max_version must be a tuple of two integers",
        "TypeError: max_version must be a tuple of two integers",
        "TypeError: dl_device must be a tuple of two integers",
        "BufferError: device (2, 0) was requested; the memory is on (1, 0)",
        copies,
        copies,
        *["PyCapsule"] * 3,
    ]
    assert (done.stderr, done.returncode) == ("", 0)
