"""decide(gold, offered, rules, context) -> Decision: the judge's order of business.

Gold first: what cannot be judged is null for every answer alike. Then what was offered. Then text, words, trees;
then the guards that an equal value must still pass; sympy last.
"""

from collections.abc import Iterable
from dataclasses import replace
from types import NoneType

from .conclusion import stated, yes_or_no
from .decision import Context, Decision, Gold, Offered, Part, correct, incorrect, no_answer, unverifiable
from .designation import designated_value, subject_of
from .gold import INTEGER, PreparedGold, final_statement, prepare
from .identity import Assumptions
from .kinds.choices import compare_options
from .kinds.dispatch import compare
from .kinds.frame import Frame
from .kinds.slow import timed_out
from .kinds.times import compare_times
from .kinds.words import choice, family, same_names, same_text, says_of_its_subject
from .nodes import Based, Fn, Mul, Neg, Node, Num, Rel, Seq, Sym, Trait, Words
from .prompt import Facts, facts_of
from .reading import Reading, plain_text, read
from .rules import Rules
from .slow_path import CLOSED, TIMEOUT, SlowPath
from .symbolic import SYMPY
from .wording import counted, tree_of_words


def decide(
    gold: Gold, offered: Offered, rules: Rules, context: Context, *, slow_path: SlowPath = SYMPY
) -> Decision:
    """Is what was offered the same answer as the gold, under the rules and what the prompt tells?

    slow_path: how to ask what only sympy can tell; CLOSED leaves that to `rules.on_answer_timeout`. Raises Unanswered
    where the slow path does.
    """
    golds = [prepare(text, rules) for text in (gold.all_of or gold.any_of)]
    judged = [prepared for prepared in golds if not _is_unverifiable(prepared, slow_path)]
    if not judged or (gold.all_of and len(judged) < len(golds)):
        return _cannot_judge(golds, slow_path)
    if not offered.parts:
        return no_answer(offered.fault or "nothing was offered")
    facts = facts_of(context)
    if gold.all_of:
        return _all_of(golds, offered, rules, facts, slow_path)
    best: Decision | None = None
    for prepared in judged:
        decision = _offered_against(prepared, offered, rules, facts, slow_path)
        if decision.is_correct:
            return decision
        best = best if best is not None and best.verdict is None else decision
    assert best is not None
    return best


# -- the gold


def _is_unverifiable(prepared: PreparedGold, slow_path: SlowPath) -> bool:
    if prepared.needs_sympy:
        return not slow_path.ask(prepared.readings[0].text).equal
    return bool(prepared.problem)


def _cannot_judge(golds: list[PreparedGold], slow_path: SlowPath) -> Decision:
    bad = next((prepared for prepared in golds if _is_unverifiable(prepared, slow_path)), None)
    if bad is None:
        return unverifiable("there is no gold")
    return unverifiable(bad.problem)


# -- what was offered


def _all_of(
    golds: list[PreparedGold], offered: Offered, rules: Rules, facts: Facts, slow_path: SlowPath
) -> Decision:
    """Every part of a multi-part gold must be met: by as many boxes in order, or by one list, as a list gold is."""
    if len(offered.parts) < len(golds):
        together = prepare(", ".join(gold.text for gold in golds), replace(rules, gold_from="literal"))
        return _text_against(together, offered.parts[-1].text, rules, facts, slow_path)
    decisions = [
        _text_against(gold, part.text, rules, facts, slow_path)
        for gold, part in zip(golds, offered.parts[-len(golds) :], strict=True)
    ]
    return next((decision for decision in decisions if not decision.is_correct), decisions[-1])


