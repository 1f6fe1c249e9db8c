"""Everyday lines of array libraries, each with a NumPy array and with a Crossdock array of the same elements.

Run it with the names of libraries, or with none for every installed one. It prints a row for each line: the result with
NumPy's array, the result with Crossdock's, and what ``crossdock.explain`` says about the call where they differ::

    python everyday_lines.py torch jax
"""

import ast
import importlib
import importlib.metadata
import os
import sys
import tempfile
import typing
import warnings

import numpy as np

import crossdock

#: The modules of the libraries, under the names that the lines use, and the distribution.
LIBRARIES = {
    "NumPy": ("numpy", {"np": "numpy"}),
    "Python": ("python", {
        "array": "array", "ctypes": "ctypes", "hashlib": "hashlib", "io": "io", "json": "json", "pickle": "pickle", "struct": "struct",
        "zlib": "zlib", "base64": "base64", "statistics": "statistics", "math": "math", "copy": "copy", "np": "numpy",
    }),
    "pandas": ("pandas", {"pd": "pandas"}),
    "Polars": ("polars", {"pl": "polars"}),
    "PyArrow": ("pyarrow", {"pa": "pyarrow", "pc": "pyarrow.compute"}),
    "OpenCV": ("opencv-python-headless", {"cv2": "cv2"}),
    "Pillow": ("pillow", {"Image": "PIL.Image"}),
    "Dask": ("dask", {"da": "dask.array"}),
    "safetensors": ("safetensors", {"st": "safetensors.numpy"}),
    "TVM FFI": ("apache-tvm-ffi", {"tvm_ffi": "tvm_ffi"}),
    "PyTorch": ("torch", {"torch": "torch", "np": "numpy"}),
    "JAX": ("jax", {"jax": "jax", "jnp": "jax.numpy"}),
    "TensorFlow": ("tensorflow", {"tf": "tensorflow"}),
    "MLX": ("mlx", {"mx": "mlx.core"}),
    "Numba": ("numba", {"numba": "numba"}),
    "Zarr": ("zarr", {"zarr": "zarr"}),
    "h5py": ("h5py", {"h5py": "h5py"}),
    "xarray": ("xarray", {"xr": "xarray"}),
    "scikit-learn": ("scikit-learn", {
        "preprocessing": "sklearn.preprocessing", "linear_model": "sklearn.linear_model", "model_selection": "sklearn.model_selection",
        "cluster": "sklearn.cluster", "metrics": "sklearn.metrics",
    }),
    "SciPy": ("scipy", {"ndimage": "scipy.ndimage", "signal": "scipy.signal", "linalg": "scipy.linalg", "sparse": "scipy.sparse"}),
    "ONNX Runtime": ("onnxruntime", {"ort": "onnxruntime"}),
}  # fmt: skip

