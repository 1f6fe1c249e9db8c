"""Structures of ctypes, and their fields as arrays on the same memory.

Prints::

    [('id', '<i4'), ('x', '<f4'), ('y', '<f4')]
    [0.5, 1.5, 2.5]
    20.0 crossdock and ctypes see one memory
"""

import ctypes

import crossdock


class Particle(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("x", ctypes.c_float), ("y", ctypes.c_float)]


particles = (Particle * 3)((1, 0.5, 10), (2, 1.5, 20), (3, 2.5, 30))

table = crossdock.asarray(particles)
print(table.dtype)

x, y = table["x"], table["y"]
print(x.tolist())

y[0] = 20
print(particles[0].y, "crossdock and ctypes see one memory")
