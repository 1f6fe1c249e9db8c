"""The programs of the guide, from chapter 6 on: the chapters show the files unchanged, and their output."""

import pathlib
import re
import subprocess
import sys

import pytest
from peers import needed

import crossdock

ROOT = pathlib.Path(__file__).parents[3]
GUIDE = ROOT / "docs/guide"


def run(program):
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


@pytest.mark.parametrize("name", ["06_processes", "10_files"])
def test_a_chapter_shows_its_program_and_what_it_prints(name):
    program = GUIDE / f"programs/{name}.py"
    chapter = (GUIDE / f"{name.replace('_', '-')}.md").read_text()
    assert f"```python\n{program.read_text()}```\n\n```text\n{run(program)}```\n" in chapter


def examples(chapter):
    """The programs that only a chapter contains, and the output that it shows."""
    found = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", (GUIDE / chapter).read_text(), re.M | re.S)
    assert found, chapter
    return found


def check(chapter, capsys):
    for program, shown in examples(chapter):
        exec(compile(program, chapter, "exec"), {})
        assert capsys.readouterr().out == shown


@needed("opencl:0" in crossdock.devices(), "there is no device of OpenCL here: PoCL makes one of the processor")
def test_the_chapter_on_devices_shows_what_its_example_prints(capsys):
    check("07-devices.md", capsys)


def test_the_chapter_on_memory_shows_what_its_example_prints(capsys):
    try:
        check("09-memory.md", capsys)
    finally:
        crossdock.ledger(on=False)
