"""The namespace of the array API standard on every device of the machine, compared with the CPU."""

import pytest

import crossdock

xp = crossdock.array_api

CREATION = {
    "arange": lambda device: xp.arange(3, device=device),
    "asarray": lambda device: xp.asarray([[1, 2], [3, 4]], dtype=xp.int8, device=device),
    "empty": lambda device: xp.empty(3, device=device),
    "eye": lambda device: xp.eye(2, 3, k=1, device=device),
    "full": lambda device: xp.full(3, 7, device=device),
    "linspace": lambda device: xp.linspace(0, 1, 5, device=device),
    "linspace of complex numbers": lambda device: xp.linspace(0, 1j, 5, device=device),
    "ones": lambda device: xp.ones(3, dtype=xp.float32, device=device),
    "zeros": lambda device: xp.zeros((2, 3), device=device),
}
#: Of an array of shape (2, 3), and one of integers.
CALLS = {
    "asarray": lambda x, _: xp.asarray(x, copy=True),
    "asarray with a dtype": lambda x, _: xp.asarray(x, dtype=xp.float32),
    "astype": lambda x, _: xp.astype(x, xp.int8),
    "broadcast_to": lambda x, _: xp.broadcast_to(x, (2, 2, 3)),
    "concat": lambda x, _: xp.concat([x, x[:1]]),
    "concat of two dtypes": lambda x, _: xp.concat([x, xp.astype(x, xp.float32)], axis=1),
    "concat of all elements": lambda x, _: xp.concat([x, x.T], axis=None),
    "flip": lambda x, _: xp.flip(x),
    "full_like": lambda x, _: xp.full_like(x, 7),
    "meshgrid": lambda x, _: xp.meshgrid(x[0], x[1])[1],
    "ones_like": lambda x, _: xp.ones_like(x),
    "repeat": lambda x, _: xp.repeat(x, 2, axis=1),
    "repeat by counts": lambda x, i: xp.repeat(x, i, axis=1),
    "reshape": lambda x, _: xp.reshape(x.T, (6,)),
    "roll": lambda x, _: xp.roll(x, 1, axis=(0, 1)),
    "roll of all elements": lambda x, _: xp.roll(x, 2),
    "stack": lambda x, _: xp.stack([x, x], axis=1),
    "take": lambda x, i: xp.take(x, i, axis=1),
    "take_along_axis": lambda x, i: xp.take_along_axis(x, xp.reshape(i, (1, 3))),
    "tile": lambda x, _: xp.tile(x, (2, 2)),
    "tril": lambda x, _: xp.tril(x),
    "triu": lambda x, _: xp.triu(x, k=1),
    "unstack": lambda x, _: xp.unstack(x, axis=1)[2],
}


@pytest.mark.parametrize("device", xp.__array_namespace_info__().devices())
def test_results_stay_on_the_device(device):
    model = xp.reshape(xp.arange(6.0), (2, 3))
    positions = xp.asarray([2, 0, 1])
    x, i = xp.asarray(model, device=device), xp.asarray(positions, device=device)
    pairs = [(name, call(device), call("cpu")) for name, call in CREATION.items()]
    pairs += [(name, call(x, i), call(model, positions)) for name, call in CALLS.items()]
    for name, there, here in pairs:
        assert there.device == device and there.dtype == here.dtype, name
        assert there.to_device("cpu") == here, name
    # A driver of OpenCL on the CPU may map the memory in place.
    if device.startswith("cuda:"):
        with pytest.raises(ValueError, match="copy=False permits no copy"):
            xp.asarray(model, device=device, copy=False)
    assert xp.astype(x, xp.int8, device="cpu").device == xp.asarray(x, device="cpu").device == "cpu"
    assert xp.asarray(x, dtype=xp.int8, copy=True, device="cpu") == xp.asarray(model, dtype=xp.int8)
