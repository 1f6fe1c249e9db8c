"""Fixtures of the command's tests: the command itself, and the sample data."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bindings/python/tests"))

from pinned import pytest_make_collect_report, pytest_report_header  # noqa: E402, F401: hooks


@pytest.fixture(scope="session")
def crossdock():
    """Runs the command with the given arguments, and returns the result of subprocess.run."""
    binary = os.environ.get("CROSSDOCK_BIN", str(ROOT / "target/release/crossdock"))
    if not pathlib.Path(binary).is_file():
        pytest.fail(f"{binary} does not exist; type: cargo xtask test python")

    def run(*arguments, timeout=60, **options):
        return subprocess.run(
            [binary, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options
        )

    return run


@pytest.fixture(scope="session")
def data():
    """The folder with the sample data."""
    return ROOT / "data"
