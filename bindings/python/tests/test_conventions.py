"""What NumPy's users type without thinking: iteration, creation, axes, formats, nested sequences."""

import bisect
import collections
import itertools

import numpy as np
import pytest

import crossdock


def test_an_array_is_a_sequence_of_its_rows():
    x = crossdock.asarray(np.arange(6).reshape(2, 3))
    assert isinstance(x, collections.abc.Iterable)
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert [row.tolist() for row in reversed(x)] == [[3, 4, 5], [0, 1, 2]]
    assert list(x[0]) == [0, 1, 2] and list(map(type, x[0])) == [int] * 3
    assert bisect.bisect(crossdock.arange(10), 4) == 5
    with pytest.raises(TypeError, match="without axes"):
        iter(x[0, 0:1].reshape(()))


def test_data_frames_take_the_elements():
    import polars as pl

    x = crossdock.array([1.5, 2.5])
    assert pl.DataFrame({"a": x.frozen()})["a"].to_list() == [1.5, 2.5]
    import pandas as pd

    assert pd.Series(x).tolist() == [1.5, 2.5] and pd.DataFrame({"a": x})["a"].tolist() == [1.5, 2.5]


def test_creation_is_that_of_numpy():
    for arguments in [(5,), (2, 8), (2, 9, 3), (9, 2, -2), (5, 5), (0,), (-3,), (0.0, 1.0, 0.25), (1, 2.5), (3.5,), (1, 0, -0.3)]:
        own, numpys = crossdock.arange(*arguments), np.arange(*arguments)
        assert own.tolist() == numpys.tolist() and own.dtype == numpys.dtype, arguments
    assert crossdock.arange(3, dtype="f4").dtype == "f4"
    for wrong in [(0, 1, 0), (0.0, 1.0, 0.0), (0, float("nan")), (float("inf"),)]:
        with pytest.raises(ValueError):
            crossdock.arange(*wrong)
    with pytest.raises(MemoryError):
        crossdock.arange(2**50)
    assert crossdock.ones((2, 2), bool).tolist() == [[True, True]] * 2
    model = np.zeros((2, 3), ">i2", order="F")
    for name in ["zeros_like", "ones_like", "empty_like"]:
        made = getattr(crossdock, name)(model)
        assert (made.shape, made.dtype, made.strides) == ((2, 3), ">i2", model.strides)
    assert crossdock.ones_like(model).tolist() == [[1] * 3] * 2
    assert crossdock.full_like(model, 7, dtype="f4").tolist() == [[7.0] * 3] * 2
    assert crossdock.zeros_like(crossdock.ones(3), dtype="i1").tolist() == [0, 0, 0]


SHAPES = [(), (3,), (1,), (2, 3), (1, 3), (2, 1, 3), (1, 1), (2, 3, 4), (0, 2)]


