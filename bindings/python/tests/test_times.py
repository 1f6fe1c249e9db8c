"""Dates and durations are the values of NumPy's `item()`, and are imported unchanged."""

import datetime
import random

import numpy as np
import pytest

import crossdock
from peers import SEED

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "25us", "7D", "3M", "100h"]


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
@pytest.mark.parametrize("unit", UNITS)
def test_items_are_those_of_numpy(kind, unit):
    rng = random.Random(f"{SEED}{kind}{unit}")
    counts = [0, 1, -1, 10**4, -(10**4), 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63)]
    counts += [rng.randint(-(10**k), 10**k) for k in range(1, 18) for _ in range(5)]
    # With multiples, NumPy's conversions overflow.
    multiple = int("".join(filter(str.isdigit, unit)) or 1)
    counts = [count for count in counts if count == -(2**63) or abs(count) * multiple < 2**63]
    theirs = np.array(counts, "i8").view(f"{kind}[{unit}]")
    ours = crossdock.from_address(theirs.ctypes.data, theirs.nbytes, theirs, dtype=theirs.dtype)
    # One by one: in lists of arrays NumPy's counts of years overflow.
    for index, moment in enumerate(theirs):
        wanted = moment.item()
        assert ours[index] == wanted and type(ours[index]) is type(wanted), moment
        assert ours.item(index) == wanted
    copy = crossdock.zeros(len(counts), theirs.dtype)
    for index, value in enumerate(ours.tolist()):
        copy[index] = value
    assert copy.tobytes() == theirs.tobytes()


def test_objects_of_datetime_are_written_where_they_are_exact():
    seconds = crossdock.zeros(2, "datetime64[s]")
    seconds[0] = datetime.datetime(2026, 11, 22, 15, 30, 1)
    seconds[1] = datetime.date(1969, 12, 31)
    assert np.array(seconds.tolist(), "M8[s]").view("i8").tolist() == [1795361401, -86400]
    for fine in ("ns", "ps"):
        array = crossdock.zeros(1, f"datetime64[{fine}]")
        array[0] = datetime.datetime(1970, 1, 2, 0, 0, 0, 5)
        assert array[0] == np.datetime64("1970-01-02T00:00:00.000005", fine).view("i8")
    hours = crossdock.zeros((2, 2), "timedelta64[h]")
    hours[:] = datetime.timedelta(days=-1, hours=2)
    hours[0] = None
    hours[1, 1] = np.timedelta64(3, "h")
    assert hours.tolist() == [[None, None], [datetime.timedelta(hours=-22), datetime.timedelta(hours=3)]]
    refused = [
        (seconds, datetime.datetime(2026, 1, 1, 0, 0, 0, 1)),
        (seconds, datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)),
        (seconds, np.datetime64(1, "ns")),
        (hours, datetime.timedelta(minutes=1)),
        (crossdock.zeros(1, "datetime64[as]"), datetime.datetime(2026, 1, 1)),
        (crossdock.zeros(1, "datetime64[M]"), datetime.date(2026, 1, 2)),
        (crossdock.zeros(1, "datetime64[Y]"), datetime.datetime(2026, 1, 1, 1)),
    ]
    for array, value in refused:
        before = array.tobytes()
        with pytest.raises(ValueError):
            array[0] = value
        assert array.tobytes() == before


def test_dates_do_not_become_durations_or_numbers():
    for array, value in [
        (crossdock.zeros(1, "datetime64[s]"), datetime.timedelta(1)),
        (crossdock.zeros(1, "timedelta64[s]"), datetime.datetime(2026, 1, 1)),
        (crossdock.zeros(1, "timedelta64[s]"), np.datetime64(5, "s")),
        (crossdock.zeros(1, "i8"), datetime.timedelta(1)),
        (crossdock.zeros(1, "i8"), None),
        (crossdock.zeros(1, "datetime64[s]"), "text"),
        (crossdock.zeros(1, "datetime64[s]"), 1.5),
    ]:
        with pytest.raises((TypeError, ValueError)):
            array[0] = value
        assert array.tobytes() == bytes(8)


def test_lists_of_dates_become_arrays_of_dates():
    for values, dtype in [
        ([datetime.date(2026, 11, 22), datetime.date(1, 1, 1)], "datetime64[D]"),
        ([[datetime.datetime(2026, 11, 22, 1)], [datetime.datetime.max]], "datetime64[us]"),
        ([datetime.timedelta(1), datetime.timedelta(-5, 6, 7)], "timedelta64[us]"),
    ]:
        ours = crossdock.array(values)
        assert ours.dtype == dtype and ours.tolist() == values
        assert crossdock.array(ours.tolist(), dtype) == ours


def test_a_nat_of_pandas_is_of_the_kind_of_the_values_beside_it():
    pd = pytest.importorskip("pandas")
    dates = crossdock.array([pd.NaT, pd.Timestamp("2020"), np.datetime64("NaT")])
    assert dates.dtype == "datetime64[us]" and dates.tolist() == [None, datetime.datetime(2020, 1, 1), None]
    spans = crossdock.array([[pd.Timedelta(1, "s")], [pd.NaT]])
    assert spans.dtype == "timedelta64[us]" and spans.tolist() == [[datetime.timedelta(seconds=1)], [None]]
    with pytest.raises(ValueError, match="several types"):
        crossdock.array([pd.Timestamp("2020"), np.timedelta64("NaT")])
    with pytest.raises((TypeError, ValueError)):
        crossdock.array([1, pd.NaT])
