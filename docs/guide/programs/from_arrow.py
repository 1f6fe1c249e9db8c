"""A column's memory goes from Arrow to Crossdock and back. PyArrow's pools and buffers are those of Arrow C++."""

import pyarrow as pa

import crossdock

pool = pa.system_memory_pool()
column = pa.array([1.5, 2.5, 3.5], memory_pool=pool)
address = column.buffers()[1].address

x = crossdock.asarray(column)  # in place
print("same address:", x.ptr == address, "| read-only:", x.readonly)
del column
print("Arrow's pool still counts", pool.bytes_allocated(), "bytes, which x keeps:", x.tolist())

back = pa.array(x)  # in place: the elements are constant
print("same address:", back.buffers()[1].address == address)

y = crossdock.zeros(3)  # writable
try:
    pa.array(y)
except BufferError as error:
    print("refused:", error)
print(pa.array(y.frozen()).to_pylist(), "|", crossdock.copied_bytes(), "bytes copied")
del x, back
print("Arrow's pool counts", pool.bytes_allocated(), "bytes")
