"""One thread for torch: the tensors are tiny, and the machine that runs the tests is seldom idle."""

from importlib.util import find_spec

if find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)
