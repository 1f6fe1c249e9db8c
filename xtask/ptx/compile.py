"""Compiles text in CUDA C++ to PTX, by the NVRTC of the environment that this is run in.

Usage: compile.py ARCHITECTURE OUTPUT SOURCE...
"""

import ctypes
import importlib.metadata
import sys
from pathlib import Path


def nvrtc():
    """The compiler's library, and the version of the package that has it."""
    package = importlib.metadata.distribution("nvidia-cuda-nvrtc-cu11")
    files = [package.locate_file(file) for file in package.files]
    (library,) = (file for file in files if file.name.startswith("libnvrtc.so."))
    # It loads the other library by name.
    (builtins,) = (file for file in files if file.name.startswith("libnvrtc-builtins.so."))
    ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(library)), package.version


def check(status, function):
    if status != 0:
        sys.exit(f"{function} failed with error {status}")


def answer(library, program, what):
    """One of the texts that the compiler has for a program."""
    size = ctypes.c_size_t()
    check(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
    text = ctypes.create_string_buffer(size.value)
    check(getattr(library, f"nvrtcGet{what}")(program, text), what)
    return text.value.decode()


def main(architecture, output, *sources):
    library, version = nvrtc()
    text = b"".join(Path(source).read_bytes() for source in sources)
    program = ctypes.c_void_p()
    created = library.nvrtcCreateProgram(
        ctypes.byref(program), text, b"kernels.cu", 0, None, None
    )
    check(created, "nvrtcCreateProgram")
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++14"]
    compiled = library.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    log = answer(library, program, "ProgramLog")
    if compiled != 0:
        sys.exit(f"{', '.join(sources)}:\n{log}")
    ptx = answer(library, program, "PTX").rstrip()
    # The compiler's own banner has the same content, and its build number.
    lines = [line for line in ptx.splitlines() if not line.startswith("//")]
    head = f"// By NVRTC {version}, for {architecture} and later.\n"
    Path(output).write_text(head + "\n".join(lines).strip() + "\n")


main(*sys.argv[1:])
