"""What `explain` says of tensors of PyTorch, JAX, MLX and TensorFlow, where they are installed."""

import hashlib
import subprocess
import sys

import pytest

import crossdock
from handing.counterparts import need

np = need("numpy")


def told(thing):
    return {one.name: (one.outcome, one.reason) for one in crossdock.explain(thing).consumers}


def test_pytorch_s_tensors_share_memory_with_numpy_or_refuse():
    torch = pytest.importorskip("torch")
    plain = torch.arange(6.0)
    shared = [plain, plain[::2], plain.reshape(2, 3).T, torch.tensor(2.0), torch.tensor([True])]
    for tensor in shared:
        assert np.asarray(tensor).ctypes.data == tensor.data_ptr()
        assert told(tensor)["numpy.asarray"] == ("in place", "")
    refused = [
        torch.ones(3, requires_grad=True),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch._neg_view(plain),
        torch.eye(2).to_sparse(),
        torch.empty(2, device="meta"),
        plain.bfloat16(),
        plain.to(torch.float8_e4m3fn),
        torch._efficientzerotensor((3,)),
    ]
    for tensor in refused:
        with pytest.raises((RuntimeError, TypeError)) as error:
            np.asarray(tensor)
        outcome, reason = told(tensor)["numpy.asarray"]
        assert outcome == "refuses" and " ".join(str(error.value).split()) in reason


def test_pytorch_s_lazy_negation_is_lost_in_tensors():
    torch = pytest.importorskip("torch")
    negated = torch._neg_view(torch.arange(3.0))
    for name, take in [("numpy.from_dlpack", np.from_dlpack), ("torch.from_dlpack", torch.from_dlpack)]:
        assert take(negated).tolist() == [0, 1, 2] != negated.tolist()
        outcome, reason = told(negated)[name]
        assert outcome == "misreads" and "signs come out wrong" in reason
    zero = told(torch._efficientzerotensor((3,)))["numpy.from_dlpack"]
    assert zero[0] == "misreads" and "null address" in zero[1]


def test_mlx_grants_contiguous_buffers_with_gaps():
    mx = pytest.importorskip("mlx.core")
    pa = need("pyarrow")
    gapped = mx.arange(6)[::2]
    assert np.frombuffer(pa.py_buffer(gapped), "i4").tolist() == [0, 1, 2] != gapped.tolist()
    assert hashlib.sha256(gapped).digest() != hashlib.sha256(np.asarray(gapped).tobytes()).digest()
    for thing in [gapped, mx.arange(6)[::-1], mx.broadcast_to(mx.arange(1), (3,))]:
        what = told(thing)
        for name in ["pyarrow.py_buffer", "nanoarrow.c_array", "hashlib, sockets, files"]:
            assert what[name][0] == "misreads" and "other memory" in what[name][1]
        assert what["numpy.frombuffer"][0] == what["arro3.core.Array"][0] == "refuses"
        with pytest.raises(BufferError, match="not C-contiguous"):
            np.frombuffer(thing, "i4")
        assert what["numpy.asarray"][0] == "in place"


def test_arrays_of_jax_that_are_deleted_are_refused():
    jnp = pytest.importorskip("jax.numpy")
    deleted = jnp.arange(3.0)
    deleted.delete()
    outcome, reason = told(deleted)["numpy.asarray"]
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(deleted)
    assert outcome == "refuses" and "Array has been deleted" in reason
    # Its items are arrays, for which PyArrow has no type.
    numbers = jnp.arange(3.0)
    with pytest.raises(need("pyarrow").ArrowInvalid, match="Could not convert"):
        need("pyarrow").array(numbers)
    assert told(numbers)["pyarrow.array"][0] == "refuses"


def test_arrays_that_jax_holds_constant_are_written_by_others():
    jnp = pytest.importorskip("jax.numpy")
    torch = pytest.importorskip("torch")
    tvm_ffi = need("tvm_ffi")
    constant = jnp.arange(3.0)
    torch.from_dlpack(constant).fill_(7)
    assert constant.tolist() == [7, 7, 7]
    what = told(constant)
    assert np.from_dlpack(tvm_ffi.from_dlpack(constant)).flags.writeable
    for name in ["torch.from_dlpack", "tvm_ffi.from_dlpack", "nanobind"]:
        assert what[name][0] == "misreads" and "constant" in what[name][1]
    assert not np.from_dlpack(constant).flags.writeable and what["numpy.from_dlpack"][0] == "in place"


def test_columns_of_tensors():
    torch = pytest.importorskip("torch")
    pl, pa = need("polars"), need("pyarrow")
    plain = torch.arange(6.0)
    for tensor in [plain, plain.reshape(2, 3), plain[::2], torch.tensor([True]), torch.tensor(2.0), torch.ones(2, requires_grad=True)]:
        outcome, reason = told(tensor)["polars.Series"]
        try:
            made = pl.Series(tensor)
        except RuntimeError as error:
            assert outcome == "refuses" and str(error) in reason
            continue
        if made.shape != tensor.shape[:1]:
            assert outcome == "misreads"
            continue
        try:
            is_shared = made.to_numpy(allow_copy=False).ctypes.data == tensor.data_ptr()
        except RuntimeError:
            is_shared = False
        assert outcome == ("in place" if is_shared else "copies"), reason
    assert pa.array(torch.empty(0, 3)).type == pa.null()
    assert told(torch.empty(0, 3))["pyarrow.array"][0] == "misreads"
    with pytest.raises(pa.ArrowInvalid):
        pa.array(plain)
    assert told(plain)["pyarrow.array"][0] == "refuses"


def test_jax_narrows_types_of_64_bits_unless_it_is_told_not_to():
    jax = pytest.importorskip("jax")
    for thing in [crossdock.zeros(3, "int64"), np.zeros(3), np.zeros(3, "complex128")]:
        narrow = jax.dlpack.from_dlpack(thing).dtype
        assert narrow.itemsize * 2 == np.asarray(thing).itemsize
        for name in ["jax.dlpack.from_dlpack", "jax.numpy.asarray"]:
            assert told(thing)[name][0] == "misreads" and "jax_enable_x64" in told(thing)[name][1]
    jax.config.update("jax_enable_x64", True)
    try:
        assert jax.dlpack.from_dlpack(crossdock.zeros(3)).dtype == "float64"
        assert told(crossdock.zeros(3))["jax.dlpack.from_dlpack"] == ("in place", "")
    finally:
        jax.config.update("jax_enable_x64", False)


def test_tensors_at_which_tensorflow_aborts_are_explained():
    pytest.importorskip("tensorflow")
    code = """
import crossdock, tensorflow as tf
for tensor in [tf.constant(["a"]), tf.Variable([1.0]).handle]:
    first = crossdock.explain(tensor).consumers[0]
    assert first.outcome == "refuses" and first.reason.startswith("BufferError"), first
assert crossdock.explain(tf.constant([1.0])).consumers[0].outcome == "in place"
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
