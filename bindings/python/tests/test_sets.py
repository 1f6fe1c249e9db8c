"""Sets that another process holds are read in place by any number of processes, and published by one."""

import collections.abc
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from peers import needed, required

import crossdock

ROOT = pathlib.Path(__file__).parents[3]
COMMAND = pathlib.Path(os.environ.get("CROSSDOCK_BIN", ROOT / "target/debug/crossdock"))

pytestmark = needed(COMMAND.exists(), "the command is not built: cargo build -p crossdock-cli, or CROSSDOCK_BIN")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Sockets in a folder of the test's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("CROSSDOCK_SET", raising=False)
    return tmp_path


@pytest.fixture
def hold():
    """Starts the command, and ends it with the test."""
    running = []

    def start(*arguments):
        process = subprocess.Popen([COMMAND, "hold", *arguments], stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout.readline().startswith("holding ")
        return process

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGKILL)
        process.stdout.close()


def run(program, **variables):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, env={**os.environ, **variables}
    )
    return done.returncode, done.stdout, done.stderr


def weights():
    return {
        "layers.0.w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "layers.1.w": np.arange(4, dtype=np.int16),
        "bias": crossdock.ones(3, "bfloat16"),
    }


def test_names_in_a_list_of_a_set_do_not_reach_the_terminal(folder, hold):
    path = folder / "odd.safetensors"
    crossdock.save(path, {"a\x1b[2J\x07\rb": [1]})
    hold(path, "--name", "odd")
    text = repr(crossdock.connect("odd"))
    assert "  a\\u{1b}[2J\\u{7}\\rb  int64" in text and not set("\x1b\x07\r") & set(text)


def test_a_file_that_the_command_holds_is_a_mapping_of_constant_arrays(folder, hold):
    path = folder / "model.safetensors"
    crossdock.save(path, weights(), metadata={"format": "pt", "tied": "bias"})
    hold(path, "--name", "m")
    held = crossdock.connect("m")
    assert isinstance(held, collections.abc.Mapping) and len(held) == 4 and held.label == "m@1"
    assert sorted(held) == ["bias", "layers.0.w", "layers.1.w", "tied"]
    assert held.keys("layers.") == [name for name in held if name.startswith("layers.")]
    assert "bias" in held and "none" not in held and 3 not in held
    for name, array in weights().items():
        assert held[name].tolist() == crossdock.asarray(array).tolist() and held[name].readonly
        assert held.describe(name) == (crossdock.asarray(array).dtype, array.shape)
    assert held["tied"].ptr == held["bias"].ptr
    assert dict(held.items()).keys() == {*held} and [array.shape for array in held.values()] == [held[name].shape for name in held]
    assert held.metadata == {"format": "pt"} and held.nbytes > 38
    assert not held.mapped
    assert held.get("none") is None and held.get("none", 7) == 7 and held.get("bias").shape == (3,)
    assert repr(held).startswith("HeldArrays m@1 of 4 arrays\n") and "float32" in repr(held)
    with pytest.raises(KeyError, match="has no array"):
        held["none"]
    before = crossdock.copied_bytes()
    view = np.asarray(crossdock.connect("m@1")["layers.0.w"])
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]] and not view.flags.writeable
    assert crossdock.copied_bytes() == before


def test_a_mapped_file_is_read_behind_a_guard_and_is_not_constant(folder, hold):
    path = folder / "model.npy"
    values = np.arange(4096, dtype=np.int64)
    np.save(path, values)
    hold(path, "--map")
    held = crossdock.connect("model")
    array = held["model"]
    assert held.mapped and array.readonly and held.nbytes > values.nbytes
    before = crossdock.copied_bytes()
    assert np.array_equal(np.asarray(array), values) and crossdock.copied_bytes() == before
    with open(path, "r+b") as file:
        file.seek(128)
        file.write((77).to_bytes(8, "little"))
        file.flush()
        assert array[0] == 77
        file.truncate(4096)
    with pytest.raises(OSError, match="shrank"):
        array.copy()
    hold("--name", "copies")
    with pytest.raises(OSError, match="shrank"):
        crossdock.publish("copies", {"x": array})
    with pytest.raises(OSError, match="shrank: it has 4096 bytes, and had"):
        crossdock.connect("model")


