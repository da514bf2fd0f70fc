"""Data: rows of every kind, golds asked about before a run, an order that one number resumes."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grpo_trainer.config import DataConfig, TemplateConfig
from grpo_trainer.data import (
    GOLDS_PER_REQUEST,
    DataError,
    DataOrder,
    Problem,
    check_golds,
    load_problems,
    load_template,
    prepare,
    problem_from,
)
from grpo_trainer.templates import make_template
from verifier_service.schema import GoldQuery, GoldResult, GoldsResponse, RulesPatch


def jsonl(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def problem(**row: Any) -> Problem:
    return problem_from(row, "here", DataConfig())


class Service:
    """Refuses golds that hold no digit, in answers of the wire's own types."""

    def __init__(self) -> None:
        self.requests: list[Sequence[GoldQuery]] = []

    def check_golds(self, golds: Sequence[GoldQuery]) -> GoldsResponse:
        self.requests.append(golds)
        judged = [any(c.isdigit() for c in str(g.gold)) for g in golds]
        return GoldsResponse(
            results=[
                GoldResult(index=i, ok=ok, code="unverifiable_gold", reason="no digit")
                for i, ok in enumerate(judged)
            ]
        )


def problems(*golds: Any) -> list[Problem]:
    return [Problem(str(i), f"question {i}", gold, {}) for i, gold in enumerate(golds)]


def test_jsonl_rows_become_problems(tmp_path: Path) -> None:
    source = jsonl(
        tmp_path / "a.jsonl",
        {"id": "x7", "question": "2倍の3は？", "answer": "6", "language": "ja", "other": 1},
        {"problem": "p", "solution": "worked out: 5", "answer": 5},
    )
    first, second = load_problems(DataConfig(train=source, language="en"))
    assert first == Problem("x7", "2倍の3は？", "6", {"language": "ja"})
    assert second == Problem("a.jsonl:2", "p", 5, {"language": "en"})


def test_blank_lines_are_passed_over_and_the_limit_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "p", "gold": "1"}\n\n{"prompt": "q", "gold": "2"}\nnot even json\n')
    assert [p.id for p in load_problems(DataConfig(train=str(path), limit=2))] == ["a.jsonl:1", "a.jsonl:3"]
    with pytest.raises(DataError, match=r"a\.jsonl:4: not JSON"):
        load_problems(DataConfig(train=str(path)))


def test_parquet_rows_become_problems_and_dots_reach_into_columns(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"prompt": [{"role": "user", "content": text}], "reward_model": {"ground_truth": gold}}
        for text, gold in (("q?", "34"), ("r?", "5"))
    ]
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    found = load_problems(DataConfig(train=str(path), gold_field="reward_model.ground_truth"))
    assert [(p.id, p.question, p.gold) for p in found] == [
        ("a.parquet row 0", "q?", "34"),
        ("a.parquet row 1", "r?", "5"),
    ]


