"""One photograph in five libraries, all at the address of the mapped file.

`python one_address.py drawing.svg` also draws the picture of the repository's README.

Prints::

    NumPy        the mapped file
    PyArrow      the mapped file
    Polars       the mapped file
    nanoarrow    the mapped file
    TVM FFI      the mapped file
"""

import pathlib
import sys

import nanoarrow
import numpy as np
import polars as pl
import pyarrow as pa
import tvm_ffi

import crossdock

PHOTO = pathlib.Path(__file__).resolve().parents[3] / "data/rocket.npy"


def of_pyarrow(array):
    while hasattr(array, "storage") or hasattr(array, "values"):
        array = array.storage if hasattr(array, "storage") else array.values
    return array.buffers()[-1].address


def of_nanoarrow(array):
    view = array.view()
    while view.n_children:
        view = view.child(0)
    return view.buffer(1)._addr()


#: The library, the call by which it takes an array, and how it tells the address. `frozen` promises that nothing
#: writes the file, which consumers of Arrow rely on.
LIBRARIES = [
    ("NumPy", "np.asarray(x)", lambda x: np.asarray(x), lambda array: array.ctypes.data),
    ("PyArrow", "pa.array(x.frozen())", lambda x: pa.array(x.frozen()), of_pyarrow),
    ("Polars", "pl.Series(x.frozen())", lambda x: pl.Series(x.frozen()), lambda series: of_pyarrow(series.to_arrow())),
    ("nanoarrow", "nanoarrow.c_array(x.frozen())", lambda x: nanoarrow.c_array(x.frozen()), of_nanoarrow),
    ("TVM FFI", "tvm_ffi.from_dlpack(x)", lambda x: tvm_ffi.from_dlpack(x), lambda tensor: tensor.data_ptr()),
]


def drawing(address, dtype, shape):
    """The picture as SVG."""
    height = 44 * len(LIBRARIES)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height + 16}" width="760" height="{height + 16}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">',
        "<title>One array, seen by five libraries at one address</title>",
        '<rect width="100%" height="100%" rx="8" fill="#f6f8fa"/>',
    ]
    middle = height / 2 + 8
    for place, (name, call, _, _) in enumerate(LIBRARIES):
        y = 30 + 44 * place
        parts += [
            f'<rect x="16" y="{y - 17}" width="372" height="34" rx="6" fill="#ffffff" stroke="#57606a"/>',
            f'<text x="28" y="{y + 5}" fill="#1f2328" font-weight="bold">{name}</text>',
            f'<text x="130" y="{y + 5}" fill="#1f2328">{call}</text>',
            f'<path d="M388 {y} C 444 {y}, 444 {middle}, 500 {middle}" fill="none" stroke="#0969da" stroke-width="1.5"/>',
        ]
    parts += [
        f'<rect x="500" y="{middle - 46}" width="244" height="92" rx="6" fill="#ddf4ff" stroke="#0969da"/>',
        f'<text x="516" y="{middle - 18}" fill="#1f2328" font-weight="bold">rocket.npy, mapped once</text>',
        f'<text x="516" y="{middle + 6}" fill="#1f2328">{dtype} {" × ".join(map(str, shape))}</text>',
        f'<text x="516" y="{middle + 30}" fill="#0969da">{address:#x}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main():
    photo = crossdock.open(PHOTO)
    for name, _, take, address in LIBRARIES:
        found = address(take(photo))
        print(f"{name:12} {'the mapped file' if found == photo.ptr else hex(found)}")
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(drawing(photo.ptr, photo.dtype, photo.shape))


if __name__ == "__main__":
    main()
