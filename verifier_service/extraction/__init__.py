"""Response -> Offered: what was offered as the answer, or why nothing was (equivalence, section 1)."""

import re
from typing import NamedTuple

from verifier_service.equivalence.decision import Offered, Part
from verifier_service.equivalence.rules import Rules
from verifier_service.extraction.boxes import Box, find_boxes, is_blank_tex
from verifier_service.extraction.lenient import find_unboxed
from verifier_service.extraction.links import label_before, link_between
from verifier_service.transcript import Transcript, is_blank

__all__ = ["AnswerBlocks", "answer_blocks", "offered_answer"]

# More boxes in a row than any gold has parts; the judge shall not compare thousands.
_MOST_PARTS = 256

_ANSWER_TAG = re.compile(r"</?answer>")


class AnswerBlocks(NamedTuple):
    """The `<answer>` blocks of a response.

    spans: of their contents, blank ones left out: they repeat the instruction.
    open_at: where the content of a last block begins that is not closed, None where there is none.
    well_formed: every tag has its partner, no block stands in another.
    tags: how many tags there are.
    """

    spans: tuple[tuple[int, int], ...] = ()
    open_at: int | None = None
    well_formed: bool = True
    tags: int = 0


def answer_blocks(response: str) -> AnswerBlocks:
    """Find the `<answer>` blocks; only the exact tags count."""
    if "answer>" not in response:
        return AnswerBlocks()
    spans: list[tuple[int, int]] = []
    well_formed, open_at, tags = True, None, 0
    for tag in _ANSWER_TAG.finditer(response):
        tags += 1
        if tag[0] == "<answer>":
            well_formed = well_formed and open_at is None
            open_at = tag.end()
        elif open_at is None:
            well_formed = False
        else:
            if not is_blank_tex(response[open_at : tag.start()]):
                spans.append((open_at, tag.start()))
            open_at = None
    return AnswerBlocks(tuple(spans), open_at, well_formed and open_at is None, tags)


def offered_answer(transcript: Transcript, rules: Rules) -> Offered:
    """What the response offers as its answer. Linear in its length; never raises on any text."""
    if transcript.response is None or transcript.response_span is None:
        unanswered = "no_assistant_message" in transcript.faults
        return Offered(fault="no assistant message" if unanswered else "thinking never closed")
    if is_blank(transcript.response):
        return Offered(fault="the response is blank")
    offset = transcript.response_span[0]
    blocks = answer_blocks(transcript.response)
    if blocks.open_at is None and not blocks.spans:
        return _from_text(transcript.response, offset, rules)
    return _from_blocks(transcript.response, offset, blocks)


def _from_text(text: str, offset: int, rules: Rules) -> Offered:
    offered = _boxed(text, offset)
    if offered is not None:
        return offered
    if rules.extraction != "lenient":
        return Offered(fault="no box")
    found = find_unboxed(text)
    if found is None:
        return Offered(fault="no box, and nothing that could stand for one")
    return _single(text, found.start, found.end, offset, found.how)


def _from_blocks(response: str, offset: int, blocks: AnswerBlocks) -> Offered:
    """The last block is the answer: the boxes in it or, if it is the only block, all of it."""
    last = (blocks.open_at, len(response)) if blocks.open_at is not None else blocks.spans[-1]
    first = min(last[0], blocks.spans[0][0]) if blocks.spans else last[0]
    # Boxes of earlier blocks are read along: side by side with the last they are alternatives.
    offered = _boxed(response[first : last[1]], offset + first)
    if offered is not None and (not offered.parts or offered.parts[-1].start >= offset + last[0]):
        return offered
    if blocks.open_at is not None:
        return Offered(fault="the answer block is cut off")
    if len(blocks.spans) > 1:
        return Offered(fault="more than one answer block, the last one without a box")
    if not blocks.well_formed:
        return Offered(fault="answer tags without partner")
    return _single(response, *last, offset, "answer_tag")


def _single(text: str, start: int, end: int, offset: int, how: str) -> Offered:
    """One answer, the given stretch of the text without the spaces around it."""
    content = text[start:end]
    start += len(content) - len(content.lstrip())
    content = content.strip()
    part = Part(content, "", offset + start, offset + start + len(content))
    return Offered(parts=(part,), run=1, how=how)


def _boxed(text: str, offset: int) -> Offered | None:
    """What the boxes of a text offer; None where it has no box at all."""
    boxes = find_boxes(text)
    filled = [box for box in boxes.complete if not is_blank_tex(box.text)]
    if boxes.cut_at is not None and (not filled or boxes.cut_at > filled[-1].start):
        return Offered(fault="the last box is cut off")
    if filled:
        return _linked_boxes(text, filled, offset)
    return Offered(fault="the box is blank") if boxes.complete else None


def _linked_boxes(text: str, boxes: list[Box], offset: int) -> Offered:
    """The last box and those linked to it, from the last one backwards."""
    box = boxes[-1]
    floors = [0, *(before.end for before in boxes)]
    label, label_start = label_before(text, floors[len(boxes) - 1], box.start)
    parts = [_part(box, label, offset)]
    run, still_beside = 1, True
    for index in reversed(range(max(0, len(boxes) - _MOST_PARTS), len(boxes) - 1)):
        previous = boxes[index]
        previous_label, previous_start = label_before(text, floors[index], previous.start)
        link = link_between(text[previous.end : label_start], label, previous_label)
        if link == "apart":
            break
        still_beside = still_beside and link == "beside"
        run += still_beside
        parts.append(_part(previous, previous_label, offset))
        label, label_start = previous_label, previous_start
    return Offered(parts=tuple(reversed(parts)), run=run, how="box")


def _part(box: Box, label: str, offset: int) -> Part:
    return Part(box.text, label, offset + box.content_start, offset + box.content_end)
