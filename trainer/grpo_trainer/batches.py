"""Answers as tensors: what one round of sampling gives to the policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grpo_trainer.objective import answer_mask
from grpo_trainer.rollout.engine import Answer


@dataclass(frozen=True, slots=True)
class Sequences:
    """Answers behind their prompts, without padding. B answers; tensors are made per micro-batch."""

    prompts: tuple[tuple[int, ...], ...]
    answers: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def width(self) -> int:
        """Tokens of the longest answer: the T of every tensor of this round."""
        return max(map(len, self.answers), default=1)

    def mask(self) -> Tensor:
        """mask_BT, bool: the tokens of each answer."""
        lengths_B = torch.tensor([len(a) for a in self.answers], dtype=torch.long)
        return answer_mask(lengths_B, self.width)


@dataclass(frozen=True, slots=True)
class Rows:
    """A micro-batch as the model reads it. rows: places of its answers in the round.

    ids_BL: prompt and answer, padded on the right.  targets_BT: the answers' tokens.
    predictors_BL: bool, the columns whose output predicts an answer's token, as many as mask_BT has tokens
    and in the same order.  mask_BT: bool, from lengths.
    """

    rows: Tensor
    ids_BL: Tensor
    targets_BT: Tensor
    predictors_BL: Tensor
    mask_BT: Tensor


def micro_batches(sequences: Sequences, rows: Sequence[int], size: int) -> Iterator[Rows]:
    """These answers in parts of at most `size`, those of like length together: less padding."""
    ordered = sorted(rows, key=lambda r: len(sequences.prompts[r]) + len(sequences.answers[r]))
    for start in range(0, len(ordered), size):
        yield _rows(sequences, ordered[start : start + size])


def _rows(sequences: Sequences, rows: Sequence[int]) -> Rows:
    prompt_B = torch.tensor([len(sequences.prompts[r]) for r in rows])
    answer_B = torch.tensor([len(sequences.answers[r]) for r in rows])
    ids_BL = torch.zeros(len(rows), int((prompt_B + answer_B).max()), dtype=torch.long)
    targets_BT = torch.zeros(len(rows), int(answer_B.max()), dtype=torch.long)
    for place, row in enumerate(rows):
        prompt, answer = sequences.prompts[row], sequences.answers[row]
        ids_BL[place, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        targets_BT[place, : len(answer)] = torch.tensor(answer)
    columns_L = torch.arange(ids_BL.shape[1])
    first_B1 = prompt_B[:, None] - 1
    predictors_BL = (columns_L >= first_B1) & (columns_L < first_B1 + answer_B[:, None])
    mask_BT = answer_mask(answer_B, targets_BT.shape[1])
    return Rows(torch.tensor(rows), ids_BL, targets_BT, predictors_BL, mask_BT)


def sampler_logprobs(answers: Sequence[Answer], width: int) -> Tensor:
    """What the engine said of its own tokens: sampler_logprobs_BT, 0 in padding."""
    result_BT = torch.zeros(len(answers), width)
    for row, answer in enumerate(answers):
        result_BT[row, : len(answer.logprobs)] = torch.tensor(answer.logprobs)
    return result_BT
