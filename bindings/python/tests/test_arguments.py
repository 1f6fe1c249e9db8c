"""Wrong arguments and missing names fail in Python's words: with the name that was meant, the values that are allowed,
the number that does not fit, or NumPy's way."""

import ctypes
import errno
import inspect
import os
import pathlib
import pickle
import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest

import crossdock

X = crossdock.zeros((2, 3))
BYTES = crossdock.Buffer(8)

#: Calls that succeed, by the names of all public functions and methods that accept names.
MODULE = {name: getattr(crossdock, name) for name in crossdock.__all__}
FUNCTIONS = {name: thing for name, thing in MODULE.items() if inspect.isroutine(thing)}
CLASSES = {name: thing for name, thing in MODULE.items() if inspect.isclass(thing)}
METHODS = {
    f"{name}.{member}": (of, member)
    for name, of in CLASSES.items()
    for member, thing in vars(of).items()
    if callable(thing) and (not member.startswith("_") or member in ["__dlpack__", "__array__"])
}


def names(signature, *kinds):
    return [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]


NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: Every public callable with arguments that may be named: a call, and the names.
CALLABLES = {}
for name, function in FUNCTIONS.items():
    if named := names(inspect.signature(function), *NAMED):
        CALLABLES[name] = (function, [name for name in named if name != "self"])
for name, (of, member) in METHODS.items():
    named = [each for each in names(inspect.signature(vars(of)[member]), *NAMED) if each != "self"]
    owner = {"Array": X, "Buffer": BYTES}.get(name.partition(".")[0])
    if named and owner is not None:
        CALLABLES[name] = (getattr(owner, member), named)


def positional(function):
    """Arguments for all parameters without a default."""
    given = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            if parameter.default is parameter.empty and parameter.name != "self":
                given.append(X)
    return given


def test_there_are_many_callables():
    assert len(CALLABLES) >= 35 and {"zeros", "asarray", "Array.astype", "Buffer.array"} <= set(CALLABLES)


# ===== signatures


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES, *METHODS])
def test_every_callable_has_a_signature(name):
    thing = MODULE[name] if name in MODULE else vars(METHODS[name][0])[METHODS[name][1]]
    signature = inspect.signature(thing)
    assert "args" not in signature.parameters or name == "Array.item"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_belong_to_the_package(name):
    function = FUNCTIONS[name]
    assert function.__name__ == name and function.__module__.startswith("crossdock")
    if not function.__module__.startswith("crossdock._"):
        assert pickle.loads(pickle.dumps(function)) is function


def test_help_is_a_page_whose_lists_name_everything():
    listed = re.findall(r"``(\w+)``", "".join(re.findall(r"\n- [^:]+:[^\n]*", crossdock.__doc__)))
    assert sorted(listed) == sorted(crossdock.__all__)
    page = pydoc.plain(pydoc.render_doc(crossdock))
    for name in crossdock.__all__:
        assert re.search(rf"\b{name}\b", page), name
    for name in FUNCTIONS:
        assert re.search(rf"\n    {name}\(", page), name
    assert "*args, **kwargs" not in page.partition("\nCLASSES")[0]


# ===== unknown names


#: Functions in Python: the interpreter itself suggests names from 3.13 on.
OWN_SUGGESTIONS = {name for name, (function, _) in CALLABLES.items() if inspect.isfunction(function)}


@pytest.mark.parametrize("name", CALLABLES)
def test_an_unknown_name_is_refused_with_the_one_that_was_meant(name):
    function, named = CALLABLES[name]
    for known in named:
        wrong = known[:-2] + known[-1] + known[-2] if len(known) > 2 else known + "n"
        if wrong in named or wrong == known:
            wrong = known + "x"
        with pytest.raises(TypeError) as raised:
            function(*positional(function), **{wrong: None})
        text = str(raised.value)
        expected = rf"^\w*\.?{function.__name__}\(\) got an unexpected keyword argument '{wrong}'"
        assert re.search(expected, text), text
        if name not in OWN_SUGGESTIONS or sys.version_info >= (3, 13):
            assert text.endswith(f". Did you mean '{known}'?"), text