def _offered_against(
    gold: PreparedGold, offered: Offered, rules: Rules, facts: Facts, slow_path: SlowPath
) -> Decision:
    """The last box, or the last boxes together where the gold has as many parts."""
    parts = offered.parts
    if len(parts) > 1 and len(parts) >= (count := _part_count(gold)) > 1:
        together = _joined(parts[-count:])
        decision = _text_against(gold, together, rules, facts, slow_path)
        if decision.is_correct or count == offered.run:
            return decision
    if offered.run > 1 and not _all_alike(parts[-offered.run :], rules, facts):
        return incorrect("rule", f"hedged: {offered.run} different answers side by side")
    last = parts[-1]
    decision = _text_against(gold, last.text, rules, facts, slow_path)
    if not decision.is_correct and last.label and not _is_labelled(last):
        labelled = _text_against(gold, f"{last.label}={last.text}", rules, facts, slow_path)
        return labelled if labelled.is_correct else decision
    return decision


def _is_labelled(part: Part) -> bool:
    return "=" in part.text


def _joined(parts: Iterable[Part]) -> str:
    return ", ".join(
        f"{part.label}={part.text}" if part.label and "=" not in part.text else part.text for part in parts
    )


def _part_count(gold: PreparedGold) -> int:
    for tree in gold.trees:
        if isinstance(tree, Seq):
            return len(tree.args)
        if tree.traits & Trait.PLUS_MINUS:
            return 2
        if isinstance(tree, Rel) and isinstance(tree.args[-1], Seq):
            return len(tree.args[-1].args)
    return len(gold.options) or 1


def _all_alike(parts: tuple[Part, ...], rules: Rules, facts: Facts) -> bool:
    """Are several boxes one answer repeated?"""
    first = read(parts[0].text)
    return all(
        reading.tokens == first.tokens or _same_trees(first, reading, rules, facts)
        for reading in (read(part.text) for part in parts[1:])
    )


def _same_trees(a: Reading, b: Reading, rules: Rules, facts: Facts) -> bool:
    if a.tree is None or b.tree is None:
        return False
    frame = Frame(rules, facts, Assumptions(), compare, slow_path=CLOSED)
    return compare(a.tree, b.tree, frame).is_correct


# -- one text against one gold


def _text_against(gold: PreparedGold, text: str, rules: Rules, facts: Facts, slow_path: SlowPath) -> Decision:
    if gold.integer is not None and rules.tolerance is None and not facts.choices:
        bare = INTEGER.fullmatch(text)
        if bare is not None:
            return _integers(gold, text, int(bare[bare.lastindex or 1]))
    answer = read(yes_or_no(text) or final_statement(text))
    if gold.sentences and gold.sentences == answer.tokens:
        return correct("text", "equal text")
    if answer.tree is None and " " in text and (conclusion := stated(text)):
        answer = read(conclusion)
    if answer.is_blank:
        return no_answer("the box is blank")
    if any(answer.tokens == reading.tokens for reading in gold.readings):
        return correct("text", "equal text")
    if gold.subject and subject_of(text) not in ((), gold.subject):
        return incorrect("rule", "it says of something else than the gold")
    by_text = _as_text(gold, answer, rules, facts)
    if by_text is not None:
        return by_text
    decision = _as_trees(gold, answer, rules, facts, slow_path)
    if not decision.is_correct and (value := designated_value(answer.text)):
        decision = _as_trees(gold, read(value), rules, facts, slow_path)
    return _guarded(decision, gold, answer, rules, facts) if decision.is_correct else decision


def _integers(gold: PreparedGold, text: str, value: int) -> Decision:
    """Two bare integers, the commonest pair of all: nothing else bears on them."""
    if value == gold.integer:
        return correct("text", "equal text") if text == gold.text else correct("exact", "equal exactly")
    return incorrect("exact", f"{value} is not {gold.integer}")