def numbers(shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


def outcome(call, *arguments):
    try:
        made = call(*arguments)
    except (ValueError, IndexError):
        return "refused"
    return made.shape, made.tolist()


def test_axes_are_viewed_as_by_numpy():
    compared = 0
    for shape in SHAPES:
        numpys = numbers(shape)
        own = crossdock.asarray(numpys)
        axes = range(-len(shape) - 1, len(shape) + 1)
        pairs = list(itertools.product(axes, axes))
        calls = [("squeeze",), ("flip",)]
        calls += [(name, axis) for name in ["squeeze", "flip", "expand_dims"] for axis in [*axes, *pairs]]
        calls += [(name, *pair) for name in ["swapaxes", "moveaxis"] for pair in pairs]
        calls += [("moveaxis", pair, other) for pair in pairs for other in [(0, 1), (-1, 0)]]
        calls += [("broadcast_to", target) for target in SHAPES]
        for name, *arguments in calls:
            if (shape, name) == ((), "squeeze") and arguments:
                continue  # NumPy accepts an axis 0 where there is none
            expected = outcome(getattr(np, name), numpys, *arguments)
            assert outcome(getattr(own, name), *arguments) == expected, (shape, name, arguments)
            compared += 1
        if len(shape) > 1:
            assert outcome(lambda own=own: own.mT) == outcome(lambda numpys=numpys: numpys.mT)
    print(f"{compared} calls compared")
    assert compared > 1000


def test_views_share_the_memory():
    numpys = numbers((2, 3, 4))
    own = crossdock.asarray(numpys)
    for made in [own.squeeze(), own.flip(), own.expand_dims(0), own.swapaxes(0, 2), own.moveaxis(0, 1), own.ravel(), own.view("u8"), own.mT]:
        assert np.shares_memory(np.asarray(made), numpys) and not made.readonly
    assert own.broadcast_to((5, 2, 3, 4)).readonly
    assert own.view("f4").tolist() == numpys.view("f4").tolist() and own.view().shape == own.shape


def test_a_reshape_that_copies_says_why():
    x = crossdock.asarray(numbers((2, 3))).T
    with pytest.raises(ValueError, match="strides"):
        x.ravel()
    assert "strides" in x.ravel(copy=None).copied_because and "strides" in x.reshape(6, copy=None).copied_because
    assert x.reshape(6, copy=True).copied_because is None and x.T.ravel(copy=None).copied_because is None
    assert x.ravel(copy=None).tolist() == numbers((2, 3)).T.ravel().tolist()
    with pytest.raises(ValueError, match="column-major"):
        x.reshape(6, order="F")
    assert x.reshape(shape=(3, 2)).shape == (3, 2)


def test_one_element_is_formatted():
    x = crossdock.array([[1.5]])
    assert f"{x:.3f}" == "1.500" and f"{x[0, 0]:.2f}" == "1.50" and f"{x}" == str(x)
    with pytest.raises(TypeError, match="has 2"):
        f"{crossdock.zeros(2):.3f}"


def test_sequences_are_nested_lists():
    same = [range(4), collections.deque(range(4)), list(np.arange(4)), crossdock.arange(4), [np.int8(0), 1, 2, 3]]
    for given in same:
        assert crossdock.array(given).tolist() == [0, 1, 2, 3]
    rows = [np.arange(3, dtype="i2"), np.arange(3, dtype="i2")]
    assert crossdock.array(rows).dtype == "i2" and crossdock.array(rows).shape == (2, 3)
    assert crossdock.array(rows, "f4").tolist() == [[0.0, 1.0, 2.0]] * 2
    assert crossdock.array([range(2), (5, 6), np.arange(2)]).tolist() == [[0, 1], [5, 6], [0, 1]]
    assert crossdock.array([[rows[0]], [rows[1]]]).shape == (2, 1, 3)
    x = crossdock.zeros((2, 2))
    x[...] = [range(2), [2, 3]]
    x[0] = [8, 9]
    assert x.tolist() == [[8.0, 9.0], [2.0, 3.0]]
    for wrong in [{1, 2}, {"a": 1}, [rows[0], rows[0][:2]], iter([1])]:
        with pytest.raises((TypeError, ValueError)):
            crossdock.array(wrong)


def test_shared_reads_lists_as_elements_and_tuples_as_shapes():
    assert crossdock.shared([1, 2, 3]).tolist() == [1, 2, 3] and crossdock.shared([[1], [2]], "f4").shape == (2, 1)
    assert crossdock.shared((2, 3)).shape == (2, 3) and crossdock.shared(2).tolist() == [0.0, 0.0]
    assert crossdock.shared([1, 2], sealed=True).readonly


def test_an_address_takes_a_shape_and_strides():
    numpys = numbers((3, 4))
    address, nbytes = numpys.ctypes.data, numpys.nbytes
    whole = crossdock.from_address(address, nbytes, numpys, dtype="i8", shape=(3, 4))
    assert whole.tolist() == numpys.tolist()
    flipped = crossdock.from_address(address, nbytes, numpys, dtype="i8", shape=(3, 2), strides=(32, -8), offset=16)
    assert flipped.tolist() == numpys[:, 2:0:-1].tolist()
    for wrong in [{"shape": (4, 4)}, {"shape": (3,), "strides": (64,)}, {"shape": (2,), "strides": (-8,)}, {"shape": (12,), "offset": 8}]:
        with pytest.raises((IndexError, ValueError)):
            crossdock.from_address(address, nbytes, numpys, dtype="i8", **wrong)


def test_the_package_has_a_version():
    assert crossdock.__version__.count(".") == 2


def test_frames_and_odd_sequences_keep_their_elements():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {"a": [1, 2, 3], "b": [4, 5, 6]}
    grown = pd.DataFrame({"a": [1, 2, 3]})
    grown["b"] = [4, 5, 6]
    frames = [pd.DataFrame(columns), grown, pl.DataFrame(columns), pa.table(columns), pa.RecordBatch.from_pydict(columns)]
    for frame in frames:
        assert crossdock.array(frame).tolist() == np.asarray(frame).tolist() == [[1, 4], [2, 5], [3, 6]], type(frame)
    assert crossdock.array(pd.DataFrame({"a": [1, 2]})).tolist() == [[1], [2]]
    assert crossdock.array(pa.array([{"a": 1, "b": 4}])).tolist() == [(1, 4)]
    mixed = pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    expected = crossdock.asarray(mixed, copy=None).tolist()
    assert crossdock.array(mixed).tolist() == expected == [(1, 0.5), (2, 1.5)]
    for refused in [pa.array(["a"]), pd.Series(["a", "b"])]:
        with pytest.raises((TypeError, ValueError, BufferError)) as error:
            crossdock.array(refused)
        assert "no value of an element" not in str(error.value)

    class Short:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return [0, 1][index]

    collections.abc.Sequence.register(Short)
    for wrong in [Short(), np.nditer([1, 2])]:
        with pytest.raises((TypeError, ValueError)):
            crossdock.array(wrong)


def test_lists_of_records_and_opaque_bytes_keep_their_dtype():
    records = np.array([(1, 2.5), (3, 4.5)], "i4,f8")
    own = crossdock.asarray(records)
    for rows in [list(records), [own[0], own[1]]]:
        assert crossdock.array(rows).dtype == records.dtype and crossdock.array(rows).tolist() == records.tolist()
        assert crossdock.array(rows, records.dtype).tolist() == records.tolist()
    assert crossdock.array([np.void(b"abcd")] * 2, "V4").tolist() == [b"abcd"] * 2
    opaque = crossdock.zeros(2, "V3")
    opaque[0] = b"abc"
    opaque[1] = opaque[0]
    assert opaque.tolist() == [b"abc"] * 2


def test_numbers_beyond_int64_are_counted():
    for arguments in [(2**63, 2**63 + 2), (2**63 - 2, 2**63), (2**64 - 2, 2**64 - 1), (-(2**63), -(2**63) + 1)]:
        own, numpys = crossdock.arange(*arguments), np.arange(*arguments)
        assert own.tolist() == [int(number) for number in range(*arguments)], arguments
        assert own.size == numpys.size
    with pytest.raises(ValueError, match="no integer dtype"):
        crossdock.arange(-1, 2**64 - 1, 2**63 + 1)


def test_astype_takes_numpys_arguments():
    x = crossdock.array([[1, 2], [3, 4]])
    assert np.shares_memory(np.asarray(x.astype("i8", copy=False)), np.asarray(x))
    assert not np.shares_memory(np.asarray(x.astype("i8")), np.asarray(x))
    assert x.astype("f4", order="F", casting="unsafe").flags.f_contiguous and x.T.astype("f4", order="K").flags.f_contiguous


def test_peers_that_use_the_attributes_of_arrays_take_them(tmp_path):
    import safetensors.numpy

    x = crossdock.array([[1.5, 2.5]])
    safetensors.numpy.save_file({"a": x}, tmp_path / "x.safetensors")
    assert crossdock.open(tmp_path / "x.safetensors")["a"] == x
    assert x.ctypes.data == x.ptr