def test_hub_data_sets_are_read_by_split(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load_dataset(name: str, config: str | None, *, split: str, revision: str | None) -> Any:
        asked.append((name, config, split, revision))
        return [{"question": "q", "answer": "#### 4"}]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    found = load_problems(DataConfig(train="hf:openai/gsm8k?config=main&split=test"))
    assert asked == [("openai/gsm8k", "main", "test", None)]
    assert found == [Problem("openai/gsm8k row 0", "q", "#### 4", {})]
    with pytest.raises(DataError, match='no such part "splt"'):
        load_problems(DataConfig(train="hf:openai/gsm8k?splt=test"))


def test_a_folder_is_read_by_the_hub_library_itself(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed")
    jsonl(tmp_path / "train.jsonl", {"question": "q", "answer": "4"})
    code = (
        "from grpo_trainer.config import DataConfig; from grpo_trainer.data import load_problems; "
        f"print(load_problems(DataConfig(train='hf:{tmp_path}?split=train'))[0].gold)"
    )
    # A process of its own: the library takes its cache folder and offline mode from the environment, once.
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    root = Path(__file__).parents[2]
    where = {"PYTHONPATH": f"{root / 'trainer'}{os.pathsep}{root}"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | offline | where,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "4"


def test_an_optional_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match="pip install datasets"):
        load_problems(DataConfig(train="hf:x/y"))


@pytest.mark.parametrize(
    "gold", ["6", 6, 0.5, ["1", "one"], {"any_of": ["1", 2]}, {"all_of": ["x=1", "y=2"]}, ""]
)
def test_golds_of_every_form_of_the_wire_are_taken(gold: Any) -> None:
    row = problem(prompt="p", gold=gold)
    assert GoldQuery(gold=row.gold).gold == row.gold


@pytest.mark.parametrize(
    "row, message",
    [
        ({"prompt": "p"}, "set data.gold_field to one of prompt"),
        ({"gold": "1"}, "set data.prompt_field to one of gold"),
        ({}, "the row is empty"),
        ({"prompt": "  ", "gold": "1"}, "neither text nor a single user message"),
        ({"prompt": 7, "gold": "1"}, "neither text"),
        ({"prompt": [{"role": "system", "content": "s"}], "gold": "1"}, "neither text"),
        ({"prompt": [{"role": "user", "content": "a"}] * 2, "gold": "1"}, "neither text"),
        ({"prompt": "p", "gold": None}, "the gold is null"),
        ({"prompt": "p", "gold": {"x": 1}}, "the gold is neither"),
        ({"prompt": "p", "gold": True}, "the gold is neither"),
    ],
)
def test_a_row_of_no_use_is_refused_by_its_place(row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"^here: .*{message}"):
        problem(**row)


def test_a_configured_column_that_is_missing_is_refused() -> None:
    with pytest.raises(DataError, match=r'no column "a\.b": set data\.gold_field to one of prompt, a'):
        problem_from({"prompt": "p", "a": {"c": 1}}, "here", DataConfig(gold_field="a.b"))


@pytest.mark.parametrize(
    "source, message",
    [("", "cannot tell"), ("a.csv", "cannot tell"), ("absent.jsonl", "no file absent")],
)
def test_a_source_that_cannot_be_read_is_refused(source: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_problems(DataConfig(train=source))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no rows"):
        load_problems(DataConfig(train=jsonl(tmp_path / "a.jsonl")))


def test_golds_are_asked_about_with_their_question_and_rules() -> None:
    service, rules = Service(), RulesPatch(gold_from="literal")
    report = check_golds(problems("1", "see figure", 3), service, rules=rules)
    assert [p.gold for p in report.kept] == ["1", 3]
    assert [(r.problem.gold, r.code, r.reason) for r in report.refused] == [
        ("see figure", "unverifiable_gold", "no digit")
    ]
    assert report.summary() == "2 golds can be judged, 1 cannot (1 unverifiable_gold)"
    (queries,) = service.requests
    assert [(q.gold, q.prompt, q.rules) for q in queries][1] == ("see figure", "question 1", rules)


def test_golds_go_in_requests_of_bounded_size_and_none_is_lost() -> None:
    service, count = Service(), 2 * GOLDS_PER_REQUEST + 1
    report = check_golds(problems(*map(str, range(count))), service)
    assert [len(r) for r in service.requests] == [GOLDS_PER_REQUEST, GOLDS_PER_REQUEST, 1]
    assert [p.gold for p in report.kept] == [str(i) for i in range(count)]
    assert report.summary() == f"all {count} golds can be judged"


def test_a_run_can_refuse_to_begin_with_golds_of_no_use() -> None:
    with pytest.raises(DataError, match=r"1: 'see figure' \(no digit\)\nmend them"):
        check_golds(problems("1", "see figure"), Service(), stop=True)
    with pytest.raises(DataError, match="the right column"):
        check_golds(problems("proof", "see figure"), Service())


def test_an_unreachable_service_is_not_a_verdict_on_golds() -> None:
    class Gone:
        def check_golds(self, golds: Sequence[GoldQuery]) -> GoldsResponse:
            raise ConnectionError("nobody listens")

    with pytest.raises(ConnectionError):
        check_golds(problems("1"), Gone())


class Letters:
    def apply_chat_template(self, conversation: Any, **options: Any) -> str:
        raise NotImplementedError

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return list(range(len(text)))


def test_long_prompts_are_left_out_and_counted() -> None:
    template = make_template(TemplateConfig(kind="plain"), Letters())
    rows = [Problem("a", "short", "1", {}), Problem("b", "much too long", "2", {})]
    prepared = prepare(rows, template, 8)
    assert [p.id for p, _ in prepared.asked] == ["a"]
    assert prepared.too_long == 1
    with pytest.raises(DataError, match="the shortest has 5"):
        prepare(rows, template, 3)


def test_examples_of_a_few_shot_template_are_read_from_their_file(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "shots.jsonl", {"question": "1+1?", "completion": "two"})
    template = load_template(TemplateConfig(kind="few-shot", examples=path), Letters())
    assert template.render("2+2?").text == "Question: 1+1?\nAnswer: two\n\nQuestion: 2+2?\nAnswer:"
    assert load_template(TemplateConfig(kind="plain"), Letters()).examples == ()


def test_every_pass_sees_every_question_once_in_a_new_order() -> None:
    order = DataOrder(count=50, seed=3)
    first, second = order.indices(0, 50), order.indices(50, 50)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert first != list(range(50))


def test_the_order_resumes_from_one_number() -> None:
    whole = DataOrder(count=7, seed=1).indices(0, 40)
    for cut in (0, 1, 6, 7, 8, 39):
        assert DataOrder(count=7, seed=1).indices(cut, 40 - cut) == whole[cut:]
    assert DataOrder(count=7, seed=2).indices(0, 40) != whole


def test_without_shuffling_the_order_is_that_of_the_file() -> None:
    assert DataOrder(count=3, seed=1, shuffle=False).indices(2, 5) == [2, 0, 1, 2, 0]
