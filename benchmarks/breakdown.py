"""Where the CPU time of a cold item goes: each stage by itself, over the bodies of one seed, in a fresh process.

    python benchmarks/breakdown.py SEED BODIES ITEMS SAMPLES

Prints microseconds an item by stage as JSON. What the sum leaves of the time of the whole service is transport:
the kernel's copies, the event loop, HTTP.
"""

import gc
import json
import pickle
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from bodies import PROFILE, Maker, body

from verifier_service.choosing import Chooser
from verifier_service.equivalence import Context, decide
from verifier_service.extraction import offered_answer
from verifier_service.intake import judge_item
from verifier_service.judge import score_item, warm_up
from verifier_service.packing import packed, unpacked
from verifier_service.rewards.profile import load_profiles
from verifier_service.schema import Result, ScoreResponse
from verifier_service.scoring import item_key
from verifier_service.server.decoding import Decoder
from verifier_service.transcript import split_completion

InT = TypeVar("InT")
OutT = TypeVar("OutT")


class Stopwatch:
    """Microseconds an item by stage."""

    def __init__(self, items: int) -> None:
        self.stages: dict[str, float] = {}
        self._items = items

    def each(self, stage: str, work: Callable[[InT], OutT], values: Iterable[InT]) -> list[OutT]:
        began = time.process_time()
        done = [work(value) for value in values]
        self.stages[stage] = (time.process_time() - began) * 1e6 / self._items
        return done


def main(seed: int, bodies: int, items: int, samples: int) -> None:
    maker = Maker(seed, samples=samples)
    contents = [body(maker.batch(items)) for _ in range(bodies)]
    warm_up()
    profiles = load_profiles()
    profile = profiles[PROFILE]
    chosen = Chooser(profiles, PROFILE, {}).for_request(None, None)
    decoder = Decoder(items)
    decoder.score(b'{"items": [{"completion": "1", "gold": "1"}]}')
    gc.collect()
    gc.freeze()

    watch = Stopwatch(bodies * items)
    batches = watch.each("decode and check", decoder.score, contents)
    wire: list[Any] = [item for batch in batches for item in batch.items]
    judged = watch.each("to the judge's form", lambda item: judge_item(item, with_info=False), wire)
    sent = watch.each("pack", packed, judged)
    watch.each("key", lambda data: item_key(data, chosen), sent)
    arrived: list[Any] = watch.each("unpack", unpacked, sent)
    split = watch.each("split", lambda item: split_completion(item.completion), arrived)
    offered = watch.each("extract", lambda transcript: offered_answer(transcript, profile.rules), split)
    pairs = list(zip(arrived, offered, strict=True))
    watch.each(
        "decide",
        lambda pair: decide(pair[0].gold, pair[1], profile.rules, Context(pair[0].prompt)),
        pairs,
    )
    # Once more, now that golds and answers are known: what is left is the frame around the stages above.
    before = sum(watch.stages[stage] for stage in ("split", "extract"))
    judgements = watch.each("judge all", lambda item: score_item(item, profile), arrived)
    again = Stopwatch(bodies * items)
    again.each(
        "decide", lambda pair: decide(pair[0].gold, pair[1], profile.rules, Context(pair[0].prompt)), pairs
    )
    watch.stages["rewards and frame"] = max(
        0.0, watch.stages.pop("judge all") - before - again.stages["decide"]
    )
    watch.each("pickle judgements", lambda one: pickle.loads(pickle.dumps(one, 5)), judgements)
    results = watch.each("result", _result, judgements)
    watch.each("encode", _encoded, [results[at : at + items] for at in range(0, len(results), items)])
    json.dump(watch.stages, sys.stdout)


def _result(judgement: Any) -> Result:
    return Result(
        index=0,
        status="ok" if judgement.error_code is None else "error",
        reward=judgement.reward,
        components=judgement.components,
        scores=judgement.scores,
        verdict=judgement.verdict,
        extracted=judgement.extracted,
        method=judgement.method,
        reason=judgement.reason,
        elapsed_ms=judgement.elapsed_ms,
    )


def _encoded(results: list[Result]) -> str:
    rewards = [result.reward for result in results]
    return ScoreResponse(
        results=results, rewards=rewards, profile="", profile_hash="", engine="", errors=0
    ).model_dump_json()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
