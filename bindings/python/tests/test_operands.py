"""Arrays as operands of PyTorch and JAX, where these are installed."""

import pytest

import crossdock


def test_operators_of_pytorch_read_the_arrays_memory():
    torch = pytest.importorskip("torch")
    x = crossdock.array([[1.0, 2.0], [3.0, 4.0]])
    copied = crossdock.copied_bytes()
    assert (torch.ones(2, 2) + x).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert torch.zeros(5)[crossdock.array([1, 3])].tolist() == [0.0, 0.0]
    assert torch.sum(x).item() == 10 and torch.add(torch.ones(2, 2), x, alpha=2).sum() == 24
    assert torch.stack([x, x]).shape == (2, 2, 2) and torch.stack((x, torch.ones(2, 2).double())).shape == (2, 2, 2)
    transposed = torch.transpose(x, 0, 1)
    assert transposed.data_ptr() == x.ptr
    assert crossdock.copied_bytes() == copied


def test_functions_of_pytorch_write_the_arrays_memory_unless_it_is_read_only():
    torch = pytest.importorskip("torch")
    x = crossdock.array([-1.0, 2.0])
    torch.nn.functional.relu(x, inplace=True)
    assert x.tolist() == [0.0, 2.0]
    torch.add(torch.ones(2).double(), 1, out=x)
    assert x.tolist() == [2.0, 2.0]
    torch.neg_(x)
    assert x.tolist() == [-2.0, -2.0]
    constant = crossdock.array([-1.0, 2.0]).frozen()
    for write in [
        lambda: torch.nn.functional.relu(constant, inplace=True),
        lambda: torch.add(torch.ones(2).double(), 1, out=constant),
        lambda: torch.neg_(constant),
        lambda: torch.frexp(torch.ones(2).double(), out=(constant, crossdock.zeros(2, "int32"))),
    ]:
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert constant.tolist() == [-1.0, 2.0]
    target = torch.zeros(2).double()
    target.copy_(constant)
    assert target.tolist() == [-1.0, 2.0] and torch.sum(constant) == 1


def test_what_pytorch_cannot_describe_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="negative"):
        torch.ones(3) + crossdock.arange(3)[::-1]


def test_an_array_of_jax_from_an_operand_is_a_copy():
    jax = pytest.importorskip("jax")
    x = crossdock.ones((2, 3), "float32")
    assert (jax.numpy.ones((2, 3)) + x).tolist() == [[2.0] * 3] * 2
    made = jax.numpy.asarray(x)
    x[0, 0] = 5
    assert made[0, 0] == 1 and made.dtype == "float32"
    with pytest.raises(ValueError, match=r"jax.numpy.array\(\)"):
        jax.numpy.sum(x)
    assert jax.numpy.sum(jax.numpy.array(x)) == 10


def test_functions_of_jax_take_arrays_of_its_own_on_the_memory():
    jax = pytest.importorskip("jax")
    x = crossdock.ones((2, 3), "float32")
    for call in [jax.numpy.sum, jax.jit(lambda v: v.sum()), jax.grad(lambda v: v.sum()), jax.vmap(lambda v: v.sum()), jax.device_put]:
        with pytest.raises(ValueError, match="__jax_array__"):
            call(x)
        in_place = jax.numpy.from_dlpack(x)
        assert in_place.unsafe_buffer_pointer() == x.ptr
        assert (call(in_place) == call(jax.numpy.asarray(x))).all()
    assert jax.numpy.stack([x, x]).shape == (2, 2, 3)
