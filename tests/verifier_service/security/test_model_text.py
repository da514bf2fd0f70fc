"""Text of a model is data: it is never executed, opens nothing, reaches nobody, and is not in the log."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.verifier_service.server.processes import Served

MARK = "zqcanary"
PROFILES = ["accuracy", "r1-zero", "dapo", "r1"]


def texts(folder: Path, port: int) -> list[str]:
    """Each would leave a file, make a connection or show a variable if anything took it for code."""
    file = f"{folder}/{MARK}"
    return [
        f"__import__('os').system('touch {file}')",
        f"open('{file}', 'w')",
        f"exec(\"open('{file}','w')\")",
        f"().__class__.__mro__[1].__subclasses__()[0]('{file}')",
        f"lambda: open('{file}','w')",
        f'f\'{{open("{file}","w")}}\'',
        "{0.__class__.__init__.__globals__}" + MARK,
        "%(VERIFIER_API_KEY)s ${VERIFIER_API_KEY} $VERIFIER_API_KEY " + MARK,
        rf"\input{{/etc/passwd}} {MARK}",
        rf"\write18{{touch {file}}} \immediate\write18{{touch {file}}}",
        rf"\openin5={file} \openout5={file} {MARK}",
        rf"\catcode`\@=0 @input{{/etc/passwd}} {MARK}",
        rf"\href{{http://127.0.0.1:{port}/{MARK}}}{{x}} \includegraphics{{http://127.0.0.1:{port}/{MARK}.png}}",
        f"http://127.0.0.1:{port}/{MARK}",
        f"Symbol('{MARK}').func.__globals__",
        f"S('{MARK}'), sympify('{MARK}'), Function('{MARK}')(1)",
        f"!!python/object/apply:os.system ['touch {file}']",
        f"c{MARK}\nos\nsystem\n(S'touch {file}'\ntR.",
        f"<script src=http://127.0.0.1:{port}/{MARK}></script>",
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;{MARK}</x>',
        f"; touch {file}; `touch {file}` $(touch {file}) | touch {file}",
        f"\x00{MARK}\x1b]0;{MARK}\x07\x1b[2J\r\nERROR forged line {MARK}",
    ]


def attacks(folder: Path, port: int) -> list[dict[str, Any]]:
    """Each text as the answer, as the thoughts, and as the gold; plain, boxed, and in mathematics."""
    items = []
    for text in texts(folder, port):
        answers = (text, rf"\boxed{{{text}}}", rf"\boxed{{x^2+\text{{{text}}}}}", f"$${text} = 1$$")
        items += [
            {"completion": f"<think>{text}</think>{answer}", "gold": "x^2+1", "prompt": text}
            for answer in answers
        ]
        items.append(
            {"completion": r"\boxed{x^2+1}", "gold": text, "id": text[:100], "data_source": text[:50]}
        )
    return [item | {"language": "en"} for item in items]


@pytest.mark.parametrize("profile", PROFILES)
def test_it_is_judged_as_text_and_does_nothing(
    guarded: Served, holder: httpx.Client, tmp_path: Path, profile: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        items = attacks(tmp_path, listener.getsockname()[1])
        reply = holder.post("/score", json={"items": items, "profile": profile, "explain": True})
        assert reply.status_code == 200
        results = reply.json()["results"]
        assert [result["index"] for result in results] == list(range(len(items)))
        assert not [result for result in results if result["verdict"] is None and result["error"] is None]
        assert sum(result["verdict"] is not None for result in results) >= 4 * len(texts(tmp_path, 9))
        assert "only-the-service-should-know" not in reply.text
        assert "root:" not in reply.text
        listener.settimeout(0.05)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert list(tmp_path.iterdir()) == []


def test_it_is_not_in_the_log_and_ends_no_line_of_it(
    guarded: Served, holder: httpx.Client, tmp_path: Path
) -> None:
    holder.post("/score", json={"items": attacks(tmp_path, 9)})
    holder.post("/golds", json={"golds": [{"gold": text} for text in texts(tmp_path, 9)]})
    logged = guarded.log.read_text()
    assert MARK not in logged
    for line in logged.splitlines():
        assert isinstance(json.loads(line), dict)


# marshal.loads is left out: items come to a worker by it, as data, and there text is text.
WATCHED = """
import json, sys
from verifier_service import judge
from verifier_service.packing import JudgeItem, packed
from verifier_service.equivalence.decision import Gold
from verifier_service.rewards.profile import load_profiles

MARK, items = json.load(sys.stdin)
judge.warm_up()
profile = load_profiles(None)["r1"]
seen = []

def watch(event, args):
    if event in {"compile", "exec", "import", "open", "code.__new__", "pickle.find_class"}:
        told = repr(args) if event != "exec" else repr(args[0].co_consts) + repr(args[0].co_names)
        if MARK in told:
            seen.append([event, told[:200]])
    elif event.partition(".")[0] in {"socket", "subprocess"} or event in {"os.system", "os.exec", "os.posix_spawn"}:
        seen.append([event, repr(args)[:200]])

sys.addaudithook(watch)
compile(MARK, "as a control", "eval")
assert len(seen) == 1, seen
seen.clear()
for item in items:
    asked = JudgeItem(item["completion"], Gold(any_of=(item["gold"],)), prompt=item.get("prompt", ""), language="en")
    for slow_path in (False, True):
        judge.perform("score", (packed(asked), profile, True, None), slow_path)
print(json.dumps(seen))
"""


def test_python_itself_never_hears_of_it_as_code_name_or_path(tmp_path: Path) -> None:
    """The interpreter tells of whatever it compiles, executes, imports and opens while the texts are judged."""
    items = attacks(tmp_path, 9)
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED],
        input=json.dumps([MARK, items]),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == []
