"""Fills a round: questions in the order of the data, answers from the engine, verdicts from the service.

Groups are sent to the service one by one as they end, so scoring costs time only where generation is over
before the verdicts are in.

Where several processes sample, the questions are dealt to them like cards, so that together they ask what one
process would have asked, in every step of the round.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from grpo_trainer.config import TrainConfig
from grpo_trainer.data import DataOrder, Problem
from grpo_trainer.ranks import ALONE, Ranks
from grpo_trainer.rollout.engine import Answer, Engine, Sampling
from grpo_trainer.templates import Prompt
from grpo_trainer.verdicts import Judging, Verdict

Asked = tuple[Problem, Prompt]
Decode = Callable[[Sequence[int]], str]


class SamplingError(RuntimeError):
    """A round that cannot be filled; the message says what to change."""


@dataclass(frozen=True, slots=True)
class ScoredGroup:
    """A question with its answers, as drawn, as read by the verifier, and as judged."""

    problem: Problem
    prompt: Prompt
    answers: tuple[Answer, ...]
    texts: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def right(self) -> int:
        return sum(v.outcome == "right" for v in self.verdicts)

    @property
    def decided(self) -> int:
        """Answers that are known to be right or wrong."""
        return sum(v.outcome != "no_verdict" for v in self.verdicts)

    @property
    def mixed(self) -> bool:
        """Some right and some wrong: the only groups that dynamic sampling keeps."""
        return 0 < self.right < self.decided


@dataclass(slots=True)
class RoundCounts:
    """How a round came about, on all processes together; seconds are those of this one.

    Dropped groups are those that dynamic sampling replaced.
    """

    asked: int = 0
    refills: int = 0
    dropped_right: int = 0
    dropped_wrong: int = 0
    dropped_unjudged: int = 0
    surplus: int = 0
    generate_s: float = 0.0
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """A full round. groups: those of this process.  position: in the order of the data, from where the next
    one goes on."""

    groups: tuple[ScoredGroup, ...]
    position: int
    max_tokens: int
    version: int
    counts: RoundCounts

    @property
    def answers(self) -> list[Answer]:
        return [answer for group in self.groups for answer in group.answers]

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict for group in self.groups for verdict in group.verdicts]


@dataclass(slots=True)
class Sampler:
    """Draws rounds. position: how many questions have been asked so far, by all processes, repeats included."""

    engine: Engine
    judge: Judging
    asked: Sequence[Asked]
    decode: Decode
    config: TrainConfig
    position: int = 0
    ranks: Ranks = ALONE
    clock: Callable[[], float] = time.perf_counter
    order: DataOrder = field(init=False)

    def __post_init__(self) -> None:
        self.order = DataOrder(len(self.asked), self.config.seed, self.config.data.shuffle)

    def fill(self, *, step: int, version: int) -> Round:
        """The round that feeds this step and those after it."""
        wanted = self.config.batch.questions_per_rollout
        max_tokens = self.config.sampling.limit_at(step)
        counts = RoundCounts()
        groups = self._drawn(wanted, max_tokens, counts)
        if self.config.sampling.filter == "accuracy":
            kept = self._mixed(groups, counts)
            while len(kept) < wanted:
                count = self._next_request(wanted, len(kept), counts)
                counts.refills += 1
                kept += self._mixed(self._drawn(count, max_tokens, counts), counts)
            counts.surplus = len(kept) - wanted
            groups = self.ranks.part(kept[:wanted])
        self.engine.rest()
        return Round(tuple(groups), self.position, max_tokens, version, counts)

    def _drawn(self, questions: int, max_tokens: int, counts: RoundCounts) -> list[ScoredGroup]:
        """Of the next questions of the data those of this process, answered and judged, in their order."""
        chosen = [self.asked[i] for i in self.ranks.part(self.order.indices(self.position, questions))]
        sampling = Sampling(
            temperature=self.config.sampling.temperature,
            max_tokens=max_tokens,
            seed=sampling_seed(self.config.seed, self.position, self.ranks.rank),
        )
        self.position += questions
        counts.asked += questions
        started = self.clock()
        pending: dict[int, tuple[tuple[Answer, ...], tuple[str, ...], Future[list[Verdict]]]] = {}
        prompts = [prompt.token_ids for _, prompt in chosen]
        for group in self.engine.generate(prompts, self.config.batch.group_size, sampling):
            texts = tuple(self.decode(answer.content_ids) for answer in group.answers)
            problem, prompt = chosen[group.place]
            items = items_for(problem, prompt, group.answers, texts, max_tokens)
            pending[group.place] = group.answers, texts, self.judge.submit(items)
        generated = self.clock()
        scored = []
        for place, (problem, prompt) in enumerate(chosen):
            answers, texts, verdicts = pending[place]
            scored.append(ScoredGroup(problem, prompt, answers, texts, tuple(verdicts.result())))
        counts.generate_s += generated - started
        counts.wait_s += self.clock() - generated
        return scored

    def _mixed(self, groups: Sequence[ScoredGroup], counts: RoundCounts) -> list[ScoredGroup]:
        """Groups of all processes that are worth training on, in the order of the data.

        By accuracy alone: the shaped reward can differ where all are wrong.
        """
        drawn = self.ranks.together(groups)
        for group in drawn:
            if not group.mixed:
                if not group.decided:
                    counts.dropped_unjudged += 1
                elif group.right:
                    counts.dropped_right += 1
                else:
                    counts.dropped_wrong += 1
        return [group for group in drawn if group.mixed]

    def _next_request(self, wanted: int, kept: int, counts: RoundCounts) -> int:
        """How many further questions: as many as will be missing at the rate so far, within the cap.

        Raises SamplingError at the cap.
        """
        refills = self.config.sampling.max_refills or 0
        left = wanted * (1 + refills) - counts.asked
        if left <= 0:
            raise SamplingError(
                f"{counts.asked} questions gave {kept} groups of the {wanted} wanted: {counts.dropped_right} were "
                f"all right, {counts.dropped_wrong} all wrong, {counts.dropped_unjudged} without verdicts. Choose "
                "questions that the model solves now and then, raise sampling.max_refills, or set "
                "sampling.filter=none"
            )
        missing = wanted - kept
        return min(ceil(missing * counts.asked / max(kept, 1)), wanted, left)


def items_for(
    problem: Problem, prompt: Prompt, answers: Sequence[Answer], texts: Sequence[str], max_tokens: int
) -> list[Mapping[str, Any]]:
    """A group as items of /score."""
    return [
        {
            "id": f"{problem.id}/{number}",
            "group": problem.id,
            "prompt": problem.question,
            "gold": problem.gold,
            "completion": text,
            "prefilled_think": prompt.prefilled_think,
            "completion_tokens": len(answer.token_ids),
            "max_tokens": max_tokens,
            "truncated": answer.truncated,
            **problem.facts,
        }
        for number, (answer, text) in enumerate(zip(answers, texts, strict=True))
    ]


def sampling_seed(seed: int, position: int, rank: int) -> int:
    """A seed of its own for every place in the data and every process, so that a resumed run draws the same."""
    return random.Random(f"{seed}/{position}/{rank}" if rank else f"{seed}/{position}").getrandbits(63)
