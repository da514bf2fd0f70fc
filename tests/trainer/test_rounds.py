"""Rounds drawn ahead, over fake servers: how stale they are, what is weighed, and how a run ends."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.loop import Summary, train  # noqa: E402
from grpo_trainer.observe.live import Quiet  # noqa: E402
from grpo_trainer.observe.metrics import read_metrics  # noqa: E402
from grpo_trainer.preparation import assemble  # noqa: E402
from grpo_trainer.rollout import Answer, RolloutError  # noqa: E402
from grpo_trainer.rounds import Rounds  # noqa: E402
from grpo_trainer.sampling import Round, RoundCounts, ScoredGroup  # noqa: E402
from tests.trainer.fake_vllm import FakeVllm, fake_vllm  # noqa: E402
from tests.trainer.runs import config_of, judged_by, odd_pays  # noqa: E402


def served(folder: Path, fake: FakeVllm, *words: str) -> TrainConfig:
    limits = ["rollout.silence_s=5", "rollout.outage_s=0.5"]
    return config_of(folder, "rollout.engine=vllm-server", f"rollout.servers=['{fake.url}']", *limits, *words)


def run(config: TrainConfig, *, resume: bool = False, rule: Any = odd_pays) -> Summary:
    with judged_by(rule, config) as judge:
        parts = assemble(config, judge, lambda text: None, resume=resume)
        with closing(parts.engine):
            return train(parts, Quiet())


def rows_of(config: TrainConfig) -> list[dict[str, Any]]:
    return read_metrics(Path(config.output) / "metrics.jsonl")


FAST = ["optimizer.lr=1e-2", "optimizer.warmup_steps=0"]


def test_by_default_every_round_is_drawn_by_the_weights_that_learn_from_it(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        config = served(tmp_path, fake, *FAST)
        run(config)
    rows = rows_of(config)
    assert [row["sampling/staleness"] for row in rows] == [0, 0, 0, 0]
    assert max(row["engine/logprob_gap_max"] for row in rows) < 1e-3
    assert max(row["engine/weight_raw_max"] for row in rows) == pytest.approx(1.0, abs=1e-3)


def test_a_round_drawn_ahead_is_one_round_old_and_its_tokens_are_weighed(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        config = served(tmp_path, fake, "rollout.staleness=1", "batch.steps_per_rollout=2", "steps=8", *FAST)
        run(config)
        updates = fake.asked.count("/collective_rpc")
    rows = [row for row in rows_of(config) if "sampling/staleness" in row]
    assert [row["step"] for row in rows] == [1, 3, 5, 7]
    assert [row["sampling/staleness"] for row in rows] == [0, 2, 2, 2]
    assert rows[0]["engine/logprob_gap_max"] < 1e-3
    assert all(row["engine/logprob_gap_max"] > 1e-2 for row in rows[1:])
    assert all(0.9 < row["engine/weight"] < 1.1 and row["engine/weight_raw_max"] > 1.01 for row in rows[1:])
    # At the start, and before the rounds 3 and 4: nothing is drawn after the last update.
    assert updates == 3


def test_the_questions_of_rounds_drawn_ahead_are_those_of_the_data_in_order(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        config = served(tmp_path, fake, "rollout.staleness=1", "rollout.probe=0")
        run(config)
        ahead = list(fake.prompts)
    with fake_vllm() as fake:
        run(served(tmp_path, fake, "rollout.probe=0", f"output={tmp_path / 'other'}"))
        assert sorted(map(tuple, fake.prompts)) == sorted(map(tuple, ahead))
    assert [row["sampling/position"] for row in rows_of(config)] == [4, 8, 12, 16]


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_run_without_servers_keeps_what_it_has_learned_and_goes_on(tmp_path: Path, staleness: int) -> None:
    with fake_vllm() as fake:
        config = served(tmp_path, fake, f"rollout.staleness={staleness}")

        def fatal(item: dict[str, Any]) -> float | None:
            fake.deaf = len(fake.prompts) >= 8 + 16
            return odd_pays(item)

        with pytest.raises(RolloutError, match="--resume"):
            run(config, rule=fatal)
        done = rows_of(config)[-1]["step"]
        assert 1 <= done < 4
        checkpoints = sorted((tmp_path / "run" / "checkpoints").iterdir())
        assert [path.name for path in checkpoints] == [f"step-{done:06d}"]
        fake.restart()
        assert run(config, resume=True).steps == 4
    assert [row["step"] for row in rows_of(config)] == [1, 2, 3, 4]
    assert [row["sampling/position"] for row in rows_of(config)] == [4, 8, 12, 16]


def test_what_the_judge_says_of_a_round_drawn_ahead_reaches_the_run(tmp_path: Path) -> None:
    class Broken(RuntimeError):
        pass

    class Breaking:
        def __init__(self, judge: Any) -> None:
            self.judge, self.seen = judge, 0

        def submit(self, items: Any) -> Any:
            self.seen += 1
            if self.seen > 6:
                raise Broken
            return self.judge.submit(items)

    with fake_vllm() as fake:
        config = served(tmp_path, fake, "rollout.staleness=1")
        with judged_by(odd_pays, config) as judge:
            parts = assemble(config, judge, lambda text: None, through=Breaking)
            with closing(parts.engine), pytest.raises(Broken):
                train(parts, Quiet())


def drawn_by(*versions: int, version: int) -> Round:
    answers = tuple(Answer((5, 1), (-0.5, -0.5), "stop", v) for v in versions)
    nothing: Any = None
    group = ScoredGroup(nothing, nothing, answers, ("",) * len(answers), ())
    return Round((group,), 4, 10, version, RoundCounts())


@pytest.mark.parametrize(
    "round_, staleness, refused",
    [
        (drawn_by(3, 3, version=3), 0, False),
        (drawn_by(2, 2, version=2), 1, False),
        (drawn_by(2, 2, version=2), 0, True),
        (drawn_by(1, 1, version=1), 1, True),
        (drawn_by(3, 2, version=3), 1, True),
    ],
)
def test_answers_older_than_allowed_or_of_several_versions_are_never_learned_from(
    round_: Round, staleness: int, refused: bool
) -> None:
    words = ["rollout.engine=vllm", f"rollout.staleness={staleness}"]
    nothing: Any = None
    rounds = Rounds(nothing, nothing, load_config("tiny-cpu", overrides=words))
    if refused:
        with pytest.raises(RolloutError, match="for step 4 holds answers by weights of the steps"):
            rounds._check(round_, 3)
    else:
        rounds._check(round_, 3)
