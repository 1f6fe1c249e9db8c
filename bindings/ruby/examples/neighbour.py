"""The other half of neighbour.rb, with NumPy and the standard library, without Crossdock."""

import fcntl
import mmap
import os
import socket
import struct
import sys

import numpy

HEAD = struct.Struct("<8sII")  # XDOCKSHM, the version, and the length of the text that follows
F_SEAL_SHRINK, F_SEAL_GROW = 2, 4


def read_exactly(stream, count):
    """Bytes, and the descriptor that came beside them."""
    data, descriptors = b"", []
    while len(data) < count:
        piece, came, _flags, _address = socket.recv_fds(stream, count - len(data), 1)
        if not piece:
            sys.exit("the other side went")
        data, descriptors = data + piece, descriptors + came
    return data, descriptors


def receive(stream):
    """An array of NumPy's in memory of another process."""
    head, descriptors = read_exactly(stream, HEAD.size)
    _magic, _version, length = HEAD.unpack(head)
    text, _none = read_exactly(stream, length)
    # For example: offset=8; access=write; shape=3,2; strides=-32,16; dtype=float64
    said = dict(field.split("=", 1) for field in text.decode().split("; "))
    numbers = lambda name: [int(number) for number in said[name].split(",") if number]
    pages = mmap.mmap(descriptors[0], 0)  # the array keeps the map alive, which keeps the memory
    os.close(descriptors[0])
    return numpy.ndarray(numbers("shape"), said["dtype"], pages, int(said["offset"]), numbers("strides"))


def send(stream, shape, dtype, fill):
    """A new array in memory that can be shared: made here, filled in by a function, and sent."""
    nbytes = numpy.dtype(dtype).itemsize * int(numpy.prod(shape))
    descriptor = os.memfd_create("sums", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, nbytes)
    # Receivers refuse memory that could shrink.
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)
    array = numpy.ndarray(shape, dtype, mmap.mmap(descriptor, nbytes))
    fill(array)
    listed = lambda numbers: ",".join(map(str, numbers))
    text = f"offset=0; access=write; shape={listed(array.shape)}; strides={listed(array.strides)}; dtype={array.dtype.name}".encode()
    socket.send_fds(stream, [HEAD.pack(b"XDOCKSHM", 1, len(text)) + text], [descriptor])


def main():
    stream = socket.socket(fileno=int(sys.argv[1]))
    part = receive(stream)
    part *= 2  # in place: the other process sees it
    send(stream, [part.shape[0]], "float64", lambda sums: part.sum(axis=1, out=sums))


main()
