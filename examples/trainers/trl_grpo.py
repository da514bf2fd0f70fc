"""TRL: two steps of GRPO against a running service, with a random model of two layers.

    pip install "trl==1.16.*"
    verifier serve &
    VERIFIER_URL=http://127.0.0.1:8000 python examples/trainers/trl_grpo.py

Nothing is downloaded. For a real run, put your model and your data set in the place of these; the reward
stays as it is. Where there is no verdict TRL leaves the completion out (docs/integrations.md).
"""

import argparse
import tempfile
from typing import Any

from datasets import Dataset
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
from trl import GRPOConfig, GRPOTrainer

from verifier_service.adapters.for_trl import reward_function, reward_functions

# Whole answers are tokens, so that even a random model gives some, and gets some right.
TOKENS = ("<pad>", "<end>", *"0123456789+=", *(f"\\boxed{{{number}}}" for number in range(7)))
ROWS = [
    {"prompt": f"{left}+{right}=", "ground_truth": str(left + right)}
    for left in range(4)
    for right in range(4)
]


def tokenizer() -> Any:
    made = Tokenizer(
        models.WordLevel({token: place for place, token in enumerate(TOKENS)}, unk_token="<pad>")
    )
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"\\boxed\{.\}|."), "isolated")
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=made, pad_token="<pad>", eos_token="<end>")


def model(vocabulary: int) -> Any:
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    made: Any = Qwen2ForCausalLM
    return made(config)


def train(url: str | None = None, *, parts: bool = False, steps: int = 2) -> list[dict[str, Any]]:
    """The log of a run. parts: one function per reward of the profile, which TRL adds up."""
    set_seed(0)
    texts = tokenizer()
    rewards: Any = reward_functions(url) if parts else reward_function(url)
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model(len(texts)),
            processing_class=texts,
            reward_funcs=rewards,
            train_dataset=Dataset.from_list(ROWS),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=steps,
                per_device_train_batch_size=16,
                num_generations=8,
                max_completion_length=8,
                logging_steps=1,
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                bf16=False,
                disable_tqdm=True,
            ),
        )
        trainer.train()
        log: list[dict[str, Any]] = trainer.state.log_history
        return log


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="the service; by default VERIFIER_URL")
    parser.add_argument("--parts", action="store_true", help="one function per reward of the profile")
    arguments = parser.parse_args()
    for entry in train(arguments.url, parts=arguments.parts):
        print({name: value for name, value in entry.items() if "reward" in name or "verifier" in name})
