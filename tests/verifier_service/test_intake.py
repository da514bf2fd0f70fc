import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.equivalence import Gold
from verifier_service.intake import gold_of, judge_item, number_text, question_of
from verifier_service.rewards.language_names import UnknownLanguage
from verifier_service.schema import AllOf, AnyOf, Item, Message


@pytest.mark.parametrize(
    "spec, gold",
    [
        ("5", Gold(any_of=("5",))),
        (5, Gold(any_of=("5",))),
        (["1", 2, 0.5], Gold(any_of=("1", "2", "0.5"))),
        ([], Gold(any_of=("",))),
        (AnyOf(any_of=["1", 2]), Gold(any_of=("1", "2"))),
        (AllOf(all_of=["1", 2]), Gold(all_of=("1", "2"))),
        (None, None),
    ],
)
def test_every_form_of_gold_is_taken(spec: object, gold: Gold | None) -> None:
    item = Item.model_validate({"completion": "", "gold": spec})
    assert gold_of(item.gold) == gold


@pytest.mark.parametrize(
    "number, text",
    [
        (5.0, "5"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (2666.7, "2666.7"),
        (1e22, "1" + "0" * 22),
        (1e-7, "0.0000001"),
    ],
)
def test_a_number_is_written_in_full(number: float, text: str) -> None:
    assert number_text(number) == text


def test_an_integer_beyond_the_digits_that_python_prints_is_written_in_full() -> None:
    assert number_text(10**5000) == "1" + "0" * 5000


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_as_itself_without_exponent(number: float) -> None:
    text = number_text(number)
    assert float(text) == number
    assert "e" not in text.lower()


def test_the_question_of_a_chat_is_what_the_user_said_last() -> None:
    chat = [
        Message(role="system", content="Be brief."),
        Message(role="user", content="What is 1+1?"),
        Message(role="assistant", content="2"),
        Message(role="user", content=[{"type": "text", "text": "And 2+2?"}, {"type": "image", "url": "x"}]),
    ]
    assert question_of(chat) == "And 2+2?"
    assert question_of([Message(role="system", content="What is 1+1?")]) == "What is 1+1?"
    assert question_of([]) == question_of(None) == ""


def test_info_goes_along_only_where_a_reward_may_read_it() -> None:
    item = Item.model_validate({"completion": "", "source": "here", "info": {"row": 1}})
    assert judge_item(item, with_info=False).info is None
    assert judge_item(item, with_info=True).info == {"row": 1, "source": "here"}


def test_languages_go_by_their_codes() -> None:
    assert judge_item(Item(completion="", language="English"), with_info=False).language == "en"
    with pytest.raises(UnknownLanguage, match="klingon"):
        judge_item(Item(completion="", language="klingon"), with_info=False)
