"""verl: the reward loop (one sample a call, async) and the older batch manager.

    reward.custom_reward_function.path=pkg://verifier_service.adapters.for_verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.url=http://HOST:8000

Where there is no verdict: score 0.0 and verifier_error 1.0, counted; or raised, with
reward_kwargs.on_no_verdict=raise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from verifier_service.adapters.common import Remote, error_flag, item_of, remote, score
from verifier_service.schema import Result

ON_NO_VERDICT = 0.0
# Passed where verl runs a reward model beside this function; the service needs neither.
NOT_OURS = frozenset({"reward_router_address", "reward_model_tokenizer"})


async def compute_score(
    data_source: str | None = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    url: str | None = None,
    prefilled_think: bool = False,
    **options: Any,
) -> dict[str, float]:
    """One sample. The keys are the same for every sample, as verl wants it.

    The question is taken from extra_info["question"], where it is there. options: those of `common.Remote`.
    """
    judge = _remote(url, options)
    item = _item(data_source, solution_str, ground_truth, extra_info, prefilled_think)
    return _reply(judge, (await judge.ajudge([item]))[0])


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    *,
    url: str | None = None,
    prefilled_think: bool = False,
    **options: Any,
) -> list[dict[str, float]]:
    """A batch, for `reward_model.reward_manager=batch`."""
    judge = _remote(url, options)
    extras = [None] * len(solution_strs) if extra_infos is None else extra_infos
    items = [
        _item(source, solution, truth, extra, prefilled_think)
        for source, solution, truth, extra in zip(
            data_sources, solution_strs, ground_truths, extras, strict=True
        )
    ]
    return [_reply(judge, result) for result in judge.judge(items)]


def _remote(url: str | None, options: dict[str, Any]) -> Remote:
    ours = {name: value for name, value in options.items() if name not in NOT_OURS}
    return remote(url, **{"on_no_verdict": ON_NO_VERDICT, **ours})


def _item(source: Any, solution: str, truth: Any, extra: Any, prefilled_think: bool) -> dict[str, Any]:
    question = extra.get("question") if isinstance(extra, Mapping) else None
    item = item_of(
        solution,
        truth,
        question if isinstance(question, str) else None,
        data_source=None if source is None else str(source),
    )
    return {**item, "prefilled_think": True} if prefilled_think else item


def _reply(judge: Remote, result: Result) -> dict[str, float]:
    return {
        "score": judge.number(result),
        "acc": float(result.verdict == "correct"),
        "format": score(result, "format"),
        "verifier_error": error_flag(result),
    }