#: The lines of each library. The name after ``#`` is the consumer in `crossdock.explain`, where the outcome can differ.
#:
#: ``x`` is float64 in shape (3, 4), ``f`` float32 (2, 3), ``v`` float64 (6,), ``n`` int64 (6,), ``mask`` bool (6,), ``image`` uint8
#: (8, 6, 3), ``grey`` uint8 (8, 6). ``path`` is a file that does not exist.
LINES = {
    "NumPy": """
        np.asarray(x)
        np.asarray(x, dtype="float32")
        np.array(x)
        np.asarray(x, copy=False)
        np.ascontiguousarray(x)
        np.from_dlpack(x)
        np.frombuffer(x)
        np.mean(x)
        np.sum(x, axis=0)
        np.add(x, 1)
        np.add(np.ones((3, 4)), 1, out=x)  # numpy (out=, copyto)
        np.stack([x, x])
        np.concatenate([v, v])
        np.where(mask, v, 0)
        np.dot(x, x.T)
        np.linalg.norm(x)
        np.fft.rfft(v)
        np.sort(v)
        np.unique(n, return_counts=True)
        np.histogram(v, bins=3)
        np.transpose(x)
        np.reshape(x, (4, 3))
        np.copyto(x, 1.0)  # numpy (out=, copyto)
        np.zeros_like(x)
        np.allclose(x, x)
        np.arange(6)[n]
        np.arange(6.0)[mask]
        np.arange(12.0).reshape(3, 4) + x
        np.ones((3, 4))[:] @ x.T
        np.shares_memory(x, np.asarray(x))
        np.issubdtype(x.dtype, np.floating)
        x.dtype == np.float64
        {np.dtype("float64"): "double"}[x.dtype]
        x.dtype in {np.dtype("float32"), np.dtype("float64")}
        np.finfo(x.dtype).eps
        np.empty(3, x.dtype)
        np.save(path, x); np.load(path)
        np.savetxt(path, x); np.loadtxt(path)
        np.random.default_rng(0).choice(v, 2)
        np.random.default_rng(0).shuffle(v); v
        np.nan_to_num(x)
        np.pad(grey, 1)
        np.einsum("ij,ij->i", x, x)
        np.interp(2.5, n, v)
    """,
    "Python": """
        memoryview(x).shape
        bytes(n)
        hashlib.sha256(x).hexdigest()
        zlib.crc32(image)
        base64.b64encode(v)
        struct.unpack_from("3d", v)
        pickle.loads(pickle.dumps(x))
        copy.deepcopy(x)
        io.BytesIO(n).read(8)
        open(path, "wb").write(x)
        statistics.mean(v)
        math.fsum(v)
        json.dumps(x.tolist())
        json.dumps([float(one) for one in v])
        sorted(n, reverse=True)
        max(v)
        sum(v)
        list(zip(n, v))
        float(v[2])
        range(10)[n[3]]
        array.array("d", v)
        ctypes.c_double.from_buffer(v).value
        {number: square for number, square in zip(n, v)}[2]
        f"{v[1]:.3f}"
        v[-1] in v
        len(x), x.shape[0], x.ndim
        [row.tolist() for row in x]
    """,
    "pandas": """
        pd.Series(v)  # pandas.Series
        pd.Series(x[:, 1])  # pandas.Series
        pd.Series(n, dtype="float32")  # pandas.Series
        pd.DataFrame(x)  # pandas.DataFrame
        pd.DataFrame(x, columns=list("abcd"))  # pandas.DataFrame
        pd.DataFrame({"a": v, "b": n})  # pandas.DataFrame
        pd.Index(n)  # pandas.Index
        pd.to_datetime(n)
        pd.Categorical(n)
        pd.Series(range(6))[mask]  # pandas.Series[x]
        pd.Series(range(6)) + n
        pd.Series(range(6), index=n)
        pd.DataFrame({"a": range(6)}).assign(b=v)
        pd.cut(v, 3)
        pd.isna(v)
    """,
    "Polars": """
        pl.Series(v)  # polars.Series
        pl.Series("v", n)  # polars.Series
        pl.Series(x)  # polars.Series
        pl.DataFrame(x)  # polars.DataFrame
        pl.DataFrame({"a": v, "b": n})  # polars.DataFrame
        pl.Series(range(6)) + n  # polars (operands)
        pl.DataFrame({"a": range(6)}).with_columns(b=v)  # polars (operands)
        pl.from_numpy(x)  # polars.from_numpy
    """,
    "PyArrow": """
        pa.array(v)  # pyarrow.array
        pa.array(n, type=pa.int32())  # pyarrow.array
        pa.array(mask)  # pyarrow.array
        pa.array(x)  # pyarrow.array
        pa.py_buffer(v)
        pa.table({"a": v, "b": n})  # pyarrow.array
        pa.Tensor.from_numpy(x)  # pyarrow.Tensor.from_numpy
        pa.FixedSizeListArray.from_arrays(v, 2)  # pyarrow.array
        pc.sum(v)  # pyarrow.compute
        pa.chunked_array([v, v])  # pyarrow.array
        pa.FixedShapeTensorArray.from_numpy_ndarray(x)  # pyarrow.Tensor.from_numpy
    """,
    "OpenCV": """
        cv2.GaussianBlur(image, (3, 3), 0)  # cv2 (inputs)
        cv2.resize(image, (3, 4))  # cv2 (inputs)
        cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)  # cv2 (inputs)
        cv2.imencode(".png", image)  # cv2 (inputs)
        cv2.norm(x)  # cv2 (inputs)
        cv2.rectangle(image, (0, 0), (2, 2), (255, 0, 0))  # cv2 (inputs)
    """,
    "Pillow": """
        Image.fromarray(image)
        Image.fromarray(grey)
        Image.fromarray(image[:, ::-1])
        Image.frombuffer("L", (6, 8), grey)
        Image.frombytes("RGB", (6, 8), image)
        Image.fromarray(image).save(path, "PNG")
    """,
    "Dask": """
        da.from_array(x, chunks=2).compute()
        da.asarray(x).sum().compute()
        da.from_array(x, chunks=2).mean(axis=0).compute()
        da.concatenate([v, v]).compute()
        da.from_array(image, chunks=4).max().compute()
    """,
    "safetensors": """
        st.load(st.save({"x": x}))["x"]  # safetensors.numpy.save
        st.save_file({"x": x}, path); st.load_file(path)["x"]  # safetensors.numpy.save
    """,
    "TVM FFI": """
        tvm_ffi.from_dlpack(x)
        tvm_ffi.from_dlpack(x).shape
    """,
    "PyTorch": """
        torch.from_dlpack(x)
        torch.from_dlpack(x[:, ::2])
        torch.from_numpy(np.asarray(x))
        torch.from_numpy(x)  # torch.from_numpy
        torch.asarray(x)  # torch.asarray
        torch.as_tensor(x)  # torch.as_tensor
        torch.as_tensor(v)  # torch.as_tensor
        torch.tensor(x)  # torch.tensor
        torch.tensor(n)  # torch.tensor
        torch.frombuffer(v, dtype=torch.float64)
        torch.zeros(3, 4, dtype=torch.float64) + x  # torch.Tensor + x
        torch.zeros(6)[n]  # torch.Tensor[x]
        torch.stack([torch.from_dlpack(x)] * 2)
        torch.nn.functional.relu(torch.from_dlpack(x))
    """,
    "JAX": """
        jnp.asarray(f)
        jnp.array(f)
        jnp.from_dlpack(f)
        jax.device_put(f)  # jax.jit, jax.device_put
        jnp.sum(f)  # jax.jit, jax.device_put
        jnp.add(f, 1)  # jax.jit, jax.device_put
        jnp.zeros((2, 3)) + f
        jax.jit(lambda a: a * 2)(f)  # jax.jit, jax.device_put
        jax.grad(lambda a: (a**2).sum())(f)  # jax.jit, jax.device_put
        jnp.zeros(6)[n]  # jax.jit, jax.device_put
    """,
    "TensorFlow": """
        tf.constant(f)  # tensorflow.constant
        tf.convert_to_tensor(f)  # tensorflow.constant
        tf.experimental.dlpack.from_dlpack(f.__dlpack__())
        tf.reduce_sum(f)
        tf.zeros((2, 3)) + f
        tf.data.Dataset.from_tensor_slices(f).cardinality().numpy()
        tf.Variable(f)
    """,
    "MLX": """
        mx.array(f)
        mx.array(x)
        mx.array(f[:, ::2])
        mx.zeros((2, 3)) + f
        mx.sum(mx.array(f))
    """,
    "Numba": """
        numba.njit(lambda a: a.sum())(x)  # numba.njit
        numba.vectorize(["f8(f8)"])(lambda a: a + 1)(x)
    """,
    "Zarr": """
        zarr.array(x)[:]
        zarr.save(path, x); zarr.load(path)  # zarr.save
        (lambda z: (z.__setitem__(..., x), z[:]))(zarr.zeros((3, 4)))[1]
        zarr.create_array({}, data=x)[:]
    """,
    "h5py": """
        h5py.File(path, "w").create_dataset("x", data=x)[:]
        h5py.File(path, "w").create_dataset("x", data=image, compression="gzip")[:]
        (lambda d: (d.__setitem__(..., x), d[:]))(h5py.File(path, "w").create_dataset("x", (3, 4)))[1]
        (lambda d: (d.read_direct(x), x))(h5py.File(path, "w").create_dataset("x", data=[[1.0] * 4] * 3))[1]  # h5py.Dataset.read_direct
    """,
    "xarray": """
        xr.DataArray(x)
        xr.DataArray(x, dims=("row", "column")).mean("row")  # xarray.DataArray
        xr.Dataset({"a": (("row", "column"), x)})["a"].sum()  # xarray.DataArray
        xr.DataArray(v, coords={"t": n}, dims="t").sel(t=2)  # xarray.DataArray
        xr.DataArray(x) + 1  # xarray.DataArray
    """,
    "scikit-learn": """
        preprocessing.StandardScaler().fit_transform(x)
        preprocessing.MinMaxScaler().fit(x).data_max_
        linear_model.LinearRegression().fit(x, x[:, 0]).coef_
        cluster.KMeans(2, random_state=0).fit_predict(x)
        model_selection.train_test_split(x, random_state=0)[0]  # sklearn.model_selection
        metrics.mean_squared_error(v, v)
    """,
    "SciPy": """
        ndimage.gaussian_filter(x, 1)
        signal.convolve(v, v)
        linalg.svd(x)[1]
        sparse.csr_matrix(x).toarray()
    """,
    "ONNX Runtime": """
        ort.OrtValue.ortvalue_from_numpy(f).numpy()  # onnxruntime.OrtValue
        ort.OrtValue.from_dlpack(f.__dlpack__()).numpy()
    """,
}


