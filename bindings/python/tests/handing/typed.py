"""An extension whose functions take typed memoryviews of Cython, compiled at its first use."""

import atexit
import functools
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from handing.counterparts import need

#: Structs of the same fields as the records among the specimens.
STRUCTS = """
cdef struct Aligned:
    int a
    double b

cdef packed struct Packed:
    unsigned char a
    double b

cdef struct Arrays:
    int a[2][3]
    double b

cdef struct Pair:
    short x
    short y

cdef struct Nested:
    Pair a
    float b

cdef struct Floats:
    float a
    float b
"""

#: Types of elements by NumPy's kind and the itemsize.
TYPES = {
    "i1": "signed char", "i2": "short", "i4": "int", "i8": "long long",
    "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int", "u8": "unsigned long long",
    "f4": "float", "f8": "double", "f16": "long double",
    "c8": "float complex", "c16": "double complex", "c32": "long double complex",
    "b1": "unsigned char", "S1": "char",
    "aligned": "Aligned", "packed": "Packed", "arrays": "Arrays", "nested": "Nested", "floats": "Floats",
}  # fmt: skip

#: Address, shape and strides of an argument. Only the number of axes that a function declares is accepted.
FUNCTION = """
def {name}({const}{ctype}[{axes}] x):
    cdef const void *start = &x[{zeros}]
    return <size_t>start, [{shape}], [{strides}]
"""

#: Functions of Python objects, and with axes that lie contiguously.
OTHERS = """
def objects_1(object[:] x):
    return [x[i] for i in range(x.shape[0])]

def objects_2(object[:, :] x):
    return [[x[i, k] for k in range(x.shape[1])] for i in range(x.shape[0])]

def row_major(double[:, ::1] x):
    x[0, 0] += 1
    return x.shape[0] * x.shape[1]

def column_major(const double[::1, :] x):
    return x[0, 0]
"""


def source():
    made = ["# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False", STRUCTS]
    for name, ctype in TYPES.items():
        for rank in [1, 2, 3]:
            for access in ["const", ""]:
                made.append(
                    FUNCTION.format(
                        name=f"{access or 'writable'}_{name}_{rank}",
                        const=f"{access} " if access else "",
                        ctype=ctype,
                        axes=", ".join([":"] * rank),
                        zeros=", ".join(["0"] * rank),
                        shape=", ".join(f"x.shape[{axis}]" for axis in range(rank)),
                        strides=", ".join(f"x.strides[{axis}]" for axis in range(rank)),
                    )
                )
    return "".join([*made, OTHERS])


@functools.cache
def load():
    """The module. Without Cython, the test that needs it is skipped."""
    need("Cython")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="crossdock-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "typed.pyx").write_text(source())
    subprocess.run([sys.executable, "-m", "cython", "-3", "typed.pyx"], cwd=folder, check=True)
    flags = f"-shared -fPIC -O0 -w -I{sysconfig.get_path('include')} typed.c -o typed.so".split()
    subprocess.run([os.environ.get("CC", "cc"), *flags], cwd=folder, check=True)
    spec = importlib.util.spec_from_file_location("typed", folder / "typed.so")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
