"""An answer without a language model: the reader's best span, shown inside its sentence."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.reading.calibration import load_calibration
from secondlook.retrieval.sentences import sentence_starts
from secondlook.state import Cited, DraftData, Found, Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.context import Context
    from secondlook.passage import Passage

_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n\s*\n\s*")
_MOSTLY = 0.6
LONGEST_SENTENCE = 600
"""Characters. What has no sentences, such as a table, is shown around the span."""


async def extract(context: Context, question: str, found: Sequence[Found]) -> DraftData:
    """The draft that the reader alone can give; withheld where it is not sure enough."""
    read = [item for item in ranking.kept(found) if ranking.candidate(item) is not None]
    if not read:
        return await _unread(context, found)
    held = await ranking.texts(context, [item["id"] for item in read])
    telling = [item for item in read if item["id"] in held and _tells(question, item, held)]
    candidates = [one for item in telling if (one := ranking.candidate(item)) is not None]
    calibration = load_calibration(context.shelf.reader_name)
    chosen = calibration.best_answer(candidates)
    if chosen is None:
        return withheld("no_evidence", reasons=["no passage reads as if it held the answer"])
    confidence = calibration.answer_probability(candidates, chosen)
    reasons = list(calibration.reasons(candidates, chosen))
    if _too_unsure(context, confidence, calibration.min_answer):
        return withheld("low_confidence", confidence=confidence, reasons=reasons)
    item = telling[chosen]
    return _drafted(held[item["id"]], _span(item), confidence=confidence, reasons=reasons)


def _too_unsure(context: Context, confidence: float | None, calibrated: float) -> bool:
    settings = context.settings.answer
    limit = settings.min_confidence if settings.min_confidence >= 0 else calibrated
    return settings.enable_abstention and confidence is not None and confidence < limit


def _span(item: Found) -> tuple[int, int]:
    """Within the passage, whatever the reader said."""
    length = item["end"] - item["start"]
    start = min(max(item["span_start"] or 0, 0), length)
    return start, min(max(item["span_end"] or 0, start), length)


def _tells(question: str, item: Found, held: Mapping[str, Passage]) -> bool:
    """Whether the span is more than the question over again: a passage may hold the question
    itself, as an exam paper or a list of frequent questions does, and reads as very relevant."""
    text = held[item["id"]].text
    said, asked = _words(text[slice(*_span(item))]), _words(question)
    return bool(text.strip()) and (not said <= asked or len(said) < _MOSTLY * len(asked))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def withheld(
    stop: StopReason,
    *,
    confidence: float | None = None,
    reasons: Sequence[str] = (),
    model: str | None = None,
) -> DraftData:
    """No answer, and why."""
    return DraftData(
        method="none",
        model=model,
        sentences=[],
        short=None,
        stop=stop,
        confidence=confidence,
        reasons=list(reasons),
        note=None,
    )


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence or sentences of `text` that hold [start, end), without outer white space."""
    bounds = [0, *_starts(text), len(text)]
    first = max((at for at in bounds if at <= start), default=0)
    last = min((at for at in bounds if at >= max(end, start + 1)), default=len(text))
    if last - first > LONGEST_SENTENCE:
        first, last = _lines_around(text, start, end, within=(first, last))
    piece = text[first:last]
    left = first + len(piece) - len(piece.lstrip())
    return left, max(left, first + len(piece.rstrip()))


def _starts(text: str) -> list[int]:
    """Where sentences begin; a heading above a paragraph is none of its first sentence."""
    breaks = (found.end() for found in _PARAGRAPH.finditer(text))
    return sorted({*sentence_starts(text), *(at for at in breaks if at < len(text))})


def _lines_around(text: str, start: int, end: int, within: tuple[int, int]) -> tuple[int, int]:
    first = max(within[0], text.rfind("\n", within[0], start) + 1)
    at = text.find("\n", end, within[1])
    last = within[1] if at < 0 else at
    if last - first <= LONGEST_SENTENCE:
        return first, last
    room = max(0, (LONGEST_SENTENCE - (end - start)) // 2)
    return _word_start(text, max(first, start - room)), _word_end(text, min(last, end + room))


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return space + 1 if at and space >= 0 else at


def _word_end(text: str, at: int) -> int:
    space = text.rfind(" ", max(0, at - 40), at)
    return space if at < len(text) and space >= 0 else at


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Where each sentence of `text` lies, without outer white space; what goes on for too long
    without an end is cut between words."""
    found = []
    for start, end in pairwise([0, *_starts(text), len(text)]):
        while start < end:
            stop = end if end - start <= LONGEST_SENTENCE else start + LONGEST_SENTENCE
            stop = max(_word_end(text, stop), start + 1) if stop < end else stop
            piece = text[start:stop]
            if piece.strip():
                left = start + len(piece) - len(piece.lstrip())
                found.append((left, start + len(piece.rstrip())))
            start = stop  # noqa: PLW2901
    return found


def _drafted(
    passage: Passage, span: tuple[int, int], *, confidence: float | None, reasons: list[str]
) -> DraftData:
    start, end = sentence_around(passage.text, *span)
    sentence = Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=True,
    )
    short = " ".join(passage.text[slice(*span)].split())
    return DraftData(
        method="extractive",
        model=None,
        sentences=[sentence],
        short=short or None,
        stop="answered",
        confidence=confidence,
        reasons=reasons,
        note=None,
    )


async def _unread(context: Context, found: Sequence[Found]) -> DraftData:
    """Without a reading there is no span and no judgement: the best passage's first sentence, and
    only where withholding is switched off."""
    kept = ranking.kept(found)
    if not kept:
        return withheld("no_evidence", reasons=["nothing was found"])
    if context.settings.answer.enable_abstention:
        return withheld("cannot_proceed", reasons=["the passages could not be read"])
    held = await ranking.texts(context, [item["id"] for item in kept])
    for item in kept:
        if item["id"] in held and held[item["id"]].text.strip():
            reasons = ["the passage was not read"]
            return _drafted(held[item["id"]], (0, 0), confidence=None, reasons=reasons)
    return withheld("no_evidence", reasons=["the passages are empty or gone"])
