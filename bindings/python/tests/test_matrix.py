"""Every importer with every exporter, for every class of layout, in one run, whose results are in `docs/evidence/matrix.md`."""

import importlib
import os
import pathlib
import re

import pytest

import crossdock
from handing.counterparts import need

np = need("numpy")
pa = need("pyarrow")
for library in [
    "_testbuffer",
    "pyarrow",
    "nanoarrow",
    "arro3.core",
    "polars",
    "pandas",
    "duckdb",
    "PIL",
    "cv2",
    "nanobind",
    "tvm_ffi",
    "ml_dtypes",
]:
    need(library)

from handing.consumers import CONSUMERS, hand_over
from handing.importers import CLASSES, IMPORTERS, CannotSay
from handing.memory import alias
from handing.roads import OPERATIONS, ROADS, both
from handing.specimens import Specimen

PAGE = pathlib.Path(__file__).parents[3] / "docs/evidence/matrix.md"
HEADING, NEXT = "\n## In Python\n", "\n## In Ruby\n"
EXPORTERS = {name: consumer for name, consumer in CONSUMERS.items() if name != "memoryview.tolist"}
WORDS = {
    "in place": "in place",
    "copies": "copies",
    "refuses": "refused",
    "misreads": "misread",
    "takes": "taken",
    "cannot": "–",
}
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"

HEAD = """
`crossdock.asarray` imports the data, with a copy only if nothing else is possible; each library receives the exported array, with elements
of `int16`. Reasons of imports are the texts of errors. Reasons of exports are the predictions of `crossdock.explain`, which the same tests
compare with the outcome. **misread** means that the library read other elements, **taken** that the elements are right and no address shows
whether they are in place. A test of the wheel writes this section (`bindings/python/tests/test_matrix.py`).
"""


def elements_of(made):
    """The elements as a NumPy array on the same memory; a copy if they are behind pointers."""
    return made if isinstance(made, np.ndarray) else np.array(made.tolist(), "i2")


def bring(importer, made):
    """The imported array, and the outcome with its reason."""
    try:
        thing = importer(made)
    except CannotSay as error:
        return None, ("cannot", str(error))
    if isinstance(thing, crossdock.Array):
        array, outcome = thing, ("in place", "")
    else:
        try:
            array, outcome = crossdock.asarray(thing), ("in place", "")
        except (BufferError, TypeError) as refused:
            try:
                array, outcome = crossdock.asarray(thing, copy=None), ("copies", str(refused))
            except (BufferError, TypeError, ValueError):
                return None, ("refuses", str(refused))
    elements = elements_of(made)
    assert array.shape == elements.shape and array.tobytes() == elements.tobytes()
    if array.tolist() != elements.tolist():
        return None, ("misreads", f"the type is lost: {array.dtype}")
    if outcome[0] == "in place" and importer in MEMORY_IS_THEIRS and isinstance(made, np.ndarray) and elements.size:
        first = {offer.protocol: offer.address for offer in crossdock.explain(array).offers}["PEP 3118"]
        assert first == elements.__array_interface__["data"][0], importer
    return array, outcome


#: Importers whose elements are at the specimen's addresses.
MEMORY_IS_THEIRS = [
    importer
    for name, importer in IMPORTERS.items()
    if name not in ("CPython's own exporter", "`.npy`, by `crossdock.open`")
]


def hand_out(name, array, elements):
    said = next(one for one in crossdock.explain(array).consumers if one.name == name)
    # A separate array, since some consumers count as long as the object that they imported lives.
    outcome, why = hand_over(EXPORTERS[name], Specimen(name, array[...], elements))
    assert outcome == said.outcome or outcome == "takes" and said.outcome != "refuses", (name, said, why)
    if outcome != "takes":
        return outcome, said.reason
    # There is no memory to compare with, but the elements must be equal.
    items = np.array(array.tolist(), "i2").reshape(array.shape)
    assert hand_over(EXPORTERS[name], Specimen(name, array[...], items))[0] != "misreads", name
    return outcome, why


def own(made):
    """A Crossdock array of the same layout."""
    return crossdock.asarray(made)