@pytest.mark.parametrize("name", sorted(set(CALLABLES) - OWN_SUGGESTIONS))
def test_a_name_that_is_far_from_all_is_refused_with_the_list(name):
    function, named = CALLABLES[name]
    with pytest.raises(TypeError) as raised:
        function(*positional(function), zzzzzzzzzzzz=1)
    text = str(raised.value)
    assert "unexpected keyword argument 'zzzzzzzzzzzz'; it takes '" in text
    assert all(f"'{known}'" in text for known in named)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: crossdock.zeros(3, dtpe="f4"), "zeros() got an unexpected keyword argument 'dtpe'. Did you mean 'dtype'?"),
        (lambda: X.astype(dtpe="f4"), "astype() got an unexpected keyword argument 'dtpe'. Did you mean 'dtype'?"),
        (lambda: X.squeeze(axes=0), "squeeze() got an unexpected keyword argument 'axes'. Did you mean 'axis'?"),
        (lambda: X.tobytes(order="F"), "tobytes() got an unexpected keyword argument 'order'; it takes none"),
        (lambda: X.fill(value=3, val=1), "fill() got an unexpected keyword argument 'val'; it takes none"),
        (lambda: X.fill(3, value=1), "fill() got multiple values for argument 'value'"),
        (lambda: crossdock.asarray(obj=X), "asarray() got some positional-only arguments passed as keyword arguments: 'obj'"),
        (lambda: X.astype("f4", dtype="f4"), "astype() got multiple values for argument 'dtype'"),
        (lambda: X.astype(), "astype() missing 1 required positional argument: 'dtype'"),
        (lambda: X.fill(), "fill() missing 1 required positional argument: 'value'"),
        (lambda: X.swapaxes(0), "swapaxes() missing 1 required positional argument: 'axis2'"),
        (lambda: X.fill(1, 2), "fill() takes 1 positional argument but 2 were given"),
        (lambda: X.tolist(1), "tolist() takes 0 positional arguments but 1 was given"),
        (lambda: X.astype("f4", "C", True), "astype() takes from 1 to 2 positional arguments but 3 were given"),
        (lambda: X.ravel("F"), "ravel() takes 0 positional arguments but 1 was given; 'copy' by name only"),
    ],
)
def test_other_wrong_calls_fail_in_pythons_words(call, words):
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value).startswith(words)


def test_the_error_of_a_call_with_known_names_stays():
    with pytest.raises(ValueError, match="flaot"):
        crossdock.zeros(3, dtype="flaot")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'shape'"):
        crossdock.zeros(dtype="f4")


# ===== values that are not allowed


ORDER = "order must be 'C' (row-major) or 'F' (column-major), not {}"
COPY = "copy must be True (always), None (if necessary) or False (never), not 'no'"
ORDERS = {
    "zeros": lambda order: crossdock.zeros(3, order=order),
    "ones": lambda order: crossdock.ones(3, order=order),
    "empty": lambda order: crossdock.empty(3, order=order),
    "full": lambda order: crossdock.full(3, 1, order=order),
    "shared": lambda order: crossdock.shared(3, order=order),
    "open": lambda order: crossdock.open("x", order=order),
    "Array.copy": lambda order: X.copy(order=order),
    "Array.reshape": lambda order: X.reshape(6, order=order),
}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_names_what_is_allowed(name):
    for wrong, error in [(3, TypeError), (None, TypeError), ("Z", ValueError), ("c", ValueError)]:
        if name == "Array.reshape" and wrong is None or name == "Array.copy" and wrong is None:
            continue  # like a missing argument
        with pytest.raises(error) as raised:
            ORDERS[name](wrong)
        assert str(raised.value).startswith(ORDER.format(repr(wrong)))


def test_astype_names_its_orders_and_castings():
    with pytest.raises(ValueError, match="'C' .*'F' .*, 'K' or 'A', not 'Z'"):
        X.astype("f4", order="Z")
    with pytest.raises(ValueError, match="no, equiv, safe, same_kind, same_value, unsafe or saturating, not 3"):
        X.astype("f4", casting=3)
    with pytest.raises(TypeError, match="copy must be True or False, not 'no'"):
        X.astype("f4", copy="no")
    assert X.astype("f4", order="K", casting="safe", copy=np.True_).dtype == "f4"


