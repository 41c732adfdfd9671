"""Questions as the product answers them: candidates in its order, and what is right among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.reader_quality_store import Read
from benchmarks.reading_answers import answer_scores
from secondlook.evaluation.metrics import retrieval_metrics
from secondlook.reading.calibration import BEST, Candidate, answer_features, choose
from secondlook.retrieval.index.port import Entry
from secondlook.retrieval.search import DEFAULT_OPTIONS, Ranked, order
from secondlook.roles.sentences import whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.reader_quality_store import Candidate as Found
    from benchmarks.reader_quality_store import Passage, Question
    from secondlook.reading.port import Reading

RIGHT = 0.5
"""Least F1 with a reference answer for a span to count as right."""
GRADED = 10
"""Passages per question that a grader would be asked about."""
_POOL_WEIGHTS = (DEFAULT_OPTIONS.dense, DEFAULT_OPTIONS.lexical)


@dataclass(frozen=True, slots=True)
class Case:
    """One question through one reader."""

    question: Question
    best: tuple[Candidate, ...]
    """Of the best five those that were read to the end, in the order of the product."""
    scores: tuple[tuple[float, float], ...]
    """Exact match and F1 of each one's span."""
    retrieval: Mapping[str, float]
    """Recall and nDCG of the documents in that order."""
    found: bool
    """Whether a gold passage is among the best five."""
    graded: tuple[tuple[bool, Candidate], ...]
    """Of the best ten those read to the end: whether the set names their document for this
    question, be it answerable or not, and the scores."""
    seconds: float | None

    @property
    def answerable(self) -> bool:
        return self.question.answerable

    def pick(self, choice: Mapping[str, float]) -> Picked:
        at = choose(self.best, choice)
        if at is None:  # nothing was found or read: as sure as can be that this is no answer
            return Picked(_NOTHING, 0.0, 0.0)
        return Picked(answer_features(self.best, at), *self.scores[at])


@dataclass(frozen=True, slots=True)
class Picked:
    """The answer that would be given if none were withheld."""

    features: Mapping[str, float]
    em: float
    f1: float

    @property
    def right(self) -> bool:
        return self.f1 >= RIGHT


def cases(
    questions: Sequence[Question], read: Mapping[str, Read], texts: Mapping[str, Passage]
) -> Iterator[Case]:
    """Every question that the reader has read, in the order given."""
    return (
        _case(question, read[question.id], texts) for question in questions if question.id in read
    )


def without_answer(
    questions: Sequence[Question], read: Mapping[str, Read], texts: Mapping[str, Passage]
) -> Iterator[Case]:
    """The answerable questions again, asked of a library that lacks their gold documents: what
    stood below moves up in both searches. What would move in from further down was not read."""
    for question in questions:
        known = read.get(question.id)
        if not question.answerable or known is None:
            continue
        left = [at for at, one in enumerate(question.found) if not is_gold(one, question)]
        if left:
            readings = tuple(known.readings[at] for at in left)
            yield _case(_robbed(question, left), Read(readings, None), texts)


def hybrid(question: Question) -> Mapping[str, float]:
    """Recall and nDCG of the searches alone."""
    unread = order([_ranked(one, "") for one in question.found], {}, blend=DEFAULT_OPTIONS.blend)
    return _retrieval(question, [item.entry.document for item in unread])


def is_gold(one: Found, question: Question) -> bool:
    return any(name in question.gold for name in one.names)


def _case(question: Question, read: Read, texts: Mapping[str, Passage]) -> Case:
    found = [_ranked(one, texts[one.passage].text) for one in question.found]
    readings = {
        one.passage: reading for one, reading in zip(question.found, read.readings, strict=True)
    }
    ordered = order(found, readings, blend=DEFAULT_OPTIONS.blend)
    at = {one.passage: one for one in question.found}
    gold = [is_gold(at[item.entry.id], question) for item in ordered]
    seen = [(item, item.reading) for item in ordered[:BEST]]
    best = [(item, reading) for item, reading in seen if reading is not None and reading.looked]
    return Case(
        question=question,
        best=tuple(_candidate(item, reading) for item, reading in best),
        scores=tuple(_scores(question, item.entry.text, reading) for item, reading in best),
        retrieval=_retrieval(question, [item.entry.document for item in ordered]),
        found=question.answerable and any(gold[:BEST]),
        graded=tuple(
            (is_one, _candidate(item, item.reading))
            for item, is_one in zip(ordered[:GRADED], gold, strict=False)
            if item.reading is not None and item.reading.looked
        ),
        seconds=read.seconds,
    )


def ranking_of(
    question: Question, readings: Sequence[Reading], *, blend: float
) -> Mapping[str, float]:
    """Recall and nDCG of the order that these readings give."""
    by_id = {one.passage: reading for one, reading in zip(question.found, readings, strict=True)}
    ordered = order([_ranked(one, "") for one in question.found], by_id, blend=blend)
    return _retrieval(question, [item.entry.document for item in ordered])


def _ranked(one: Found, text: str) -> Ranked:
    return Ranked(
        entry=Entry(one.passage, one.document, text, (), one.start, one.end),
        score=one.fusion_score,
        fusion_score=one.fusion_score,
        dense_rank=one.dense_rank,
        lexical_rank=one.lexical_rank,
    )


def _candidate(item: Ranked, reading: Reading) -> Candidate:
    return Candidate(
        relevance=reading.relevance,
        answerable=reading.answerable,
        span_score=reading.span_score,
        null_score=reading.null_score,
        score=item.score,
        fusion_score=item.fusion_score,
        dense_rank=item.dense_rank,
        lexical_rank=item.lexical_rank,
        windows=reading.windows,
    )


def _scores(question: Question, text: str, reading: Reading) -> tuple[float, float]:
    if not question.answerable or not question.answers:
        return 0.0, 0.0
    start, end = whole_numbers(text, reading.start, reading.end)
    return answer_scores(text[start:end], question.answers)


def _retrieval(question: Question, documents: Sequence[str]) -> Mapping[str, float]:
    if not question.answerable or not question.gold:
        return {}
    names = {
        one.document: next((name for name in one.names if name in question.gold), one.names[0])
        for one in question.found
    }
    return retrieval_metrics(question.gold, [names[document] for document in documents])


def _robbed(question: Question, left: Sequence[int]) -> Question:
    gone = [one for one in question.found if is_gold(one, question)]
    found = [_moved_up(question.found[at], gone) for at in left]
    found_ids = {one.passage: one for one in found}
    # In the order that was read; the order of the searches is made anew from the scores.
    return replace(question, answerable=False, found=tuple(found_ids.values()))


def _moved_up(one: Found, gone: Sequence[Found]) -> Found:
    dense = _rank(one.dense_rank, [other.dense_rank for other in gone])
    lexical = _rank(one.lexical_rank, [other.lexical_rank for other in gone])
    k = DEFAULT_OPTIONS.rrf_k
    shares = [
        weight * (k + 1) / (k + rank)
        for weight, rank in zip(_POOL_WEIGHTS, (dense, lexical), strict=True)
        if rank is not None
    ]
    fused = sum(shares) / sum(_POOL_WEIGHTS)
    return replace(one, dense_rank=dense, lexical_rank=lexical, fusion_score=fused)


def _rank(rank: int | None, gone: Sequence[int | None]) -> int | None:
    if rank is None:
        return None
    return rank - sum(other is not None and other < rank for other in gone)


_NOTHING = answer_features([Candidate(-20.0, -20.0, -20.0, 0.0, score=0.0, fusion_score=0.0)], 0)