def table(corner, rows, columns):
    reasons = []
    lines = [f"| {corner} | {' | '.join(columns)} |", "|" + "---|" * (len(columns) + 1)]
    lines += [
        f"| {name} | {' | '.join(cell(cells[column], reasons) for column in columns)} |" for name, cells in rows.items()
    ]
    return "\n".join([*lines, "", *(f"{at}. {reason}" for at, reason in enumerate(reasons, 1)), ""])


def cell(verdict, reasons):
    outcome, why = verdict
    if outcome == "in place":
        return WORDS[outcome]
    why = re.sub(r"\[[^\]]*\]", "[…]", re.sub(r"0x[0-9a-f]+|\(\d[\d, ]*\)", "…", why.partition("; on offer is")[0]))
    if why not in reasons:
        reasons.append(why)
    return f"{WORDS[outcome]} {''.join(RAISED[int(digit)] for digit in str(reasons.index(why) + 1))}"


TWICE = """
The same memory, imported twice: an assignment to the array of the row, from that of the column, gives the elements as they were before.
Each number counts the operations that were compared with NumPy's on an earlier copy: {operations}; conversion to another type in the
same bytes and to a wider one behind them; fields of records, if both describe them. Shared memory that is mapped twice and rows behind pointers
are in `bindings/python/tests/test_same_memory.py`, as are files that another library mapped twice (`numpy.memmap`), or beside
`crossdock.open`.
"""


def same_memory():
    """Every importer with every other, as a table of the number of correct operations."""
    rows = {}
    for to in ROADS:
        done = {origin: both(to, origin) for origin in ROADS}
        if any(isinstance(count, int) for count in done.values()):
            rows[to] = [str(count) if isinstance(count, int) else "–" for count in done.values()]
    lines = [f"| to \\ from | {' | '.join(ROADS)} |", "|" + "---|" * (len(ROADS) + 1)]
    lines += [f"| {to} | {' | '.join(counts)} |" for to, counts in rows.items()]
    missing = [to for to in ROADS if to not in rows]
    lines += ["", f"Read-only, and so no destination: {', '.join(missing)}.", ""]
    return TWICE.lstrip("\n").format(operations=", ".join(OPERATIONS)) + "\n" + "\n".join(lines)


TABLES = """
Tables: `crossdock.table` imports what each library exports of a column of each type, and each library imports a `crossdock.Table`. **in
place** means that every buffer of the column lies where the producer has it; **copies** that the library makes buffers of its own in
one of the two steps.
"""

#: Columns as PyArrow has them: text, nulls, nested types.
TYPES = {
    "int64": lambda: pa.array([1, 2, 3]),
    "nulls": lambda: pa.array([1.5, None, 2.5]),
    "bool": lambda: pa.array([True, None, False] * 100),
    "date32": lambda: pa.array([1, None, 3], pa.int32()).view(pa.date32()),
    "timestamp, UTC": lambda: pa.array([1, None, 3], pa.timestamp("us", tz="UTC")),
    "decimal128": lambda: pa.array(["1.50", None, "2.50"]).cast(pa.decimal128(20, 2)),
    "string": lambda: pa.array(["a", None, "more than twelve bytes"]),
    "large_string": lambda: pa.array(["a", None, "more than twelve bytes"], pa.large_string()),
    "string_view": lambda: pa.array(["a", None, "more than twelve bytes"], pa.string_view()),
    "list": lambda: pa.array([[1, 2], None, [3]]),
    "struct": lambda: pa.array([{"x": 1, "y": "a"}, None, {"x": 3, "y": None}]),
    "map": lambda: pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "dictionary": lambda: pa.array(["a", None, "a"]).dictionary_encode(),
    "run-end encoded": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None])),
    "union": lambda: pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["a"])]),
}


def duckdb_table(table):
    import duckdb

    return duckdb.from_arrow(table)


