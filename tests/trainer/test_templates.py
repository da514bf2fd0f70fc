"""Templates: one place decides whether the prompt has opened the thinking."""

from typing import Any

import pytest

from grpo_trainer.config import TemplateConfig
from grpo_trainer.templates import Prompt, Template, TemplateError, make_template, thinking_state

PLAIN_ENDING = "<|assistant|>\n"
DEEPSEEK_ENDING = "<|assistant|><think>\n"
CLOSED_ENDING = "<|assistant|>\n<think>\n\n</think>\n\n"


class Words:
    """A tokenizer of characters whose chat template ends as it is told."""

    def __init__(self, ending: str = PLAIN_ENDING, start: str = "<s>") -> None:
        self.ending, self.start = ending, start

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        assert options["tokenize"] is False
        ending = CLOSED_ENDING if options.get("enable_thinking") is False else self.ending
        turns = "".join(f"<|{m['role']}|>{m['content']}\n" for m in conversation)
        return self.start + turns + (ending if options["add_generation_prompt"] else "")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [ord(c) for c in (self.start if add_special_tokens else "") + text]


class Restless(Words):
    """Renders the conversation differently from the start when an answer is asked for."""

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        return ("ask: " if options["add_generation_prompt"] else "log: ") + super().apply_chat_template(
            conversation, **options
        )


def template(tokenizer: Words | None = None, rows: Any = (), **options: Any) -> Template:
    return make_template(TemplateConfig.model_validate(options), tokenizer or Words(), rows)


def few_shot(rows: Any, **options: Any) -> Template:
    return template(None, rows, kind="few-shot", examples="shots.jsonl", **options)


def text_of(prompt: Prompt) -> str:
    return "".join(map(chr, prompt.token_ids))


def test_r1_is_the_papers_conversation_without_a_prefill() -> None:
    prompt = template(kind="r1").render("How many legs has a spider?")
    assert prompt.text.startswith("A conversation between User and Assistant. ")
    assert prompt.text.endswith("\nUser: How many legs has a spider?\nAssistant:")
    assert not prompt.prefilled_think, "the tags that the instructions explain are not an open thinking"
    assert text_of(prompt) == "<s>" + prompt.text, "the tokenizer's own beginning comes first"


def test_r1_can_open_the_thinking() -> None:
    prompt = template(kind="r1", prefill_think=True).render("x?")
    assert prompt.text.endswith("\nAssistant: <think>")
    assert prompt.prefilled_think


def test_a_question_with_braces_and_backslashes_stays_as_it_is() -> None:
    question = r"Solve \frac{x}{2} = {3} for {question}"
    for kind in ("r1", "plain", "chat"):
        assert question in template(kind=kind).render(question).text


def test_chat_has_system_question_and_instruction_and_no_second_start_token() -> None:
    prompt = template(kind="chat", system="Be brief.", instruction="Box it.").render("1+1?")
    assert prompt.text == "<s><|system|>Be brief.\n<|user|>1+1?\nBox it.\n<|assistant|>\n"
    assert text_of(prompt) == prompt.text
    assert not prompt.prefilled_think


@pytest.mark.parametrize("tokenizer", [Words(DEEPSEEK_ENDING), Restless(DEEPSEEK_ENDING)])
def test_a_chat_template_that_opens_the_thinking_is_recognised(tokenizer: Words) -> None:
    for prefill in (False, True):
        prompt = template(tokenizer, kind="chat", prefill_think=prefill).render("1+1?")
        assert prompt.text.endswith("<|assistant|><think>\n"), "never opened twice"
        assert prompt.prefilled_think


@pytest.mark.parametrize("tokenizer", [Words(), Restless()])
def test_a_chat_template_that_does_not_is_told_apart_and_can_be_made_to(tokenizer: Words) -> None:
    assert not template(tokenizer, kind="chat").render("1+1?").prefilled_think
    opened = template(tokenizer, kind="chat", prefill_think=True).render("1+1?")
    assert opened.text.endswith("<|assistant|>\n<think>\n")
    assert opened.prefilled_think


