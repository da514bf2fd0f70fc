"""Whether a completion keeps the layout that was asked for (docs/equivalence.md, section 6)."""

from verifier_service.extraction import answer_blocks
from verifier_service.rewards import Score
from verifier_service.transcript import Transcript, is_blank


def score(transcript: Transcript, template: str, prefilled_think: bool) -> Score:
    """1.0 for the layout of the template, else 0.0 and the faults by name.

    "think": exactly one thinking block, closed, not blank, first thing in the text, and text after it.
    "think_answer": the same, and after it exactly one `<answer>` block, not blank, and nothing else.
    prefilled_think: the opening tag was in the prompt, so its absence is no fault.
    """
    found = faults(transcript, template, prefilled_think)
    return Score(0.0 if found else 1.0, {"faults": found})


def faults(transcript: Transcript, template: str, prefilled_think: bool) -> list[str]:
    """The faults of a layout, those of the tags of thinking first."""
    found = [fault for fault in transcript.faults if not (prefilled_think and fault == "no_opening_tag")]
    if template == "think":
        found += _faults_of_text(transcript.response)
    elif template == "think_answer":
        found += _faults_of_answer(transcript.response)
    else:
        raise ValueError(f'no template "{template}"; known: think, think_answer')
    return found


def _faults_of_text(response: str | None) -> list[str]:
    """Tags alone are no text."""
    if response is None or is_blank(response):
        return []  # the transcript has named that
    bare = response.replace("<answer>", "").replace("</answer>", "")
    return ["blank_answer"] if is_blank(bare) else []


def _faults_of_answer(response: str | None) -> list[str]:
    if response is None:
        return ["no_answer_block"]
    blocks = answer_blocks(response)
    if blocks.tags == 0:
        return ["no_answer_block"]
    if not blocks.well_formed:
        return ["answer_tags_without_partner"]
    if blocks.tags > 2:
        return ["more_than_one_answer_block"]
    return [*_blank_answer(response, blocks.spans), *_faults_around(response)]


def _blank_answer(response: str, spans: tuple[tuple[int, int], ...]) -> list[str]:
    return [] if spans and not is_blank(response[slice(*spans[0])]) else ["blank_answer"]


def _faults_around(response: str) -> list[str]:
    before, _, rest = response.partition("<answer>")
    after = rest.partition("</answer>")[2]
    faults = [] if is_blank(before) else ["text_before_answer"]
    return faults if is_blank(after) else [*faults, "text_after_answer"]
