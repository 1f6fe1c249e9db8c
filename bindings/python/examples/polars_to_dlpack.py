"""A Polars column as a DLPack tensor: consumers get its memory, read-only, since columns are immutable.

Prints::

    float64 (4,) read-only
    [1.5, 2.5, 4.0, 8.0]
    in the column's memory
"""

import numpy as np
import polars as pl

import crossdock

frame = pl.DataFrame({"price": [1.5, 2.5, 4.0, 8.0], "volume": [1, 2, 3, 4]})

column = crossdock.asarray(frame["price"].to_arrow())
print(column.dtype, column.shape, "read-only" if column.readonly else "writable")

tensor = np.from_dlpack(column)
print(tensor.tolist())

lent = frame["price"].to_arrow().buffers()[1].address
print("in the column's memory" if tensor.ctypes.data == lent else "in other memory")
