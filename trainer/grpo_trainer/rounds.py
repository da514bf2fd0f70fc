"""Rounds of answers, one after another: each drawn when it is asked for, or while the one before is learned from."""

import threading
from concurrent.futures import Future

from grpo_trainer.config import TrainConfig
from grpo_trainer.rollout.engine import RolloutError
from grpo_trainer.sampling import Round, Sampler
from grpo_trainer.syncing import Syncing


class Rounds:
    """rollout.staleness=0: a round is drawn by the weights that learn from it. 1: by those of one round before.

    The engine gets new weights only between two rounds, so all answers of a round are by one version.
    """

    def __init__(self, sampler: Sampler, syncing: Syncing, config: TrainConfig) -> None:
        self._sampler = sampler
        self._syncing = syncing
        self._config = config
        self._ahead: Future[Round] | None = None

    def take(self, step: int) -> Round:
        """The round that feeds the step after `step`. Raises what drawing it raises."""
        if self._ahead is None:
            drawn = self._sampler.fill(step=step + 1, version=step)
        else:
            drawn = self._ahead.result()
        self._check(drawn, step)
        if self._config.rollout.staleness:
            self._draw_ahead(step, drawn.version)
        return drawn

    def _check(self, drawn: Round, step: int) -> None:
        versions = {answer.version for answer in drawn.answers}
        oldest = step - self._config.rollout.staleness * self._config.batch.steps_per_round
        if versions != {drawn.version} or drawn.version < oldest:
            raise RolloutError(
                f"a round for step {step + 1} holds answers by weights of the steps {sorted(versions)}, and not "
                f"by those of step {drawn.version}"
            )

    def learned(self, step: int) -> None:
        """All updates of the round are made: `step` of them in all."""
        if not self._config.rollout.staleness:
            self._syncing.to(step)

    def _draw_ahead(self, step: int, version: int) -> None:
        """Starts the next round with the weights of now, which will be one round old when it is learned from."""
        self._ahead = None
        following = step + self._config.batch.steps_per_round
        if following >= self._config.steps:
            return
        if version != step:
            self._syncing.to(step)
        ahead: Future[Round] = Future()

        def draw() -> None:
            try:
                ahead.set_result(self._sampler.fill(step=following + 1, version=step))
            except BaseException as error:  # noqa: BLE001 (it is raised again, where the round is taken)
                ahead.set_exception(error)

        # A daemon: where the run ends early, nobody waits for a round that nobody will learn from.
        threading.Thread(target=draw, name="next round", daemon=True).start()
        self._ahead = ahead
