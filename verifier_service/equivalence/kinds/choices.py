"""Multiple choice: options by letter, by their text where the item gives it, several at once.

gold       answer                           verdict
E          (E) | \\mathrm{E} | E. the range  correct
E          e                                correct     case is ignored for one capital A-H
B, E       E, B | BE                        correct
(E) 19     E | 19                           correct
C          Can't say                        incorrect   a letter inside a word is none
"""

from collections.abc import Callable

from ..decision import Decision, correct, incorrect
from ..gold import PreparedGold, prepare
from ..prompt import Facts
from ..reading import Reading, plain_text
from ..rules import Rules
from .words import choice, choice_letters

Judge = Callable[[PreparedGold, str], Decision]


def compare_options(gold: PreparedGold, answer: Reading, facts: Facts, judge: Judge) -> Decision | None:
    """None where neither side is an option."""
    if len(gold.options) > 1:
        return _several(gold, answer)
    if gold.option is not None:
        return _letter_gold(gold, answer, facts, judge)
    return _value_gold(gold, answer, facts, judge)


def _several(gold: PreparedGold, answer: Reading) -> Decision | None:
    plain = plain_text(answer.text)
    letters = choice_letters(plain)
    if letters is None:
        if gold.readings[0].tree is not None and choice(plain) is None:
            return None
        return incorrect("text", "other options")
    same = set(letters) == set(gold.options)
    return correct("text", "the same options") if same else incorrect("text", "other options")


def _letter_gold(gold: PreparedGold, answer: Reading, facts: Facts, judge: Judge) -> Decision | None:
    assert gold.option is not None
    letter, text = gold.option.letter, gold.option.text
    found = choice(plain_text(answer.text))
    if found is not None:
        same = found.letter == letter
        return correct("text", f"option {letter}") if same else incorrect("text", f"option {found.letter}")
    if len(choice_letters(plain_text(answer.text)) or ()) > 1:
        return incorrect("text", "several options")
    texts = [text] if text else []
    place = ord(letter) - ord("A")
    if place < len(facts.choices):
        texts.append(facts.choices[place])
    for option_text in texts:
        decision = judge(_as_gold(option_text), answer.text)
        if decision.is_correct:
            return decision
    if texts or answer.words or answer.tree is None or not answer.tree.free:
        return incorrect("text", f"not option {letter}")
    return None


def _value_gold(gold: PreparedGold, answer: Reading, facts: Facts, judge: Judge) -> Decision | None:
    found = choice(plain_text(answer.text))
    if found is None or not facts.choices:
        return None
    place = ord(found.letter) - ord("A")
    if place >= len(facts.choices):
        return None
    decision = judge(gold, facts.choices[place])
    return decision if decision.is_correct or found.marked else None


def _as_gold(text: str) -> PreparedGold:
    return prepare(text, Rules(gold_from="literal"))
