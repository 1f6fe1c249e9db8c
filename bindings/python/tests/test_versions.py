"""The tests with other versions than the pinned ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinned import others, pins

HERE = Path(__file__).parent


@pytest.fixture
def suite(tmp_path):
    """A folder of tests, one of which needs a feature that the installed pytest lacks."""
    (tmp_path / "requirements.txt").write_text("# Pinned.\npytest[some]==0.0.1\nno-such-package==1\n")
    (tmp_path / "conftest.py").write_text("from pinned import pytest_make_collect_report, pytest_report_header\n")
    (tmp_path / "test_gone.py").write_text("from pytest import nothing_of_this_name\n")
    (tmp_path / "test_there.py").write_text("def test_it():\n    pass\n")
    return tmp_path


def run(folder, **environment):
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "--rootdir", folder, folder]
    environment = os.environ | {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"} | environment
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_another_version_is_named_and_what_needs_the_pinned_one_is_skipped(suite):
    ran = run(suite, CROSSDOCK_REQUIRE_COUNTERPARTS="0")
    said = f"pytest {pytest.__version__} is installed, and the tests are for 0.0.1"
    assert ran.returncode == 0, ran.stdout
    assert f"pinned: {said}" in ran.stdout and "1 passed, 1 skipped" in ran.stdout
    assert any(line.startswith("SKIPPED") and said in line for line in ran.stdout.splitlines()), ran.stdout


def test_where_counterparts_are_required_it_fails_with_the_versions(suite):
    ran = run(suite, CROSSDOCK_REQUIRE_COUNTERPARTS="1")
    assert ran.returncode != 0 and "the tests are for 0.0.1" in ran.stdout.partition("ERRORS")[2], ran.stdout
    assert "nothing_of_this_name" in ran.stdout


def test_a_failure_beside_the_pinned_versions_stays_one(suite):
    (suite / "requirements.txt").write_text(f"pytest=={pytest.__version__}\n")
    ran = run(suite, CROSSDOCK_REQUIRE_COUNTERPARTS="0")
    assert ran.returncode != 0 and "nothing_of_this_name" in ran.stdout and "pinned:" not in ran.stdout


def test_every_pin_of_these_tests_is_read():
    lines = [line for line in (HERE / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert [version for _, version in pins(HERE)] == [line.partition("==")[2] for line in lines]
    assert "dask" in dict(pins(HERE)), "a package with an extra"
    assert others(HERE / "nowhere") == ""
