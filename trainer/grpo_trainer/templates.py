"""From a question to a prompt. Whether the prompt already opens the thinking is decided here, once.

Some chat templates end in `<think>`; then the completion begins inside the thinking, and a verifier that is
not told pays no format reward at all. Every Prompt carries the answer in `prefilled_think`, read off the
rendered text itself, and it goes with each completion to the service.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from grpo_trainer.config import TemplateConfig

OPEN, CLOSE = "<think>", "</think>"
Thinking = Literal["none", "open", "closed"]

R1_CONVERSATION = (
    "A conversation between User and Assistant. The user asks a question, and the Assistant solves it. The "
    "assistant first thinks about the reasoning process in the mind and then provides the user with the "
    "answer. The reasoning process and answer are enclosed within <think> </think> and <answer> </answer> "
    "tags, respectively, i.e., <think> reasoning process here </think> <answer> answer here </answer>.\n"
    "User: {question}\n"
    "Assistant:"
)
"""DeepSeek-R1, arXiv 2501.12948, table 1; the lines are broken before User and Assistant."""


class TemplateError(ValueError):
    """A template that cannot be used as configured; the message says what to set."""


class Tokenizer(Protocol):
    """What a template needs of a tokenizer of transformers."""

    def apply_chat_template(
        self,
        conversation: list[dict[str, str]],
        *,
        tokenize: bool,
        add_generation_prompt: bool,
        **variables: Any,
    ) -> Any: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example of a few-shot prompt."""

    question: str
    completion: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model continues.

    text: for people; token_ids are what the engine is given.
    thinking: what the prompt leaves to the model: to open a thinking itself ("none"), to go on with one
    that is open, or to answer after one that the chat template has closed.
    """

    text: str
    token_ids: tuple[int, ...]
    thinking: Thinking

    @property
    def prefilled_think(self) -> bool:
        """The completion begins inside the thinking; belongs into every item of /score."""
        return self.thinking == "open"


@dataclass(frozen=True, slots=True)
class Probe:
    """A completion that must earn accuracy and format in full: scored once before a run.

    If the service pays less, the template and the reward do not fit each other.
    """

    question: str
    gold: str
    completion: str
    prefilled_think: bool


@dataclass(frozen=True, slots=True)
class Template:
    """Renders questions for one tokenizer."""

    config: TemplateConfig
    tokenizer: Tokenizer
    examples: tuple[Example, ...] = ()

    def render(self, question: str) -> Prompt:
        """The prompt of a question. Raises TemplateError if prefill_think meets a thinking already closed."""
        text, begun = self._begun(question)
        thinking = thinking_state(begun)
        if self.config.prefill_think and thinking == "closed":
            raise TemplateError(
                "template.prefill_think opens a thinking that the chat template has already closed: set "
                "template.chat_options so that it does not (often enable_thinking=true), or "
                "template.prefill_think=false"
            )
        if self.config.prefill_think and thinking == "none":
            text += {"chat": f"{OPEN}\n", "plain": OPEN}.get(self.config.kind, f" {OPEN}")
            thinking = "open"
        # A chat template writes its own special tokens; elsewhere the tokenizer adds those it begins with.
        ids = self.tokenizer.encode(text, add_special_tokens=self.config.kind != "chat")
        return Prompt(text, tuple(ids), thinking)

    def probe(self) -> Probe:
        """A good answer to an easy question, as a model would write it after this template's prompt."""
        question, gold = "What is 2 + 2?", "4"
        prompt = self.render(question)
        thought = f" Two and two make four. {CLOSE} "
        begun = {"none": OPEN + thought, "open": thought, "closed": ""}[prompt.thinking]
        answer = f"<answer> {gold} </answer>" if self.config.kind == "r1" else f"\\boxed{{{gold}}}"
        return Probe(question, gold, begun + answer, prompt.prefilled_think)

    def _begun(self, question: str) -> tuple[str, str]:
        """The rendered prompt, and the part of it that begins the assistant's turn."""
        if self.config.kind == "chat":
            return self._chat(question)
        if self.config.kind == "r1":
            text = R1_CONVERSATION.format(question=question)
            return text, ""
        if self.config.kind == "few-shot":
            shown = [f"Question: {e.question}\nAnswer: {e.completion}\n\n" for e in self.examples]
            return f"{''.join(shown)}Question: {self._asked(question)}\nAnswer:", ""
        tail = question.rstrip()
        return question, OPEN if tail.endswith(OPEN) else ""

    def _chat(self, question: str) -> tuple[str, str]:
        messages = [{"role": "user", "content": self._asked(question)}]
        if self.config.system is not None:
            messages.insert(0, {"role": "system", "content": self.config.system})
        asked, begun = (
            str(
                self.tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=begin, **self.config.chat_options
                )
            )
            for begin in (False, True)
        )
        # The question itself may speak of tags, so only what the template adds for the answer counts. A
        # template that renders the two differently from the start leaves the very end to look at.
        added = begun[len(asked) :] if begun.startswith(asked) else begun.rstrip()[-len(CLOSE) :]
        return begun, added

    def _asked(self, question: str) -> str:
        return question if self.config.instruction is None else f"{question}\n{self.config.instruction}"


def thinking_state(text: str) -> Thinking:
    """Whether text leaves a thinking open, has closed it, or never mentions one."""
    opened, closed = text.rfind(OPEN), text.rfind(CLOSE)
    if opened == closed:
        return "none"
    return "open" if opened > closed else "closed"


def make_template(
    config: TemplateConfig, tokenizer: Tokenizer, rows: Sequence[Mapping[str, Any]] = ()
) -> Template:
    """The template of a run; rows are those of template.examples, read by the caller.

    Raises TemplateError if an example lacks its question or completion, or there are fewer than
    template.shots.
    """
    wanted = len(rows) if config.shots is None else config.shots
    if wanted > len(rows):
        raise TemplateError(
            f"template.shots={wanted}, but template.examples holds {len(rows)}: use at most those"
        )
    examples = []
    for number, row in enumerate(rows[:wanted], start=1):
        if not (isinstance(row.get("question"), str) and isinstance(row.get("completion"), str)):
            raise TemplateError(
                f'example {number} of template.examples needs the texts "question" and "completion"'
            )
        examples.append(Example(row["question"], row["completion"]))
    return Template(config, tokenizer, tuple(examples))
