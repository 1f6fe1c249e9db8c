"""An extension that imports and exports arrays by nanobind, compiled at its first use."""

import atexit
import functools
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile

import nanobind

SOURCE = pathlib.Path(__file__).with_name("peer.cpp")


@functools.cache
def build():
    """Its folder, which exists until this process ends."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="crossdock-"))
    atexit.register(shutil.rmtree, folder)
    root, made = pathlib.Path(nanobind.__file__).parent, folder / "peer.so"
    includes = [sysconfig.get_path("include"), root / "include", root / "ext/robin_map/include"]
    flags = "-shared -fPIC -std=c++17 -O0 -fvisibility=hidden -fno-strict-aliasing -o".split()
    sources = [root / "src/nb_combined.cpp", SOURCE]
    subprocess.run(
        [os.environ.get("CXX", "c++"), *flags, made, *(f"-I{path}" for path in includes), *sources], check=True
    )
    return made


@functools.cache
def load(made=None):
    """The module, built before or now."""
    spec = importlib.util.spec_from_file_location("peer", made or build())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
