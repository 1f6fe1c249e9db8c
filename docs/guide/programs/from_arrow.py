"""Memory of Arrow goes to Crossdock and back, and memory of Crossdock to Arrow."""

import numpy as np
import pyarrow as pa

import crossdock

pool = pa.system_memory_pool()
column = pa.array([1.5, 2.5, 3.5], memory_pool=pool)
address = column.buffers()[1].address

x = crossdock.asarray(column)  # in place
print("same address:", x.ptr == address, "| read-only:", x.readonly)
del column
print("Arrow's pool still counts", pool.bytes_allocated(), "bytes, which x keeps; x[1] is", x[1])

back = pa.array(x)  # in place: the elements are constant
print("same address:", back.buffers()[1].address == address)

y = crossdock.zeros(3)
lent = pa.array(y)  # in place, under a read lease
z = crossdock.asarray(np.ones(3))  # memory that NumPy may write at any time
for step in [lambda: y.fill(1), lambda: pa.array(z)]:
    try:
        step()
    except BufferError as error:
        print("refused:", error)
print(pa.array(z.frozen()).to_pylist(), "|", crossdock.copied_bytes(), "bytes copied")

del x, back
print("Arrow's pool counts", pool.bytes_allocated(), "bytes")
