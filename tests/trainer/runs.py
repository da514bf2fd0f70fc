"""Whole runs for a test: a tiny start, a data file, and a judge without a network."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from grpo_trainer.config import TrainConfig
from grpo_trainer.loading import load_config
from grpo_trainer.tiny import sums, write_questions
from grpo_trainer.verdicts import Judge
from tests.trainer.tiny_models import tiny_model, tiny_tokenizer
from verifier_service.client import AsyncClient

Rule = Callable[[dict[str, Any]], float | None]


def write_start(folder: Path, *, questions: int = 40, **changes: Any) -> list[str]:
    """A checkpoint of random weights and a data file; the overrides that name them. changes: to the shape."""
    tiny_model(**changes).save_pretrained(folder / "start")
    tiny_tokenizer().save_pretrained(folder / "start")
    write_questions(folder / "train.jsonl", sums(0).seen[:questions])
    return places_of(folder)


def places_of(folder: Path) -> list[str]:
    return [f"model.path={folder / 'start'}", f"data.train={folder / 'train.jsonl'}"]


def config_of(folder: Path, *words: str, **changes: Any) -> TrainConfig:
    """A run of 4 steps of 4 questions x 4 answers, in `folder`/run. changes: to the model's shape."""
    write_start(folder, **changes)
    return config_on(folder, *words)


def config_on(folder: Path, *words: str) -> TrainConfig:
    """The same, where the start has been written."""
    small = ["steps=4", "batch.answers_per_step=16", "batch.group_size=4", "sampling.max_tokens=10"]
    places = [*places_of(folder), f"output={folder / 'run'}", "log.tensorboard=false"]
    return load_config("tiny-cpu", overrides=[*places, *small, *words])


def odd_pays(item: dict[str, Any]) -> float | None:
    """A rule that random answers meet half of the time."""
    return float(item.get("completion_tokens", 1) % 2)


def probe_or(rule: Rule) -> Rule:
    return lambda item: 1.0 if item["prompt"] == "What is 2 + 2?" else rule(item)


@contextmanager
def judged_by(rule: Rule, config: TrainConfig, said: list[str] | None = None) -> Iterator[Judge]:
    """A judge whose service is a rule: a number, or None for no verdict."""
    rule = probe_or(rule)

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/golds":
            golds = json.loads(request.content)["golds"]
            return httpx.Response(
                200, json={"results": [{"index": i, "ok": True} for i in range(len(golds))]}
            )
        return httpx.Response(
            200, json=_scored([rule(item) for item in json.loads(request.content)["items"]])
        )

    client = AsyncClient("http://judge", transport=httpx.MockTransport(respond))
    with Judge(config.reward, (said if said is not None else []).append, client=client) as judge:
        yield judge


def _scored(rewards: list[float | None]) -> dict[str, Any]:
    verdicts = [None if r is None else "correct" if r > 0 else "incorrect" for r in rewards]
    results = [
        {"index": i, "status": "ok", "reward": r, "verdict": v, "scores": {"accuracy": r}}
        for i, (r, v) in enumerate(zip(rewards, verdicts, strict=True))
    ]
    names = {"profile": "accuracy", "profile_hash": "p", "engine": "e", "errors": 0}
    return {"results": results, "rewards": rewards, **names}