#: Libraries with tables: what each makes of an object with `__arrow_c_stream__`.
LIBRARIES = {
    "pyarrow.table": lambda obj: pa.table(obj),
    "polars.DataFrame": lambda obj: importlib.import_module("polars").DataFrame(obj),
    "pandas.DataFrame": lambda obj: importlib.import_module("pandas").DataFrame.from_arrow(obj),
    "duckdb": duckdb_table,
    "nanoarrow.ArrayStream": lambda obj: importlib.import_module("nanoarrow").ArrayStream(obj),
    "arro3.core.Table": lambda obj: importlib.import_module("arro3.core").Table.from_arrow(obj),
}


def places(column):
    """The addresses of all buffers of more than the one offset of a column without elements."""
    found = {buffer.address for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None and buffer.size > 8}
    parts = [chunk.dictionary for chunk in column.chunks if isinstance(chunk, pa.DictionaryArray)]
    return found.union(*(places(pa.chunked_array([part])) for part in parts))


def through(library, column):
    """PyArrow's column that went to a library, from there to Crossdock, and back."""
    source = pa.table({"x": column})
    try:
        theirs = LIBRARIES[library](crossdock.table(source))
        back = pa.table(crossdock.table(theirs))
    except BaseException as error:
        # A panic of Polars is no `Exception`.
        if isinstance(error, KeyboardInterrupt | SystemExit | AssertionError):
            raise
        return "refuses", f"{library}: {error}".split("\n")[0]
    values = back["x"].to_pylist()
    assert values == source["x"].to_pylist() or library == "pandas.DataFrame" and len(values) == len(column), (library, column.type)
    return ("in place", "") if places(back["x"]) <= places(source["x"]) else ("copies", f"{library} has a format of its own")


def tables():
    """Each type of column, through each library and back."""
    rows = {kind: {library: through(library, make()) for library in LIBRARIES} for kind, make in TYPES.items()}
    return TABLES.lstrip("\n") + "\n" + table("type", rows, list(LIBRARIES))


def section():
    imports = {
        name: {kind: bring(importer, make())[1] for kind, make in CLASSES.items()}
        for name, importer in IMPORTERS.items()
    }
    made = {kind: make() for kind, make in CLASSES.items()}
    exports = {
        name: {
            kind: hand_out(name, own(one), elements_of(one) if isinstance(one, np.ndarray) else None)
            for kind, one in made.items()
        }
        for name in EXPORTERS
    }
    ways = {}
    for name, importer in IMPORTERS.items():
        array, outcome = bring(importer, CLASSES["row-major"]())
        if array is not None:
            elements = alias(array)
            ways[name] = {exporter: hand_out(exporter, array, elements) for exporter in EXPORTERS}
    counted = [outcome for row in ways.values() for outcome, _ in row.values()]
    ways_of = {"in place": "are in place", "copies": "copy", "refuses": "are refused", "misreads": "are misread"}
    numbers = ", ".join(f"{counted.count(outcome)} {words}" for outcome, words in ways_of.items())
    return "\n".join([
        HEADING.lstrip("\n").rstrip("\n") + "\n" + HEAD,
        "What comes in:\n\n" + table("importer", imports, list(CLASSES)),
        "What goes out, of Crossdock's arrays:\n\n" + table("exporter", exports, list(CLASSES)),
        "From each to each, of row-major data:\n\n" + table("from \\ to", ways, list(EXPORTERS)),
        f"Of {len(counted)} ways from each to each, {numbers}.\n",
        same_memory(),
        tables(),
    ])  # fmt: skip


def test_every_way_in_goes_with_every_way_out_and_the_page_says_how():
    page = PAGE.read_text()
    above, _, rest = page.partition(HEADING)
    there, _, below = rest.partition(NEXT)
    made = section()
    if "CROSSDOCK_BLESS" in os.environ:
        if not rest:
            above, _, below = page.partition(NEXT)
        PAGE.write_text(above + "\n" + made + NEXT + below)
        return
    assert HEADING.lstrip() + there == made, (
        "write it anew: CROSSDOCK_BLESS=1 pytest bindings/python/tests/test_matrix.py"
    )
    assert made.count("in place") > 100


@pytest.mark.parametrize("name", IMPORTERS)
def test_importers_bring_something(name):
    outcomes = [bring(IMPORTERS[name], make())[1][0] for make in CLASSES.values()]
    assert set(outcomes) - {"cannot"}
