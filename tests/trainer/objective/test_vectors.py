"""The shared vectors: small inputs and the numbers that public trainers return for them.

GRPO_VECTORS=PATH runs another file of the same format (tests/trainer/vectors/README.md).
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import (
    Loss,
    LossInputs,
    LossSettings,
    aggregate,
    clipped_losses,
    generalised_advantages,
    group_advantages,
    grpo_loss,
    kl_estimate,
    live_groups,
    loss_divisor,
    masked_mean,
    mismatch_weights,
    moved_reference,
    on_tokens,
    probability_ratios,
    token_scores,
    whiten,
)
from tests.trainer.objective import peer_variants as peers

PATH = Path(os.environ.get("GRPO_VECTORS") or Path(__file__).parents[1] / "vectors" / "grpo_vectors.json")
FILE = json.loads(PATH.read_text())
Case = dict[str, Any]


def tensor(value: Any) -> Any:
    """A list of numbers as float64, with null as NaN; "@name" is a tensor of the shared batch."""
    if isinstance(value, str) and value.startswith("@"):
        value = FILE["batch"][value[1:]]

    def number(x: Any) -> Any:
        return [number(y) for y in x] if isinstance(x, list) else float("nan") if x is None else float(x)

    return torch.tensor(number(value), dtype=torch.float64)


def inputs(case: Case, *names: str) -> list[Any]:
    return [tensor(case["inputs"][n]).bool() if n == "mask" else tensor(case["inputs"][n]) for n in names]


def says(case: Case, *words: str) -> bool:
    """Whether the case calls itself by one of these words; they tell apart variants with equal params."""
    text = f"{case['id']} {case['formula']} {case['peer']['function']}".lower()
    return any(word in text for word in words)


def judged_groups(rewards: Any, group_size: int) -> tuple[Any, Any]:
    groups = rewards.reshape(-1, group_size)
    return groups, ~groups.isnan()


def advantage(case: Case) -> Case:
    rewards, judged = judged_groups(tensor(case["inputs"]["rewards"]), case["inputs"]["group_size"])
    params = case["params"]
    std = params.get("std", "none")
    scale = "batch" if "batch" in std else std.split()[0]
    baseline = "leave_one_out" if params.get("baseline") == "leave-one-out" else "mean"
    result = group_advantages(rewards, judged, scale=scale, baseline=baseline, eps=params.get("eps", 0.0))
    dead = 1 - result.live_P.double().mean()
    return {"advantages": result.values_PG.flatten(), "zero_std_fraction": dead}


def advantage_batch(case: Case) -> Case:
    mask, rewards = inputs(case, "mask", "rewards")
    params = case["params"]
    if says(case, "discounted return"):
        whitened, returns = peers.reinforce_plus_plus(rewards, mask, params["gamma"])
        return {"token_advantages": whitened, "returns": returns}
    groups, judged = judged_groups(rewards, case["inputs"]["group_size"])
    scale = params["std"].split()[0] if "std" in params else "none"
    result = group_advantages(groups, judged, scale=scale, eps=params.get("eps", 0.0))
    spread = on_tokens(result.values_PG.flatten(), mask)
    return {"token_advantages": whiten(spread, mask) if says(case, "whiten") else spread}


def advantage_multi(case: Case) -> Case:
    (scores,) = inputs(case, "rewards_per_function")
    weights, eps, size = (
        tensor(case["params"]["weights"]),
        case["params"]["eps"],
        case["inputs"]["group_size"],
    )
    if says(case, "normalize_then_sum", "gdpo"):
        return {"advantages": peers.normalise_then_sum(scores, weights, size, eps)}
    groups, judged = judged_groups(peers.weighted_sum(scores, weights), size)
    return {"advantages": group_advantages(groups, judged, scale="sample", eps=eps).values_PG.flatten()}


def dynamic_sampling(case: Case) -> Case:
    groups = [judged_groups(tensor(g), len(g)) for g in case["inputs"]["group_rewards"]]
    return {"keep": torch.cat([live_groups(*g, threshold=case["params"]["threshold"]) for g in groups])}


def clamps(text: str | None) -> dict[str, float | None]:
    """The two bounds out of words such as "input +-20, k3 output +-10"; what is not named is off."""
    found = {kind: re.search(rf"{kind} \+-([\d.]+)", text or "") for kind in ("input", "output")}
    limit = {kind: float(match[1]) if match else None for kind, match in found.items()}
    return {"log_ratio_limit": limit["input"], "value_limit": limit["output"]}


def kl(case: Case) -> Case:
    logp, ref = inputs(case, "logp", "ref_logp")
    bounds = clamps(case["params"].get("clamp"))
    mask = torch.ones_like(logp, dtype=torch.bool)
    return {"kl": kl_estimate(logp, ref, mask, estimator=case["params"]["estimator"], **bounds)}


def kl_gradient(case: Case) -> Case:
    logp, ref = inputs(case, "logp", "ref_logp")
    bounds = clamps(case["params"].get("clamp", "input +-20, k3 output +-10"))

    def gradient(estimator: str) -> Any:
        leaf = logp.clone().requires_grad_()
        kl_estimate(leaf, ref, torch.ones_like(leaf).bool(), estimator=estimator, **bounds).sum().backward()
        return leaf.grad

    return {"k3": gradient("k3"), "k3_plus_straight_through_k2": gradient("k3+")}


AGGREGATION = {
    "grpo": "sequence",
    "dapo": "token",
    "bnpo": "token",
    "cispo": "token",
    "dr_grpo": "constant",
    "token-mean": "token",
    "token-sum": "constant",
    "seq-mean-token-mean": "sequence",
    "seq-mean-token-sum": "constant",
    "seq-mean-token-sum-norm": "constant",
}


def settings_of(case: Case) -> tuple[LossSettings, float | None]:
    """The objective that the params describe, and the length of a constant divisor."""
    params, repository = case["params"], case["peer"]["repo"]
    r1, gspo = says(case, "exp(sum", "r1_sequence"), says(case, "gspo")
    cispo = params.get("loss_type") == "cispo" or says(case, "cispo", "stopgrad")
    level = "sequence" if r1 else "sequence_mean" if gspo or params.get("level") == "sequence" else "token"
    default_mode = "grpo" if r1 or gspo else "token-mean"
    mode = params.get("loss_agg_mode") or params.get("loss_type") or default_mode
    width = len(tensor(case["inputs"]["mask"])[0])
    answers = int(tensor(case["inputs"]["mask"]).bool().any(-1).sum())
    length = {
        "dr_grpo": params.get("max_len"),
        "token-sum": 1 / max(answers, 1),
        "seq-mean-token-sum": 1.0,
        "seq-mean-token-sum-norm": width,
    }.get(mode)
    eps_low = params.get("eps_low", params.get("clip_lower", params.get("eps", 0.2)))
    eps_high = params.get("eps_high", params.get("clip_higher", params.get("eps", 0.2)))
    if cispo and repository == "huggingface/trl":  # an absolute cap, and no lower one
        eps_low, eps_high = 1.0, eps_high - 1
    settings = LossSettings(
        ratio=level,
        surrogate="cispo" if cispo else "clip",
        clip_low=eps_low,
        clip_high=eps_high,
        dual_clip=None if cispo else params.get("dual_clip_c", params.get("delta")),
        aggregation=AGGREGATION[mode],
        kl_beta=params.get("beta", 0.0),
        kl_times_ratio=params.get("bias_kl", False),
    )
    return settings, length


def measure(
    case: Case, settings: LossSettings, length: float | None, weights: Any = None
) -> tuple[Loss, Any]:
    """Loss and gradient of our objective on the tensors of a case."""
    logp, mask, advantages_B = inputs(case, "logp", "mask", "advantages")
    leaf = logp.clone().requires_grad_()
    divisor = loss_divisor(
        mask, settings.aggregation, length=length, count_empty=case["peer"]["repo"] == "huggingface/trl"
    )
    old = inputs(case, "old_logp")[0] if "old_logp" in case["inputs"] else None
    ref = inputs(case, "ref_logp")[0] if "ref_logp" in case["inputs"] else None
    batch = LossInputs(mask, leaf, on_tokens(advantages_B, mask), old, ref, weights_BT=weights)
    loss = grpo_loss(batch, settings, divisor=divisor)
    loss.total.backward()
    return loss, leaf.grad


def policy_loss(case: Case) -> Case:
    settings, length = settings_of(case)
    loss, grad = measure(case, settings, length)
    logp, mask, advantages_B = inputs(case, "logp", "mask", "advantages")
    old = inputs(case, "old_logp")[0] if "old_logp" in case["inputs"] else logp
    better = advantages_B[:, None].expand(mask.shape) > 0
    # For an answer-level ratio, TRL and torchtune count answers where verl counts tokens.
    counted = mask
    if settings.ratio != "token" and case["peer"]["repo"] != "verl-project/verl":
        counted = torch.zeros_like(mask)
        counted[:, 0] = mask.any(-1)

    def share(flags: Any) -> Any:
        return masked_mean(flags.double(), counted)

    below, above = loss.tokens.below_BT, loss.tokens.above_BT
    return {
        "loss": loss.total,
        "grad_logp": grad,
        "kl": None if loss.kl_BT is None else masked_mean(loss.kl_BT, mask),
        "clip_ratio_low_mean": share(below),
        "clip_ratio_high_mean": share(above),
        "clip_ratio_region_mean": share(below | above),
        "cispo_clip_ratio": share(above & better),
        "pg_clipfrac": share(below | above),
        "pg_clipfrac_lower": share(loss.tokens.capped_BT),
        "clip_fraction": share(below | above),
        "ppo_kl": masked_mean(old - logp, mask),
        "approx_kl_old": masked_mean(old - logp, mask),
        "sequence_ratio": loss.ratios_BT[:, 0],
    }


def policy_loss_tokens(case: Case) -> Case:
    logp, old, ref, mask, advantages_B = inputs(case, "logp", "old_logp", "ref_logp", "mask", "advantages")
    settings, _ = settings_of(case)
    losses = clipped_losses(
        probability_ratios(logp, old, mask).values_BT,
        on_tokens(advantages_B, mask),
        mask,
        clip_low=settings.clip_low,
        clip_high=settings.clip_high,
    )
    clipped = (losses.below_BT | losses.above_BT).double()
    return {"pg_loss": losses.values_BT, "clipped": clipped, "kl": kl_estimate(logp, ref, mask)}


def grad_accumulation(case: Case) -> Case:
    """Micro-batches with one global divisor, or, for the counter-example, each with its own."""
    logp, old, mask, advantages_B = inputs(case, "logp", "old_logp", "mask", "advantages")
    local, sequence = says(case, "bnpo", "local token means"), says(case, "per-sequence", "accum_grpo")
    settings = LossSettings(
        clip_high=case["params"].get("eps_high", 0.2), aggregation="sequence" if sequence else "token"
    )
    pieces = case["params"]["micro_batches"]
    leaf = logp.clone().requires_grad_()
    whole = loss_divisor(mask, settings.aggregation)
    losses = []
    for rows in torch.arange(len(mask)).chunk(pieces):
        divisor = loss_divisor(mask[rows], settings.aggregation) * pieces if local else whole
        batch = LossInputs(mask[rows], leaf[rows], on_tokens(advantages_B[rows], mask[rows]), old[rows])
        losses.append(grpo_loss(batch, settings, divisor=divisor).total)
        losses[-1].backward()
    total = torch.stack(losses).sum()
    once, _ = measure(case, settings, None)
    agrees = bool((total - once.total).abs() < 1e-9)
    assert agrees != local, "a global divisor gives the loss of one batch; local means do not"
    return {"micro_losses": torch.stack(losses), "sum": total, "grad_logp": leaf.grad}


def rollout_correction(case: Case) -> Case:
    old, sampler, mask = inputs(case, "old_logp", "rollout_logp", "mask")
    params = case["params"]
    bounds = {"low": params["low"], "high": params["high"]}
    if says(case, "seq-mask", "geometric"):
        weights = peers.geometric_filter(old, sampler, mask, **bounds)
    else:
        outside = "drop" if says(case, "icepop", "kept only inside") else "truncate"
        weights = mismatch_weights(old, sampler, mask, outside=outside, **bounds).weights_BT
    settings, length = settings_of(case)
    loss, grad = measure(case, settings, length, weights)
    return {"loss": loss.total, "grad_logp": grad, "rollout_kl": masked_mean(sampler - old, mask)}


def rollout_correction_weights(case: Case) -> Case:
    old, sampler, mask = inputs(case, "old_logp", "rollout_logp", "mask")
    params, expected = case["params"], tensor(case["expected"]["weights"])
    bounds = [float(x) for x in str(params.get("threshold", "")).split("_") if x]
    low = bounds[0] if len(bounds) == 2 else params.get("clip_min", 0.0)
    high = bounds[-1] if bounds else params["clip_max"]
    one_each = expected.shape[-1] == 1 and mask.shape[-1] > 1
    level = params.get("level") or ("sequence" if one_each else "token")
    named = says(case, "_mask", "_truncate")
    drops = says(case, "_mask") if named else bool((expected == 0)[mask[:, : expected.shape[-1]]].any())
    outside = "drop" if len(bounds) == 2 or drops else "truncate"
    result = mismatch_weights(old, sampler, mask, level=level, low=low, high=high, outside=outside)
    weights = result.weights_BT
    if case["peer"]["repo"] == "huggingface/trl":  # padding carries 1 there; it is never read
        weights = torch.where(mask, weights, 1.0)
    return {"weights": weights[:, :1] if one_each else weights}


def aggregation(case: Case) -> Case:
    matrix, mask = inputs(case, "matrix", "mask")
    constant = case["params"].get("constant")
    how = "sequence" if constant is None else "constant"
    return {"value": aggregate(matrix, mask, how, loss_divisor(mask, how, length=constant))}


def gae(case: Case) -> Case:
    rewards, values, mask = inputs(case, "token_rewards", "values", "mask")
    params = case["params"]
    result = generalised_advantages(rewards, values, mask, gamma=params["gamma"], lam=params["lambda"])
    return {
        "advantages_raw": result.advantages_BT,
        "returns_on_mask": result.returns_BT,
        "advantages_whitened_on_mask": whiten(result.advantages_BT, mask),
    }


def value_loss(case: Case) -> Case:
    values, old, returns, mask = inputs(case, "value_pred", "old_values", "returns", "mask")
    loss, clipped = peers.clipped_value_loss(values, old, returns, mask, case["params"]["clip"])
    return {"loss": loss, "clip_fraction": clipped}


def length_penalty(case: Case) -> Case:
    given = case["inputs"]
    return {
        "shaped_rewards": [
            given["reward"] + peers.overlong_penalty(n, **case["params"]) for n in given["lengths"]
        ]
    }


def evaluation(case: Case) -> Case:
    given, expected = case["inputs"], case["expected"]
    if "pass_at_k" in expected:
        rows = given["correct"]
        mean = {
            k: sum(peers.pass_at_k(sum(r), len(r), int(k)) for r in rows) / len(rows)
            for k in expected["pass_at_k"]
        }
        return {"pass_at_k": mean}
    pairs = list(zip(given["answers"], given["gold"], strict=True))
    result: Case = {
        "cons_sum_over_prompts": sum(peers.majority_at_k(a, g, case["params"]["k"]) for a, g in pairs)
    }
    for name in expected:
        if match := re.fullmatch(r"cons_at_(\d+)_sum", name):
            result[name] = sum(peers.majority_at_k(a, g, int(match[1])) for a, g in pairs)
    return result


def logits(case: Case) -> Case:
    values, temperature = inputs(case, "logits")[0], case["params"]["temperature"]
    scores = token_scores(values, torch.tensor(case["inputs"]["ids"]), temperature=temperature)
    return {"logp": scores.logprobs_BT, "entropy": scores.entropy_BT}


def ref_sync(case: Case) -> Case:
    policy, reference = inputs(case, "policy", "reference")
    alphas = case["expected"]["reference_after"]
    return {"reference_after": {a: moved_reference(reference, policy, alpha=float(a)) for a in alphas}}


COMPUTE: dict[str, Callable[[Case], Case]] = {
    "advantage": advantage,
    "advantage_batch": advantage_batch,
    "advantage_multi": advantage_multi,
    "aggregation": aggregation,
    "dynamic_sampling": dynamic_sampling,
    "eval": evaluation,
    "gae": gae,
    "grad_accumulation": grad_accumulation,
    "kl": kl,
    "kl_gradient": kl_gradient,
    "length_penalty": length_penalty,
    "logits": logits,
    "policy_loss": policy_loss,
    "policy_loss_tokens": policy_loss_tokens,
    "ref_sync": ref_sync,
    "rollout_correction": rollout_correction,
    "rollout_correction_weights": rollout_correction_weights,
    "value_loss": value_loss,
}


def compare(name: str, actual: Any, expected: Any, atol: float) -> None:
    if isinstance(expected, dict):
        for key, value in expected.items():
            compare(f"{name}.{key}", actual[key], value, atol)
        return
    ours = torch.as_tensor(actual, dtype=torch.float64).detach()
    theirs = (
        tensor(expected) if isinstance(expected, list) else torch.tensor(float(expected), dtype=torch.float64)
    )
    assert ours.shape == theirs.shape, f"{name}: shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
    furthest = (ours - theirs).abs().max().item() if theirs.numel() else 0.0
    assert furthest <= atol, f"{name}: off by {furthest:.3g}, more than {atol:g}"


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in FILE["cases"]])
def test_vectors_of_public_trainers_are_reproduced(case: Case) -> None:
    assert case["kind"] in COMPUTE, f"no rule for kind {case['kind']!r}"
    assert case["expected"], "a case without expectations proves nothing"
    actual = COMPUTE[case["kind"]](case)
    for name, expected in case["expected"].items():
        assert name in actual, f"nothing computed for {name!r}"
        compare(name, actual[name], expected, case["atol"])


def test_vectors_file_holds_cases() -> None:
    assert len(FILE["cases"]) > 0
