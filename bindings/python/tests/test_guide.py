"""The programs of the guide: the chapters show the files as they are, and what the programs print."""

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


@pytest.mark.parametrize(
    "name", ["01_open", "02_lend", "03_slices", "04_leases", "05_copies", "06_processes", "10_files", "11_tables"]
)
def test_a_chapter_shows_its_program_and_what_it_prints(name):
    program = GUIDE / f"programs/{name}.py"
    chapter = (GUIDE / f"{name.replace('_', '-')}.md").read_text()
    assert f"```python\n{program.read_text()}```\n\n```text\n{run(program)}```\n" in chapter


def test_the_chapter_on_processes_shows_the_program_of_arrays_that_are_shared_later():
    program = GUIDE / "programs/06_shareable.py"
    shown = f"```python\n{program.read_text()}```\n\n```text\n{run(program)}```\n"
    assert shown in (GUIDE / "06-processes.md").read_text()


def examples(chapter):
    """The programs that only a chapter contains, and the output that it shows."""
    found = re.findall(r"^```python\n((?:(?!^```).)*)^```\n\n```text\n(.*?)^```$", (GUIDE / chapter).read_text(), re.M | re.S)
    assert found, chapter
    return found


def check(chapter, capsys, skip=0):
    """Runs the programs of a chapter, without the first ones where those are files that other tests run."""
    for program, shown in examples(chapter)[skip:]:
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


def test_the_chapter_on_lending_shows_how_refusals_read(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    check("02-lend.md", capsys, skip=1)


def test_the_chapter_on_slices_shows_what_its_example_prints(capsys):
    check("03-slices.md", capsys, skip=1)


def test_the_chapter_on_tables_shows_what_its_examples_print(capsys):
    check("11-tables.md", capsys, skip=1)


def test_the_chapter_on_slices_draws_views_as_they_are():
    chapter = (GUIDE / "03-slices.md").read_text()
    views = re.findall(r"^(x\S*|x\[.*?\]) +starts at byte (\d+), +strides (\(.*\))$", chapter, re.M)
    assert len(views) == 4
    x = crossdock.array([[0, 1, 2], [3, 4, 5]], "int16")
    for text, start, strides in views:
        view = eval(text, {"x": x})
        assert (view.ptr - x.ptr, str(view.strides)) == (int(start), strides), text