@pytest.mark.parametrize(("count", "options"), [(300, []), (20_000, []), (300, ["--map"])], ids=["300", "20,000", "mapped"])
def test_a_model_of_many_tensors_with_shared_weights_opens_each_by_its_name(folder, hold, count, options):
    path = folder / "model.safetensors"
    names = [f"layers.{index}.w" for index in range(count)]
    numbers = crossdock.asarray(np.arange(2 * count, dtype=np.int32).reshape(count, 2))
    crossdock.save(path, {name: numbers[index] for index, name in enumerate(names)}, metadata={"lm_head": "layers.7.w"})
    hold(path, "--name", "m", *options)
    before = crossdock.copied_bytes()
    held = crossdock.connect("m")
    assert len(held) == count + 1 and held["lm_head"].ptr == held["layers.7.w"].ptr
    for index in [0, 7, 150, count - 1]:
        assert np.asarray(held[f"layers.{index}.w"]).tolist() == [2 * index, 2 * index + 1]
    assert crossdock.copied_bytes() == before


def narrow_floats(folder, hold, options):
    """Weights of bfloat16 and of 8 bits that are held, and the same values as float32."""
    values = crossdock.asarray(np.array([[0.5, -1.5, 2], [448, -0.25, 0]], np.float32))
    dtypes = {"a": "bfloat16", "b": "float8_e4m3fn", "c": "float8_e5m2"}
    path = folder / "narrow.safetensors"
    crossdock.save(path, {name: values.astype(dtype) for name, dtype in dtypes.items()}, metadata={"tied": "a"})
    hold(path, *options)
    held = crossdock.connect("narrow")
    assert {name: str(held[name].dtype) for name in held} == {**dtypes, "tied": "bfloat16"}
    return held, np.asarray(values)


@pytest.mark.parametrize("options", [[], ["--map"]], ids=["loaded", "mapped"])
def test_narrow_floats_of_a_set_are_those_of_ml_dtypes_in_place(folder, hold, options):
    required("ml_dtypes")
    held, values = narrow_floats(folder, hold, options)
    for array in held.values():
        seen = np.asarray(array)
        assert seen.dtype.name == str(array.dtype) and seen.ctypes.data == array.ptr and not seen.flags.writeable
        assert np.array_equal(seen.astype(np.float32), np.asarray(array.astype("float32")))
    assert np.array_equal(np.asarray(held["tied"]).astype(np.float32), values)


def test_fields_of_records_in_a_set_are_those_of_ml_dtypes_in_place(hold):
    ml_dtypes = required("ml_dtypes")
    dtype = np.dtype([("scale", ml_dtypes.bfloat16), ("key", "i4"), ("w", ml_dtypes.float8_e4m3fn, (2,))])
    records = np.zeros(3, dtype)
    records["scale"], records["key"], records["w"] = [0.5, 1.5, -2], [1, 2, 3], [[1, 2], [3, 4], [0.5, 0.25]]
    hold("-", "--name", "m")
    assert crossdock.publish("m", {"r": records}) == "m@1"
    held = crossdock.connect("m")["r"]
    assert str(held.dtype) == "{scale: bfloat16 @0, key: int32 @2, w: (2,)float8_e4m3fn @6; 8}"
    before = crossdock.copied_bytes()
    for name, offset in (("scale", 0), ("key", 2), ("w", 6)):
        seen = np.asarray(held[name])
        assert seen.dtype == records[name].dtype and seen.tolist() == records[name].tolist()
        assert seen.ctypes.data == held.ptr + offset and not seen.flags.writeable
    assert crossdock.copied_bytes() == before


@pytest.mark.parametrize("options", [[], ["--map"]], ids=["loaded", "mapped"])
def test_narrow_floats_of_a_set_are_tensors_of_torch_in_place(folder, hold, options):
    torch = pytest.importorskip("torch", reason="torch is not installed: it is larger than all other counterparts together")
    held, values = narrow_floats(folder, hold, options)
    for array in held.values():
        tensor = torch.from_dlpack(array)
        assert str(tensor.dtype) == f"torch.{array.dtype}" and tensor.data_ptr() == array.ptr
        assert np.array_equal(tensor.float().numpy(), np.asarray(array.astype("float32")))
    assert np.array_equal(torch.from_dlpack(held["tied"]).float().numpy(), values)


def test_narrow_floats_of_a_set_are_arrays_of_jax(folder, hold):
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    held, _ = narrow_floats(folder, hold, [])
    for array in held.values():
        seen = jnp.asarray(array)
        assert seen.dtype.name == str(array.dtype)
        assert np.array_equal(np.asarray(seen.astype(jnp.float32)), np.asarray(array.astype("float32")))
    # JAX writes and frees what it imports by DLPack, and its version of that cannot say read-only.
    with pytest.raises(BufferError, match="read-only"):
        jnp.from_dlpack(held["a"])


