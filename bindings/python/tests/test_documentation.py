"""The documentation and the stubs are true."""

import ast
import doctest
import inspect
from importlib.resources import files

import pytest

import crossdock

ledger = crossdock.ledger()
channel = crossdock.Channel(2, 100)
CLASSES = {
    "Archive": crossdock.Archive,
    "Array": crossdock.Array,
    "ArrowColumn": crossdock.ArrowColumn,
    "BatchReader": crossdock.BatchReader,
    "Buffer": crossdock.Buffer,
    "Channel": crossdock.Channel,
    "Column": crossdock.Column,
    "Device": crossdock.Device,
    "HeldArrays": crossdock.HeldArrays,
    "Table": crossdock.Table,
    "dtype": crossdock.dtype,
    "_Flags": type(crossdock.zeros(1).flags),
    "_Ledger": type(ledger),
    "_Receiver": type(channel.receiver()),
    "_Sender": type(channel.sender()),
}
FUNCTIONS = sorted(set(crossdock.__all__) - set(CLASSES) - {"array_api"})
NAMESPACE = crossdock.array_api


def public(of):
    return {name for name in vars(of) if not name.startswith("_")}


def documented():
    """Everything that has its own documentation, by name."""
    things = {"crossdock": crossdock}
    things |= {name: getattr(crossdock, name) for name in FUNCTIONS}
    for name, of in CLASSES.items():
        things[name] = of
        things |= {f"{name}.{member}": vars(of)[member] for member in public(of)}
    things["array_api"] = NAMESPACE
    things |= {f"array_api.{name}": thing for name, thing in vars(NAMESPACE).items() if name in NAMESPACE.__all__ and inspect.isroutine(thing)}
    special = ["__dlpack__", "__dlpack_device__", "__complex__", "_repr_html_"]
    things |= {f"Array.{member}": vars(crossdock.Array)[member] for member in special}
    things["Device.__dlpack_device__"] = vars(crossdock.Device)["__dlpack_device__"]
    things["dtype.__dlpack_data_type__"] = vars(crossdock.dtype)["__dlpack_data_type__"]
    return things


def test_documented_examples_run():
    runner, run = doctest.DocTestRunner(), 0
    for name, thing in documented().items():
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, 0)
        run += len(test.examples)
        runner.run(test)
    assert runner.summarize().failed == 0 and run > 80


@pytest.mark.parametrize("name", documented())
def test_everything_is_documented_in_numpys_style(name):
    thing = documented()[name]
    text = inspect.getdoc(thing)
    assert text and text.split("\n")[0].endswith((".", ":", "``")), text
    if not callable(thing) or inspect.isclass(thing):
        return
    assert "Examples\n--------\n>>> import crossdock" in text
    for parameter in parameters(thing):
        if parameter.name != "self":
            star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
            assert f"\n{star}{parameter.name} : " in text, f"{parameter.name} is not described"


def parameters(thing):
    return list(inspect.signature(thing).parameters.values())


def tree():
    package = files("crossdock")
    assert (package / "py.typed").is_file()
    return ast.parse((package / "__init__.pyi").read_text())


NOTHING = inspect.Parameter.empty


def declared(function, bound):
    """The names, kinds and defaults of the parameters in a stub."""
    arguments = function.args
    names = [(argument.arg, "positional") for argument in arguments.posonlyargs]
    names += [(argument.arg, "either") for argument in arguments.args]
    defaults = [None] * (len(names) - len(arguments.defaults)) + arguments.defaults
    names += [(argument.arg, "named") for argument in arguments.kwonlyargs]
    defaults += arguments.kw_defaults
    rows = [(*name, NOTHING if default is None else ast.literal_eval(default)) for name, default in zip(names, defaults)]
    if arguments.vararg:
        rows.insert(len(rows) - len(arguments.kwonlyargs), (arguments.vararg.arg, "several", NOTHING))
    return rows[1:] if bound else rows


KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.VAR_POSITIONAL: "several",
    inspect.Parameter.KEYWORD_ONLY: "named",
}


def taken(thing, bound):
    """The same as `declared`, for the real function."""
    rows = [(row.name, KINDS[row.kind], row.default) for row in parameters(thing)]
    return rows[1:] if bound else rows


def test_stubs_declare_the_functions_that_there_are():
    stubs = {node.name: node for node in tree().body if isinstance(node, ast.FunctionDef)}
    assert set(stubs) == set(FUNCTIONS)
    for name, node in stubs.items():
        assert declared(node, False) == taken(getattr(crossdock, name), False), name
    (exported,) = (node.value for node in tree().body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    assert ast.literal_eval(exported) == crossdock.__all__


@pytest.mark.parametrize("name", CLASSES)
def test_stubs_declare_the_members_that_there_are(name):
    of = CLASSES[name]
    (stub,) = (node for node in tree().body if isinstance(node, ast.ClassDef) and node.name == name)
    nodes = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    # From 3.12 on, Python adds `__buffer__` to types with buffers; without `__iter__`, iteration
    # uses indices.
    assert set(nodes) - set(dir(of)) <= {"__buffer__", "__iter__"}
    assert public(of) == {member for member in nodes if not member.startswith("_")}
    for member, node in nodes.items():
        decorators = [decorator.id for decorator in node.decorator_list]
        is_property = "property" in decorators
        there = inspect.getattr_static(of, member, None)
        assert is_property == inspect.isdatadescriptor(there), member
        if not is_property and not member.startswith("__"):
            assert declared(node, True) == taken(there, True), member


def test_types_of_entries_are_declared():
    """The ledger's entries and holders, whose types have no names in the package."""
    crossdock.ledger(on=True)
    try:
        array = crossdock.zeros(123)
        view = memoryview(array)
        (entry,) = (entry for entry in crossdock.ledger() if entry.nbytes == array.nbytes)
        (holder,) = entry.holders
    finally:
        crossdock.ledger(on=False)
    view.release()
    for name, thing in [("_LedgerEntry", entry), ("_LedgerHolder", holder)]:
        (stub,) = (node for node in tree().body if isinstance(node, ast.ClassDef) and node.name == name)
        assert {node.name for node in stub.body} == public(type(thing))
        assert all(inspect.getdoc(getattr(type(thing), member)) for member in public(type(thing)))
