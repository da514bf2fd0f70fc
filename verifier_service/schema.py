"""Wire types of /score, /golds and /info, used by both sides. Nothing here imports the judge."""

import math
import numbers
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictFloat,
    StrictInt,
)
from pydantic_core import PydanticCustomError

Verdict = Literal["correct", "incorrect", "no_answer"]
Outcome = Literal["right", "wrong", "no_verdict"]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
# Strict: JSON true is neither the number 1 nor an id.
Number = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
Id = str | StrictInt
# Pydantic keeps an error for every member of a list that does not fit: gigabytes for a list of eight million,
# which 16 MB of body can hold. The first one is enough.
_MemberT = TypeVar("_MemberT")
ListOf = Annotated[list[_MemberT], Field(fail_fast=True)]
# Beyond any context, and small enough for exact arithmetic in floats.
MOST_TOKENS = 10**12

COMPLETION_NAMES = ("completion", "response", "solution_str", "output")
GOLD_NAMES = (
    "gold",
    "ground_truth",
    "answer",
    "label",
    "solution",
    "target",
    "reference",
    "expected_answer",
)
PROMPT_NAMES = ("prompt", "question", "problem")
# Every name that an item answers to, by field.
NAMES_OF = {"completion": COMPLETION_NAMES, "gold": GOLD_NAMES, "prompt": PROMPT_NAMES}


class Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null", populate_by_name=True)


class ToleranceSpec(Wire):
    """Numeric tolerance of a data set; an answer passes if any given bound holds."""

    abs: FiniteFloat | None = Field(default=None, ge=0)
    rel: FiniteFloat | None = Field(default=None, ge=0)
    digits: int | None = Field(default=None, ge=1, le=1000)


class RulesPatch(Wire):
    """Changes to the rules of a profile; a field left out keeps the profile's value."""

    extraction: Literal["boxed", "lenient"] | None = None
    gold_from: Literal["auto", "literal"] | None = None
    echo_guard: bool | None = None
    rounded_gold: bool | None = None
    require_evaluated: bool | None = None
    tolerance: ToleranceSpec | None = None
    on_answer_timeout: Literal["incorrect", "null"] | None = None
    template: Literal["think", "think_answer"] | None = None
    language_part: Literal["thinking", "response", "both"] | None = None


class Message(BaseModel):
    """A chat message. Content may be a list of parts; the text parts are joined.

    `reasoning_content` (some servers call it `reasoning`) is the thinking that the chat API took apart.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    role: str
    content: str | ListOf[dict[str, Any]] | None = None
    reasoning_content: Annotated[
        str | None, Field(validation_alias=AliasChoices("reasoning_content", "reasoning"))
    ] = None


class AnyOf(Wire):
    """Alternatives: one of them is enough."""

    any_of: ListOf[str | Number] = Field(min_length=1)


class AllOf(Wire):
    """Parts of one answer: all are needed."""

    all_of: ListOf[str | Number] = Field(min_length=1)


Text = str | ListOf[Message]
_AnyGold = str | Number | ListOf[str | Number] | AnyOf | AllOf | None
_GOLD_SHAPE = 'should be a string, a finite number, a list of these, {"any_of": []}, {"all_of": []} or null'


def _gold_member(value: Any, place: str = "") -> str | int | float:
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise PydanticCustomError("gold", "{shape}", {"shape": f"{place} {_GOLD_SHAPE}".strip()})


def _gold_members(value: list[Any], name: str = "") -> list[str | int | float]:
    return [_gold_member(member, f"at {name}[{place}]") for place, member in enumerate(value)]


def _gold(value: Any) -> Any:
    """Any shape of a gold. By hand, since a union of pydantic's copies what was sent once for each shape."""
    if value is None or isinstance(value, str | AnyOf | AllOf):
        return value
    if isinstance(value, list | tuple):
        return _gold_members(list(value))
    if isinstance(value, dict) and len(value) == 1:
        name, members = next(iter(value.items()))
        if name in ("any_of", "all_of") and isinstance(members, list) and members:
            read = _gold_members(members, name)
            return AnyOf(any_of=read) if name == "any_of" else AllOf(all_of=read)
    return _gold_member(value)


def _itself(value: Any) -> Any:
    return value


GoldSpec = Annotated[
    _AnyGold,
    PlainValidator(_gold, json_schema_input_type=_AnyGold),
    # Without it pydantic looks for the shape again in what it has written already, and warns of it.
    PlainSerializer(_itself, return_type=Any),
]


# Small enough that no product or sum of a profile's numbers leaves the range of floats.
RewardNumber = Annotated[FiniteFloat, Field(ge=-1e6, le=1e6)]


class RewardSpec(Wire):
    """One reward of a profile: its weight and what its raw score becomes."""

    weight: RewardNumber = 1.0
    null_value: RewardNumber | None = None
    right: RewardNumber | None = None
    wrong: RewardNumber | None = None
    template: Literal["think", "think_answer"] | None = None
    part: Literal["thinking", "response", "both"] | None = None


