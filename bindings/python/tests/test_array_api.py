"""The namespace of the array API standard, compared with NumPy's."""

import itertools
import os
import subprocess
import sys

import array_api_compat
import numpy as np
import pytest

import crossdock

xp = crossdock.array_api
SHAPES = [(), (1,), (3,), (0,), (2, 3), (1, 3), (2, 1, 3), (2, 3, 4), (0, 2)]


def numbers(shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


def outcome(call):
    """The dtype, shape and elements of the result, or that the call was refused."""
    try:
        made = call()
    except (IndexError, TypeError, ValueError):
        return "refused"
    parts = made if isinstance(made, tuple) else (made,)
    return type(made) is tuple, [(str(part.dtype), part.shape, part.tolist()) for part in parts]


def both(name, arguments, keywords=None):
    """Whether both libraries have the same outcome. Arrays are those of NumPy among the arguments."""

    def taken(value):
        if isinstance(value, np.ndarray):
            return crossdock.asarray(value)
        return type(value)(map(taken, value)) if isinstance(value, (list, tuple)) else value

    keywords = keywords or {}
    own = outcome(lambda: getattr(xp, name)(*taken(list(arguments)), **keywords))
    numpys = outcome(lambda: getattr(np, name)(*arguments, **keywords))
    return own, numpys


def calls():
    for shape in SHAPES:
        x = numbers(shape)
        axes = range(-len(shape) - 1, len(shape) + 1)
        for axis in axes:
            yield from (("expand_dims", (x, axis)), ("unstack", (x,), {"axis": axis}), ("flip", (x,), {"axis": axis}))
            yield from (("concat", ([x, x],), {"axis": axis}), ("stack", ([x, np.asarray(x + 7)],), {"axis": axis}))
            yield from (("roll", (x, shift), {"axis": axis}) for shift in (-5, 0, 1))
            # NumPy accepts an axis 0 where there is none.
            yield from (("repeat", (x, count), {"axis": axis}) for count in (0, 2) if x.ndim)
            if x.ndim and x.size and -x.ndim <= axis < x.ndim:
                yield "squeeze", (x, axis)
                length = x.shape[axis]
                yield "repeat", (x, np.arange(length)), {"axis": axis}
                yield "take", (x, np.array([length - 1, 0, -1, -length])), {"axis": axis}
                yield "take", (x, np.array([length])), {"axis": axis}
                yield "take_along_axis", (x, np.zeros_like(x) - 1), {"axis": axis}
                yield "take_along_axis", (x, x % length), {"axis": axis}
                yield "take_along_axis", (x, x + 1), {"axis": axis}
        for one, other in itertools.product(axes, axes):
            yield "moveaxis", (x, one, other)
            yield "roll", (x, (1, 2)), {"axis": (one, other)}
        for axes in itertools.permutations(range(x.ndim)):
            yield "permute_dims", (x, axes)
        for shape in SHAPES:
            yield "broadcast_to", (x, shape)
            yield "reshape", (x, shape)
            yield "broadcast_arrays", (x, numbers(shape))
        for counts in [(), (2,), (0,), (2, 1), (1, 2, 3)]:
            yield "tile", (x, counts)
        yield from (("roll", (x, 2)), ("repeat", (x, 2)), ("concat", ([x, x],), {"axis": None}))
        yield "reshape", (x, (-1,))
        if x.ndim > 1:
            yield "matrix_transpose", (x,)
            for k, name in itertools.product(range(-4, 5), ("tril", "triu")):
                yield name, (x,), {"k": k}
    for rows, columns, k in itertools.product((0, 1, 3), (0, 2, 3, None), range(-3, 4)):
        yield "eye", (rows, columns), {"k": k}
    for indexing in ("xy", "ij", "yx"):
        for lengths in [(), (3,), (2, 3), (2, 3, 4)]:
            yield "meshgrid", [numbers((length,)) for length in lengths], {"indexing": indexing}
    for start, stop, num, endpoint in itertools.product((0, -1.5, 2j), (3, 1e300, 1), (0, 1, 2, 5), (True, False)):
        yield "linspace", (start, stop, num), {"endpoint": endpoint}
    yield "linspace", (0, 1, -1)


def test_manipulation_and_creation_are_those_of_numpy():
    compared = 0
    for name, arguments, *keywords in calls():
        own, numpys = both(name, arguments, *keywords)
        if name == "linspace" and numpys != "refused":
            np.testing.assert_allclose(own[1][0][2], numpys[1][0][2])
            own, numpys = own[1][0][:2], numpys[1][0][:2]
        assert own == numpys, (name, arguments, keywords)
        compared += 1
    print(f"{compared} calls compared")
    assert compared > 1000


def test_views_copy_nothing_and_copies_are_counted():
    x = xp.reshape(xp.arange(24.0), (2, 3, 4))
    before = crossdock.copied_bytes()
    views = [
        *(xp.expand_dims(x, 0), xp.flip(x), xp.moveaxis(x, 0, 2), xp.permute_dims(x, (2, 0, 1)), xp.matrix_transpose(x)),
        *(xp.reshape(x, (6, 4)), xp.squeeze(x[:1], 0), *xp.unstack(x, axis=2), xp.broadcast_to(x, (5, 2, 3, 4))),
        *(*xp.broadcast_arrays(x, x[:1]), *xp.meshgrid(x[0, 0], x[0, 1]), xp.asarray(x), xp.asarray(np.asarray(x))),
        *(xp.astype(x, xp.float64, copy=False), xp.from_dlpack(x), xp.reshape(x, (24,), copy=False)),
    ]
    assert crossdock.copied_bytes() == before
    assert all(np.shares_memory(np.asarray(view), np.asarray(x)) for view in views)
    copies = {
        "concat": lambda: xp.concat([x, x]),
        "asarray": lambda: xp.asarray(x, copy=True),
        "astype": lambda: xp.astype(x, xp.float32),
        "reshape": lambda: xp.reshape(x.T, (24,)),
        "repeat": lambda: xp.repeat(x, 2),
        "roll": lambda: xp.roll(x, 1, axis=(0, 1)),
        "stack": lambda: xp.stack([x, x]),
        "take": lambda: xp.take(x, xp.asarray([0]), axis=0),
        "tile": lambda: xp.tile(x, (2, 1)),
        "tril": lambda: xp.tril(x),
    }
    for name, copy in copies.items():
        before = crossdock.copied_bytes()
        made = copy()
        assert crossdock.copied_bytes() - before >= made.nbytes / 2, name
        assert not np.shares_memory(np.asarray(made), np.asarray(x)), name
    before = crossdock.copied_bytes()
    xp.asarray(x, dtype=xp.float32, copy=True)
    xp.asarray(x, copy=True)
    assert crossdock.copied_bytes() - before <= 2 * x.nbytes, "a conversion is the only copy"


def test_asarray_copies_as_permitted():
    x = np.arange(3.0)
    assert np.shares_memory(np.asarray(xp.asarray(x)), x) and np.shares_memory(np.asarray(xp.asarray(x, copy=False)), x)
    assert not np.shares_memory(np.asarray(xp.asarray(x, copy=True)), x)
    assert xp.asarray(x, dtype=xp.int8).tolist() == [0, 1, 2] and xp.asarray(bytearray(b"ab")).tolist() == [97, 98]
    for obj, dtype in [([1, 2], None), (1, None), (x, xp.float32), (object(), None)]:
        with pytest.raises((TypeError, ValueError)):
            xp.asarray(obj, dtype=dtype, copy=False)
    with pytest.raises(ValueError, match="float64 to float32"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    for obj in (True, 1, 1.5, 1j, [True, False], [True, 2], [1, 2.5], [[1j], [2]]):
        assert outcome(lambda obj=obj: xp.asarray(obj)) == outcome(lambda obj=obj: np.asarray(obj))


def test_dtypes_are_promoted_as_the_standard_says():
    names = list(xp.__array_namespace_info__().dtypes())
    promotions = refusals = 0
    for one, other in itertools.product(names, names):
        kinds = {np.dtype(one).kind, np.dtype(other).kind}
        numpys = str(np.result_type(one, other))
        if kinds in ({"i"}, {"u"}, {"f"}, {"c"}, {"b"}, {"f", "c"}) or kinds == {"i", "u"} and numpys != "float64":
            assert xp.result_type(getattr(xp, one), getattr(xp, other)) == numpys
            assert xp.can_cast(getattr(xp, one), getattr(xp, other)) == (numpys == other)
            promotions += 1
        else:
            with pytest.raises(TypeError, match="no promotion"):
                xp.result_type(getattr(xp, one), getattr(xp, other))
            assert not xp.can_cast(getattr(xp, one), getattr(xp, other))
            refusals += 1
    assert promotions > 70 and refusals > 60
    x = xp.ones(2, dtype=xp.float32)
    assert xp.result_type(x, 1) == xp.result_type(x, 1.5) == "float32" and xp.result_type(x, 1j) == "complex64"
    assert xp.concat([xp.asarray([1], dtype=xp.int8), xp.asarray([200], dtype=xp.uint8)]).dtype == "int16"
    for wrong in [(), (1,), (xp.int8, 1.5), (xp.int8, True), (xp.bool, 1), (xp.asarray([1]), xp.asarray([1.5]))]:
        with pytest.raises(TypeError):
            xp.result_type(*wrong)


def test_conversions_truncate_in_the_namespace_and_are_checked_elsewhere():
    x = xp.asarray([1.5, -2.5, 0.0, 300.0])
    assert xp.astype(x, xp.int8).tolist() == [1, -2, 0, 127] and xp.astype(x, xp.bool).tolist() == [True, True, False, True]
    assert xp.astype(x, xp.complex64).dtype == "complex64" and xp.astype(xp.asarray([True]), xp.float32).tolist() == [1.0]
    assert xp.astype(xp.asarray([0j, 1j]), xp.bool).tolist() == [False, True]
    assert xp.astype(x, xp.float64, copy=False) is x and xp.astype(x, xp.float64) is not x
    with pytest.raises(TypeError, match="imaginary"):
        xp.astype(xp.asarray([1j]), xp.float64)
    with pytest.raises(ValueError, match="does not fit"):
        x.astype("int8")
    with pytest.raises(ValueError, match="does not fit"):
        xp.asarray(x, dtype=xp.int8)


def test_limits_and_kinds_are_those_of_numpy():
    info = xp.__array_namespace_info__()
    numpys = np.__array_namespace_info__()
    for kind in [None, "bool", "integral", "signed integer", "real floating", "complex floating", "numeric", ("bool", "integral")]:
        assert set(info.dtypes(kind=kind)) == set(numpys.dtypes(kind=kind))
        for name, dtype in xp.__array_namespace_info__().dtypes().items():
            assert kind is None or xp.isdtype(dtype, kind) == np.isdtype(np.dtype(name), kind)
    for name in info.dtypes(kind="integral"):
        assert [getattr(xp.iinfo(name), part) for part in ("bits", "min", "max")] == [getattr(np.iinfo(name), part) for part in ("bits", "min", "max")]
    for name in [*info.dtypes(kind=("real floating", "complex floating")), "float16"]:
        for part in ("bits", "eps", "min", "max", "smallest_normal", "dtype"):
            assert getattr(xp.finfo(name), part) == getattr(np.finfo(name), part), (name, part)
    assert info.default_device() in info.devices() and info.default_dtypes()["integral"] == "int64"
    assert info.capabilities()["max dimensions"] == 64 and xp.zeros((1,) * 64).ndim == 64
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None) and xp.nan != xp.nan
    for wrong in [lambda: xp.isdtype(xp.int8, "whole"), lambda: info.dtypes(kind="whole"), lambda: xp.iinfo(xp.float64), lambda: xp.finfo(xp.int8)]:
        with pytest.raises((TypeError, ValueError), match="on offer|describes"):
            wrong()


def test_what_computes_names_the_call_of_numpy():
    from crossdock.array_api import _computing

    names = [*_computing.UNARY, *_computing.BINARY, "where", "linalg", "fft"]
    assert not set(names) & set(xp.__all__) and len(set(names)) == len(names)
    for name in names:
        assert hasattr(np, name) and not hasattr(xp, name)
        with pytest.raises(AttributeError, match=rf"does not compute: np\.{name}\b"):
            getattr(xp, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        xp.nothing


def test_another_librarys_arrays_are_named():
    for call in [lambda x: xp.flip(x), lambda x: xp.concat([x]), lambda x: xp.take(x, x), lambda x: xp.astype(x, xp.int8), lambda x: xp.tril(x)]:
        with pytest.raises(TypeError, match="numpy.ndarray: import it with asarray"):
            call(np.ones(3))


def test_wrong_arguments_are_named():
    x = xp.ones(3)
    wrong = {
        "positions and counts are integers, not float64": lambda: xp.repeat(x, xp.asarray([1.5, 1, 1])),
        "repeat() takes one count of 0 or more, or one for each of 3 positions, not (-1,)": lambda: xp.repeat(x, -1),
        "roll() takes integers as shift, not 1.5": lambda: xp.roll(x, 1.5),
        "tile() takes integers as repetitions, not None": lambda: xp.tile(x, None),
        "concat() takes a list or a tuple of arrays, not Array": lambda: xp.concat(x),
        "stack() takes one array or more": lambda: xp.stack([]),
        "stack() takes arrays of one shape, not of (3,) and (2,)": lambda: xp.stack([x, x[:2]]),
        "shapes (3, 1) and (3,) differ in more than axis 0": lambda: xp.concat([xp.reshape(x, (3, 1)), x]),
        "shapes (2,), (3,) do not broadcast: axis 0 has 2 and 3": lambda: xp.broadcast_shapes((2,), (3,)),
        "take() needs an axis for an array of 2 axes": lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])),
        "index 3 is out of bounds for an axis of length 3": lambda: xp.take(x, xp.asarray([3])),
        "repeat() takes integers as repeats, not 1.5": lambda: xp.repeat(x, 1.5),
        "linspace() makes 0 numbers or more, not -1": lambda: xp.linspace(0, 1, -1),
        "a fill value is one element, not an array of shape [2]": lambda: xp.full(2, [1, 2]),
    }
    for text, call in wrong.items():
        with pytest.raises((IndexError, TypeError, ValueError)) as raised:
            call()
        assert str(raised.value) == text


def test_the_namespace_has_a_version_and_lists_its_names():
    assert xp.__array_api_version__ == "2025.12" and xp.__version__ == crossdock.__version__
    assert dir(xp) == sorted(xp.__all__) and all(hasattr(xp, name) for name in xp.__all__)


def test_array_api_compat_finds_no_namespace_that_computes():
    x = crossdock.zeros((2, 3))
    assert not array_api_compat.is_array_api_obj(x) and not hasattr(x, "__array_namespace__")
    with pytest.raises(TypeError, match="not a supported array type"):
        array_api_compat.array_namespace(x)
    assert array_api_compat.device(x) == "cpu" and array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, "cpu").shape == (2, 3)


def test_the_package_imports_the_namespace_at_its_first_use():
    code = (
        "import sys; before = set(sys.modules); import crossdock; own = set(sys.modules) - before;"
        "print(sorted(name for name in own if name.partition('.')[0] != 'crossdock' or 'array_api' in name)); crossdock.array_api; print('crossdock.array_api' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["[]", "True"], ran.stdout + ran.stderr
