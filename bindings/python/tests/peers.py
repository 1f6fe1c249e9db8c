"""Libraries that tests are done with, where they are installed."""

import importlib
import os

import pytest

#: The seed of random tests: always the same, unless a longer run chooses another one.
SEED = int(os.environ.get("CROSSDOCK_SEED", "20261122"))


def is_all_required():
    return os.environ.get("CROSSDOCK_REQUIRE_COUNTERPARTS") == "1"


def needed(there, reason):
    """A mark by which a module's tests are skipped, unless something is there; where everything is to be there, they cannot be."""
    if not there and is_all_required():
        raise RuntimeError(reason)
    return pytest.mark.skipif(not there, reason=reason)


def required(name):
    """The module; without it the tests are skipped, or fail where all of them are to be there."""
    if is_all_required():
        return importlib.import_module(name)
    return pytest.importorskip(name)
