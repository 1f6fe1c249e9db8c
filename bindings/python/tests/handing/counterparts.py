"""Other libraries that tests use."""

import importlib
import os
import shutil

import pytest


def is_required():
    return os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") == "1"


def need(name):
    """The module. Without it, tests are skipped, or fail if counterparts are required."""
    return importlib.import_module(name) if is_required() else pytest.importorskip(name)


def need_program(name):
    """The same as `need`, for a program."""
    if shutil.which(name) is None:
        (pytest.fail if is_required() else pytest.skip)(f"{name} is missing")