class ProfileSpec(BaseModel):
    """A profile as TOML or inline JSON: which rewards, with what weight, under which rules."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    rewards: dict[str, RewardSpec] = Field(min_length=1)
    rules: RulesPatch = RulesPatch()


class Item(BaseModel):
    """One completion to score. Keys that are not listed here are kept as `info`.

    `completion` may also be called response, solution_str or output; `gold` ground_truth, answer, label,
    solution, target, reference or expected_answer; `prompt` question or problem.
    """

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    completion: Annotated[Text, Field(validation_alias=AliasChoices(*COMPLETION_NAMES))]
    gold: Annotated[GoldSpec, Field(validation_alias=AliasChoices(*GOLD_NAMES))] = None
    prompt: Annotated[Text | None, Field(validation_alias=AliasChoices(*PROMPT_NAMES))] = None
    id: Id | None = None
    prefilled_think: bool = False
    language: str | None = None
    choices: ListOf[str] | None = None
    unit: str | None = None
    data_source: str | None = None
    rules: RulesPatch | None = None
    profile: str | ProfileSpec | None = None
    completion_tokens: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    max_tokens: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    truncated: bool | None = None
    group: Id | None = None
    info: dict[str, Any] | None = None


class RepairedItem(Item):
    """An item whose text had to be changed before it could be read; `notes` become its warnings."""

    _notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidItem:
    """Stands in a batch for an item that is not one; its result is a null with code `invalid_item`."""

    message: str
    id: str | int | None = None


class ScoreRequest(BaseModel):
    """A batch to score. Unknown keys are refused here: a misspelt `profile` must not pass for the default."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "items": [
                    {
                        "id": "0",
                        "prompt": "A train covers 84 km in 1.5 h. Speed in km/h?",
                        "completion": "<think>84 / 1.5 = 56</think>The speed is \\boxed{56}.",
                        "gold": "56",
                    }
                ],
                "profile": "r1-zero",
            }
        },
    )

    items: ListOf[Item]
    profile: str | ProfileSpec | None = None
    rules: RulesPatch | None = None
    deadline_s: FiniteFloat | None = Field(default=None, gt=0)
    explain: bool = False
    echo_info: bool = False


class ItemError(Wire):
    """Why an item has no verdict. `retryable`: the same item may get one if it is sent again."""

    code: str
    message: str
    retryable: bool


def _is_none(value: object) -> bool:
    return value is None


class Result(BaseModel):
    """The judgement of one item, at the place that the item had in the request."""

    model_config = ConfigDict(extra="ignore", ser_json_inf_nan="null")

    id: str | int | None = None
    index: int
    status: Literal["ok", "error"]
    reward: float | None
    components: dict[str, float] = {}
    scores: dict[str, float | None] = {}
    verdict: Verdict | None
    extracted: str | None = None
    method: str | None = None
    reason: str = ""
    cached: bool = False
    elapsed_ms: float = 0.0
    warnings: list[str] = []
    error: ItemError | None = Field(default=None, exclude_if=_is_none)
    profile: str | None = Field(default=None, exclude_if=_is_none)
    info: dict[str, Any] | None = Field(default=None, exclude_if=_is_none)
    explanation: dict[str, Any] | None = Field(default=None, exclude_if=_is_none)

    @property
    def outcome(self) -> Outcome:
        """What a trainer acts on: right, wrong (no answer is wrong), or no verdict, which is not a zero."""
        if self.verdict is None:
            return "no_verdict"
        return "right" if self.verdict == "correct" else "wrong"


class ScoreResponse(BaseModel):
    """Results in the order of the items, and how many of them are errors."""

    model_config = ConfigDict(extra="ignore", ser_json_inf_nan="null")

    results: list[Result]
    rewards: list[float | None]
    profile: str
    profile_hash: str
    engine: str
    errors: int


class GoldQuery(Wire):
    """A gold to check, under the names that an item gives it."""

    gold: Annotated[GoldSpec, Field(validation_alias=AliasChoices(*GOLD_NAMES))]
    prompt: Annotated[Text | None, Field(validation_alias=AliasChoices(*PROMPT_NAMES))] = None
    rules: RulesPatch | None = None


class GoldsRequest(Wire):
    """Golds to check before a training run meets them."""

    golds: ListOf[GoldQuery]


class GoldResult(BaseModel):
    """Whether a gold can be judged, as which kind of answer it is read, and if not, why not."""

    model_config = ConfigDict(extra="ignore")

    index: int
    ok: bool
    kind: str | None = None
    code: str | None = Field(default=None, exclude_if=_is_none)
    reason: str = ""


class GoldsResponse(BaseModel):
    model_config = ConfigDict(extra="ignore")

    results: list[GoldResult]
    engine: str = ""


class Limits(BaseModel):
    """What the service takes; a client splits its batches by these."""

    model_config = ConfigDict(extra="ignore")

    max_body_bytes: int
    max_items: int
    max_depth: int
    deadline_s: float
    max_deadline_s: float
    item_cpu_s: float
    max_values: int = 0  # 0: the service has no such limit, or does not tell
    queue_items: int = 0
    queue_s: float = 0.0
    rate_items: int = 0
    rate_mb: int = 0


class ProfileInfo(BaseModel):
    """A profile that the service knows: the hash that it resolves to, and the weights of its rewards."""

    model_config = ConfigDict(extra="ignore")

    hash: str
    rewards: dict[str, float]


class Info(BaseModel):
    """What is running: two services that show one `engine` judge alike."""

    model_config = ConfigDict(extra="ignore")

    version: str
    engine: str
    pid: int
    limits: Limits
    profiles: dict[str, ProfileInfo]
    default_profile: str


class ProblemPath(BaseModel):
    """One fault of a request and where it stands, such as `items` or `rules.tolerance.abs`."""

    model_config = ConfigDict(extra="ignore")

    path: str
    message: str


class Problem(BaseModel):
    """An error of the whole request (RFC 9457). `type` is stable; the texts may change."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str = ""
    status: int
    detail: str = ""
    request_id: str = ""
    errors: list[ProblemPath] | None = Field(default=None, exclude_if=_is_none)
    setting: str | None = Field(default=None, exclude_if=_is_none)
    limit: int | float | None = Field(default=None, exclude_if=_is_none)
