"""An array as a PyTorch tensor, and the tensor as an array: one memory throughout.

Prints::

    torch.Size([2, 3]) torch.float32
    [[0.0, 1.0, 2.0], [3.0, 40.0, 5.0]]
"""

import torch

import crossdock

array = crossdock.array([[0, 1, 2], [3, 4, 5]], "float32")
tensor = torch.from_dlpack(array)
print(tensor.shape, tensor.dtype)

tensor[1, 1] *= 10
print(crossdock.asarray(tensor).tolist())
