"""The policy's weights on their way to the engine, and the proof that they have arrived.

An engine can go on sampling from old weights, or from a part of them, and its answers look right all the same.
So after each transfer it draws a few answers, and its log-probabilities are held against the policy's own.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from grpo_trainer.batches import Sequences, sampler_logprobs
from grpo_trainer.config import TrainConfig
from grpo_trainer.policy import Policy
from grpo_trainer.rollout.engine import Engine, RolloutError, Sampling

PROBE_TOKENS = 32
"""Of a probe's answer, at most."""
LARGEST_GAP, MEAN_GAP = 1e-3, 0.1
"""In nats: at any token in float32 (vLLM and transformers were seen to differ by 4e-5), and on average in
bfloat16 (0.05)."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Between the log-probabilities of engine and trainer for the same tokens, in nats."""

    mean: float
    largest: float


@dataclass(slots=True)
class Syncing:
    """prompts: what the probe asks.  metrics: of the last transfer."""

    engine: Engine
    policy: Policy
    prompts: Sequence[Sequence[int]]
    say: Callable[[str], None]
    metrics: dict[str, float] = field(default_factory=dict)

    def to(self, version: int) -> None:
        """Hands over the weights. Raises RolloutError if the engine does not sample from them."""
        started = time.perf_counter()
        self.engine.sync(self.policy.full_weights(), version)
        self.metrics = {"time/sync": time.perf_counter() - started}
        config, rollout = self.policy.config, self.policy.config.rollout
        if rollout.engine == "transformers" or not rollout.probe:
            return
        gap = probe(self.engine, self.policy, self.prompts[: rollout.probe], config, version)
        self.metrics |= {"engine/probe_gap": gap.mean, "engine/probe_gap_max": gap.largest}
        if alarm := self._alarm(gap):
            if rollout.on_gap == "stop":
                raise RolloutError(f"{alarm}; rollout.on_gap=continue goes on all the same")
            self.say(alarm)

    def _alarm(self, gap: Gap) -> str | None:
        config = self.policy.config
        half = config.model.precision == "bfloat16"
        name, value = ("on average", gap.mean) if half else ("at most", gap.largest)
        limit = config.rollout.probe_gap or (MEAN_GAP if half else LARGEST_GAP)
        if value <= limit:
            return None
        return (
            f"the engine's log-probabilities differ from the policy's by {value:.2g} nats {name}, over "
            f"{limit:g} (rollout.probe_gap): it does not sample from the weights it was given, or not at "
            f"sampling.temperature={config.sampling.temperature:g} with processed log-probabilities"
        )


def probe(
    engine: Engine, policy: Policy, prompts: Sequence[Sequence[int]], config: TrainConfig, seed: int
) -> Gap:
    """Draws an answer to each prompt and asks both for its log-probabilities. A number that is none is a gap."""
    length = min(PROBE_TOKENS, config.sampling.max_tokens)
    sampling = Sampling(config.sampling.temperature, length, seed)
    groups = sorted(engine.generate(prompts, 1, sampling), key=lambda group: group.place)
    answers = [group.answers[0] for group in groups]
    sequences = Sequences(
        tuple(tuple(prompts[group.place]) for group in groups), tuple(answer.token_ids for answer in answers)
    )
    ours_BT = policy.logprobs(sequences)
    theirs_BT = sampler_logprobs(answers, sequences.width)
    gaps_N = (ours_BT - theirs_BT)[sequences.mask()].abs().nan_to_num(float("inf"))
    return Gap(float(gaps_N.mean()), float(gaps_N.max()))
