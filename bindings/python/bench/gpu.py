"""Checks and measures the wheel's arrays on a GPU, alone and, if PyTorch supports the GPU, beside it.

Requires only the wheel. Prints one figure a line, with tabs between the fields, for the program that draws the table:
FIGURE, operation, value, unit, ratio, peer, and the target of the ratio.
"""

import argparse
import multiprocessing
import statistics
import sys
import time

import crossdock


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--shrink", type=int, default=1, help="divide the extents of all arrays by this")
    arguments = parser.parse_args()
    if arguments.device not in crossdock.devices():
        sys.exit(f"there is no {arguments.device}: {crossdock.devices()}")
    checks = check_alone(arguments.device) + check_processes(arguments.device)
    torch = torch_with_gpu()
    if torch is not None:
        checks += check_torch(torch, arguments.device)
        time_hand_overs(torch, arguments.device)
        time_permutations(torch, arguments.device, arguments.shrink)
    beside = "without PyTorch" if torch is None else f"beside PyTorch {torch.__version__}"
    print(f"{checks} checks passed, {beside}")


def torch_with_gpu():
    """PyTorch, if it is installed and supports the GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def check_alone(device):
    """Copies arrays to the GPU and back, checks them and changes their layout. Returns the number of checks."""
    here = crossdock.array([[3 * row + column for column in range(3)] for row in range(4)], "f4")
    there = here.to_device(device)
    back = there.to_device("cpu")
    checks = [
        there.device == device,
        there.__dlpack_device__() == (2, 0),
        back == here,
        there.T.copy().to_device("cpu").tolist() == here.T.tolist(),
        there[::-1, ::2].astype("i2").to_device("cpu").tolist() == here[::-1, ::2].tolist(),
        there[2, 1] == here[2, 1],
        there.__cuda_array_interface__["shape"] == (4, 3),
        there.__cuda_array_interface__["data"][0] == there.ptr,
        crossdock.from_dlpack(there).ptr == there.ptr,
        refuses(BufferError, lambda: memoryview(there)),
        refuses(BufferError, lambda: crossdock.asarray(there, device="cpu", copy=False)),
    ]
    return passed(checks)


def read_there(array):
    """Runs in another process, on the same memory."""
    refused = refuses(Exception, lambda: array.__setitem__(..., 1))
    return str(array.device), array.readonly and refused, array.to_device("cpu").tolist()


def check_processes(device):
    """Another process maps an array read-only. Returns the number of checks: none if the device exports no memory."""
    try:
        shared = crossdock.shared([[1, 2, 3], [4, 5, 6]], "i4", device=device)
    except BufferError as error:
        print(f"no memory goes to other processes: {error}")
        return 0
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there, is_readonly, elements = pool.apply(read_there, (shared[:, ::2],))
    return passed([there == device, is_readonly, elements == [[1, 3], [4, 6]]])


def check_torch(torch, device):
    """PyTorch and Crossdock share memory, in both directions."""
    ours = crossdock.zeros((64, 32), "f4", device=device)
    theirs = torch.from_dlpack(ours)
    theirs[3, 5] = 7
    torch.cuda.synchronize()
    made = torch.arange(24, dtype=torch.int32, device="cuda").reshape(2, 3, 4).permute(2, 0, 1)
    taken = crossdock.from_dlpack(made)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        # Written in one stream, and read in another, which must wait.
        late = torch.full((1 << 24,), 3, dtype=torch.int32, device="cuda")
        seen = crossdock.from_dlpack(late).to_device("cpu")
    checks = [
        theirs.data_ptr() == ours.ptr,
        ours[3, 5] == 7.0,
        taken.ptr == made.data_ptr(),
        taken.shape == tuple(made.shape),
        taken.to_device("cpu").tolist() == made.cpu().tolist(),
        seen[0] == 3 and seen[-1] == 3,
        crossdock.asarray(made).ptr == made.data_ptr(),
        torch.equal(torch.as_tensor(ours, device="cuda"), theirs),
    ]
    return passed(checks)


def refuses(kind, act):
    try:
        act()
    except kind:
        return True
    return False


def passed(checks):
    for number, is_right in enumerate(checks, 1):
        if not is_right:
            sys.exit(f"check {number} of {len(checks)} failed")
    return len(checks)


def figure(what, value, unit, ratio, peer, reach):
    print("FIGURE", what, f"{value:.3f}", unit, f"{ratio:.3f}", peer, reach, sep="\t")


def in_turns(first, second, rounds=31, times=200):
    """The median time of a call of each, in seconds, and the median of the ratios of each round."""
    def seconds(act):
        start = time.perf_counter()
        for _ in range(times):
            act()
        return (time.perf_counter() - start) / times

    pairs = [(seconds(first), seconds(second)) for _ in range(rounds)]
    ratio = statistics.median(one / other for one, other in pairs)
    return statistics.median(one for one, _ in pairs), ratio


def time_hand_overs(torch, device):
    """A hand-over in each direction, beside PyTorch's to itself."""
    ours = crossdock.zeros((64, 32), "f4", device=device)
    theirs = torch.zeros((64, 32), device="cuda")
    itself = lambda: torch.from_dlpack(theirs)
    for what, act in [
        ("to PyTorch by DLPack", lambda: torch.from_dlpack(ours)),
        ("from PyTorch by DLPack", lambda: crossdock.from_dlpack(theirs)),
    ]:
        took, ratio = in_turns(act, itself)
        figure(what, took * 1e9, "ns", ratio, "torch.from_dlpack", "<= 1")


def time_permutations(torch, device, shrink):
    """Copies of permuted arrays into new memory, beside `.contiguous()`."""
    for shape, axes in [
        ((16384, 16384), (1, 0)),
        *(((1024, 1024, 1024), axes) for axes in [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]),
    ]:
        shape = tuple(extent // shrink for extent in shape)
        theirs = torch.rand(shape, device="cuda").permute(axes)
        ours = crossdock.from_dlpack(theirs)
        if not torch.equal(torch.from_dlpack(ours.copy()), theirs):
            sys.exit(f"{shape} permuted {axes} is wrong")

        def contiguous():
            theirs.contiguous()
            torch.cuda.synchronize()

        took, ratio = in_turns(lambda: ours.copy(), contiguous, rounds=11, times=4)
        nbytes = 2 * theirs.numel() * theirs.element_size()
        name = "x".join(map(str, shape)) + " permuted " + "".join(map(str, axes))
        # The ratio of speeds, as for the other figures of copies.
        figure(f"f32 {name}, Python", nbytes / took / 1e12, "TB/s", 1 / ratio, ".contiguous()", ">= 1")


if __name__ == "__main__":
    main()
