"""Assembles PTX for cards with the assembler of this Python environment, which makes the checks of
a driver that loads the text.

Usage: assemble.py OUTPUT PTX CARD...
"""

import importlib.metadata
import os
import subprocess
import sys


def assembler():
    package = importlib.metadata.distribution("nvidia-cuda-nvcc-cu12")
    (program,) = (package.locate_file(file) for file in package.files if file.name == "ptxas")
    # Some installers drop the executable bit.
    os.chmod(program, 0o755)
    return program


def main(output, ptx, *cards):
    for card in cards:
        subprocess.run([assembler(), f"--gpu-name={card}", "--warning-as-error", ptx, "-o", output], check=True)
        print(f"{ptx} is assembled for {card}: {os.path.getsize(output)} bytes")


main(*sys.argv[1:])
