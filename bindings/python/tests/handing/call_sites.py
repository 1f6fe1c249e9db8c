"""More consumers, as in `consumers.py`: constructors and functions to which programs pass arrays, for libraries of data frames, tensors,
files and models."""

import functools
import tempfile

import numpy as np

import crossdock

from handing.consumers import Got, column, seen


def address_of(made):
    return made.__array_interface__["data"][0]


def numpy_out(thing):
    np.copyto(thing, thing.copy() if isinstance(thing, np.ndarray) else 0)
    yield
    yield Got(thing, address_of(thing))


def values(made):
    """The elements of a pandas object."""
    elements = made.to_numpy(copy=False)
    return Got(elements, address_of(elements)) if elements.dtype.kind != "O" else Got(elements.tolist())


def pandas_series(thing):
    import pandas

    made = pandas.Series(thing)
    yield
    yield values(made)


def pandas_frame(thing):
    import pandas

    made = pandas.DataFrame(thing)
    yield
    # One axis becomes one column.
    yield values(made if getattr(thing, "ndim", 2) != 1 or made.shape[1] != 1 else made[0])


def pandas_index(thing):
    import pandas

    made = pandas.Index(thing)
    yield
    yield values(made)


def pyarrow_compute(thing):
    import pyarrow.compute

    if np.ma.is_masked(thing):
        # Arguments are converted as by `pyarrow.array`, and results with nulls are new.
        made = pyarrow.compute.coalesce(thing)
        yield
        yield Got(made.to_pylist(), copied=False)
        return
    # Without nulls, the result is the input itself.
    made = pyarrow.compute.drop_null(thing)
    yield
    yield column(made)


def polars_of(make):
    def consumer(thing):
        import polars

        made = make(polars, thing)
        yield
        # NaT is null.
        if any(made.null_count().row(0)) and not made.dtypes[0].is_temporal():
            yield Got(made.to_series(0).to_list(), copied=True)
            return
        elements = made.to_numpy()
        # One axis becomes one column.
        if getattr(thing, "ndim", 2) == 1 and elements.shape[1] == 1:
            elements = elements[:, 0]
        yield Got(elements.tolist() if elements.dtype.kind == "O" else elements, copied=True)

    return consumer


def polars_operand(thing):
    import polars

    made = polars.Series([1]) + thing
    yield
    yield Got(made.to_numpy(), copied=True)


def safetensors_save(thing):
    import safetensors.numpy

    data = safetensors.numpy.save({"x": thing})
    yield
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        yield Got(np.array(crossdock.open(file.name)["x"]), copied=True)


def of_torch(made, thing):
    import torch

    plain = made.view(torch.uint8) if str(made.dtype).startswith("torch.float8") else made
    elements = plain.resolve_conj().resolve_neg()
    flags = [offer for offer in crossdock.explain(thing).offers if offer.protocol in ("DLPack", "PEP 3118") and offer.readonly]
    broken = "it may be written" if any(offer.address == made.data_ptr() for offer in flags) else ""
    if str(made.dtype).startswith("torch.float8"):
        import ml_dtypes

        narrow = getattr(ml_dtypes, str(made.dtype).removeprefix("torch."))
        return Got(elements.numpy().view(narrow), made.data_ptr(), broken=broken)
    if elements.dtype == torch.bfloat16:
        import ml_dtypes

        return Got(elements.view(torch.uint16).numpy().view(ml_dtypes.bfloat16), made.data_ptr(), broken=broken)
    return Got(elements.numpy(), made.data_ptr(), broken=broken)


def torch_of(make):
    def consumer(thing):
        import torch

        made = make(torch, thing)
        yield
        yield of_torch(made, thing)

    return consumer


def jax_of(make):
    def consumer(thing):
        import jax

        made = make(jax, thing)
        yield
        yield Got(np.asarray(made), made.unsafe_buffer_pointer())

    return consumer


def tensorflow_of(make):
    def consumer(thing):
        import tensorflow

        made = make(tensorflow, thing)
        yield
        elements = np.asarray(made.numpy())
        if elements.dtype.kind == "O":
            yield Got(elements.tolist(), copied=True)
            return
        if elements.dtype.kind == "S":
            # One text: TensorFlow drops the width of its dtype.
            given = np.asarray(thing).dtype
            yield Got(elements.astype(given) if given.kind == "S" else elements, copied=True)
            return
        if elements.dtype.kind in "fV" and elements.itemsize == 1:
            # TensorFlow lends no memory of these types.
            yield Got(elements, copied=True)
            return
        yield Got(elements, crossdock.asarray(made).ptr if elements.size else 0)

    return consumer


def mlx_array(thing):
    import mlx.core

    made = mlx.core.array(thing)
    mlx.core.eval(made)
    yield
    elements = np.asarray(made) if made.dtype != mlx.core.bfloat16 else bfloats(made)
    yield Got(elements, copied=True)