def _as_text(gold: PreparedGold, answer: Reading, rules: Rules, facts: Facts) -> Decision | None:
    """Kinds that are told by their text: options, dates and times, words. None for mathematics."""
    if gold.option is not None or gold.options or facts.choices:
        found = compare_options(
            gold, answer, facts, lambda g, a: _text_against(g, a, rules, _plain(facts), CLOSED)
        )
        if found is not None:
            return found
    if gold.option is None and answer.tree is None:
        option = choice(plain_text(answer.text))
        if option is not None and option.marked and option.text:  # "D. 42": an option with its value
            return _text_against(gold, option.text, rules, facts, CLOSED)
    on_clock = compare_times(plain_text(gold.readings[0].text), plain_text(answer.text), facts.prompt)
    if on_clock is not None:
        return on_clock
    if not answer.words:
        return None
    tree = gold.readings[0].tree
    if isinstance(tree, Based) and tree.digits == answer.words:
        return correct("text", "the same digits")
    same = not _are_letters(gold, answer, facts) and _same_words(gold, answer, facts)
    return correct("text", "the same words") if same else None


def _same_words(gold: PreparedGold, answer: Reading, facts: Facts) -> bool:
    if same_text(gold.words, answer.words):
        return True
    if " " not in answer.words and " " not in gold.words:
        return False
    if not facts.ordered and same_names(gold.words, answer.words):
        return True
    return says_of_its_subject(plain_text(gold.readings[0].text), plain_text(answer.text))


def _are_letters(gold: PreparedGold, answer: Reading, facts: Facts) -> bool:
    """Letters of the problem, not a word: ab is not AB. Nor is a gold without words one."""
    words = gold.words
    if len(words) < 2:
        return words.isascii() or family(words) is None
    if gold.readings[0].tokens == answer.tokens:
        return False
    return facts.letters.issuperset(words) or (len(words) == 2 and family(words) is None and words.isascii())


def _plain(facts: Facts) -> Facts:
    return facts_of(Context(facts.prompt)) if facts.choices else facts


def _as_trees(
    gold: PreparedGold, answer: Reading, rules: Rules, facts: Facts, slow_path: SlowPath
) -> Decision:
    best: Decision | None = None
    for reading in gold.readings:
        wanted = tree_in(reading, facts, frozenset())
        if wanted is None:
            continue
        wanted = facts.in_row_unit(wanted)
        for offered in _answer_trees(answer, wanted, facts):
            decision = compare(
                wanted, offered, _frame(wanted, offered, reading, answer, rules, facts, slow_path)
            )
            if decision.is_correct:
                return decision
            best = best or decision
    if best is not None:
        return best
    if gold.words and (gold.kind == "words" or answer.words):
        return incorrect("text", "other words")
    return _beyond_the_fast_tiers(gold, answer, rules, facts, slow_path)


def _answer_trees(answer: Reading, wanted: Node, facts: Facts) -> Iterable[Node]:
    """The readings of an answer, the plainest first; rarer ones only where the gold is one number."""
    known = wanted.free
    tree = tree_in(answer, facts, known)
    if isinstance(wanted, Num) and isinstance(tree, (Words, NoneType)) and (number := counted(answer.words)):
        yield number
    elif tree is not None:
        yield tree
    if answer.grouped:
        listed = read(answer.text, group_commas=False)
        if listed.tree is not None:
            yield listed.tree
    if isinstance(wanted, Num):
        for text in foreign_numbers(answer.text):
            reading = read(text)
            if isinstance(reading.tree, Num):
                yield reading.tree


def foreign_numbers(text: str) -> Iterable[str]:
    """8,6 as a decimal comma (not before exactly three digits); 45,67,890 as lakh grouping."""
    sign = text[:1] if text[:1] in "+-" else ""
    groups = text[len(sign) :].split(",")
    if len(groups) < 2 or not all(group.isascii() and group.isdigit() for group in groups):
        return
    if len(groups) == 2 and len(groups[1]) != 3:
        yield f"{sign}{groups[0]}.{groups[1]}"
    if len(groups) > 2 and len(groups[-1]) == 3 and all(len(group) == 2 for group in groups[1:-1]):
        yield sign + "".join(groups)