@pytest.mark.parametrize(
    "words", ["What does <think> mean?", "Write <think>", "Use <think> and </think>.", "End with </think>"]
)
def test_tags_in_question_and_instructions_decide_nothing(words: str) -> None:
    for kind in ("chat", "r1"):
        assert not template(kind=kind).render(words).prefilled_think
    assert not template(kind="chat", system=words, instruction=words).render(words).prefilled_think
    assert template(Words(DEEPSEEK_ENDING), kind="chat", system=words).render(words).prefilled_think


def test_a_thinking_that_the_chat_template_closes_is_not_opened_again() -> None:
    closed = template(kind="chat", chat_options={"enable_thinking": False}).render("1+1?")
    assert closed.thinking == "closed"
    assert not closed.prefilled_think
    with pytest.raises(TemplateError, match="enable_thinking"):
        template(kind="chat", chat_options={"enable_thinking": False}, prefill_think=True).render("1+1?")


def test_few_shot_shows_its_examples_first() -> None:
    examples = [{"question": f"q{i}", "completion": f"<think>t</think> \\boxed{{{i}}}"} for i in range(3)]
    prompt = few_shot(examples, shots=2, instruction="Go.").render("new")
    assert prompt.text == (
        "Question: q0\nAnswer: <think>t</think> \\boxed{0}\n\n"
        "Question: q1\nAnswer: <think>t</think> \\boxed{1}\n\n"
        "Question: new\nGo.\nAnswer:"
    )
    assert not prompt.prefilled_think
    assert few_shot(examples, prefill_think=True).render("new").prefilled_think


def test_plain_is_the_question_and_may_bring_its_own_opening() -> None:
    assert template(kind="plain").render("12+34=").text == "12+34="
    assert template(kind="plain").render("User: 1+1\nAssistant: <think>\n").prefilled_think
    assert template(kind="plain", prefill_think=True).render("12+34=").text == "12+34=<think>"


@pytest.mark.parametrize(
    "rows, shots, message",
    [
        ([{"question": "q"}], None, "example 1"),
        ([], 2, "use at most those"),
        ([{"question": 1, "completion": ""}], 1, "texts"),
    ],
)
def test_examples_of_no_use_are_refused(rows: Any, shots: int | None, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        few_shot(rows, shots=shots)


@pytest.mark.parametrize(
    "text, state",
    [("", "none"), ("a <think> b", "open"), ("<think></think>", "closed"), ("</think>", "closed"),
     ("<think>a</think><think>", "open"), ("< think >", "none")],
)  # fmt: skip
def test_thinking_is_open_if_the_last_tag_opens_it(text: str, state: str) -> None:
    assert thinking_state(text) == state


@pytest.mark.parametrize("kind", ["chat", "r1", "plain"])
@pytest.mark.parametrize("prefill", [False, True])
def test_the_probe_has_the_layout_that_earns_everything(kind: str, prefill: bool) -> None:
    probe = template(kind=kind, prefill_think=prefill).probe()
    whole = ("<think>" if probe.prefilled_think else "") + probe.completion
    assert probe.prefilled_think == prefill
    assert whole.count("<think>") == whole.count("</think>") == 1
    assert whole.startswith("<think>")
    assert ("<answer>" in whole) == (kind == "r1")
    assert probe.gold in whole.partition("</think>")[2]


def test_the_probe_of_a_closed_thinking_cannot_think() -> None:
    probe = template(kind="chat", chat_options={"enable_thinking": False}).probe()
    assert "think>" not in probe.completion


def test_a_tokenizer_of_transformers_fits() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"<s>": 0, "<unk>": 1, "user": 2, "2": 3, "assistant": 4}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
    tokenizer.chat_template = (
        "<s> {% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}"
        "{% if add_generation_prompt %}assistant <think>\n{% endif %}"
    )
    prompt = make_template(TemplateConfig(kind="chat"), tokenizer).render("2")
    assert prompt.text == "<s> user 2 assistant <think>\n"
    assert prompt.token_ids == (0, 2, 3, 4, 1)
    assert prompt.prefilled_think
