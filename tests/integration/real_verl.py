"""Real verl: its configuration, its reward loop in workers of ray, and its older batch manager, on a real DataProto.

VERIFIER_URL=http://127.0.0.1:8000 python tests/integration/real_verl.py

Everything of a training run that has to do with rewards, without the rollouts: those need a GPU.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import verl
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.workers.reward_manager.batch import BatchRewardManager

SAMPLES = 64
# Whole answers are tokens, so that every completion is one of them.
TOKENS = ("<pad>", "<end>", *(f"\\boxed{{{number}}}" for number in range(SAMPLES)))
FUNCTION = "reward.custom_reward_function"
KEYS = {"score", "acc", "format", "verifier_error"}


def tokenizer() -> Any:
    made = Tokenizer(
        models.WordLevel({token: place for place, token in enumerate(TOKENS)}, unk_token="<pad>")
    )
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=made, pad_token="<pad>", eos_token="<end>")


def configuration(model: str, name: str, manager: str = "naive", **kwargs: object) -> DictConfig:
    """verl's own, with the lines of docs/integrations.md."""
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        return compose(
            "ppo_trainer",
            [
                f"actor_rollout_ref.model.path={model}",
                "reward.num_workers=2",
                f"reward.reward_manager.name={manager}",
                f"{FUNCTION}.path=pkg://verifier_service.adapters.for_verl",
                f"{FUNCTION}.name={name}",
                *(f"+{FUNCTION}.reward_kwargs.{key}={value}" for key, value in kwargs.items()),
            ],
        )


def batch() -> tuple[DataProto, list[float]]:
    """Sample number n answers n; the gold is n, or where n is divisible by 3 another number."""
    golds = [str(place if place % 3 else place + 1) for place in range(SAMPLES)]
    responses = torch.tensor([[2 + place, 1, 0] for place in range(SAMPLES)])
    tensors = {
        "prompts": torch.ones(SAMPLES, 2, dtype=torch.long),
        "responses": responses,
        "attention_mask": torch.tensor([[1, 1, 1, 1, 0]] * SAMPLES),
    }
    rows = {
        "data_source": np.array(["rates/train"] * SAMPLES, dtype=object),
        "reward_model": np.array([{"style": "rule", "ground_truth": gold} for gold in golds], dtype=object),
        "extra_info": np.array([{"index": place} for place in range(SAMPLES)], dtype=object),
    }
    data = DataProto.from_dict(tensors=tensors, non_tensors=rows)
    return data, [float(place % 3 != 0) for place in range(SAMPLES)]


def by_loop(config: DictConfig, data: DataProto) -> tuple[list[float], dict[str, list[float]]]:
    """Rewards and what verl logs beside them, from the workers of the reward loop."""
    manager = RewardLoopManager(config)
    found = manager.compute_rm_score(data)
    for worker in manager.reward_loop_workers:
        ray.kill(worker)
    extra = {name: values.tolist() for name, values in found.non_tensor_batch.items()}
    # At the last token of each response, which is the second one here; nothing elsewhere.
    assert found.batch["rm_scores"][:, [0, 2]].abs().sum() == 0
    return found.batch["rm_scores"][:, 1].tolist(), extra


def main() -> None:
    data, expected = batch()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        texts = tokenizer()
        texts.save_pretrained(folder)
        for manager in ("naive", "dapo", "gdpo", "rate_limited"):
            rewards, extra = by_loop(configuration(folder, "compute_score", manager), data)
            assert rewards == expected, rewards
            assert set(extra) >= KEYS, extra
            assert sum(extra["verifier_error"]) == 0
            print(f"verl {verl.__version__}, reward loop, {manager}: {SAMPLES} rewards as they should be")

        away = configuration(folder, "compute_score", url="http://127.0.0.1:1", budget_s=1, max_error_rate=1)
        rewards, extra = by_loop(away, data)
        assert (rewards, extra["verifier_error"]) == ([0.0] * SAMPLES, [1.0] * SAMPLES)
        print("without a service: 0.0, and verifier_error 1.0 beside each")

        function = get_custom_reward_fn(configuration(folder, "compute_score_batch"))
        replies = BatchRewardManager(texts, num_examine=0, compute_score=function)(data, return_dict=True)
        assert replies["reward_tensor"][:, 1].tolist() == expected
        print("the older batch manager:", SAMPLES, "rewards as they should be")
    ray.shutdown()


if __name__ == "__main__":
    assert os.environ.get("VERIFIER_URL"), "VERIFIER_URL says where the service is"
    main()
