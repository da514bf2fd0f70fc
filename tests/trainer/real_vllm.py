"""What the tests against the real vLLM share: a model that its CPU build can run, and its environment."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.tiny_models import tiny_model, tiny_tokenizer

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
MARKS = [
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed: make vllm"),
    # What vLLM and its many dependencies warn of is theirs.
    pytest.mark.filterwarnings("ignore"),
]


def set_environment(patch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        patch.setenv(name, os.environ.get(name, value))


def runnable_model(seed: int, **changes: Any) -> Any:
    """With heads of 32, the least that vLLM's attention on a CPU has; tied, for the trap that lies there."""
    return tiny_model(seed, hidden=128, **changes)


def write_runnable(folder: Path, seed: int = 0) -> Path:
    runnable_model(seed).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder
