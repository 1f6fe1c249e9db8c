"""The limit of a hand-over between two processes: a word in shared memory, in C."""

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

from streams import SPAWN, mapped, run_on, shared_file

COUNT = 2000


def library(path):
    """The functions of `word.c`, without the GIL."""
    opened = ctypes.CDLL(path)
    opened.there_and_back.restype = ctypes.c_double
    return opened


def address(memory):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))


def send_back(path, name, control):
    run_on(1)
    memory, functions = mapped(name), library(path)
    control.send("ready")
    while control.recv():
        functions.send_back(address(memory), COUNT)


class Word:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = str(Path(self.folder.name) / "word.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", Path(__file__).with_name("word.c"), "-o", path], check=True)
        self.name, self.functions = shared_file(4096), library(path)
        self.memory = mapped(self.name)
        self.control, there = SPAWN.Pipe()
        self.process = SPAWN.Process(target=send_back, args=(path, self.name, there), daemon=True)
        self.process.start()
        assert self.control.recv() == "ready"

    def microseconds(self):
        self.control.send(True)
        return self.functions.there_and_back(address(self.memory), COUNT) / COUNT / 2000

    def close(self):
        self.control.send(False)
        self.process.join(5)
        os.unlink(self.name)
        self.folder.cleanup()
