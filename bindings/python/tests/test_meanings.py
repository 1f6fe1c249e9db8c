"""Elements that mean more than their numbers: masked ones, those of pandas, columns with equal names."""

import numpy as np
import polars
import pyarrow as pa
import pytest
from handing.counterparts import need

import crossdock

WAYS_IN = [
    crossdock.asarray,
    crossdock.array,
    crossdock.to_arrow,
    crossdock.Buffer,
    crossdock.from_dlpack,
    lambda thing: crossdock.asarray(thing, copy=None),
    lambda thing: crossdock.asarray(thing, copy=True),
    lambda thing: crossdock.asarray(thing, frozen=True),
]


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize(
    "masked",
    [
        np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        np.ma.array([1.5, 2.5], mask=True)[:1],
        np.ma.array(["2020", "2021"], "M8[s]", mask=[0, 1]),
        np.ma.array([(b"a", 1)], [("x", "S1"), ("y", "i4")], mask=[(False, True)]),
        np.ma.masked,
    ],
    ids=repr,
)
def test_masked_elements_are_refused_with_the_ways_out(way, masked):
    with pytest.raises(BufferError, match=r"masked.*x.filled\(value\).*to_arrow\(x.data, validity=~x.mask\)"):
        way(masked)


def test_masked_elements_in_lists_are_refused():
    with pytest.raises(BufferError, match="masked"):
        crossdock.array([1, np.ma.masked])


@pytest.mark.parametrize("mask", [np.ma.nomask, False, [False, False, False]])
def test_masked_arrays_of_which_nothing_is_masked_are_arrays(mask):
    theirs = np.ma.array([1, 2, 3], mask=mask)
    ours = crossdock.asarray(theirs)
    assert ours.tolist() == [1, 2, 3] and ours.ptr == theirs.ctypes.data


def test_the_ways_out_of_a_mask_work():
    theirs = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    assert crossdock.asarray(theirs.filled(-1)).tolist() == [1, -1, 3]
    column = crossdock.to_arrow(crossdock.asarray(theirs.data, frozen=True), validity=~theirs.mask)
    assert pa.array(column).to_pylist() == [1, None, 3]


def test_columns_of_one_name_and_several_types_are_not_rounded_to_one():
    big = 2**53 + 1
    table = pa.table([pa.array([1, big]), pa.array([0.5, 1.5])], names=["a", "a"])
    for copy in (None, True):
        with pytest.raises(BufferError, match=r"two columns are called \"a\".*pairs=True"):
            crossdock.asarray(table, copy=copy)
    assert [column.tolist() for _, column in crossdock.from_arrow(table, pairs=True)] == [[1, big], [0.5, 1.5]]
    # For a single type, the library's own copy loses nothing.
    table = pa.table([pa.array([1, big]), pa.array([3, 4])], names=["a", "a"])
    assert crossdock.asarray(table, copy=None).tolist() == [[1, 3], [big, 4]]
    nulls = pa.table([pa.array([1, None]), pa.array([3, 4])], names=["a", "a"])
    with pytest.raises(BufferError, match="null"):
        crossdock.asarray(nulls, copy=None)
    assert crossdock.asarray(polars.DataFrame({"a": [big], "b": [0.5]}), copy=None).tolist() == [(big, 0.5)]


# ===== pandas


@pytest.fixture(scope="module")
def pd():
    return need("pandas")


def test_integers_of_pandas_are_not_rounded_to_floats(pd):
    big = 2**53 + 1
    for thing in [
        pd.array([big, None], dtype="Int64"),
        pd.Series([big, None], dtype="Int64"),
        pd.Series([big, None], dtype="Int64").astype("category"),
        pd.DataFrame([[big, 0.5]], columns=["a", "a"]),
        pd.DataFrame({"a": pd.array([big, None], dtype="Int64")}),
    ]:
        for copy in (False, None, True):
            with pytest.raises(BufferError):
                crossdock.asarray(thing, copy=copy)
    with pytest.raises(BufferError, match="float64 of elements of Int64.*fillna"):
        crossdock.asarray(pd.array([big, None], dtype="Int64"), copy=None)
    assert crossdock.asarray(pd.Series([big, 2], dtype="Int64"), copy=None).tolist() == [big, 2]
    assert crossdock.asarray(pd.DataFrame({"a": [big], "b": [0.5]}), copy=None).tolist() == [(big, 0.5)]


def test_elements_of_pandas_that_are_objects_are_refused_with_what_they_are_made_of(pd):
    for thing, way in [
        (pd.period_range("2020-01", periods=2, freq="M"), "asi8"),
        (pd.Categorical(["x", "y"]), "codes"),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), "left"),
        (pd.array([True, None], dtype="boolean"), "na_value"),
    ]:
        for copy in (False, None):
            with pytest.raises(BufferError):
                crossdock.asarray(thing, copy=copy)
        with pytest.raises(BufferError, match=f"Python's objects.*{way}"):
            crossdock.asarray(thing, copy=None)
    # A series exports its numbers by Arrow, under the name of the type.
    for series in [
        pd.Series(pd.period_range("2020-01", periods=2, freq="M")),
        pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1, 2])),
    ]:
        for copy in (False, None, True):
            with pytest.raises(BufferError, match="pandas.(period|interval)"):
                crossdock.asarray(series, copy=copy)
            with pytest.raises(BufferError, match="pandas.(period|interval)"):
                crossdock.asarray(pd.DataFrame({"a": series}), copy=copy)
    assert crossdock.asarray(pd.Series([10, 20], dtype="category"), copy=None).tolist() == [10, 20]
    moments = pd.Series(pd.to_datetime(["2020-01-01", None]))
    assert np.isnat(np.asarray(crossdock.asarray(moments))).tolist() == [False, True]


@pytest.mark.parametrize("labels", [["x", "y"], [5, 6], [0.5, 1.5]])
def test_labels_of_the_rows_of_a_frame_are_no_column(pd, labels):
    mixed = pd.DataFrame({"a": [1, 2], "b": [0.5, 4.0]}, index=labels)
    ours = crossdock.asarray(mixed, copy=None)
    assert ours.tolist() == [(1, 0.5), (2, 4.0)] and ours.dtype == "[('a', '<i8'), ('b', '<f8')]"
    assert mixed.index.tolist() == labels, "the frame is as it was"
    plain = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=labels)
    assert crossdock.asarray(plain, copy=None).tolist() == plain.to_numpy().tolist()
    # By Arrow, pandas itself makes a column of them, which it keeps.
    if isinstance(labels[0], float):
        assert list(crossdock.from_arrow(mixed)) == ["a", "b", "__index_level_0__"]


def test_moments_without_a_time_are_missing_in_pandas(pd):
    theirs = np.array(["2020-01-01", "NaT"], "M8[ns]")
    column = pa.array(crossdock.asarray(theirs, frozen=True))
    assert column.to_pandas().isna().tolist() == [False, True]


def test_integers_beside_complex_numbers_are_not_rounded(pd):
    frame = pd.DataFrame({"a": np.array([1j]), "b": [2**53 + 1]})
    for copy in (True, None):
        with pytest.raises(BufferError, match="complex128 of elements of int64"):
            crossdock.asarray(frame, copy=copy)
    both = pd.DataFrame({"a": np.array([1j]), "b": np.array([2j])})
    assert crossdock.asarray(both, copy=None).tolist() == [[1j, 2j]]