def bfloats(made):
    import ml_dtypes
    import mlx.core

    return np.asarray(made.view(mlx.core.uint16)).view(ml_dtypes.bfloat16)


@functools.cache
def transposed_twice():
    import numba

    return numba.njit(lambda given: given.T.T)


def numba_njit(thing):
    made = transposed_twice()(thing)
    yield
    yield seen(np.asarray(made))


def pandas_lookup(thing):
    import pandas

    pandas.Series(range(thing.shape[0]))[thing]
    yield
    yield Got(thing.tolist(), copied=True)


def zarr_array(thing):
    import zarr

    made = zarr.array(thing)
    yield
    # One text as a scalar has not the width of its dtype.
    yield Got(np.asarray(made[...], made.dtype), copied=True)


def zarr_save(thing):
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        zarr.save(f"{folder}/file", thing)
        yield
        yield Got(np.asarray(zarr.load(f"{folder}/file")), copied=True)


def sklearn_split(thing):
    import sklearn.model_selection

    made = sklearn.model_selection.train_test_split(thing, shuffle=False)
    yield
    yield Got(np.concatenate([np.asarray(part) for part in made]), copied=True)


def h5py_dataset(thing):
    import h5py

    with tempfile.TemporaryFile() as file, h5py.File(file, "w") as opened:
        made = opened.create_dataset("x", data=thing)
        yield
        # One text as a scalar has not the width of its dtype.
        yield Got(np.asarray(made[()], made.dtype), copied=True)


def h5py_read_direct(thing):
    import h5py

    with tempfile.TemporaryFile() as file, h5py.File(file, "w") as opened:
        opened.create_dataset("x", data=np.asarray(thing)).read_direct(thing)
        yield
        yield seen(thing)


def xarray_array(thing):
    import xarray

    made = xarray.DataArray(thing)
    yield
    yield seen(np.asarray(made.data))


def sklearn_check(thing):
    import sklearn.utils

    made = sklearn.utils.check_array(thing, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0, allow_nd=True)
    yield
    yield seen(np.asarray(made))


def onnx_value(thing):
    import onnxruntime

    made = onnxruntime.OrtValue.ortvalue_from_numpy(thing)
    yield
    yield Got(made.numpy(), made.data_ptr())


#: Those whose libraries are in `requirements.txt`.
REQUIRED = {
    "numpy (out=, copyto)": numpy_out,
    "pandas.Series": pandas_series,
    "pandas.DataFrame": pandas_frame,
    "pandas.Index": pandas_index,
    "pandas.Series[x]": pandas_lookup,
    "polars.DataFrame": polars_of(lambda polars, thing: polars.DataFrame(thing)),
    "polars.from_numpy": polars_of(lambda polars, thing: polars.from_numpy(thing)),
    "polars (operands)": polars_operand,
    "pyarrow.compute": pyarrow_compute,
    "safetensors.numpy.save": safetensors_save,
    "xarray.DataArray": xarray_array,
    "sklearn (inputs)": sklearn_check,
    "sklearn.model_selection": sklearn_split,
}

#: The others, with the module that they need.
OPTIONAL = {
    "torch.from_dlpack": ("torch", torch_of(lambda torch, thing: torch.from_dlpack(thing))),
    "torch.asarray": ("torch", torch_of(lambda torch, thing: torch.asarray(thing))),
    "torch.as_tensor": ("torch", torch_of(lambda torch, thing: torch.as_tensor(thing))),
    "torch.from_numpy": ("torch", torch_of(lambda torch, thing: torch.from_numpy(thing))),
    "jax.dlpack.from_dlpack": ("jax", jax_of(lambda jax, thing: jax.dlpack.from_dlpack(thing))),
    "jax.numpy.asarray": ("jax", jax_of(lambda jax, thing: jax.numpy.asarray(thing))),
    "jax.jit, jax.device_put": ("jax", jax_of(lambda jax, thing: jax.jit(lambda given: given)(thing))),
    "tensorflow.constant": ("tensorflow", tensorflow_of(lambda tf, thing: tf.constant(thing))),
    "tf.experimental.dlpack": (
        "tensorflow",
        tensorflow_of(lambda tf, thing: tf.experimental.dlpack.from_dlpack(thing.__dlpack__())),
    ),
    "mlx.core.array": ("mlx.core", mlx_array),
    "numba.njit": ("numba", numba_njit),
    "zarr.array": ("zarr", zarr_array),
    "zarr.save": ("zarr", zarr_save),
    "h5py.Group.create_dataset": ("h5py", h5py_dataset),
    "h5py.Dataset.read_direct": ("h5py", h5py_read_direct),
    "onnxruntime.OrtValue": ("onnxruntime", onnx_value),
}
