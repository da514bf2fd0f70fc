"""`verifier doctor URL`: whether a trainer could begin: the way there, the service, the template, the batch."""

import os
import statistics
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import httpx
from rich.console import Console
from rich.text import Text

import verifier_service
from verifier_service.client import Client, RequestRefused, ServiceError, ServiceUnreachable
from verifier_service.client.addresses import Address, addresses
from verifier_service.client.servers import FULL_STATUSES
from verifier_service.commands.chat_template import generation_prompt, read_template
from verifier_service.commands.console import UNREACHABLE, CommandError, printable
from verifier_service.schema import Info, Result

Level = Literal["fine", "note", "fault"]
STYLES = {"fine": "green", "note": "yellow", "fault": "bold red"}

THINKING, ANSWER, GOLD = "84 / 1.5 = 56", "The speed is \\boxed{56}.", "56"
QUESTION = "A train covers 84 km in 1.5 h. Speed in km/h?"
SINGLE_CALLS, BATCH = 20, 64
SLOW_CALL_MS = 50.0
# More than a service takes for a request, and little for somebody who watches.
PATIENCE_S = 15.0
FORMAT = "format"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `hint`: what to do about it."""

    what: str
    level: Level
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the trainer is about to do, as far as it was told. batch: completions of one process in one step."""

    profile: str | None = None
    template: Path | None = None
    batch: int | None = None
    generations: int | None = None
    processes: int = 1


def examine(url: str, plan: Plan) -> Iterator[Finding]:
    """The findings, one by one. Raises CommandError (code 3) where nothing answers."""
    try:
        servers = addresses(url)
    except ValueError as fault:
        raise CommandError(str(fault)) from None
    if len(servers) == 1:
        yield from _server(servers[0], plan)
        return
    engines = set()
    for server in servers:
        yield Finding("server", "fine", server.shown)
        try:
            engines.add((yield from _server(server, plan)))
        except CommandError as fault:
            yield Finding("reached", "fault", str(fault), fault.hint)
    if len(engines - {None}) > 1:
        words = "the servers do not judge alike: their engines differ"
        yield Finding("engines", "fault", words, "Let all run one version: the client refuses to mix them.")


def _server(server: Address, plan: Plan) -> Generator[Finding, None, str | None]:
    """The findings of one server, and its engine. Raises CommandError (code 3) where it does not answer."""
    try:
        made = Client(server.url_of("/score"), retries=0, timeout_s=PATIENCE_S)
    except ValueError as fault:
        raise CommandError(str(fault)) from None
    with made as client:
        try:
            info = client.info()
        except ServiceUnreachable as fault:
            raise CommandError(str(fault), _away(client.url), UNREACHABLE) from None
        except RequestRefused as fault:
            yield _refused(fault)
            return None
        except (ServiceError, httpx.HTTPError) as fault:
            yield Finding("service", "fault", str(fault), "Is this the base URL of the service?")
            return None
        yield from _service(info)
        named = dict(parse_qsl(server.query)).get("profile")
        try:
            yield from _work(client, info, plan if plan.profile else replace(plan, profile=named))
        except ServiceError as fault:
            yield Finding("scoring", "fault", str(fault))
        return info.engine


def _work(client: Client, info: Info, plan: Plan) -> Iterator[Finding]:
    yield from _verdicts(client)
    finding, per_item_ms = _latency(client)
    yield finding
    profile = _profile(info, plan)
    if isinstance(profile, Finding):
        yield profile
    else:
        yield from _format(client, profile, plan)
    yield from _batches(info, plan, per_item_ms)


def _away(url: str) -> str:
    lines = [f"Is it up? curl {url}/readyz"]
    if any(name in url for name in ("127.0.0.1", "localhost")):
        lines.append("127.0.0.1 is this machine or this container alone; from another one, name the host.")
    return "\n".join(lines)


def _refused(fault: RequestRefused) -> Finding:
    if fault.status == httpx.codes.UNAUTHORIZED:
        hint = "The key in VERIFIER_API_KEY is a wrong one." if os.environ.get("VERIFIER_API_KEY") else ""
        return Finding("key", "fault", str(fault), hint or "Set VERIFIER_API_KEY.")
    if fault.status in FULL_STATUSES:
        return Finding("service", "fault", str(fault), "It is full, starting or stopping: try again soon.")
    return Finding("service", "fault", str(fault), "Is this the base URL of the service?")


def _service(info: Info) -> Iterator[Finding]:
    yield Finding("reached", "fine", "the service answers" + _keyed())
    ours = verifier_service.__version__
    text = f"service {info.version}, engine {info.engine}; this client is {ours}"
    if info.version == ours:
        yield Finding("version", "fine", text)
    else:
        yield Finding("version", "note", text, "Replies are compatible within a version of the wire.")
    limits = info.limits
    text = (
        f"{limits.max_items} items and {limits.max_body_bytes / 2**20:g} MiB a request,"
        f" {limits.deadline_s:g} s of time (at most {limits.max_deadline_s:g} s)"
    )
    yield Finding("limits", "fine", text)


def _keyed() -> str:
    return ", and takes the key" if os.environ.get("VERIFIER_API_KEY") else ", without a key"


def _verdicts(client: Client) -> Iterator[Finding]:
    items = [_sample(f"<think>{THINKING}</think>{text}") for text in (ANSWER, "It is \\boxed{42}.")]
    found = [result.verdict for result in client.score(items, profile="accuracy").results]
    if found == ["correct", "incorrect"]:
        yield Finding("verdicts", "fine", "a right answer is paid, a wrong one is not")
    else:
        yield Finding("verdicts", "fault", f"a right and a wrong answer were judged {found}")


