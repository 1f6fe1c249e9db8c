"""Libraries of others that tests talk to."""

import importlib
import os
import shutil

import pytest


def is_required():
    return os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") == "1"


def need(name):
    """The module; without it, tests are skipped, or fail where counterparts are required."""
    return importlib.import_module(name) if is_required() else pytest.importorskip(name)


def need_program(name):
    """As need, for a program."""
    if shutil.which(name) is None:
        (pytest.fail if is_required() else pytest.skip)(f"{name} is missing")
