"""Questions that only sympy can answer: asked once, by whichever item comes first, and remembered.

An answer depends on its two texts and the engine alone, not on the item, its rules or its reasoning; so samples of one
prompt that end in the same formula pay for it once, and a batch never waits in line behind a heavy member.
"""

import asyncio
import marshal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from hashlib import blake2b

from verifier_service.cache import Cache
from verifier_service.engine import engine_fingerprint
from verifier_service.equivalence.slow_path import TIMEOUT, Question, Symbolic
from verifier_service.flights import Flights, Landing
from verifier_service.judge import Asks
from verifier_service.shared_cache import SharedCache
from verifier_service.workers import Call, Done, Failed, Outcome, WorkerPool

KEY_BYTES = 16
SHARE = 8  # one part in so many of the memory for results is for these
TIMEOUT_TTL_S = 60.0  # a word of the clock may fall otherwise on a quieter machine
# Questions of one item that are answered apart; one with more of them is left to a worker as a whole.
MOST_QUESTIONS = 8

_Answer = Symbolic | Failed


class SlowVerdicts:
    """For one event loop. cache: where answers are kept, as bytes.  shared: asked for what is not there."""

    def __init__(self, pool: WorkerPool, cache: Cache, shared: SharedCache[Symbolic] | None = None) -> None:
        self._pool = pool
        self._shared = shared
        self._cache = cache
        self._flights = Flights()

    async def settle(
        self, calls: Sequence[Call], outcomes: list[Outcome], deadline: float | None
    ) -> list[int]:
        """Puts in place of every outcome that asks what comes of its call once it is answered; which ones those were.

        calls: of the kind "score", with an empty `known`, as perform takes them.
        """
        known: dict[int, dict[Question, Symbolic]] = {
            place: {} for place, outcome in enumerate(outcomes) if asked_by(outcome)
        }
        spent_ms: dict[int, float] = {}
        asking = list(known)
        while asking:
            answers = await self._answers({_asked(outcomes[place]) for place in asking}, deadline)
            again: dict[int, Call] = {}
            for place in asking:
                question = _asked(outcomes[place])
                answer = answers[question]
                if isinstance(answer, Failed):
                    outcomes[place] = answer
                else:
                    # What it took is the first one's; to the others the answer was known.
                    spent_ms[place] = spent_ms.get(place, 0.0) + answer.elapsed_ms
                    answers[question] = known[place][question] = replace(answer, elapsed_ms=0.0)
                    again[place] = _with_answers(calls[place], known[place])
            for place, outcome in zip(
                again, await self._pool.run(list(again.values()), deadline=deadline), strict=True
            ):
                outcomes[place] = outcome
            asking = [place for place in again if asked_by(outcomes[place])]
        for place, ms in spent_ms.items():
            _charge(outcomes[place], ms)
        return list(known)

    async def _answers(
        self, questions: Iterable[Question], deadline: float | None
    ) -> dict[Question, _Answer]:
        """Of each question its answer, or why it has none."""
        answers: dict[Question, _Answer] = {}
        mine: list[Question] = []
        theirs: dict[Question, Landing] = {}
        for question in questions:
            key = _key(question)
            if (packed := self._cache.get(key)) is not None:
                answers[question] = Symbolic(*marshal.loads(packed))
            elif (landing := self._flights.join(key)) is not None:
                theirs[question] = landing
            else:
                mine.append(question)
        answers |= await self._found_out(mine, deadline)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if theirs:
            await asyncio.wait(theirs.values(), timeout=left)
        unfinished = [
            question for question, landing in theirs.items() if landing.done() and landing.result() is None
        ]
        for question, landing in theirs.items():
            if not landing.done():
                answers[question] = Failed(
                    "deadline", "the request's time ended while sympy was at an equal question"
                )
            elif (outcome := landing.result()) is not None:
                answers[question] = _answer(outcome)
        return answers | await self._answers(unfinished, deadline) if unfinished else answers

    async def _found_out(
        self, questions: Sequence[Question], deadline: float | None
    ) -> dict[Question, _Answer]:
        """Asks Redis, and sympy for the rest; tells whoever waits for one of them."""
        keys = {question: _key(question) for question in questions}
        try:
            answers: dict[Question, _Answer] = {**await self._shared_answers(keys)}
            left = [question for question in questions if question not in answers]

            def tell(place: int, outcome: Outcome) -> None:
                self._arrived(keys[left[place]], outcome)

            calls = [Call("slow", (question,)) for question in left]
            outcomes = await self._pool.run(calls, deadline=deadline, on_done=tell)
        finally:
            self._flights.land_all(keys.values())
        return answers | {
            question: _answer(outcome) for question, outcome in zip(left, outcomes, strict=True)
        }

    async def _shared_answers(self, keys: Mapping[Question, bytes]) -> dict[Question, Symbolic]:
        if self._shared is None or not keys:
            return {}
        found = await self._shared.get_many(list(keys.values()))
        answers = {
            question: answer for question, answer in zip(keys, found, strict=True) if answer is not None
        }
        for question, answer in answers.items():
            self._keep(keys[question], answer)
            self._flights.arrived(keys[question], Done(answer))
        return answers

    def _arrived(self, key: bytes, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            answer = replace(outcome.value, elapsed_ms=0.0)
            outcome = Done(answer)
            self._keep(key, answer)
            if self._shared is not None and answer.reason != TIMEOUT:
                self._shared.put(key, answer)
        self._flights.arrived(key, outcome)

    def _keep(self, key: bytes, answer: Symbolic) -> None:
        ttl_s = TIMEOUT_TTL_S if answer.reason == TIMEOUT else None
        self._cache.put(key, marshal.dumps(astuple(answer)), ttl_s=ttl_s)


def asked_by(outcome: Outcome) -> Question | None:
    """The question that has to be answered before the call can have an outcome, None where it has one."""
    return outcome.value.question if isinstance(outcome, Done) and isinstance(outcome.value, Asks) else None


def _charge(outcome: Outcome, ms: float) -> None:
    if isinstance(outcome, Done):
        outcome.value.elapsed_ms += ms


def _asked(outcome: Outcome) -> Question:
    question = asked_by(outcome)
    assert question is not None
    return question


def _with_answers(call: Call, answers: dict[Question, Symbolic]) -> Call:
    known = tuple(answers.items()) if len(answers) < MOST_QUESTIONS else None
    return Call(call.kind, (*call.args[:-1], known))


def _answer(outcome: Outcome) -> _Answer:
    if isinstance(outcome, Done):
        found: Symbolic = outcome.value
        return found
    if outcome.code == TIMEOUT:  # too heavy even for the run that keeps off sympy
        return Symbolic(None, TIMEOUT)
    return outcome


def _key(question: Question) -> bytes:
    digest = blake2b(engine_fingerprint().encode(), digest_size=KEY_BYTES)
    digest.update(marshal.dumps(question, 2))
    return digest.digest()