def _latency(client: Client) -> tuple[Finding, float]:
    """How fast answers come, and how many milliseconds one of a batch takes."""
    # Answers of different texts, or the cache would be measured.
    singles = [_timed(client, [_sample(f"{place} so \\boxed{{56}}")]) for place in range(SINGLE_CALLS)]
    middle, worst = statistics.median(singles), max(singles)
    batch = _timed(client, [_sample(f"{place}, so \\boxed{{{place}}}") for place in range(BATCH)])
    per_item = batch / BATCH
    text = f"one answer {middle:.1f} ms (at worst {worst:.1f}), of a batch of {BATCH} {per_item:.2f} ms each"
    if middle > SLOW_CALL_MS:
        hint = "Is the service far away, or busy? Trainers that ask for one answer at a time will wait."
        return Finding("latency", "note", text, hint), per_item
    return Finding("latency", "fine", text), per_item


def _timed(client: Client, items: list[dict[str, Any]]) -> float:
    began = time.perf_counter()
    client.score(items, profile="accuracy")
    return (time.perf_counter() - began) * 1000


def _sample(completion: str, **more: Any) -> dict[str, Any]:
    return {"completion": completion, "gold": GOLD, "prompt": QUESTION, **more}


def _profile(info: Info, plan: Plan) -> str | Finding:
    """The profile that the trainer will use; of those of the service, one that rewards the format."""
    name = plan.profile or info.default_profile
    if name not in info.profiles:
        return Finding("profile", "fault", f'no profile "{name}"; known: {", ".join(sorted(info.profiles))}')
    return name


def _format(client: Client, profile: str, plan: Plan) -> Iterator[Finding]:
    whole = f"<think>{THINKING}</think>{ANSWER}"
    opened = f"{THINKING}</think>{ANSWER}"
    if plan.template is None:
        yield from _plain_format(client.score([_sample(whole)], profile=profile).results[0], profile)
        return
    prompt = generation_prompt(read_template(plan.template))
    prefilled = prompt.rstrip().endswith("<think>")
    completion = opened if prefilled else whole
    items = [_sample(completion), _sample(completion, prefilled_think=prefilled)]
    naive, told = client.score(items, profile=profile).results
    if FORMAT not in told.scores:
        yield Finding("format", "fine", f'the profile "{profile}" has no reward for the format')
        return
    if not told.scores[FORMAT]:
        yield Finding("format", "fault", f"a well-formed answer gets {told.scores[FORMAT]} for its format")
    elif prompt.rstrip().endswith("</think>"):
        yield Finding(
            "format",
            "note",
            "the template closes the thinking in the prompt: answers have none, and no reward for their format",
            "Turn thinking on in the template, or take a profile without a reward for the format.",
        )
    elif prefilled and not naive.scores[FORMAT]:
        yield Finding(
            "format",
            "fault",
            "the template ends with the opening <think>, so that answers begin without it: the reward for"
            " the format is always 0 where the service is not told",
            "Set prefilled_think: an option of the adapters, a field of the items. Adapters that see the"
            " rendered prompt find it out themselves.",
        )
    else:
        yield Finding("format", "fine", "a well-formed answer under this template gets its reward")


def _plain_format(result: Result, profile: str) -> Iterator[Finding]:
    if FORMAT not in result.scores:
        yield Finding("format", "fine", f'the profile "{profile}" has no reward for the format')
    elif not result.scores[FORMAT]:
        yield Finding("format", "fault", "a well-formed answer gets nothing for its format")
    else:
        hint = "Name your model's chat template with --template: if it ends with <think>, the service must be told."
        yield Finding(
            "format", "note", "a well-formed answer gets its reward; no template was looked at", hint
        )


def _batches(info: Info, plan: Plan, per_item_ms: float) -> Iterator[Finding]:
    if plan.batch is None:
        return
    whole = plan.batch * plan.processes
    if plan.generations is not None and whole % plan.generations:
        text = f"{whole} completions a step do not divide into groups of {plan.generations}"
        yield Finding("groups", "fault", text, f"Try {ceil(whole / plan.generations) * plan.generations}.")
    elif plan.generations is not None and plan.batch % plan.generations:
        text = f"{plan.batch} completions a process hold parts of groups of {plan.generations}"
        hint = "Rewards of single answers are not touched by it; a reward over whole groups would be."
        yield Finding("groups", "note", text, hint)
    requests = ceil(plan.batch / info.limits.max_items)
    text = f"{plan.batch} completions a process make {requests} request{'s' if requests > 1 else ''}"
    seconds = per_item_ms * whole / 1000
    if seconds > info.limits.deadline_s:
        hint = "Give the service more workers (--workers), or the adapters a longer deadline."
        text += f"; judging a step takes about {seconds:.0f} s, the time is {info.limits.deadline_s:g} s"
        yield Finding("batch", "note", text, hint)
    else:
        yield Finding("batch", "fine", f"{text}, about {seconds:.2g} s of judging a step")


def show(finding: Finding, screen: Console) -> None:
    line = Text(f"{finding.level:<6}", style=STYLES[finding.level])
    screen.print(line + Text(f"{finding.what:<9} {printable(finding.text)}", style=""), soft_wrap=True)
    for hint in finding.hint.splitlines():
        screen.print(Text(f"{'':16}{hint}"), soft_wrap=True)


def as_report(findings: list[Finding]) -> dict[str, Any]:
    return {"findings": [asdict(finding) for finding in findings]}
