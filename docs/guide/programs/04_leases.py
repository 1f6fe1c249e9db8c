"""NumPy may write an array, and Polars needs constant elements: one of them at a time."""

import numpy as np
import polars as pl

import crossdock

heights = crossdock.array([483, 484, 490], "int16")

writable = np.asarray(heights)  # takes a share lease, for NumPy may write
try:
    pl.Series(heights)  # would take a read lease: no party writes while it is held
except BufferError as error:
    print("Polars:", *str(error).split("; "), sep="\n  ")

del writable  # ends the share lease
crossdock.ledger(on=True)  # lists the leases that are taken from now on
constant = pl.Series(heights)
try:
    heights[0] = 0
except BufferError:
    print("write: refused")

(entry,) = crossdock.ledger()
for holder in entry.holders:
    print("held:", holder.kind, "by", *holder.protocols)

del constant
heights[0] = 500
print(heights.tolist())