@pytest.mark.parametrize(
    "call",
    [
        lambda copy: crossdock.asarray(X, copy=copy),
        lambda copy: crossdock.from_dlpack(X, copy=copy),
        lambda copy: crossdock.to_arrow(X, copy=copy),
        lambda copy: X.reshape(6, copy=copy),
        lambda copy: X.ravel(copy=copy),
        lambda copy: X.__dlpack__(copy=copy),
        lambda copy: X.__array__(copy=copy),
    ],
)
def test_a_copy_names_what_is_allowed(call):
    with pytest.raises(TypeError) as raised:
        call("no")
    assert str(raised.value).startswith(COPY)
    assert call(True) is not None


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("frozen", lambda truth: crossdock.asarray(X, frozen=truth)),
        ("readonly", lambda truth: crossdock.from_address(X.ptr, 8, X, readonly=truth)),
        ("validity", lambda truth: crossdock.from_arrow(X, validity=truth)),
        ("chunks", lambda truth: crossdock.from_arrow(X, chunks=truth)),
        ("pairs", lambda truth: crossdock.from_arrow(X, pairs=truth)),
        ("whole", lambda truth: crossdock.to_arrow(X, whole=truth)),
        ("sealed", lambda truth: crossdock.shared(X, sealed=truth)),
        ("compress", lambda truth: crossdock.save("x.npz", X, compress=truth)),
        ("on", lambda truth: crossdock.ledger(on=truth)),
    ],
)
def test_a_truth_value_is_named(name, call):
    with pytest.raises(TypeError) as raised:
        call("no")
    assert str(raised.value).startswith(f"{name} must be True or False, not 'no'")


def test_long_wrong_values_are_cut():
    with pytest.raises(ValueError) as raised:
        crossdock.zeros(3, order="x" * 1000)
    assert len(str(raised.value)) < 200 and "…" in str(raised.value)


# ===== integers that do not fit

HUGE = 2**70


@pytest.mark.parametrize(
    "call",
    [
        lambda n: crossdock.zeros(n),
        lambda n: crossdock.zeros((2, n)),
        lambda n: crossdock.shared(n),
        lambda n: crossdock.full(3, n),
        lambda n: crossdock.full(3, n, "i8"),
        lambda n: crossdock.array([1, n]),
        lambda n: crossdock.array([n], "u8"),
        lambda n: crossdock.arange(n),
        lambda n: crossdock.from_address(n, 8, X),
        lambda n: crossdock.from_address(0, n, X),
        lambda n: crossdock.from_address(0, 8, X, offset=n),
        lambda n: crossdock.from_address(0, 8, X, shape=(1,), strides=(n,)),
        lambda n: crossdock.open("x", dtype="u1", offset=n),
        lambda n: crossdock.Buffer(n),
        lambda n: BYTES.resize(n),
        lambda n: crossdock.set_num_threads(n),
        lambda n: crossdock.dtype({"names": ["a"], "formats": ["i4"], "offsets": [n]}),
        lambda n: crossdock.dtype({"names": ["a"], "formats": ["i4"], "itemsize": n}),
        lambda n: crossdock.dtype({"a": ("i4", n)}),
        lambda n: crossdock.dtype(("i4", (n,))),
        lambda n: X.fill(n),
        lambda n: X.__setitem__((0, 0), n),
        lambda n: X.item(0, n),
        lambda n: X.item(n),
        lambda n: X.reshape(n),
        lambda n: X.reshape((n, 2)),
        lambda n: X.transpose(n, 0),
        lambda n: X.swapaxes(0, n),
        lambda n: X.moveaxis(0, n),
        lambda n: X.squeeze(n),
        lambda n: X.expand_dims(n),
        lambda n: X.flip((0, n)),
        lambda n: X.broadcast_to((n, 2, 3)),
    ],
)
def test_an_integer_that_does_not_fit_is_an_overflow_with_the_integer(call):
    for number in [HUGE, -HUGE, HUGE + 1]:
        with pytest.raises(OverflowError) as raised:
            call(number)
        assert str(raised.value).startswith(f"{number} does not fit ")
    with pytest.raises(OverflowError, match="an integer of 16610 bits does not fit"):
        call(10**5000)


