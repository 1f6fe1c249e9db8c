"""NumPy and Crossdock share an array: each sees what the other writes."""

import numpy as np

import crossdock

a = np.arange(6.0).reshape(2, 3)
x = crossdock.asarray(a)  # in place: the same six numbers
x[0, 1] = 10
print(a[0], np.shares_memory(a, np.asarray(x[:, ::-1])))
print(np.mean(x, axis=0), (a + x).sum())  # NumPy's functions take x

heights = crossdock.open("data/elevation.npy")  # mapped
print(heights.dtype, heights.shape, np.max(heights), np.asarray(heights).flags.writeable)

for step in [lambda: x[a > 1], lambda: x.T.reshape(6), lambda: crossdock.array([0.5], "int32"), lambda: x + 1]:
    try:
        step()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
print(crossdock.copied_bytes(), "bytes copied")