def test_arrays_of_a_set_are_sent_to_a_pool_in_place(folder, hold):
    crossdock.save(folder / "m.npy", np.arange(6).reshape(2, 3))
    hold(folder / "m.npy")
    program = """
        import multiprocessing, sys
        import crossdock
        sys.path.insert(0, %r)
        import workers

        if __name__ == "__main__":
            array = crossdock.connect("m")["m"]
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(workers.facts, (array[1:],)))
                print(pool.apply(workers.facts, (pool.apply(workers.row_of_a_set, ("m", 1)),)))
    """
    (folder / "program.py").write_text(textwrap.dedent(program % str(pathlib.Path(__file__).parent)))
    done = subprocess.run([sys.executable, folder / "program.py"], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout == (
        "('shared memory', (1, 3), (24, 8), True, dtype('int64'), [[3, 4, 5]])\n"
        "('shared memory', (3,), (8,), True, dtype('int64'), [3, 4, 5])\n"
    )


def test_versions_are_published_and_read_by_other_processes(hold):
    hold("--name", "v")
    with pytest.raises(KeyError, match="no version yet"):
        crossdock.connect("v")
    arrays = weights()
    before = crossdock.copied_bytes()
    assert crossdock.publish("v", {**arrays, "tied": arrays["bias"]}, metadata={"step": "7"}) == "v@1"
    assert crossdock.copied_bytes() - before == 24 + 8 + 6
    first = crossdock.connect("v")
    assert crossdock.publish("v", {"bias": [1, 2, 3]}) == "v@2"
    program = """
        import crossdock
        print(crossdock.connect('v').label, crossdock.connect('v')['bias'].tolist())
        held = crossdock.connect('v@1')
        print(held.metadata, held['tied'].ptr == held['bias'].ptr, held['layers.0.w'].tolist())
    """
    assert run(program) == (0, "v@2 [1, 2, 3]\n{'step': '7'} True [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]\n", "")
    # An array is a lease, too.
    array = first["layers.1.w"]
    del first
    assert crossdock.connect("v@1").label == "v@1"
    del array
    with pytest.raises(KeyError, match="v@2"):
        for _ in range(1000):
            crossdock.connect("v@1")


def test_a_process_that_writes_a_set_ends_and_no_other_process_sees_it(hold):
    hold("--name", "w")
    crossdock.publish("w", {"x": np.zeros(1000)})
    program = """
        import crossdock, ctypes
        ctypes.c_double.from_address(crossdock.connect('w')['x'].ptr).value = 9
    """
    assert run(program)[0] == -signal.SIGSEGV
    assert crossdock.connect("w")["x"][0] == 0


def test_the_set_of_connect_is_that_of_the_environment(folder, hold):
    path = folder / "x.npy"
    crossdock.save(path, [1, 2, 3])
    hold(path)
    program = "import crossdock; print(crossdock.connect().label)"
    done = subprocess.run([COMMAND, "connect", "x", "--", sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("x@1\n", 0)
    with pytest.raises(TypeError, match="CROSSDOCK_SET"):
        crossdock.connect()


def test_what_is_read_outlives_its_holder(hold):
    holder = hold("--name", "k")
    crossdock.publish("k", {"x": np.arange(5)})
    held = crossdock.connect("k")
    holder.kill()
    holder.wait()
    with pytest.raises(OSError, match="was killed"):
        crossdock.connect("k")
    assert held["x"].tolist() == [0, 1, 2, 3, 4]
    hold("--name", "k")
    assert crossdock.connect("k").label == "k@1"
    assert crossdock.connect("k")["x"].tolist() == [0, 1, 2, 3, 4]


def test_wrong_names_and_arrays_are_refused(hold):
    hold("--name", "r")
    for name in ["", "a/b", "a@", "a@0"]:
        with pytest.raises(ValueError):
            crossdock.connect(name)
    with pytest.raises(ValueError, match="publish r"):
        crossdock.publish("r@2", {})
    with pytest.raises(OSError, match="no process holds none"):
        crossdock.publish("none", {})
    with pytest.raises(AttributeError):
        crossdock.publish("r", [1, 2])
    for column in [required("polars").Series(["a", "bcd"]), required("pyarrow").chunked_array([["a"]])]:
        with pytest.raises(TypeError, match="is a column of type string.*, which no array has; put it into a table"):
            crossdock.publish("r", {"x": column})
    assert crossdock.publish("r", {}) == "r@1"
    assert len(crossdock.connect("r")) == 0


def test_the_chapter_on_processes_shows_its_workers_and_what_they_print(folder):
    guide = ROOT / "docs/guide"
    program = guide / "programs/06_workers.py"
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, cwd=ROOT, env={**os.environ, "PATH": path}
    )
    assert (done.stderr, done.returncode) == ("", 0)
    chapter = (guide / "06-processes.md").read_text()
    assert f"```python\n{program.read_text()}```\n\n```text\n{done.stdout}```\n" in chapter


def trades(pa):
    """A table of two batches: numbers, text with nulls, a dictionary, and nested lists."""
    kinds = pa.array(["buy", "sell", None, "buy"]).dictionary_encode()
    nested = pa.array([[["a"], []], None, [["b", None]], []], pa.list_(pa.list_(pa.string())))
    batch = pa.record_batch({"price": [1.5, 2.5, None, 4.0], "who": ["x", None, "größe", ""], "kind": kinds, "nested": nested})
    return pa.Table.from_batches([batch, batch]).replace_schema_metadata({"source": "exchange"})


@pytest.mark.parametrize("options", [[], ["--map"]], ids=["loaded", "mapped"])
def test_a_table_that_the_command_holds_is_a_table_in_place(folder, hold, options):
    pa = required("pyarrow")
    with pa.OSFile(str(folder / "trades.arrow"), "wb") as sink, pa.ipc.new_file(sink, trades(pa).schema) as writer:
        writer.write_table(trades(pa))
    np.save(folder / "sizes.npy", np.arange(3))
    hold(folder, "--name", "t", *options)
    held = crossdock.connect("t")
    table = held["trades"]
    assert isinstance(table, crossdock.Table) and table.shape == (8, 4) and held["sizes"].tolist() == [0, 1, 2]
    assert held.describe("trades") == (table.schema, (8, 4)) and held.get("trades").shape == (8, 4)
    assert repr(held) == "HeldArrays t@1 of 1 array and 1 table\n  sizes   int64  (3,)\n  trades  table  (8, 4)"
    assert sorted(held) == ["sizes", "trades"] and "price" not in held
    if options:
        # Other processes may write the file, so consumers that rely on constancy get none of it.
        with pytest.raises(BufferError):
            pa.table(table)
        table = table.copy()
        seen = pa.table(table)
    else:
        before = crossdock.copied_bytes()
        seen = pa.table(crossdock.connect("t")["trades"])
        assert crossdock.copied_bytes() == before
        start, end = sealed_map("t@1")
        assert all(start <= buffer.address < end for buffer in buffers(seen))
    assert seen.equals(trades(pa), check_metadata=True)
    with pytest.raises(KeyError, match="has no array or table"):
        held["price"]


def sealed_map(label, region=0):
    """The addresses at which this process maps a region."""
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    line = next(line for line in lines if f"crossdock hold {label} region {region}" in line)
    return [int(address, 16) for address in line.split()[0].split("-")]


def buffers(table):
    """All buffers of a table of pyarrow, dictionaries included, that have bytes."""
    arrays = [chunk for column in table.columns for chunk in column.chunks]
    arrays += [array.dictionary for array in arrays if hasattr(array, "dictionary")]
    return [buffer for array in arrays for buffer in array.buffers() if buffer is not None and buffer.size > 0]


def test_tables_of_any_library_are_published_beside_arrays_and_read_by_other_processes(hold):
    pa = required("pyarrow")
    hold("--name", "p")
    one = crossdock.table(trades(pa))
    parts = {"one": one, "again": one, "theirs": trades(pa), "w": np.arange(4), "columns": {"n": [1, 2], "s": ["a", None]}}
    parts["chunked"] = pa.chunked_array([[1, 2], [3]])
    for peer in ("polars", "pandas"):
        if importlib.util.find_spec(peer):
            parts[peer] = importlib.import_module(peer).DataFrame({"x": [1.5, 2.5], "y": ["a", "b"]})
    assert crossdock.publish("p", parts, metadata={"step": "7"}) == "p@1"
    held = crossdock.connect("p")
    before = crossdock.copied_bytes()
    for name in ("one", "again", "theirs"):
        assert pa.table(held[name]).equals(trades(pa), check_metadata=True)
    first, second = (buffers(pa.table(held[name])) for name in ("one", "again"))
    assert [buffer.address for buffer in first] == [buffer.address for buffer in second]
    start, end = sealed_map("p@1", 1)
    assert all(start <= buffer.address < end for buffer in first)
    assert crossdock.copied_bytes() == before
    assert held["columns"].to_dict() == {"n": [1, 2], "s": ["a", None]}
    assert held["chunked"].tolist() == [1, 2, 3] and held["w"].tolist() == [0, 1, 2, 3]
    for peer in ("polars", "pandas"):
        assert peer not in parts or held[peer].to_dict() == {"x": [1.5, 2.5], "y": ["a", "b"]}
    program = """
        import crossdock, os, signal
        table = crossdock.connect('p')['one']
        print(table.shape, table['who'][2], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(program) == (-signal.SIGKILL, "(8, 4) größe\n", "")


def test_a_table_outlives_its_holder_and_is_found_by_the_next(hold):
    holder = hold("--name", "k")
    crossdock.publish("k", {"t": {"n": [1, 2, 3], "s": ["a", None, "c"]}})
    table = crossdock.connect("k")["t"]
    holder.kill()
    holder.wait()
    assert table.to_dict() == {"n": [1, 2, 3], "s": ["a", None, "c"]}
    hold("--name", "k")
    assert crossdock.connect("k")["t"].to_dict() == table.to_dict()


def test_tables_that_a_mapping_makes_one_after_the_other_are_published_apart(hold):
    class Lazy(dict):
        def items(self):
            for name, numbers in super().items():
                yield name, {"n": numbers}

    hold("--name", "l")
    numbers = {f"t{index}": [index] for index in range(20)}
    crossdock.publish("l", Lazy(numbers))
    assert {name: table["n"].to_list() for name, table in crossdock.connect("l").items()} == numbers


def test_an_interrupt_of_a_producer_ends_the_publication(hold):
    class Interrupting:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyboardInterrupt

    hold("--name", "i")
    with pytest.raises(KeyboardInterrupt):
        crossdock.publish("i", {"t": Interrupting()})
    with pytest.raises(KeyboardInterrupt):
        crossdock.Channel(2, 100).sender().send(Interrupting())


def test_tables_of_odd_shapes_are_published(hold):
    hold("--name", "o")
    wide = {f"c{index}": [index, None] for index in range(10_000)}
    crossdock.publish("o", {"none": {}, "empty": {"n": np.zeros(0)}, "wide": wide})
    held = crossdock.connect("o")
    assert held["none"].shape == (0, 0) and held["empty"].shape == (0, 1) and held["wide"].shape == (2, 10_000)
    assert held["wide"]["c9999"].to_list() == [9999, None]


def test_a_write_into_a_column_of_a_held_table_ends_the_writer(hold):
    pa = required("pyarrow")
    hold("--name", "w")
    crossdock.publish("w", {"t": {"n": np.zeros(1000)}})
    program = """
        import crossdock, ctypes, pyarrow
        column = pyarrow.table(crossdock.connect('w')['t'])['n'].chunks[0]
        ctypes.c_double.from_address(column.buffers()[1].address).value = 9
    """
    assert run(program)[0] == -signal.SIGSEGV
    assert pa.table(crossdock.connect("w")["t"])["n"][0].as_py() == 0


def test_a_table_of_a_set_is_sent_to_a_pool_in_place(folder, hold):
    hold("--name", "m")
    crossdock.publish("m", {"t": {"n": np.arange(50_000), "s": crossdock.column(["x", None, "größe"] * 16_667)[:50_000]}})
    program = """
        import multiprocessing, sys
        import crossdock
        sys.path.insert(0, %r)
        import workers

        if __name__ == "__main__":
            table = crossdock.connect("m")["t"]
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                before = crossdock.copied_bytes()
                sent = pool.apply_async(workers.table_facts, (table,))
                print(sent.get(60), crossdock.copied_bytes() - before)
                print(pool.apply(workers.table_facts, (table[49_990:],))[:2])
                again = pool.apply(workers.same_table, (table,))
                print(again["n"].array()[49_999], again["s"].to_list()[:3])
    """
    (folder / "program.py").write_text(textwrap.dedent(program % str(pathlib.Path(__file__).parent)))
    done = subprocess.run([sys.executable, folder / "program.py"], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout == "((50000, 2), True, 0) 0\n((10, 2), True)\n49999 ['x', None, 'größe']\n"