def test_negative_counts_of_bytes_have_their_number():
    for arguments in [(-1, 8), (0, -8)]:
        with pytest.raises(OverflowError, match="^-[18] does not fit uint64"):
            crossdock.from_address(*arguments, X)


# ===== files


def failed(kind, number, path, call):
    with pytest.raises(OSError) as raised:
        call(path)
    error = raised.value
    assert type(error) is kind and error.errno == number and error.filename == os.fspath(path)
    assert error.strerror == os.strerror(number)
    assert str(error) == f"[Errno {number}] {os.strerror(number)}: {os.fspath(path)!r}"
    # What the library says about it, and what to do.
    (note,) = error.__notes__
    return note


@pytest.mark.parametrize("options", [{}, {"name": "a"}, {"mode": "r+"}, {"mode": "c"}, {"dtype": "f4"}, {"dtype": "f4", "shape": 3}])
def test_a_missing_file_is_not_found(tmp_path, options):
    for path in [tmp_path / "missing.npy", str(tmp_path / "é.npz")]:
        failed(FileNotFoundError, errno.ENOENT, path, lambda path: crossdock.open(path, **options))
    with pytest.raises(FileNotFoundError):
        crossdock.open(bytes(tmp_path / "missing.npy"), **options)


def test_folders_are_no_files(tmp_path):
    failed(IsADirectoryError, errno.EISDIR, tmp_path, crossdock.open)
    failed(IsADirectoryError, errno.EISDIR, tmp_path, lambda path: crossdock.save(path, X))
    named = tmp_path / "folder.npy"
    named.mkdir()
    failed(IsADirectoryError, errno.EISDIR, named, lambda path: crossdock.save(path, X))
    file = tmp_path / "file"
    file.touch()
    failed(NotADirectoryError, errno.ENOTDIR, file / "x.npy", crossdock.open)


def test_saving_to_a_missing_folder_says_what_to_do(tmp_path):
    for arrays in [X, {}]:
        note = failed(
            FileNotFoundError, errno.ENOENT, tmp_path / "missing" / "x.npz", lambda path: crossdock.save(path, {"a": X} if arrays is X else {})
        )
        assert "no such directory; create it first" in note


