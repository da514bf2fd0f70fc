"""The forms in which trainers ask by themselves: another shape of request and reply around the same scoring.

`/get_reward` for OpenRLHF, `/compat/slime` for slime and miles, `/verify` and `/seed_session` for NeMo Gym and
what speaks to it (NeMo RL, verifiers, prime-rl), `/evaluate` for eval-protocol. Code execution is out of scope.
"""

import math
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from verifier_service.prompts import answer_in, opens_thinking
from verifier_service.reading import read_item
from verifier_service.schema import GOLD_NAMES, Result
from verifier_service.server.decoding import Batch
from verifier_service.server.incoming import Incoming, incoming
from verifier_service.server.problems import ProblemError
from verifier_service.server.routes import check_query, scored, unprocessable

router = APIRouter(include_in_schema=False)

# OpenRLHF tries five times within seconds, and then its run ends: better that it waits here.
WAIT_S = 120.0


@router.post("/get_reward")
async def get_reward(request: Request) -> Response:
    """OpenRLHF. A number in every place: `?fallback=`, by default 0, where there is no verdict."""
    check_query(request, {"profile", "fallback"})
    fallback = _fallback(request, 0.0)
    async with incoming(request, patience_s=WAIT_S) as call:
        sent = call.service.decoder.document(await call.body())
        results = await _judged(call, _openrlhf_items(sent), request)
    right = [float(result.verdict == "correct") for result in results]
    failed = [float(result.reward is None) for result in results]
    rewards = [fallback if result.reward is None else result.reward for result in results]
    logs = {"correct": right, "verifier_error": failed}
    return JSONResponse({"rewards": rewards, "scores": right, "extra_logs": logs if results else {}})


@router.post("/compat/slime")
async def slime(request: Request) -> Response:
    """slime and miles. The body of the reply is the reward; `?format=dict` goes with --reward-key score.

    Where there is no verdict, `?fallback=` is the reward, or without it the request fails: 503 where asking
    again may help, else 422.
    """
    check_query(request, {"profile", "fallback", "format"})
    keyed = _format(request)
    fallback = _fallback(request, None)
    async with incoming(request) as call:
        sent = call.service.decoder.document(await call.body())
        if "response" not in sent:
            raise unprocessable("response", "is missing")
        [result] = await _judged(
            call, [_item(sent["response"], sent.get("label"), sent.get("prompt"))], request
        )
    reward = result.reward if result.reward is not None else fallback
    if reward is None:
        raise _no_verdict(result)
    right = float(result.verdict == "correct")
    return JSONResponse({"score": reward, "correct": right, "reason": _reason(result)} if keyed else reward)


@router.post("/seed_session")
async def seed_session(request: Request) -> Response:
    """NeMo Gym opens a session with the row; nothing is kept here."""
    check_query(request, {"profile"})
    async with incoming(request) as call:
        call.service.decoder.document(await call.body())
    return JSONResponse({})


@router.post("/verify")
async def verify(request: Request) -> Response:
    """NeMo Gym: the request comes back with its reward; a failure is marked, since its reward has to be 0."""
    check_query(request, {"profile"})
    async with incoming(request) as call:
        sent = call.service.decoder.document(await call.body())
        [result] = await _judged(call, [_gym_item(sent)], request)
    return JSONResponse({**sent, **_gym_reply(result)})


@router.post("/evaluate")
async def evaluate(request: Request) -> Response:
    """eval-protocol. `is_score_valid` is false, and `error` says why, where there is no verdict."""
    check_query(request, {"profile"})
    async with incoming(request) as call:
        sent = call.service.decoder.document(await call.body())
        [result] = await _judged(call, [_evaluate_item(sent)], request)
    judged = result.reward is not None
    reason = _reason(result)
    metrics = {
        name: {"score": score, "is_score_valid": True, "reason": reason}
        for name, score in result.scores.items()
        if score is not None
    }
    return JSONResponse(
        {
            "score": result.reward if judged else 0.0,
            "is_score_valid": judged,
            "reason": reason,
            "metrics": metrics,
            "error": None if judged else reason,
        }
    )


async def _judged(call: Incoming, items: Sequence[dict[str, Any]], request: Request) -> list[Result]:
    """One result per item, under the profile of the URL."""
    read = [read_item(item, f"items[{place}]") for place, item in enumerate(items)]
    limit = call.service.settings.max_items
    if len(read) > limit:
        raise ProblemError(413, "too-many-items", f"{len(read)} items are more than {limit}", limit=limit)
    await call.admit(len(read))
    response = await call.judged(scored(call.service, Batch(read), request.query_params.get("profile")))
    call.scored(response)
    return response.results


