"""A start for the preset tiny-cpu: a model made from nothing, supervised on a little arithmetic.

For the demo, the learning benchmark and the tests. Nothing is downloaded: the tokenizer has 19 tokens, the
model 0.6M parameters, and the questions are all sums of two numbers below 100.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AddedToken, Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

from grpo_trainer.config import ShapeConfig
from grpo_trainer.loading import load_config
from grpo_trainer.rollout.engine import Engine, Sampling
from grpo_trainer.rollout.transformers_engine import TransformersEngine, stop_ids_of
from grpo_trainer.stages.sft import Sft, examples_of, supervise
from grpo_trainer.verdicts import Judging

PAD, END = "<pad>", "<end>"
CHARACTERS = (*"0123456789+=}", "Ġ")
LAYOUT = ("<think>", "</think>", "\\boxed{")
NUMBERS = 100
UNSEEN = 1000
WANTED, LOOK_EVERY, LOOK_AT, MOST_STEPS, LONGEST = 0.35, 20, 200, 800, 24

Progress = Callable[[int, float, float], None]
"""Told the step, its loss, and the share of right answers."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A question, what a good answer looks like, and the number wanted."""

    left: int
    right: int

    @property
    def question(self) -> str:
        return f"{self.left}+{self.right}="

    @property
    def gold(self) -> str:
        return str(self.left + self.right)

    @property
    def completion(self) -> str:
        """The ones are added, then the tens; the carry is left to the answer."""
        ones, tens = self.left % 10 + self.right % 10, self.left // 10 + self.right // 10
        return f"<think>{ones} {tens}</think>{self.boxed}"

    @property
    def boxed(self) -> str:
        return f"\\boxed{{{self.gold}}}"


@dataclass(frozen=True, slots=True)
class Sums:
    """All sums, cut in two: `seen` in training of either kind, `unseen` in none."""

    seen: tuple[Sum, ...]
    unseen: tuple[Sum, ...]


def sums(seed: int) -> Sums:
    every = [Sum(a, b) for a in range(NUMBERS) for b in range(NUMBERS)]
    random.Random(f"sums/{seed}").shuffle(every)
    return Sums(tuple(every[UNSEEN:]), tuple(every[:UNSEEN]))


def make_tokenizer() -> Any:
    """Qwen2's tokenizer over a vocabulary of digits, signs and the layout, with nothing to merge."""
    vocabulary = {token: place for place, token in enumerate((PAD, END, *CHARACTERS))}
    make: Any = Qwen2Tokenizer
    tokenizer = make(vocab=vocabulary, merges=[], unk_token=None, eos_token=END, pad_token=PAD)
    tokenizer.add_tokens([AddedToken(word, normalized=False, special=False) for word in LAYOUT])
    return tokenizer


def make_model(shape: ShapeConfig, seed: int, tokenizer: Any) -> Any:
    """A Qwen2 model of this shape with random weights."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=shape.vocab,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=128,
        tie_word_embeddings=shape.tied,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    make: Any = Qwen2ForCausalLM
    return make(config)


def make_start(folder: Path, seed: int, *, progress: Progress | None = None) -> float:
    """Writes a checkpoint that has the layout, and a part of the arithmetic, into `folder`.

    It stops at a share of right answers that leaves the reinforcement something to do, and something to
    begin with. Returns that share, on questions of the training.
    """
    tokenizer = make_tokenizer()
    shape = load_config("tiny-cpu").model.shape
    if shape is None:
        raise ValueError("the preset tiny-cpu has lost its model.shape")
    model = make_model(shape, seed, tokenizer)
    seen = sums(seed).seen
    examples = examples_of([encoded(tokenizer, one) for one in seen])
    accuracy = 0.0
    for step, loss in enumerate(supervise(model, examples, Sft(steps=MOST_STEPS, seed=seed)), start=1):
        if step % LOOK_EVERY == 0:
            accuracy = share_right(model, tokenizer, seen[:LOOK_AT], seed=step)
            if progress is not None:
                progress(step, loss, accuracy)
            if accuracy >= WANTED:
                break
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return accuracy


def share_right(model: Any, tokenizer: Any, some: Sequence[Sum], *, seed: int) -> float:
    """Share of sampled answers, at temperature 1, that end in the right box."""
    engine = TransformersEngine(model, stop_ids_of(model, tokenizer))
    prompts = [encoded(tokenizer, one)[0] for one in some]
    sampling = Sampling(temperature=1.0, max_tokens=LONGEST, seed=seed)
    groups = engine.generate(prompts, 1, sampling)
    right = sum(
        str(tokenizer.decode(list(group.answers[0].content_ids))).endswith(some[group.place].boxed)
        for group in groups
    )
    return right / len(some)


def accuracy_by_judge(
    engine: Engine, judge: Judging, tokenizer: Any, some: Sequence[Sum], *, seed: int
) -> float:
    """Share of sampled answers, at temperature 1, that the verifier finds right: one answer a question."""
    sampling = Sampling(temperature=1.0, max_tokens=LONGEST, seed=seed)
    pending = []
    for group in engine.generate([encoded(tokenizer, one)[0] for one in some], 1, sampling):
        one = some[group.place]
        completion = tokenizer.decode(list(group.answers[0].content_ids))
        pending.append(judge.submit([{"prompt": one.question, "gold": one.gold, "completion": completion}]))
    verdicts = [verdict for future in pending for verdict in future.result()]
    decided = [verdict for verdict in verdicts if verdict.outcome != "no_verdict"]
    return sum(verdict.outcome == "right" for verdict in decided) / len(decided)


def encoded(tokenizer: Any, one: Sum) -> tuple[Sequence[int], Sequence[int]]:
    """Prompt and answer as ids, the end included."""
    prompt = tokenizer.encode(one.question, add_special_tokens=False)
    answer = tokenizer.encode(one.completion, add_special_tokens=False)
    return prompt, [*answer, tokenizer.eos_token_id]


def write_questions(path: Path, some: Sequence[Sum]) -> None:
    """Questions and golds as data.train takes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        json.dumps({"id": f"{one.left}+{one.right}", "question": one.question, "gold": one.gold})
        for one in some
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
