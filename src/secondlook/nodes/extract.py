"""An answer without a language model: the reader's best span, shown inside its sentence."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.nodes.limits import dial
from secondlook.nodes.revalidate import Place, guard_of
from secondlook.nodes.state import Cited, DraftData, Found, Sentence
from secondlook.reading.languages import foreign, other_language
from secondlook.reading.support import ONE_SIDED_NOT, denies
from secondlook.retrieval.terms import STOP_WORDS, query_terms, terms
from secondlook.roles.sentences import PARAGRAPH, Kind, lines_of, sentence_around, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.answer import StopReason
    from secondlook.nodes.context import Context
    from secondlook.passage import Passage

_WORD = re.compile(r"\w+")
_MOSTLY = 0.6
_FIGURE = re.compile(r"(?:; |\| )[^;|\w]*\d[\d.,:%\s-]*(?:$|[;|])")
"""A cell that is a number and nothing else."""
_WHO_IS = re.compile(
    r"\W*who(?:\s+(?:is|was|are|were)|['\u2019]s)\s+([^?'\u2019]+?)[\s?.!]*", re.IGNORECASE
)
_LONGEST_NAME = 5
_IN_NAMES = frozenset("of the van von der den de la le da di du bin ibn al el y".split())  # noqa: SIM905
_PRONOUN = re.compile(r"\W*(?:he|she|they)\b", re.IGNORECASE)
_APPOSED = re.compile(r"\W*|\W*(?:is|was|as|became)(?:\s\w+){0,3}\s|[^.]*[:|][^.]*")


@dataclass(frozen=True, slots=True)
class _Row:
    """A record of a table or an item of a list, and the words of the question that it has."""

    passage: Passage
    start: int
    end: int
    kind: Kind
    above: str  # the first line of a table whose cells have no names of their own
    shared: frozenset[str]

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class _Pick:
    """An answer in the making."""

    item: Found
    passage: Passage
    span: tuple[int, int]
    confidence: float | None
    reasons: tuple[str, ...]
    most: float = 1.0
    """The most that it can be trusted, also where the reader's scores have no known worth."""

    def doubted(self, most: float, why: str) -> _Pick:
        return replace(
            self,
            confidence=None if self.confidence is None else min(self.confidence, most),
            most=min(self.most, most),
            reasons=(*self.reasons, why),
        )


async def extract(context: Context, question: str, found: Sequence[Found]) -> DraftData:
    """The draft that the reader alone can give; withheld where it is not sure enough."""
    kept = ranking.kept(found)
    read = [item for item in kept if ranking.candidate(item) is not None]
    if not read and kept and not context.settings.search.rerank:
        try:  # nobody has read them to put them in order; to take an answer somebody must
            read = await ranking.read(context, question, kept)
        except Exception:  # noqa: BLE001 - told as passages nobody could read
            read = []
    if not read:
        return await _unread(context, kept)
    held = await ranking.texts(context, [item["id"] for item in read])
    there = [item for item in read if item["id"] in held]
    telling = await asyncio.to_thread(_telling, context, question, there, held)
    languages, calibration = context.shelf.reader_languages, context.calibration
    if await asyncio.to_thread(other_language, question, languages):
        telling = telling[:1]  # what the reader's scores say is not known there: the search decides
    candidates = ranking.candidates(telling)
    chosen = calibration.best_answer(candidates)
    if chosen is None:
        return withheld("no_evidence", reasons=["no passage reads as if it held the answer"])
    pick = _Pick(
        telling[chosen],
        held[telling[chosen]["id"]],
        _span(telling[chosen]),
        confidence=calibration.answer_probability(candidates, chosen),
        reasons=calibration.reasons(candidates, chosen),
    )
    # Nobody knows what the scores say in a language that the reader was not trained for: they
    # neither speak for the pick nor withhold it.
    if other := await asyncio.to_thread(foreign, question, pick.passage.text, languages):
        pick = replace(pick, confidence=None, reasons=(other.reason,))
    if _objection(context, pick) is None:
        pick = await _from_its_row(context, question, pick, held.values())
        pick = _questioned(question, pick)
    if (objection := _objection(context, pick)) is not None:
        reasons = (*objection, *pick.reasons)
        return withheld("low_confidence", confidence=pick.confidence, reasons=reasons)
    return _drafted(pick.passage, pick.span, confidence=pick.confidence, reasons=pick.reasons)