def _openrlhf_items(sent: dict[str, Any]) -> list[dict[str, Any]]:
    queries, prompts, labels = (_list(sent, name) for name in ("query", "prompts", "labels"))
    if not len(queries) == len(prompts) == len(labels):
        lengths = f"{len(queries)}, {len(prompts)} and {len(labels)}"
        raise unprocessable("query", f"prompts and labels should have one length, not {lengths}")
    return [
        _item(_answer_in(query, prompt), label, prompt)
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]


def _list(sent: dict[str, Any], name: str) -> list[Any]:
    value = sent.get(name)
    if not isinstance(value, list):
        raise unprocessable(name, "should be a list")
    return value


def _answer_in(query: Any, prompt: Any) -> Any:
    both = isinstance(query, str) and isinstance(prompt, str)
    return answer_in(query, prompt) if both else query


def _item(completion: Any, gold: Any, prompt: Any = None) -> dict[str, Any]:
    return {
        "completion": completion,
        "gold": gold,
        "prompt": prompt or None,
        "prefilled_think": opens_thinking(prompt),
    }


def _gym_item(sent: dict[str, Any]) -> dict[str, Any]:
    params = sent.get("responses_create_params")
    asked = params.get("input") if isinstance(params, dict) else None
    prompt = sent.get("question") or sent.get("problem") or asked
    return _item([_gym_answer(sent.get("response"))], _gold(sent), prompt)


def _gym_answer(response: Any) -> dict[str, Any]:
    """The chat message in a response object: texts of its messages, and the thinking before them."""
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(output, list):
        raise unprocessable("response.output", "should be a list")
    texts = {"message": "", "reasoning": ""}
    for entry in output:
        kind = entry.get("type") if isinstance(entry, dict) else None
        if isinstance(kind, str) and kind in texts:
            texts[kind] += "".join(map(_text, _parts(entry)))
    message = {"role": "assistant", "content": texts["message"]}
    return {**message, "reasoning_content": texts["reasoning"]} if texts["reasoning"] else message


def _parts(entry: dict[str, Any]) -> list[Any]:
    found = entry.get("content") or entry.get("summary")
    return found if isinstance(found, list) else [found]


def _text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _gym_reply(result: Result) -> dict[str, Any]:
    if result.reward is None:
        # So marked, the row goes to the failures, and its 0 into no mean.
        return {"reward": 0.0, "_ng_failure_class": "verifier_failed", "verifier_error": _reason(result)}
    reply: dict[str, Any] = {
        "reward": result.reward,
        "correct": float(result.verdict == "correct"),
        "extracted_answer": result.extracted,
    }
    if len(result.components) > 1:
        # The receiver adds them up and compares.
        reply |= {"reward": sum(result.components.values()), "reward_components": result.components}
    return reply


def _evaluate_item(sent: dict[str, Any]) -> dict[str, Any]:
    messages = sent.get("messages")
    if not isinstance(messages, list) or not messages:
        raise unprocessable("messages", "should be a list that ends with the answer")
    extras = sent.get("kwargs")
    gold = _gold(sent) if not isinstance(extras, dict) else _gold({**extras, **sent})
    return _item(messages[-1:], gold, messages[:-1])


def _gold(sent: dict[str, Any]) -> Any:
    """Under whichever of its names, that of NeMo Gym first."""
    return next((sent[name] for name in ("expected_answer", *GOLD_NAMES) if sent.get(name) is not None), None)


def _fallback(request: Request, usual: float | None) -> float | None:
    text = request.query_params.get("fallback")
    if text is None:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise unprocessable("?fallback", "should be a finite number")
    return value


def _format(request: Request) -> bool:
    text = request.query_params.get("format", "number")
    if text not in ("number", "dict"):
        raise unprocessable("?format", "is number or dict")
    return text == "dict"


def _reason(result: Result) -> str:
    return result.reason if result.error is None else f"{result.error.code}: {result.error.message}"


def _no_verdict(result: Result) -> ProblemError:
    if result.error is not None and result.error.retryable:
        return ProblemError(503, "no-verdict", _reason(result), headers={"Retry-After": "1"})
    return ProblemError(422, "no-verdict", _reason(result))
