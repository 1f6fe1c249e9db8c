"""Libraries that tests use if they are installed."""

import importlib
import os

import pytest

#: The seed of random tests: always the same, unless a longer run chooses another one.
SEED = int(os.environ.get("CROSSDOCK_SEED", "20261122"))


def is_all_required():
    return os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") == "1"


def needed(there, reason):
    """A mark that skips a module's tests unless a condition holds; it is an error if everything is required."""
    if not there and is_all_required():
        raise RuntimeError(reason)
    return pytest.mark.skipif(not there, reason=reason)


def required(name):
    """The module. Without it, tests are skipped, or fail if all modules are required."""
    if is_all_required():
        return importlib.import_module(name)
    return pytest.importorskip(name)
