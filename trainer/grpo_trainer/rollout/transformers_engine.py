"""Sampling with a model of transformers in this process: no server, no second copy in float32.

The decoding loop is written out, because it must give what `generate` does not: the log-probability of each
token under the distribution that it was drawn from, and each group as soon as its last answer ends, so that
it can be scored while the others are still being written.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from grpo_trainer.objective import token_scores
from grpo_trainer.rollout.engine import Answer, Finish, Group, Sampling, Weights

SHRINK_AT = 0.75
"""Finished rows are dropped from the batch once at most this share is still being written."""


class TransformersEngine:
    """Engine over a causal language model.

    model: in the policy's own precision the policy's module itself, which `sync` then need not copy;
    in a lower precision a copy of its own.
    stop_ids: every id that ends an answer.  batch: answers generated at once; None: all of them.
    """

    def __init__(self, model: Any, stop_ids: Iterable[int], *, batch: int | None = None) -> None:
        self._model = model
        self._device = next(model.parameters()).device
        self._stop_ids = torch.tensor(sorted(set(stop_ids)), dtype=torch.long, device=self._device)
        self._batch = batch
        self._version = 0
        if not len(self._stop_ids):
            raise ValueError("no id ends an answer: the tokenizer and the checkpoint name no eos token")

    @torch.no_grad()
    def sync(self, weights: Weights, version: int) -> None:
        mine = dict(self._model.named_parameters(remove_duplicate=False))
        for name, weight in weights:
            if mine[name].data_ptr() != weight.data_ptr():
                mine[name].copy_(weight)
        self._version = version

    def rest(self) -> None:
        """Its cache is gone with the last answer."""

    def numbers(self) -> dict[str, float]:
        return {}

    def close(self) -> None: ...

    def generate(
        self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling
    ) -> Iterator[Group]:
        if not all(prompts):
            raise ValueError("a prompt without tokens: the model has nothing to continue")
        rows = [place for place in range(len(prompts)) for _ in range(group_size)]
        open_groups = {place: _OpenGroup(group_size) for place in range(len(prompts))}
        generator = torch.Generator(self._device).manual_seed(sampling.seed)
        size = min(self._batch or len(rows), len(rows)) or 1
        for start in range(0, len(rows), size):
            drawing = _Drawing(self._model, self._stop_ids, sampling, generator)
            part = rows[start : start + size]
            for row, answer in drawing.run([prompts[place] for place in part], self._version):
                group = open_groups[part[row]]
                if group.add(start + row, answer):
                    yield group.closed(part[row])


@dataclass(slots=True)
class _OpenGroup:
    """Answers to one prompt, kept by the row that drew them: the order in which they end says nothing."""

    size: int
    answers: dict[int, Answer] = field(default_factory=dict)

    def add(self, row: int, answer: Answer) -> bool:
        """Whether the group is complete with this answer."""
        self.answers[row] = answer
        return len(self.answers) == self.size

    def closed(self, place: int) -> Group:
        return Group(place, tuple(self.answers[row] for row in sorted(self.answers)))


class _Drawing:
    """One batch on its way from prompts to answers."""

    def __init__(self, model: Any, stop_ids: Tensor, sampling: Sampling, generator: torch.Generator) -> None:
        self._model = model
        self._stop_ids = stop_ids
        self._sampling = sampling
        self._generator = generator
        self._device = stop_ids.device

    def run(self, prompts: Sequence[Sequence[int]], version: int) -> Iterator[tuple[int, Answer]]:
        """Rows with their answers, in the order in which they end."""
        training = self._model.training
        self._model.eval()
        try:
            yield from self._run(prompts, version)
        finally:
            self._model.train(training)

    def _run(self, prompts: Sequence[Sequence[int]], version: int) -> Iterator[tuple[int, Answer]]:
        limit = self._sampling.max_tokens
        alive = list(range(len(prompts)))
        tokens: list[list[int]] = [[] for _ in prompts]
        logprobs: list[list[float]] = [[] for _ in prompts]
        logits_BV, state = self._begin(prompts)
        for length in range(1, limit + 1):
            ids_B, logprobs_B = self._draw(logits_BV)
            stopped = torch.isin(ids_B, self._stop_ids).tolist()
            ended = set()
            for place, (row, token, logprob) in enumerate(
                zip(state.rows, ids_B.tolist(), logprobs_B.tolist(), strict=True)
            ):
                if row is None:
                    continue
                tokens[row].append(token)
                logprobs[row].append(logprob)
                if stopped[place] or length == limit:
                    ended.add(row)
                    finish: Finish = "stop" if stopped[place] else "length"
                    yield row, Answer(tuple(tokens[row]), tuple(logprobs[row]), finish, version)
            alive = [row for row in alive if row not in ended]
            if not alive:
                return
            logits_BV = self._advance(state.without(ended, ids_B, len(alive)))

    @torch.no_grad()
    def _begin(self, prompts: Sequence[Sequence[int]]) -> "tuple[Tensor, _State]":
        """Reads the prompts, each once however many answers it gets."""
        unique = list(dict.fromkeys(map(tuple, prompts)))
        where = {prompt: place for place, prompt in enumerate(unique)}
        width = max(map(len, unique))
        # Padding on the left, so that all answers start in one column. What stands there is masked by length.
        ids_PT = torch.zeros(len(unique), width, dtype=torch.long)
        mask_PT = torch.zeros(len(unique), width, dtype=torch.long)
        for place, prompt in enumerate(unique):
            ids_PT[place, width - len(prompt) :] = torch.tensor(prompt)
            mask_PT[place, width - len(prompt) :] = 1
        ids_PT, mask_PT = ids_PT.to(self._device), mask_PT.to(self._device)
        cache = DynamicCache(config=self._model.config)
        output = self._model(
            input_ids=ids_PT,
            attention_mask=mask_PT,
            position_ids=(mask_PT.cumsum(-1) - 1).clamp(min=0),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        index_B = torch.tensor([where[tuple(prompt)] for prompt in prompts], device=self._device)
        cache.batch_select_indices(index_B)
        state = _State(cache, mask_PT[index_B], mask_PT.sum(-1)[index_B], list(range(len(prompts))))
        return output.logits[:, -1][index_B], state

    @torch.no_grad()
    def _advance(self, state: "_State") -> Tensor:
        """Logits after one more token a row."""
        output = self._model(
            input_ids=state.last_B[:, None],
            attention_mask=state.mask_BT,
            position_ids=state.position_B[:, None] - 1,
            past_key_values=state.cache,
            use_cache=True,
        )
        logits_BV: Tensor = output.logits[:, -1]
        return logits_BV

    @torch.no_grad()
    def _draw(self, logits_BV: Tensor) -> tuple[Tensor, Tensor]:
        """A token for each row, and its log-probability at the sampling temperature."""
        wide = torch.promote_types(logits_BV.dtype, torch.float32)
        probabilities_BV = torch.softmax(logits_BV.to(wide) / self._sampling.temperature, -1)
        ids_B = torch.multinomial(probabilities_BV, 1, generator=self._generator).squeeze(-1)
        scores = token_scores(logits_BV, ids_B, temperature=self._sampling.temperature, entropy=False)
        return ids_B, scores.logprobs_BT


@dataclass(slots=True)
class _State:
    """What the next forward pass needs. rows: which answer each row writes; None: it has ended."""

    cache: Any
    mask_BT: Tensor
    position_B: Tensor
    rows: list[int | None]
    last_B: Tensor = field(default_factory=lambda: torch.empty(0))

    def without(self, ended: set[int], ids_B: Tensor, alive: int) -> "_State":
        """One token further; ended rows are dropped once there are enough of them to be worth the copy."""
        self.rows = [None if row in ended else row for row in self.rows]
        if alive <= SHRINK_AT * len(self.rows):
            places = [place for place, row in enumerate(self.rows) if row is not None]
            index_B = torch.tensor(places, device=ids_B.device)
            self.cache.batch_select_indices(index_B)
            self.rows = [self.rows[place] for place in places]
            self.mask_BT, self.position_B = self.mask_BT[index_B], self.position_B[index_B]
            ids_B = ids_B[index_B]
        self.last_B = ids_B
        self.mask_BT = torch.cat([self.mask_BT, torch.ones_like(self.mask_BT[:, :1])], -1)
        self.position_B = self.position_B + 1
        return self


def stop_ids_of(model: Any, tokenizer: Any) -> list[int]:
    """Every id that ends an answer: of the tokenizer, the model and its generation config together.

    Chat models often have two (end of turn, end of text), each named in another place.
    """
    found: set[int] = set()
    for source in (tokenizer, model.config, getattr(model, "generation_config", None)):
        ids = getattr(source, "eos_token_id", None)
        found.update(ids if isinstance(ids, list | tuple) else [] if ids is None else [ids])
    return sorted(found)
