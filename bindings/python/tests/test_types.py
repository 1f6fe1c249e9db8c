"""Type checkers: the stubs are those of the package, programs that are right pass, and wrong ones fail."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from peers import required

import crossdock

required("mypy")
ALLOWED = pathlib.Path(__file__).with_name("stubtest_allowlist.txt")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Runs a module of mypy on the package, whether it is installed or not, and returns the output."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "crossdock").symlink_to(pathlib.Path(crossdock.__file__).parent)
    paths = {"MYPYPATH": str(folder), "PYTHONPATH": str(folder), "MYPY_CACHE_DIR": str(folder / "cache")}

    def check(module, *arguments):
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, cwd=folder, env=os.environ | paths, capture_output=True, text=True)
        return done.stdout + done.stderr

    check.folder = folder
    return check


def test_the_package_passes_the_strict_checks(check):
    assert check("mypy", "--strict", "-p", "crossdock").startswith("Success: no issues found in ")


def test_the_stubs_are_those_of_the_package(check):
    told = check("mypy.stubtest", "--allowlist", str(ALLOWED), "--ignore-unused-allowlist", "crossdock")
    assert told.startswith("Success: no issues found in "), told


RIGHT = '''
from pathlib import Path
from typing import Any, assert_type
import crossdock
from crossdock import Archive, Array, Buffer, Device, dtype

x = crossdock.zeros((2, 3), "f4", order="F")
assert_type(x, Array)
assert_type(x.shape, tuple[int, ...])
assert_type(x.dtype, dtype)
assert_type(x.dtype.base, dtype)
assert_type(x.T[1:, ..., None], Any)
assert_type(x.reshape(3, -1, copy=None), Array)
assert_type(x.astype(float).astype(x.dtype), Array)
assert_type([row for row in x], list[Any])
assert_type(x.device, Device)
assert_type(crossdock.asarray(bytearray(3), copy=None, frozen=True), Array)
assert_type(crossdock.array([[1, 2], [3, 4]], dtype=[("a", "i4")]), Array)
assert_type(crossdock.arange(0, 1.5, 0.5), Array)
assert_type(crossdock.open(Path("x.bin"), dtype="f8", shape=3), Array)
assert_type(crossdock.open("x.npz", name="a"), Array)
opened = crossdock.open("x.npz")
assert isinstance(opened, Archive)
assert_type(opened["a"], Array)
assert_type(Buffer(8)[2:], Buffer)
assert_type(Buffer(8)[2], int)
assert_type(crossdock.explain(x).consumers[0].outcome, str)
view: memoryview = memoryview(x)
crossdock.save("x.npz", {"a": x}, compress=True)
'''

#: One error in each line.
WRONG = '''
crossdock.zeros(3, order="K")
crossdock.zeros(3, dtpe="f4")
crossdock.zeros("3")
crossdock.asarray(x, copy="no")
x.shape = (6,)
x.sum()
x.astype()
x[1.5]
crossdock.open("x.npy", mode="w")
crossdock.Buffer(8)["a"]
x.reshape(6, order="F")
number: int = x.dtype
'''


def test_right_programs_pass_and_each_wrong_line_fails(check):
    program = check.folder / "program.py"
    program.write_text(RIGHT)
    assert check("mypy", "--strict", str(program)).startswith("Success"), check("mypy", "--strict", str(program))
    program.write_text(RIGHT + WRONG)
    told = check("mypy", "--strict", str(program))
    failed = {int(line) for line in re.findall(r"program\.py:(\d+): error", told)}
    first = RIGHT.count("\n") + 2
    assert failed == set(range(first, first + WRONG.count("\n") - 1)), told
