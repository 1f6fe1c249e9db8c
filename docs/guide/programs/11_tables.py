"""Lends one table, with text and nulls, to three libraries. The columns stay where Polars made them."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import crossdock

frame = pl.DataFrame({
    "name": ["Ada", None, "Grace"],
    "born": [1815, 1912, 1906],
    "seen": [datetime(2024, 2, 29, 12, tzinfo=UTC), None, datetime(2024, 3, 1, tzinfo=UTC)],
    "tags": [["maths"], [], ["navy", "maths"]],
})
before = crossdock.copied_bytes()
table = crossdock.table(frame)  # in place: text, nulls, times with zones, lists
print(table)

theirs = pa.table(table)  # and on to any consumer of Arrow
born = table["born"].array()  # a column of a fixed width is an array
print(theirs["born"].chunk(0).buffers()[1].address == born.ptr, np.asarray(table["born"]).max())
print(pd.DataFrame.from_arrow(table[["name", "born"]]).dropna()["name"].tolist())
print(crossdock.copied_bytes() - before, "bytes copied")

name = table["name"]
print(name.type, name.null_count, name[2], name[1:].to_list())
print(table[1:].select(["born", "tags"]).to_dict())  # Python's values, as copies
