"""Names the versions that differ from `requirements.txt`, instead of a failed import."""

import os
import re
from importlib.metadata import PackageNotFoundError, version

import pytest


def pins(folder):
    """The packages that the file in this folder pins, with their versions."""
    file = folder / "requirements.txt"
    return re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", file.read_text(), re.MULTILINE) if file.is_file() else []


def others(folder):
    """A sentence on the packages whose installed version differs from the pinned one; empty if
    there are none."""
    found = []
    for name, pinned in pins(folder):
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if installed != pinned:
            found.append(f"{name} {installed} is installed, and the tests are for {pinned}")
    return "; ".join(found)


def pytest_report_header(config, start_path):
    said = others(start_path / "bindings/python/tests") or others(start_path)
    return [f"pinned: {said}"] if said else []


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """If another version is installed, a module that cannot be imported is skipped with that
    sentence; where counterparts are required, it fails with it."""
    report = yield
    said = others(collector.path.parent) if report.failed and isinstance(collector, pytest.Module) else ""
    if said and os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") == "1":
        report.longrepr = f"{said}\n\n{report.longrepr}"
    elif said:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, f"Skipped: {said}")
    return report
