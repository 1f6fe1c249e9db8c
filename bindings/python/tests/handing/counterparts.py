"""Libraries of others that tests talk to."""

import importlib
import os

import pytest


def need(name):
    """The module; without it, tests are skipped, or fail where counterparts are required."""
    if os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") == "1":
        return importlib.import_module(name)
    return pytest.importorskip(name)