def _telling(
    context: Context, question: str, found: Sequence[Found], held: dict[str, Passage]
) -> list[Found]:
    """Those whose span is more than the question over again: a passage may hold the question
    itself, as an exam paper does, and reads as very relevant. Of "who is NAME" those that tell, if
    any. Without those whose sentence is an order, a link or code that the question did not call
    for: an inserted text may read like an answer to anything."""
    asked, name, guard = _words(question), _who(question), guard_of(context, question)
    telling: list[Found] = []
    for item in found:
        text = held[item["id"]].text
        said = _words(text[slice(*_span(item))])
        if text.strip() and (not said <= asked or len(said) < _MOSTLY * len(asked)):
            telling.append(item)
    if name:
        named = [one for one in telling if _tells_of(name, held[one["id"]].text, _span(one))]
        telling = named or telling
    if guard is None:
        return telling
    clean: list[Found] = []
    for item in telling:
        text = held[item["id"]].text
        start, end = sentence_around(text, *_span(item))
        claim = " ".join(text[start:end].split())
        if guard.objection(claim, [Place(text, start, end)]) is None:
            clean.append(item)
    return clean


def _objection(context: Context, pick: _Pick) -> tuple[str, ...] | None:
    """Why the pick may not be given, beyond its own reasons; None where it may.

    A risk that is named takes the place of the calibrated limit. It holds also where withholding
    is switched off: a promise is a promise.
    """
    allowed = dial(context)
    if allowed is not None and (objection := allowed.objection(pick.confidence)):
        return (objection,)
    limit = context.calibration.min_answer if allowed is None else 0.0
    sure = pick.most if pick.confidence is None else pick.confidence
    return () if context.settings.answer.enable_abstention and sure < limit else None


def _questioned(question: str, pick: _Pick) -> _Pick:
    """What the scores do not show: that the sentence is about somebody else, or says "not"."""
    name, text = _who(question), pick.passage.text
    if name and not _tells_of(name, text, pick.span):
        pick = pick.doubted(0.0, f"it does not say who {name} is")
    start, end = sentence_around(text, *pick.span)
    if denies(text[start:end], (pick.span[0] - start, pick.span[1] - start), question):
        pick = pick.doubted(ONE_SIDED_NOT, 'the sentence says "not" where the question does not')
    return pick


def _span(item: Found) -> tuple[int, int]:
    """Within the passage, whatever the reader said."""
    length = item["end"] - item["start"]
    start = min(max(item["span_start"] or 0, 0), length)
    return start, min(max(item["span_end"] or 0, start), length)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


async def _unread(context: Context, kept: Sequence[Found]) -> DraftData:
    """Without a reading there is no span and no judgement: the best passage's first sentence, and
    only where withholding is switched off."""
    if not kept:
        return withheld("no_evidence", reasons=["nothing was found"])
    settings = context.settings.answer
    if settings.enable_abstention or settings.max_risk is not None:
        return withheld("cannot_proceed", reasons=["the passages could not be read"])
    held = await ranking.texts(context, [item["id"] for item in kept])
    for passage in (held[item["id"]] for item in kept if item["id"] in held):
        if passage.text.strip():
            reasons = ["the passage was not read"]
            return _drafted(passage, (0, 0), confidence=None, reasons=reasons)
    return withheld("no_evidence", reasons=["the passages are empty or gone"])


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


def _drafted(
    passage: Passage, span: tuple[int, int], *, confidence: float | None, reasons: Sequence[str]
) -> DraftData:
    span = whole_numbers(passage.text, *span)
    return {
        **withheld("answered", confidence=confidence, reasons=reasons),
        "method": "extractive",
        "sentences": [sentence_at(passage, *span)],
        "short": " ".join(passage.text[slice(*span)].split()) or None,
    }


def sentence_at(passage: Passage, start: int, end: int) -> Sentence:
    """The sentence around a span of a passage, word for word."""
    start, end = sentence_around(passage.text, start, end)
    return Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=True,
    )


# Rows: the reader takes a value from the wrong record as surely as from the right one.


async def _from_its_row(
    context: Context, question: str, pick: _Pick, passages: Iterable[Passage]
) -> _Pick:
    """The pick, taken from the row that has most of the question's words if it is in a row."""
    asked = frozenset(query_terms(question))
    same = (one for one in passages if one.document == pick.passage.document)
    rows = [row for passage in same for row in _rows(passage, asked)]
    first, last = pick.span
    inside = (row for row in rows if row.passage.id == pick.passage.id)
    own = [row for row in inside if row.start < last and first < row.end]
    most = max((len(row.shared) for row in rows), default=0)
    if not own or not most:
        return pick
    shared = own[0].shared if len(own) == 1 else frozenset[str]()
    best = list({row.text: row for row in rows if len(row.shared) == most}.values())
    if len(best) == 1 and most > len(shared):
        loose = "item" in {own[0].kind, best[0].kind}
        return await _moved(context, question, pick, best[0], before=shared, loose=loose)
    said = pick.passage.text[slice(*pick.span)]
    others = sum(said not in row.text for row in best)
    if own[0].kind == "item" or not others or len(best) == 1:
        return pick
    worth = 1 / (others + 1) if len(shared) == most else 0.0
    return pick.doubted(worth, f"{len(best)} rows fit the question equally well")


