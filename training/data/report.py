"""What a prepared training set holds, read back from its files, and whether anything leaks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from secondlook.errors import SecondlookError
from training.data.rows import read_claims, read_passages, read_questions
from training.data.support import length_tells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from training.data.leakage import Guard
    from training.data.rows import Claim, Part, Passage, Question

PARTS: tuple[Part, ...] = ("train", "dev")


class Leak(SecondlookError):
    """Text of a test set is in the training set."""


def report(folder: Path, guard: Guard) -> dict[str, Any]:
    """Counts and sizes. Raises Leak where the training set holds text of a test set."""
    passages = read_passages(folder)
    leaking = list(leaks(folder, guard, passages))
    if leaking:
        raise Leak(
            f"{len(leaking)} texts of test sets are in {folder}, the first: {leaking[0]!r}",
            hint="Find out which source they come from and drop them there.",
        )
    files = sorted(folder.glob("*.jsonl.gz"))
    return {
        "passages": len(passages),
        **{part: _part(folder, part) for part in PARTS},
        "bytes": {file.name: file.stat().st_size for file in files},
        "bytes_in_all": sum(file.stat().st_size for file in files),
        "texts_of_test_sets": len(leaking),
    }


def _part(folder: Path, part: Part) -> dict[str, Any]:
    questions = list(read_questions(folder, part))
    claims = list(read_claims(folder, part))
    return {
        "questions": dict(Counter(row.source for row in questions)),
        "positives": sum(len(row.positives) for row in questions),
        "positives_with_span": sum(p.span is not None for q in questions for p in q.positives),
        "negatives": sum(len(row.negatives) for row in questions),
        "unanswerable": dict(Counter(u.how for row in questions for u in row.unanswerable)),
        "unanswerable_per_squad_question": _per_question(questions),
        "claims": _labels(claims),
        "claims_in_all": len(claims),
        "length_alone_auroc": {
            kind: round(length_tells(c for c in claims if c.source.startswith(kind)), 4)
            for kind in ("halueval", "own", "snli", "mnli", "fever")
        },
    }


def _per_question(questions: Sequence[Question]) -> dict[int, int]:
    counted = Counter(len(q.unanswerable) for q in questions if q.source == "squad")
    return dict(sorted(counted.items()))


def _labels(claims: Sequence[Claim]) -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    for claim in claims:
        labels = counted.setdefault(claim.source, {"supported": 0, "not": 0})
        labels["supported" if claim.label else "not"] += 1
    return dict(sorted(counted.items()))


def leaks(folder: Path, guard: Guard, passages: Sequence[Passage]) -> Iterator[str]:
    """Every text of the training set that a test set also holds."""
    for text in _texts(folder, passages):
        if guard.leaks(text):
            yield text


def _texts(folder: Path, passages: Sequence[Passage]) -> Iterator[str]:
    yield from (passage.text for passage in passages)
    for part in PARTS:
        for row in read_questions(folder, part):
            yield row.question
            yield from (u.question for u in row.unanswerable if u.question)
        for claim in read_claims(folder, part):
            yield claim.hypothesis
            if claim.premise:
                yield claim.premise
