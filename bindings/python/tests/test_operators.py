"""Comparison, truth and membership; arithmetic is refused, and the error names NumPy's way."""

import operator
import re

import numpy as np
import pytest

import crossdock

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod, pow]
BINARY += [operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [getattr(operator, name) for name in dir(operator) if name.startswith("i") and hasattr(operator, f"__{name[1:]}__")]
IN_PLACE = [act for act in IN_PLACE if act not in (operator.is_, operator.is_not, operator.index, operator.indexOf, operator.itemgetter, operator.iconcat)]
ORDERED = [operator.lt, operator.le, operator.gt, operator.ge]
UNARY = [operator.neg, operator.pos, abs, operator.invert]


@pytest.mark.parametrize("operation", [*BINARY, *IN_PLACE, *ORDERED], ids=lambda operation: operation.__name__)
def test_arithmetic_is_refused_with_the_way_to_do_it(operation):
    x = crossdock.zeros(2, "i4")
    for pair in [(x, 1), (x, 1.5), (x, crossdock.zeros(2)), (x, np.zeros(2)), (x, [1, 2])]:
        with pytest.raises(TypeError, match=r"does not compute: np\.asarray\(x\) \S+( and %)? y does"):
            operation(*pair)
    if operation not in IN_PLACE:
        with pytest.raises(TypeError, match=r"does not compute: np\.asarray\(x\) \S+( and %)? y does"):
            operation(1, x)


def test_a_refused_operator_is_named():
    x = crossdock.zeros(2, "i4")
    for expression in ["x + 1", "x // 2", "x < 3", "x >= 3", "x & 1", "x ** 2", "x @ x"]:
        sign = expression.split()[1]
        with pytest.raises(TypeError, match=rf"np\.asarray\(x\) {re.escape(sign)} y does, on the same memory"):
            eval(expression)
    with pytest.raises(TypeError, match=r"compute: ~np\.asarray\(x\) does"):
        ~x


def test_all_operators_that_there_are_were_tried():
    assert len(IN_PLACE) == 13 and {act.__name__ for act in IN_PLACE} > {"iadd", "imatmul", "ixor"}


@pytest.mark.parametrize("operation", UNARY, ids=lambda operation: operation.__name__)
def test_unary_operators_are_refused_as_well(operation):
    with pytest.raises(TypeError, match=r"does not compute: .*np\.asarray\(x\) does, on the same memory"):
        operation(crossdock.zeros(2))


def test_values_are_found_in_arrays():
    x = crossdock.array([[1, 2], [3, 4]])
    assert 3 in x and 2.0 in x and 5 not in x and "a" not in x
    assert b"ab" in crossdock.array([b"ab", b"c"]) and 1 in crossdock.array(1) and 0 not in crossdock.zeros((3, 0))
    assert (1, 2.5) in crossdock.array([(1, 2.5)], "[('a', '<i4'), ('b', '<f8')]")


def test_arrays_are_compared_with_whatever_shares_memory():
    x = crossdock.array([1, 2, 3], "u1")
    for same in (b"\x01\x02\x03", bytearray([1, 2, 3]), memoryview(b"\1\2\3"), crossdock.array([1.0, 2.0, 3.0]), crossdock.Buffer(b"\1\2\3")):
        assert x == same and not x != same
    for other in (b"\x01\x02", crossdock.array([[1, 2, 3]]), crossdock.array([1, 2, 4]), None, object()):
        assert x != other and not x == other
    for same, other in [(2**63, 2**63 - 1), (2**53, 2**53 + 1)]:
        wide = crossdock.array([same], "u8")
        assert wide != crossdock.array([other], "i8") and crossdock.array([other], "i8") != wide
    assert crossdock.array([5], "u8") == crossdock.array([5], "i8") != crossdock.array([-5], "i8")
    assert crossdock.array([5]) != crossdock.array(["5"]) and crossdock.array([1.5]) == crossdock.array([1.5 + 0j])
    dates = crossdock.zeros(2, "datetime64[s]")
    assert dates == crossdock.zeros(2, "datetime64[s]") and dates != crossdock.zeros(2, "datetime64[D]").reshape(1, 2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_arrays_of_numpy_compare_by_its_rules_on_either_side():
    a, other = np.arange(4), np.array([0, 9, 2, 9])
    x = crossdock.asarray(a)
    for same in [x == other, other == x, x == np.int64(2), np.int64(2) == x]:
        assert isinstance(same, np.ndarray) and same.dtype == bool and same.shape == (4,)
    assert (x == other).tolist() == (other == x).tolist() == [True, False, True, False]
    assert (x != other).tolist() == [False, True, False, True]
    assert x[1] == np.int64(1) and (x[:1].reshape(()) == np.int64(0)).all()


@pytest.mark.parametrize("other", [3, 2.5, True, 1j, "text", [0, 1, 2], (0, 1, 2)])
def test_what_numpy_would_compare_with_each_element_is_refused(other):
    x = crossdock.arange(3)
    with pytest.raises(TypeError, match=r"np\.asarray\(x\) == y compares each element"):
        x == other
    with pytest.raises(TypeError, match=r"np\.asarray\(x\) != y compares each element"):
        other != x


def test_an_array_without_axes_compares_as_its_element():
    assert crossdock.array(5) == 5 and crossdock.array(5) != 6 and crossdock.array("a") == "a" and 2.5 == crossdock.array(2.5)
    with pytest.raises(TypeError, match="compares each element"):
        crossdock.array(5) == [5]


def test_the_truth_of_many_elements_is_ambiguous():
    for ambiguous in (crossdock.zeros(2), crossdock.zeros((0, 2))):
        with pytest.raises(ValueError, match=r"ambiguous: np\.asarray\(x\)\.any\(\)"):
            bool(ambiguous)
    assert crossdock.array([[1]]) and not crossdock.array(0.0)
    assert complex(crossdock.array([1 + 2j])) == 1 + 2j
    with pytest.raises(TypeError):
        complex(crossdock.zeros(2))


def test_flags_are_numpys():
    rng = np.random.default_rng(20261122)
    seen = set()
    for _ in range(500):
        shape = tuple(rng.choice([0, 1, 2, 3], rng.integers(0, 4)))
        raw = np.zeros(int(np.prod(shape)) * 8 + 8, "u1")[rng.integers(0, 8) :]
        theirs = raw[: int(np.prod(shape)) * 8].view(rng.choice(["f8", "i4,u4", "c8", "S8", "U2"])).reshape(shape)
        if theirs.ndim and rng.random() < 0.5:
            theirs = theirs.transpose(rng.permutation(theirs.ndim))[..., :: rng.choice([1, 2, -1])]
        theirs.flags.writeable = rng.random() < 0.5
        if theirs.dtype.names:
            theirs = theirs["f1"]
        ours = crossdock.asarray(theirs).flags
        for name in ("c_contiguous", "f_contiguous", "contiguous", "forc", "fnc", "writeable", "aligned", "behaved", "carray"):
            assert getattr(ours, name) == getattr(theirs.flags, name), (name, theirs.shape, theirs.strides)
        for key in ("C", "C_CONTIGUOUS", "CONTIGUOUS", "F", "FORTRAN", "W", "WRITEABLE", "A", "ALIGNED", "B", "CA", "FNC", "FORC"):
            assert ours[key] == theirs.flags[key]
        # NumPy's own `farray` is true if any of the three is.
        assert ours.farray == ours["FA"] == (ours.fnc and ours.behaved)
        seen.add((ours.c_contiguous, ours.f_contiguous, ours.writeable, ours.aligned))
    assert len(seen) >= 14, seen
    with pytest.raises(KeyError, match="OWNDATA"):
        crossdock.zeros(2).flags["OWNDATA"]
    with pytest.raises(AttributeError):
        crossdock.zeros(2).flags.writeable = False
    assert crossdock.zeros(2).flags == crossdock.zeros(3).flags != crossdock.asarray(b"a").flags


def test_fields_have_a_method_too():
    records = crossdock.zeros(3, "[('a', '<i4'), ('b', '<f8')]")
    records.field("b")[1] = 5
    assert records["b"].tolist() == [0, 5, 0]
    with pytest.raises(ValueError, match="nope"):
        records.field("nope")
    for wrong in [(), ("a", "b"), (1,)]:
        with pytest.raises(TypeError):
            records.field(*wrong)