PERMISSIONS = """
import os, sys
import crossdock
os.setgid(65534)
os.setuid(65534)
for act in [lambda: crossdock.open(sys.argv[1]), lambda: crossdock.save(sys.argv[2], crossdock.zeros(3))]:
    try:
        act()
    except PermissionError as error:
        print(error.errno, error.filename)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without permissions")
def test_a_file_without_permission(tmp_path):
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and folder != pathlib.Path("/") and "pytest" in folder.name:
            folder.chmod(0o755)
    secret = tmp_path / "secret.npy"
    np.save(secret, np.zeros(3))
    secret.chmod(0)
    new = tmp_path / "new.npy"
    done = subprocess.run(
        [sys.executable, "-c", PERMISSIONS, secret, new],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{errno.EACCES} {secret}\n{errno.EACCES} {new}\n", done.stderr


def test_a_damaged_file_is_a_value_error(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
    with pytest.raises(ValueError, match=re.escape(str(path))):
        crossdock.open(path)


# ===== dtypes


@pytest.mark.parametrize(
    "spec",
    [
        "3f4",
        "(2,3)f4",
        "(2,)i2",
        "(2, 3)<f8",
        "i4,(2,3)f8",
        "(2,3)f4,3i2,S5",
        "f4,",
        ("f4", (2, 3)),
        ("f4", 3),
        [("a", "f4", (2,)), ("b", "S3")],
        [("a", ("i4", (2, 2)))],
        [(("title", "a"), "f4")],
        [(("title", "a"), "f4", (2,))],
        {"names": ["a", "b"], "formats": ["f4", "(2,)i4"], "titles": ["A", "B"]},
        {"names": ["a", "b"], "formats": ["f4", "i4"], "offsets": [0, 8], "itemsize": 16},
        {"a": ("f4", 0), "b": ("i4", 4)},
    ],
    ids=str,
)
def test_sub_arrays_and_titles_are_read_as_numpy_reads_them(spec):
    assert np.dtype(crossdock.dtype(spec)) == np.dtype(spec)


@pytest.mark.parametrize("spec", ["(2,3", "(2,x)f4", "()", "(2,3)", "3", "(2,3)f3", "-1f4", "f4,(2", ",", ""])
def test_other_texts_are_refused(spec):
    with pytest.raises((ValueError, TypeError)):
        crossdock.dtype(spec)


# ===== names of NumPy

NUMPYS = [name for name in dir(np.ndarray) if not name.startswith("_")]


@pytest.mark.parametrize("name", NUMPYS)
def test_a_name_of_numpy_is_there_or_says_numpys_way(name):
    if name in ["ctypes", "T", "mT"] or hasattr(X, name):
        assert name in dir(X)
        return
    call = "()" if callable(getattr(np.ndarray, name)) else ""
    with pytest.raises(AttributeError) as raised:
        getattr(X, name)
    assert f"'{name}'" in str(raised.value) and f"np.asarray(x).{name}{call}, on the same memory" in str(raised.value)
    assert name not in dir(X) and name not in vars(crossdock.Array)


def test_numpys_functions_take_arrays_without_these_methods():
    x = crossdock.array([[1.0, 5.0], [3.0, 2.0]])
    for name in ["sum", "mean", "max", "argmax", "std", "any", "cumsum", "round"]:
        assert np.array_equal(getattr(np, name)(x), getattr(np, name)(np.asarray(x))), name


def test_other_missing_names_are_those_of_python():
    with pytest.raises(AttributeError, match="'crossdock.Array' object has no attribute 'shpae'"):
        X.shpae


def test_memory_is_read_by_ctypes_where_a_count_is_given():
    numbers = (ctypes.c_int16 * 4)(1, 2, 3, 4)
    view = crossdock.from_address(ctypes.addressof(numbers), 8, numbers, dtype="i2", shape=2, strides=[4], offset=2)
    assert view.tolist() == [2, 4]


@pytest.mark.parametrize(
    "line",
    [
        "x.copy()", "np.ascontiguousarray(x)", "x.to_device('cpu')", "x.ptr", "np.asarray(x)", "x.transpose(1, 0)", "x.astype('f4')",
        "x.tolist()", "x[None]", "x.expand_dims(axis=1)", "crossdock.array_api.concat([x, x])", "crossdock.zeros(3, dtype='float32')",
    ],
)  # fmt: skip
def test_the_lines_that_errors_name_are_lines_that_work(line):
    assert eval(line, {"x": X, "np": np, "crossdock": crossdock}) is not None


@pytest.mark.parametrize(
    "line, words",
    [
        ("x.numpy()", r"np.asarray\(x\)"),
        ("x.to_numpy()", r"np.asarray\(x\)"),
        ("x.unsqueeze(0)", r"x\[None\]"),
        ("x.cpu()", r"x.to_device\('cpu'\)"),
        ("x.real", r"np.asarray\(x\).real,"),
        ("x.sum()", r"np.asarray\(x\).sum\(\)"),
        ("crossdock.load('a.npy')", r"crossdock.open\(path\)"),
        ("crossdock.concatenate([x, x])", "crossdock.array_api.concat"),
        ("crossdock.eye(3)", "crossdock.array_api.eye"),
        ("crossdock.float32", "dtype='float32'"),
        ("crossdock.from_numpy(x)", r"crossdock.asarray\(x\)"),
    ],
)
def test_names_of_other_libraries_fail_with_what_to_write(line, words):
    with pytest.raises(AttributeError, match=words):
        eval(line, {"x": X, "crossdock": crossdock})


def test_asarray_with_a_dtype_fails_with_the_calls_that_convert():
    with pytest.raises(TypeError, match=r"'dtype'; it gives elements as they are: crossdock.array\(x, dtype\)"):
        crossdock.asarray(X, dtype="f4")
    assert crossdock.array(X, "f4").dtype == crossdock.asarray(X).astype("f4").dtype == "float32"


def test_names_of_other_libraries_are_not_listed():
    assert not {"numpy", "cpu", "values", "sum"} & {*dir(X)} and not hasattr(X, "to_numpy")