class Line(typing.NamedTuple):
    """A line of code, and the consumer that foretells it."""

    library: str
    code: str
    consumer: str


def lines(library):
    """The lines of a library."""
    for line in LINES[library].strip().splitlines():
        code, _, consumer = line.strip().partition("  # ")
        yield Line(library, code, consumer)


def arrays():
    """New arrays of NumPy, under the names that the lines use. Their memory is aligned like Crossdock's, which decides some copies."""
    pixels = (np.arange(144) * 7 % 251).astype("uint8").reshape(8, 6, 3)
    made = {
        "x": np.arange(12.0).reshape(3, 4) ** 2,
        "f": np.arange(6, dtype="float32").reshape(2, 3),
        "v": np.array([0.0, 4.0, 1.0, 2.5, 3.0, 5.0]),
        "n": np.arange(6)[::-1].copy(),
        "mask": np.arange(6) % 2 == 0,
        "image": pixels,
        "grey": pixels[..., 0].copy(),
    }
    return {name: aligned(array) for name, array in made.items()}


def aligned(array):
    """A copy at a multiple of 64 bytes."""
    memory = np.zeros(array.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    made = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


class Outcome(typing.NamedTuple):
    """What a line gave: the class, dtype and shape of the result or the error, its elements, and whether it is in the array's memory."""

    kind: str
    elements: object
    is_in_place: bool

    def words(self):
        return f"{self.kind}, in place" if self.is_in_place else self.kind


def outcome(line, names):
    """Runs a line."""
    spans = [(array.ctypes.data, array.nbytes) if isinstance(array, np.ndarray) else (array.ptr, array.nbytes) for array in names.values()]
    modules = {name: importlib.import_module(module) for name, module in LIBRARIES[line.library][1].items()}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope = modules | names | {"path": os.path.join(folder, "file.npy" if "np." in line.code else "file")}
        *first, last = ast.parse(line.code).body
        try:
            for step in first:
                exec(ast.unparse(step), scope)
            result = eval(ast.unparse(last), scope)
            return seen(result, spans)
        except Exception as error:
            return Outcome(f"raises {type(error).__name__}", None, False)


def seen(result, spans):
    """The class, elements and memory of a result. An array is of the same class as NumPy's, and NumPy's scalars are Python's."""
    if isinstance(result, np.generic):
        result = result.item()
    kind = "array" if isinstance(result, (np.ndarray, crossdock.Array)) else type(result).__name__
    if isinstance(result, (tuple, list, dict)):
        items = [seen(item, spans) for item in (result.values() if isinstance(result, dict) else result)]
        return Outcome(kind, [(item.kind, item.elements) for item in items], any(item.is_in_place for item in items))
    for attribute in ("dtype", "shape"):
        found = getattr(result, attribute, None)
        if found is not None:
            kind += f" {tuple(found) if attribute == 'shape' else found}"
    return Outcome(kind, plain(result), is_inside(result, spans))


def plain(result):
    """The elements as Python's own values, or a text."""
    for method in ("tolist", "to_list", "to_pylist", "tobytes", "to_pybytes"):
        if callable(getattr(result, method, None)):
            return getattr(result, method)()
    if hasattr(result, "__dlpack__"):
        return crossdock.asarray(result).tolist()
    if hasattr(result, "__array__"):
        return np.asarray(result).tolist()
    return result if isinstance(result, (int, float, str, bytes, type(None))) else str(result)


def is_inside(result, spans):
    """Whether the elements of a result are in one of these pieces of memory."""
    try:
        array = crossdock.asarray(result)
    except (TypeError, ValueError, BufferError):
        return False
    return array.nbytes > 0 and any(start <= array.ptr < start + nbytes for start, nbytes in spans)


def compared(line):
    """The outcome with NumPy's arrays, and with Crossdock's."""
    theirs = arrays()
    ours = {name: crossdock.array(array) for name, array in theirs.items()}
    return outcome(line, theirs), outcome(line, ours)


def foretold(line):
    """What `crossdock.explain` says about the consumer of a line, if it knows it."""
    used = {node.id for node in ast.walk(ast.parse(line.code)) if isinstance(node, ast.Name)}
    array = next(array for name, array in arrays().items() if name in used)
    told = crossdock.explain(crossdock.array(array)).consumers
    return next((consumer for consumer in told if consumer.name == line.consumer), None)


def is_installed(library):
    """Whether the modules of a library are there."""
    try:
        for module in LIBRARIES[library][1].values():
            importlib.import_module(module)
    except (ImportError, OSError):
        return False
    return True


HEAD = "| line | NumPy's array | Crossdock's array | foretold |\n|---|---|---|---|\n"


def table(library):
    """The lines of a library with their outcomes, as a table."""
    rows = []
    for line in lines(library):
        theirs, ours = compared(line)
        told = foretold(line) if theirs != ours else None
        words = "the same" if theirs == ours else ours.words()
        if (theirs.kind, theirs.is_in_place) == (ours.kind, ours.is_in_place) and theirs != ours:
            words += ", other elements"
        said = f"`{told.name}`: {told.outcome}" + (f" ({told.reason})" if told.reason else "") if told else ""
        rows.append("| " + " | ".join(part.replace("|", "\\|") for part in (f"`{line.code}`", theirs.words(), words, said)) + " |\n")
    return HEAD + "".join(rows)


def version(library):
    """The installed version of a library."""
    distribution, modules = LIBRARIES[library]
    if distribution == "python":
        return ""
    module = importlib.import_module(next(iter(modules.values())))
    return getattr(module, "__version__", None) or importlib.metadata.version(distribution)


def main(names):
    for library in names or filter(is_installed, LIBRARIES):
        print(f"{library} {version(library)}\n\n{table(library)}")


if __name__ == "__main__":
    main(sys.argv[1:])