def tree_in(reading: Reading, facts: Facts, known: frozenset[str]) -> Node | None:
    """The tree of a reading, words read for what they mean; a run of letters is a product of known letters only."""
    if not reading.words:
        return reading.tree
    meant = tree_of_words(reading.words)
    if meant is not None:
        return meant
    tree = reading.tree
    if isinstance(tree, (Mul, Sym, Fn)) and _is_product_of(tree, facts, known):
        return tree
    return None if isinstance(tree, Sym) and len(tree.name) > 1 and tree.name.isalpha() else _unless_run(tree)


def _is_product_of(tree: Node, facts: Facts, known: frozenset[str]) -> bool:
    return bool(tree.free) and all(
        len(name) == 1 and (name in known or name in facts.letters) for name in tree.free
    )


def _unless_run(tree: Node | None) -> Node | None:
    return None if isinstance(tree, Mul) else tree


def _frame(
    wanted: Node,
    offered: Node,
    gold: Reading,
    answer: Reading,
    rules: Rules,
    facts: Facts,
    slow_path: SlowPath,
) -> Frame:
    real = Trait.TRANSCENDENTAL | Trait.ABS
    positive = bool(wanted.free and (wanted.traits | offered.traits) & real and facts.positive)
    log_base = _log_base(wanted, offered) if (wanted.traits | offered.traits) & Trait.TRANSCENDENTAL else 0
    given = Assumptions(positive=positive, log_base=log_base)
    return Frame(rules, facts, given, compare, slow_path, gold.text, answer.text)


def _log_base(wanted: Node, offered: Node) -> int:
    """A bare log on one side only: base ten if the other side is rational, else natural."""
    ours, theirs = _has_bare_log(wanted), _has_bare_log(offered)
    if ours == theirs:
        return 0
    other = offered if ours else wanted
    return 0 if other.traits & Trait.TRANSCENDENTAL else 10


def _has_bare_log(node: Node) -> bool:
    return any(isinstance(part, Fn) and part.name == "log" for part in node.walk())


def _beyond_the_fast_tiers(
    gold: PreparedGold, answer: Reading, rules: Rules, facts: Facts, slow_path: SlowPath
) -> Decision:
    """One side is unreadable to us. Only a gold that sympy alone reads is worth asking it."""
    if not gold.needs_sympy:
        return incorrect("rule", f"answer_refused: {answer.refusal or 'no mathematics'}")
    found = slow_path.ask(gold.readings[0].text, answer.text)
    if found.reason == TIMEOUT:
        return timed_out(rules)
    if found.equal:
        return _guarded(correct("symbolic", found.reason), gold, answer, rules, facts)
    return incorrect("symbolic", found.reason)


# -- guards


def _guarded(decision: Decision, gold: PreparedGold, answer: Reading, rules: Rules, facts: Facts) -> Decision:
    """An answer of equal value that is a copy of the prompt, or left unevaluated, is not paid."""
    if rules.echo_guard and _is_echo(gold, answer, facts):
        return incorrect("rule", "echo")
    if rules.require_evaluated and answer.tree is not None and not _is_evaluated(answer.tree):
        return incorrect("rule", "not evaluated")
    return decision


def _is_echo(gold: PreparedGold, answer: Reading, facts: Facts) -> bool:
    if not facts.prompt or len(answer.tokens) < 2 or _is_bare_number(answer.tree):
        return False
    if not facts.may_hold(answer.tokens):
        return False
    tree = answer.tree
    if tree is not None and any(tree.key == wanted.key for wanted in gold.trees):
        return False  # the gold's own formula, however it is spelled
    return facts.has_formula(answer.tokens) or (
        tree is not None and facts.has_formula_like(answer.tokens, tree)
    )


def _is_bare_number(tree: Node | None) -> bool:
    return isinstance(tree, Num) or (isinstance(tree, Neg) and isinstance(tree.args[0], Num))


def _is_evaluated(tree: Node) -> bool:
    if tree.free or tree.traits & Trait.STRUCTURE:
        return True
    return not tree.traits & Trait.CLOSED_FORM and not any(
        isinstance(part, Mul) and sum(isinstance(arg, Num) for arg in part.args) > 1 for part in tree.walk()
    )
