"""One channel of a photograph: NumPy takes it in place, and Arrow by a copy that is permitted and counted."""

import numpy as np
import pyarrow as pa

import crossdock

photo = crossdock.open("data/rocket.npy").frozen()  # nothing writes this file
red = photo[:, :, 0]  # every third byte

for consumer in crossdock.explain(red).consumers:
    if consumer.name in ("numpy.asarray", "pyarrow.array", "PIL.Image.fromarray", "torch.from_dlpack"):
        print(f"{consumer.name:20} {consumer.outcome:9} {consumer.reason}")

pixels = np.asarray(red)
print("NumPy:", crossdock.copied_bytes(), "bytes copied")

try:
    pa.array(red)
except BufferError as error:
    print("Arrow:", error)
column = pa.array(crossdock.to_arrow(red, copy=None))  # permits a copy
print("Arrow:", crossdock.copied_bytes(), "bytes copied")

parts = pa.chunked_array([[1, 2], [3]])
print(crossdock.asarray(parts, copy=None).copied_because)
