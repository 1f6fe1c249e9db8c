"""Tensors of PyTorch, where it is installed: their memory stays valid while an array is on it."""

import pytest

import crossdock

torch = pytest.importorskip("torch")

#: Dtypes that NumPy has, and dtypes that it lacks.
DTYPES = ["float32", "bool", "complex64", "bfloat16", "float8_e4m3fn"]


def replace_data(tensor):
    tensor.data = torch.zeros(4, dtype=tensor.dtype)


def set_storage(tensor):
    tensor.set_(torch.zeros(4, dtype=tensor.dtype))


def swap(tensor):
    torch.utils.swap_tensors(tensor, torch.zeros(4, dtype=tensor.dtype))


@pytest.mark.parametrize("change", [replace_data, set_storage, swap])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_stays_on_its_memory_when_a_tensor_gets_another_storage(dtype, change):
    tensor = torch.ones(1000).to(getattr(torch, dtype))
    array = crossdock.asarray(tensor)
    address = tensor.data_ptr()
    change(tensor)
    others = [torch.zeros(1000).to(tensor.dtype) for _ in range(8)]
    assert tensor.data_ptr() != address and array.ptr == address
    assert all(other.data_ptr() != address for other in others)
    assert set(array.tolist()) == {1}


@pytest.mark.parametrize("take", [crossdock.asarray, crossdock.from_dlpack])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_storage_of_an_imported_tensor_cannot_be_resized(dtype, take):
    tensor = torch.ones(1000).to(getattr(torch, dtype))
    assert tensor.untyped_storage().resizable()
    array = take(tensor)
    with pytest.raises(RuntimeError, match="not resizable"):
        tensor.resize_(10**6)
    with pytest.raises(RuntimeError, match="not resizable"):
        tensor.untyped_storage().resize_(0)
    assert array.ptr == tensor.data_ptr() and set(array.tolist()) == {1}


def test_views_parameters_and_subclasses_are_tensors_too():
    class Named(torch.Tensor):
        pass

    strided = torch.arange(24.0).reshape(4, 6).T[::2]
    for tensor in [strided, torch.nn.Parameter(torch.ones(3), requires_grad=False), torch.ones(3).as_subclass(Named)]:
        array = crossdock.asarray(tensor)
        assert array.ptr == tensor.data_ptr() and array.tolist() == tensor.tolist()
        assert not tensor.untyped_storage().resizable()


def test_the_parameters_of_a_converted_module_leave_an_array_where_it_is():
    layer = torch.nn.Linear(1000, 1, bias=False)
    weights = layer.weight.detach()
    expected = weights.tolist()
    array = crossdock.asarray(layer.weight.detach())
    layer.half()
    assert layer.weight.data_ptr() != array.ptr and array.tolist() == expected


def test_a_tensor_of_inference_and_a_default_device_change_nothing():
    with torch.inference_mode():
        tensor = torch.ones(3).bfloat16()
    crossdock.asarray(tensor)
    assert not tensor.untyped_storage().resizable()
    with torch.device("meta"):
        tensor = torch.ones(3, device="cpu").bfloat16()
        crossdock.asarray(tensor)
    assert not tensor.untyped_storage().resizable()


def test_shared_memory_moves_a_tensor_away_from_an_array_as_the_readme_says():
    tensor = torch.ones(1000)
    array = crossdock.asarray(tensor)
    tensor.share_memory_()
    # The array is on freed memory now, so nothing reads it.
    assert tensor.data_ptr() != array.ptr
    array = crossdock.asarray(tensor)
    tensor.share_memory_()
    assert tensor.data_ptr() == array.ptr


def test_a_tensor_that_requires_a_gradient_is_still_refused():
    with pytest.raises(BufferError, match="detach"):
        crossdock.asarray(torch.ones(3, requires_grad=True))


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_mkldnn"])
def test_a_tensor_of_another_layout_is_refused_with_the_call_that_helps(layout):
    tensor = getattr(torch.eye(2), layout)()
    with pytest.raises(BufferError, match=r"to_dense\(\)"):
        crossdock.asarray(tensor)
    assert crossdock.asarray(tensor.to_dense()).tolist() == [[1, 0], [0, 1]]


def test_the_refusal_of_a_storage_names_the_tensor_on_it():
    storage = torch.ones(3).untyped_storage()
    with pytest.raises(TypeError, match=r"torch\.asarray\(storage, dtype=torch\.uint8\)"):
        crossdock.asarray(storage)
    array = crossdock.asarray(torch.asarray(storage, dtype=torch.uint8))
    assert array.ptr == storage.data_ptr() and array.nbytes == 12


@pytest.mark.parametrize("take", [crossdock.asarray, crossdock.from_dlpack])
def test_repeated_elements_are_read_only(take):
    tensor = torch.ones(1).expand(4)
    array = take(tensor)
    assert array.readonly and array.strides == (0,) and array.tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5
    assert take(torch.arange(4.0).unfold(0, 2, 1)).readonly
    assert not take(torch.ones(1, 4).expand(1, 4)).readonly and not take(torch.ones(3, 4).T).readonly


def test_functions_that_keep_no_lease_are_those_of_the_page():
    pa = pytest.importorskip("pyarrow")
    for borrow, is_leased in [
        (torch.asarray, False),
        (lambda x: torch.frombuffer(x, dtype=torch.float64), False),
        (torch.as_tensor, True),
        (torch.from_dlpack, True),
    ]:
        x = crossdock.zeros(5)
        tensor = borrow(x)
        assert tensor.data_ptr() == x.ptr and x.exports == is_leased
        if is_leased:
            with pytest.raises(BufferError, match="share lease held"):
                pa.array(x)


def test_the_reason_of_a_refused_lease_is_lost_where_the_page_says_so():
    pa = pytest.importorskip("pyarrow")
    x = crossdock.zeros(5)
    _column = pa.array(x)
    with pytest.raises(ValueError, match="could not infer a dtype from the buffer's format"):
        torch.asarray(x)
    with pytest.raises(RuntimeError, match="could not retrieve a contiguous buffer from the given object"):
        torch.frombuffer(x, dtype=torch.float64)
    for borrow in [torch.as_tensor, torch.from_dlpack]:
        with pytest.raises(BufferError, match="exported by Arrow"):
            borrow(x)


def test_a_loader_takes_a_tensor_on_the_memory():
    x = crossdock.asarray([[1.0, 2.0], [3.0, 4.0]], copy=None)
    with pytest.raises(TypeError, match="default_collate"):
        next(iter(torch.utils.data.DataLoader(x, batch_size=2)))
    (batch,) = torch.utils.data.DataLoader(torch.from_dlpack(x), batch_size=2)
    assert batch.tolist() == x.tolist()
