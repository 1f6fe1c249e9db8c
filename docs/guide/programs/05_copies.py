"""One channel of a photograph goes to NumPy in place, and to Arrow by a copy."""

import numpy as np
import pyarrow as pa

import crossdock

photo = crossdock.open("data/rocket.npy")
red = photo[:, :, 0]  # a view: every third byte

for consumer in crossdock.explain(red).consumers:
    if consumer.name in ("numpy.asarray", "polars.Series", "PIL.Image.fromarray", "torch.from_dlpack"):
        print(f"{consumer.name:20} {consumer.outcome:9} {consumer.reason}")

pixels = np.asarray(red)
print("NumPy:", crossdock.copied_bytes(), "bytes copied")

try:
    pa.array(red)
except BufferError as error:
    print("Arrow refuses:", *str(error).split("; "), sep="\n  ")
packed = red.copy()  # copies, as its name says
column = pa.array(packed)  # in place
print("Arrow:", crossdock.copied_bytes(), "bytes copied")

parts = pa.chunked_array([[483, 484], [490]])
heights = crossdock.asarray(parts, copy=None)  # permits a copy
print("copied because:", *heights.copied_because.splitlines()[:2], sep="\n  ")
