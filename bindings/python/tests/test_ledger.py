"""`crossdock.ledger()`: live memory and its holders."""

import gc

import numpy as np
import pytest

import crossdock


@pytest.fixture
def on():
    crossdock.ledger(on=True)
    yield
    crossdock.ledger(on=False)


def entry_of(array):
    address = np.asarray(array).ctypes.data
    return next(entry for entry in crossdock.ledger() if entry.address <= address < entry.address + entry.nbytes)


def test_it_is_off_until_it_is_wanted():
    assert not crossdock.ledger().is_on
    assert crossdock.ledger(on=True).is_on and crossdock.ledger().is_on
    assert not crossdock.ledger(on=False).is_on


def test_it_lists_allocations_and_their_holders(on):
    array = crossdock.zeros(1234)
    entry = entry_of(array)
    assert (entry.nbytes, entry.place, entry.backing, entry.pool) == (1234 * 8, "cpu", "heap", "default")
    assert entry.age >= 0 and entry.handles == 1
    view, theirs = memoryview(array[1:]), np.from_dlpack(array)
    entry = entry_of(array)
    assert entry.leases == {"share": 2} and entry.exported == ["DLPack", "PEP 3118"]
    assert sorted((holder.kind, holder.protocols) for holder in entry.holders) == [("share", ["DLPack"]), ("share", ["PEP 3118"])]
    assert all(holder.age >= 0 and "share lease" in repr(holder) for holder in entry.holders)
    assert "DLPack" in repr(entry) and f"{entry.nbytes} bytes" in repr(entry)
    view.release()
    assert entry_of(array).leases == {"share": 1}
    del theirs, array
    gc.collect()
    assert all(left.address != entry.address for left in crossdock.ledger())


def test_what_was_lent_by_others_is_listed_as_foreign(on):
    theirs = np.arange(4321.0)
    ours = crossdock.asarray(theirs)
    (entry,) = (entry for entry in crossdock.ledger() if entry.address == theirs.ctypes.data)
    assert (entry.backing, entry.pool, entry.nbytes) == ("foreign", None, theirs.nbytes)
    del ours


def test_it_is_a_sequence_whose_text_is_a_table(on):
    kept = [crossdock.zeros(size) for size in (2_000, 3_000, 1_000)]
    ledger = crossdock.ledger()
    assert [entry.nbytes for entry in ledger] == sorted((entry.nbytes for entry in ledger), reverse=True)
    assert ledger[0].nbytes == ledger[-len(ledger)].nbytes >= 24_000 and ledger.nbytes == sum(entry.nbytes for entry in ledger)
    for wrong in (len(ledger), -len(ledger) - 1):
        with pytest.raises(IndexError):
            ledger[wrong]
    lines = str(ledger).split("\n")
    assert "address" in lines[0] and lines[-1].startswith(f"{len(ledger)} allocation") and repr(ledger) == str(ledger)
    assert all(f"{array.nbytes} " in str(ledger) for array in kept)