async def _moved(
    context: Context,
    question: str,
    pick: _Pick,
    row: _Row,
    *,
    before: frozenset[str],
    loose: bool,
) -> _Pick:
    """The span that the reader finds in this row alone. An item of a list may say it in other
    words than the question, so it must have all that the other one has."""
    if loose and not before < row.shared:
        return pick
    reading = await asyncio.to_thread(context.shelf.read_text, question, row.above + row.text)
    start, end = (row.start - len(row.above) + at for at in (reading.start, reading.end))
    words, new = _WORD.findall(question), row.shared - before
    named = " ".join(word for word in words if new.intersection(terms(word)))
    # An answer is one cell, and not the question over again.
    said, margin = row.passage.text[start:end], reading.span_score - reading.null_score
    one = row.kind == "item" or not re.search(r"; | \| ", said)
    inside = row.start <= start <= end <= row.end
    if not (inside and one and 0 < margin < math.inf and not _words(said) <= _words(question)):
        why = f"the row that names {named} does not seem to tell"
        return pick if loose else pick.doubted(0.0, why)
    scores = ranking.candidate(ranking.with_reading(pick.item, reading))
    worth = None
    if scores and pick.confidence is not None:
        worth = context.calibration.answer_probability([scores], 0)
    moved = replace(pick, passage=row.passage, span=(start, end))
    return moved.doubted(1.0 if worth is None else worth, f"taken from the row that names {named}")


def _rows(passage: Passage, asked: frozenset[str]) -> Iterator[_Row]:
    text, lines = passage.text, lines_of(passage.text)
    stops = sorted(
        {line.start for line in lines if line.kind != "text"}
        | {gap.start() for gap in PARAGRAPH.finditer(text)}
        | {len(text)}
    )
    above = ""
    for line, after in zip_longest(lines, lines[1:]):
        above = above if line.kind == "cells" else ""
        first = line.kind == "cells" and not above
        if line.kind in {"item", "record", "cells"}:
            end = line.end
            if line.kind == "item":  # it may go on in the lines below
                end = next((at for at in stops if at > line.start), end)
            said = text[line.start : end]
            below = text[after.start : after.end] if after else ""
            figures = bool(_FIGURE.search(below)) and not _FIGURE.search(said)
            # The first line of a table may name its columns, as what stands below it tells.
            heads = first and after and (after.kind == "record" or figures)
            shared = asked.intersection(() if heads else terms(said))
            yield _Row(passage, line.start, end, line.kind, above, shared)
        if first:
            above = text[line.start : line.end] + "\n"


# "Who is NAME?"


def _who(question: str) -> str:
    """The name that a question of the form "who is NAME" asks about; "" for any other."""
    asked = _WHO_IS.fullmatch(question)
    name = asked[1] if asked else ""
    words = _WORD.findall(name)
    if not 0 < len(words) <= _LONGEST_NAME:
        return ""
    if all(map(str.islower, words)):  # typed in haste: two words that are no phrase
        return name if len(words) > 1 and STOP_WORDS["english"].isdisjoint(words) else ""
    return name if words[0][0].isupper() and _is_name(words) else ""


def _is_name(words: Sequence[str]) -> bool:
    return all(word[0].isupper() or word in _IN_NAMES for word in words)


def _tells_of(name: str, text: str, span: tuple[int, int]) -> bool:
    """Whether the span is more than the name or another one, and its sentence holds the name or
    goes on from one that does with "she"."""
    start, end = sentence_around(text, *span)
    if start and _PRONOUN.match(text[start:end]):
        before = len(text[:start].rstrip())
        start = sentence_around(text, max(0, before - 1), before)[0]
    wanted, said = frozenset(terms(name)), frozenset(terms(text[slice(*span)]))
    if said <= wanted or not wanted.issubset(terms(text[start:end])):
        return False
    return not _is_name(_WORD.findall(text[slice(*span)])) or any(
        _APPOSED.fullmatch(text[min(at.end(), span[1]) : max(at.start(), span[0])])
        for at in re.finditer(r"\W+".join(map(re.escape, _WORD.findall(name))), text, re.IGNORECASE)
    )
