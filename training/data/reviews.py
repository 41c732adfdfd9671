"""Opinions in reviews (SubjQA): half of the questions find no answer in their review."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING, Any

from training.data.chance import chance, is_dev
from training.data.rows import Passage, Positive, Question, Unanswerable

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from training.data.hotpot import Keep
    from training.data.rows import Part

NO_ANSWER = "ANSWERNOTFOUND"
"""Also stands at the end of the published reviews, where it would tell the label."""
LONGEST_REVIEW = 1500
"""Characters: about what one pass of the reader takes."""


def review_rows(
    rows: Iterable[dict[str, Any]],
    *,
    most: int,
    keep: Keep,
    dropped: Counter[str],
    seed: int,
    dev_share: float,
) -> Iterator[tuple[Part, Question]]:
    """At most so many rows, as many answerable as not."""
    groups: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for number, row in enumerate(rows):
        clean = _clean(row, f"subjqa-{number}")
        if clean is None:
            dropped["subjqa: too long, or answer not in the review"] += 1
        else:
            groups[clean["answerable"]].append(clean)
    each = min(most // 2, *map(len, groups.values()))
    for answerable, group in groups.items():
        for row in chance(seed, f"reviews {answerable}").sample(group, each):
            part: Part = "dev" if is_dev(seed, row["item"], dev_share) else "train"
            yield part, _question(row, keep)


def _clean(row: dict[str, Any], key: str) -> dict[str, Any] | None:
    review = unescape(row["review"].replace(NO_ANSWER, "")).strip()
    answer = unescape(row["answer"])
    placed = not row["answerable"] or (answer != NO_ANSWER and answer in review)
    if len(review) > LONGEST_REVIEW or not placed:
        return None
    return {**row, "id": key, "review": review, "answer": answer}


def _question(row: dict[str, Any], keep: Keep) -> Question:
    passage = keep(Passage(f"Review ({row['domain']})", row["review"]))
    start = row["review"].find(row["answer"]) if row["answerable"] else -1
    found = Positive(passage, (start, start + len(row["answer"])))
    return Question(
        id=row["id"],
        source="subjqa",
        question=row["question"],
        answers=(row["answer"],) if row["answerable"] else (),
        positives=(found,) if row["answerable"] else (),
        negatives=(),
        unanswerable=() if row["answerable"] else (Unanswerable("no such opinion", passage),),
    )
