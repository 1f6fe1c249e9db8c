"""The extensions in Rust whose functions take arrays of any library, if they were built."""

import importlib.machinery
import importlib.util
import os
import pathlib

import pytest
from peers import is_all_required

#: The folder of the built extensions, `crates/crossdock-pyo3/tests/extension` and `examples/rust_extension`.
FOLDER = os.environ.get("CROSSDOCK_EXTENSIONS")


def extension(name):
    """An extension, as a module. Without the folder, the module's tests are skipped."""
    if not FOLDER:
        reason = "CROSSDOCK_EXTENSIONS names no folder of extensions: build the workspace crates/crossdock-pyo3"
        if is_all_required():
            raise RuntimeError(reason)
        pytest.skip(reason, allow_module_level=True)
    loader = importlib.machinery.ExtensionFileLoader(name, str(pathlib.Path(FOLDER) / f"lib{name}.so"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
