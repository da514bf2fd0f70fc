"""TRL: GRPO, RLOO and AsyncGRPO; also for Unsloth and axolotl, which call as TRL does.

    from verifier_service.adapters.for_trl import reward_function
    GRPOTrainer(..., reward_funcs=reward_function("http://HOST:8000", profile="r1-zero"))

Where there is no verdict the reward is None: TRL leaves the completion out. `async_reward_function` is awaited by
TRL together with other rewards that are asynchronous; alone it is no faster.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any

from verifier_service.adapters.common import Remote, code_of, error_flag, gold_column, item_of
from verifier_service.conversation import encoded
from verifier_service.schema import ProfileSpec, Result

# Columns of a data set that the service reads where they are there.
COLUMNS = ("data_source",)
METRIC = "verifier/no_verdict"


class _Asking:
    """Of the functions below. Picklable.

    gold: the column with the reference answers; by default one of those that POST /score knows.
    columns: columns that are sent as fields of the item, such as choices, unit or language.
    prefilled_think: the chat template ends with the opening <think>.
    max_tokens: the longest completion, for the reward `overlong`; sends the lengths along.
    options: those of `common.Remote`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        name: str = "verifier",
        gold: str | None = None,
        columns: Sequence[str] = COLUMNS,
        prefilled_think: bool = False,
        max_tokens: int | None = None,
        **options: Any,
    ) -> None:
        self.__name__ = name
        self.remote = Remote(url, **{"on_no_verdict": None, **options})
        self._gold = gold
        self._columns = tuple(columns)
        self._prefilled = prefilled_think
        self._max_tokens = max_tokens

    def items(
        self, prompts: Sequence[Any], completions: Sequence[Any], given: dict[str, Any]
    ) -> list[dict[str, Any]]:
        golds = gold_column(given, self._gold)
        items = [
            item_of(completion, gold, prompt)
            for prompt, completion, gold in zip(prompts, completions, golds, strict=True)
        ]
        for place, item in enumerate(items):
            item |= {name: given[name][place] for name in self._columns if given.get(name) is not None}
            if self._prefilled:
                item["prefilled_think"] = True
            if self._max_tokens is not None and given.get("completion_ids") is not None:
                tokens = len(given["completion_ids"][place])
                item |= {"max_tokens": self._max_tokens, "completion_tokens": tokens}
        return items


class RewardFunction(_Asking):
    """The whole reward of the profile, as one function of TRL. Synchronous."""

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **given: Any
    ) -> list[float | None]:
        results = self.remote.judge(self.items(prompts, completions, given))
        report(results, given)
        return [self.remote.paid(result) for result in results]


class AsyncRewardFunction(_Asking):
    """The same, to be awaited. As an object TRL knows it for what it is from 1.16 on."""

    async def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **given: Any
    ) -> list[float | None]:
        results = await self.remote.ajudge(self.items(prompts, completions, given))
        report(results, given)
        return [self.remote.paid(result) for result in results]


class Component:
    """One reward of a profile. Those of one profile share one call; TRL adds them up."""

    def __init__(self, shared: "_Shared", name: str, *, first: bool) -> None:
        self.__name__ = name
        self._shared = shared
        self._first = first

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **given: Any
    ) -> list[float | None]:
        results = self._shared.results(self._shared.function.items(prompts, completions, given))
        if self._first:
            report(results, given)
        return [
            self._shared.function.remote.or_rule(result, result.components.get(self.__name__, 0.0))
            for result in results
        ]


class _Shared:
    """The results of the last batch, for as many functions as ask for them."""

    def __init__(self, function: RewardFunction) -> None:
        self.function = function
        self._forget()

    def _forget(self) -> None:
        self._lock = Lock()
        self._asked: str | None = None
        self._results: list[Result] = []

    def results(self, items: list[dict[str, Any]]) -> list[Result]:
        # As it is sent: golds may be arrays, which compare to arrays.
        asked = encoded(items)
        with self._lock:
            if asked != self._asked:
                self._results = self.function.remote.judge(items)
                self._asked = asked
            return self._results

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()


def reward_function(url: str | None = None, **options: Any) -> RewardFunction:
    """One function with the whole reward; options as those of RewardFunction."""
    return RewardFunction(url, **options)


def async_reward_function(url: str | None = None, **options: Any) -> AsyncRewardFunction:
    """The same, asynchronous."""
    return AsyncRewardFunction(url, **options)


def reward_functions(
    url: str | None = None, names: Sequence[str] | None = None, **options: Any
) -> list[Component]:
    """One function per reward of the profile, to be summed by the trainer (reward_weights all 1).

    names: of the rewards; by default all of the profile, for which the service is asked now.
    """
    shared = _Shared(RewardFunction(url, **options))
    found = list(_names(shared.function.remote) if names is None else names)
    return [Component(shared, name, first=name == found[0]) for name in found]


def _names(remote: Remote) -> list[str]:
    info = remote.client.info()
    if isinstance(remote.profile, ProfileSpec):
        return list(remote.profile.rewards)
    if isinstance(remote.profile, Mapping):
        return list(remote.profile["rewards"])
    name = remote.profile or info.default_profile
    if name not in info.profiles:
        raise ValueError(f'the service has no profile "{name}"; known: {", ".join(sorted(info.profiles))}')
    return list(info.profiles[name].rewards)


def report(results: Sequence[Result], given: dict[str, Any]) -> None:
    """Verdicts into the table of completions and the share without one into the metrics, where TRL takes them."""
    log_extra, log_metric = given.get("log_extra"), given.get("log_metric")
    if callable(log_extra):
        log_extra("verdict", [result.verdict or code_of(result) for result in results])
        log_extra("extracted", [result.extracted or "" for result in results])
    if callable(log_metric) and results:
        log_metric(METRIC, sum(map(error_flag, results)) / len(results))


@cache
def _default() -> RewardFunction:
    return RewardFunction()


def verifier(prompts: Sequence[Any], completions: Sequence[Any], **given: Any) -> list[float | None]:
    """For command lines and files that name a function: VERIFIER_URL says where, and under which profile."""
    return _default()(prompts, completions, **given)


@cache
def _async_default() -> AsyncRewardFunction:
    return AsyncRewardFunction()


async def async_verifier(
    prompts: Sequence[Any], completions: Sequence[Any], **given: Any
) -> list[float | None]:
    """The same, asynchronous: a function, which every TRL that awaits rewards knows for one."""
    return await _async_default()(prompts, completions, **given)
