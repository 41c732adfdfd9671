"""Questions as the product sees them: candidates in their order, and what is right among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.calibrate_pools import Asked, asked
from benchmarks.calibrate_read import TOP, Readings, fused, primary, ranked
from benchmarks.reading_answers import answer_scores
from secondlook.reading.calibration import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.calibrate_read import Seen
    from secondlook.retrieval.fuse import Fused

FALLBACK_DENSE, FALLBACK_LEXICAL, FALLBACK_DEPTH = 0.3, 0.7, 40
"""The second search of `adaptive`; of what it adds, no more is read than the first search read."""


@dataclass(frozen=True, slots=True)
class Case:
    set: str
    id: str
    article: str
    answerable: bool
    calibrates: bool
    candidates: tuple[Candidate, ...]
    """The best five, in the order of the product."""
    scores: tuple[tuple[float, float], ...]
    """Exact match and F1 of each one's span; empty where spans were not read."""
    found: bool
    """Whether a gold passage is among the best five."""
    found_again: bool
    """The same after the second search, with what both found pooled."""


def cases(name: str, known: Readings) -> Iterator[Case]:
    """Every question whose candidates the reader has seen."""
    for question in asked(name):
        seen = known.get((question.set, question.id), {})
        if all(entry.id in seen for entry in primary(question)):
            yield _case(question, primary(question), seen)


def without_answer(name: str, known: Readings) -> Iterator[Case]:
    """The answerable questions again, asked of a library that lacks their gold passages."""
    for question in asked(name):
        seen = known.get((question.set, question.id), {})
        if not question.answerable or any(entry.id not in seen for entry in primary(question)):
            continue
        robbed = replace(
            question,
            answerable=False,
            dense=[hit for hit in question.dense if hit[0] not in question.gold],
            lexical=[hit for hit in question.lexical if hit[0] not in question.gold],
        )
        # The last ones move up from beyond what was read.
        left = [entry for entry in primary(robbed) if entry.id in seen]
        if left:
            yield _case(robbed, left, seen)


def _case(question: Asked, entries: list[Fused], seen: dict[str, Seen]) -> Case:
    best = ranked(entries, seen)[:TOP]
    held = question.answerable
    return Case(
        set=question.set,
        id=question.id,
        article=question.article,
        answerable=held,
        calibrates=question.calibrates,
        candidates=tuple(_candidate(entry, score, seen[entry.id]) for entry, score in best),
        scores=_scores(question, [seen[entry.id] for entry, _ in best]),
        found=held and any(entry.id in question.gold for entry, _ in best),
        found_again=held and bool(question.gold & _again(question, entries, seen)),
    )


def _candidate(entry: Fused, score: float, seen: Seen) -> Candidate:
    return Candidate(
        relevance=seen.relevance,
        answerable=seen.answerable,
        span_score=seen.span_score,
        null_score=seen.null_score,
        score=score,
        fusion_score=entry.score,
        dense_rank=entry.dense_rank,
        lexical_rank=entry.lexical_rank,
    )


def _scores(question: Asked, best: list[Seen]) -> tuple[tuple[float, float], ...]:
    if not question.answerable or not question.answers:
        return tuple((0.0, 0.0) for _ in best)
    if any(one.span is None for one in best):
        return ()
    return tuple(answer_scores(one.span or "", question.answers) for one in best)


def _again(question: Asked, entries: list[Fused], seen: dict[str, Seen]) -> set[str]:
    """The best five of both searches together, each passage with its better fusion score."""
    pool = {entry.id: entry for entry in entries}
    second = fused(question, dense=FALLBACK_DENSE, lexical=FALLBACK_LEXICAL)[:FALLBACK_DEPTH]
    new = [entry for entry in second if entry.id not in pool][: len(entries)]
    for entry in [*(entry for entry in second if entry.id in pool), *new]:
        if entry.id in seen and entry.score > getattr(pool.get(entry.id), "score", 0.0):
            pool[entry.id] = entry
    return {entry.id for entry, _ in ranked(list(pool.values()), seen)[:TOP]}
