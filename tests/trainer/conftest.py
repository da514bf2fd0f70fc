"""Tests of the trainer skip without torch, unless the run is meant to prove that everything is there."""

import os
from importlib.util import find_spec

if find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)  # the tensors are tiny, and the machine that runs the tests is seldom idle
elif os.environ.get("REQUIRE_SERVICES") == "1":
    raise ModuleNotFoundError("REQUIRE_SERVICES=1, and torch is missing: pip install ./trainer")
