"""An answer without a language model: the reader's best span, shown inside its sentence."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.nodes.limits import dial
from secondlook.nodes.revalidate import Place, guard_of
from secondlook.nodes.state import Cited, DraftData, Found, Sentence
from secondlook.reading.languages import Foreign, other_language
from secondlook.reading.second_look import ahead_of, look_twice
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.sentences import Line, lines_of, sentence_around, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.nodes.context import Context
    from secondlook.passage import Passage
    from secondlook.reading.calibration import Candidate

_WORD = re.compile(r"\w+")
_COLUMN = re.compile(r"\A[^:;]*: ")
_MOSTLY = 0.6


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
    known, other = await asyncio.to_thread(_known, context, question, there, held)
    if other is not None and not known:
        note = f"I do not read {other.language} well enough to answer."
        return {**withheld("low_confidence", reasons=[other.reason]), "note": note}
    telling = await asyncio.to_thread(_telling, question, known, held)
    candidates, chosen = await _chosen(context, question, telling, held)
    if chosen is None:
        return withheld("no_evidence", reasons=["no passage reads as if it held the answer"])
    one, passage, calibration = candidates[chosen], held[telling[chosen]["id"]], context.calibration
    confidence = calibration.answer_probability(candidates, chosen)
    reasons = calibration.reasons(candidates, chosen)
    if (objection := _objection(context, confidence)) is not None:
        reasons = (*objection, *reasons)
        return withheld("low_confidence", confidence=confidence, reasons=reasons)
    draft = _drafted(passage, span(telling[chosen]), confidence=confidence, reasons=reasons)
    if one.lead is not None:
        draft["short"] = "Yes" if one.lead > 0 else "No"
    if calibration.is_sealed(one, confidence):
        draft["sentences"][0]["supported"] = True
    return draft


def _known(
    context: Context, question: str, found: Sequence[Found], held: Mapping[str, Passage]
) -> tuple[list[Found], Foreign | None]:
    """The passages in a language that the reader was trained for, and what is not: none of them
    where the question itself is in another one."""
    languages = tuple(context.shelf.reader_languages)
    asked = set(query_terms(question))
    there = set(terms(" ".join(held[item["id"]].text for item in found)))
    language = other_language(question, languages)
    # A few words that the passages have too are no sentence of another language.
    if language and 2 * len(asked & there) < len(asked):
        return [], Foreign("question", language, languages)
    known: list[Found] = []
    foreign: Foreign | None = None
    for item in found:
        if language := other_language(held[item["id"]].text, languages):
            foreign = foreign or Foreign("passage", language, languages)
        else:
            known.append(item)
    return known, foreign


def _telling(question: str, found: Sequence[Found], held: Mapping[str, Passage]) -> list[Found]:
    """Those whose span is more than the question over again: a passage may hold the question
    itself, as an exam paper does, and reads as very relevant. Without one row of a table where
    others fit as well."""
    asked = set(_WORD.findall(question.casefold()))
    telling: list[Found] = []
    for item in found:
        passage, place = held[item["id"]], span(item)
        text = passage.text
        said = set(_WORD.findall(text[slice(*place)].casefold()))
        again = said <= asked and len(said) >= _MOSTLY * len(asked)
        beside = [one.text for one in held.values() if one.document == passage.document]
        if said and not again and not _is_one_of_many(question, text, place, beside):
            telling.append(item)
    return telling


async def _chosen(
    context: Context, question: str, telling: list[Found], held: Mapping[str, Passage]
) -> tuple[list[Candidate], int | None]:
    """What was seen of each, and whose span to answer with. Those with an inserted text are taken
    out on the way; others are looked at only where none is left that was."""
    candidates: list[Candidate] = []
    while telling:
        if all(one.together is None for one in candidates):
            try:
                candidates = await looked_twice(context, question, telling, held)
            except Exception:  # noqa: BLE001 - what the first look found is worth something too
                candidates = ranking.candidates(telling)
        chosen = context.calibration.best_answer(candidates)
        if chosen is None:
            break
        item = telling[chosen]
        passage = held[item["id"]]
        if not await asyncio.to_thread(_is_inserted, context, question, passage, item):
            return candidates, chosen
        del telling[chosen], candidates[chosen]
        candidates = [
            one if one.together is None else replace(one, ahead=ahead_of(candidates, at))
            for at, one in enumerate(candidates)
        ]
    return candidates, None


def _is_inserted(context: Context, question: str, passage: Passage, item: Found) -> bool:
    """Whether its sentence is an order, a link or code that the question did not call for: an
    inserted text may read like an answer to anything."""
    start, end = sentence_around(passage.text, *span(item))
    claim, guard = " ".join(passage.text[start:end].split()), guard_of(context, question)
    place = Place(passage.text, start, end)
    return guard is not None and guard.objection(claim, [place]) is not None


def _is_one_of_many(question: str, text: str, span: tuple[int, int], beside: Sequence[str]) -> bool:
    """A row of a table, where another one has as much of what the question names; `beside` are the
    passages of its document."""

    def rows(text: str) -> list[Line]:
        return [line for line in lines_of(text) if line.kind in {"record", "cells"}]

    own = next((one for one in rows(text) if one.start <= span[0] < one.end), None)
    if own is None:
        return False
    asked, said = frozenset(query_terms(question)), text[slice(*span)]
    every = {one[line.start : line.end] for one in beside for line in rows(one)}
    named = {row: len(asked.intersection(terms(row))) for row in every}
    least = named.pop(text[own.start : own.end])
    return any(count >= least for row, count in named.items() if said not in row)


async def looked_twice(
    context: Context, question: str, found: Sequence[Found], held: Mapping[str, Passage]
) -> list[Candidate]:
    """The numbers of the passages, the best looked at twice: question and answer together."""
    candidates, shelf = ranking.candidates(found), context.shelf

    def judged() -> list[Candidate]:
        passages = [(item, held[item["id"]]) for item in found]
        said = [(words(item, one), shelf.in_context(question, one)) for item, one in passages]
        return look_twice(context.support.together, question, candidates, said)

    return await asyncio.to_thread(judged)


def words(item: Found, passage: Passage) -> str:
    """Of the span that the reader marked."""
    start, end = whole_numbers(passage.text, *span(item))
    return " ".join(passage.text[start:end].split())


def _objection(context: Context, confidence: float | None) -> tuple[str, ...] | None:
    """Why an answer may not be given, beyond its own reasons; None where it may. A risk that is
    named takes the place of the calibrated limit. It holds also where withholding is switched off:
    a promise is a promise."""
    allowed = dial(context)
    if allowed is not None and (objection := allowed.objection(confidence)):
        return (objection,)
    limit = context.calibration.min_answer if allowed is None else 0.0
    low = confidence is not None and confidence < limit
    return () if context.settings.answer.enable_abstention and low else None


def span(item: Found) -> tuple[int, int]:
    """Within the passage, whatever the reader said."""
    length = item["end"] - item["start"]
    start = min(max(item["span_start"] or 0, 0), length)
    return start, min(max(item["span_end"] or 0, start), length)


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
    short = " ".join(passage.text[slice(*span)].split())
    records = [one for one in lines_of(passage.text) if one.kind == "record"]
    if any(one.start <= span[0] < one.end for one in records):
        short = _COLUMN.sub("", short)  # a span may begin in the name of its column
    return {
        **withheld("answered", confidence=confidence, reasons=reasons),
        "method": "extractive",
        "sentences": [sentence_at(passage, *span)],
        "short": short or None,
    }


def sentence_at(passage: Passage, start: int, end: int) -> Sentence:
    """The sentence around a span of a passage, word for word: quoted, and not yet verified."""
    start, end = sentence_around(passage.text, start, end)
    return Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=None,
    )
