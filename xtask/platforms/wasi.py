"""Runs the tests of a Rust test program for WASI: wasi.py PROGRAM FILTERS.

A panic aborts there, so each test has an instance of its own. A test that needs what the system
lacks fails with a message of Rust's standard library, and counts as ignored, as does one that
reports that it was not run. The output is that of Rust's test runner.
"""

import os
import sys
import tempfile

from wasmtime import Config, Engine, ExitTrap, Linker, Module, Store, Trap, WasiConfig, WasmtimeError

# Of threads, of waiting for another thread, and of the folder for temporary files.
LACKS = (
    "failed to spawn thread",
    "not implementable on this target",
    "not supported by WASI yet",
)


class Program:
    """A program for WASI, whose runs write to one file."""

    def __init__(self, path, output):
        config = Config()
        config.cache = True
        self.engine = Engine(config)
        self.linker = Linker(self.engine)
        self.linker.define_wasi()
        self.module = Module.from_file(self.engine, path)
        self.path = path
        self.output = output

    def run(self, *words):
        """Whether the program succeeded, and its output."""
        open(self.output, "wb").close()
        wasi = WasiConfig()
        wasi.argv = [self.path, *words]
        # That file is out of its reach: the test says so in its output instead.
        wasi.env = [(name, value) for name, value in os.environ.items() if name != "CROSSDOCK_NOT_RUN"]
        wasi.stdout_file = wasi.stderr_file = self.output
        store = Store(self.engine)
        store.set_wasi(wasi)
        succeeded = True
        try:
            self.linker.instantiate(store, self.module).exports(store)["_start"](store)
        except ExitTrap as ended:
            succeeded = ended.code == 0
        except (Trap, WasmtimeError):
            succeeded = False
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return succeeded, file.read()

    def listed(self, *words):
        """The names of the tests that the program lists."""
        _, text = self.run(*words, "--list")
        return [line.removesuffix(": test") for line in text.splitlines() if line.endswith(": test")]


def main(path, filters):
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, os.path.join(folder, "output"))
        names = program.listed(*filters)
        never = set(program.listed(*filters, "--ignored"))
        counts = {"ok": 0, "ignored": 0, "FAILED": 0}
        outputs = []
        for name in names:
            result = "ignored"
            if name not in never:
                succeeded, output = program.run(name, "--exact", "--nocapture")
                signs = ["not run: "] if succeeded else LACKS
                unable = any(sign in output for sign in signs)
                result = "ignored" if unable else "ok" if succeeded else "FAILED"
            counts[result] += 1
            print(f"test {name} ... {result}", flush=True)
            if result == "FAILED":
                outputs.append(f"---- {name} ----\n{output}")
    print(*outputs, sep="\n")
    result = "FAILED" if counts["FAILED"] else "ok"
    passed, failed, ignored = counts["ok"], counts["FAILED"], counts["ignored"]
    print(f"test result: {result}. {passed} passed; {failed} failed; {ignored} ignored")
    return 1 if failed or not names else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
