"""How well passages are judged: by a grader where one judged, else by the reader, which accepts
what it looked at and found to be about the question. Gold is what the set says holds the answer; a
question without an answer has none, so whatever is accepted for it is accepted wrongly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secondlook.evaluation.metrics.catalogue import METRICS
from secondlook.evaluation.pooled import Pool, pooled, ratio, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.evaluation.records import Estimate, Row

READER = "reader"
"""What `graded_by` says where the reader graded."""
_OF_GOLD = frozenset(item.name for item in METRICS.values() if item.group == "retrieval")
_GRADER, _READER = "grade", "rerank"


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was judged for one question: (is gold, was accepted) of each passage, best first."""

    case: str
    passages: tuple[tuple[bool, bool], ...]

    def count(self, *, gold: bool | None = None, accepted: bool | None = None) -> float:
        return float(
            sum(
                gold in (None, is_gold) and accepted in (None, was_accepted)
                for is_gold, was_accepted in self.passages
            )
        )

    def first(self, *, accepted: bool | None = None) -> float:
        """1 where the best passage is gold (and was accepted, or not)."""
        return float(
            bool(self.passages) and self.passages[0][0] and accepted in (None, self.passages[0][1])
        )


def graded_by_models(row: Row) -> Row:
    """The row with what models graded, and nothing else that was judged."""
    return row.model_copy(
        update={"graded": tuple(_graded(row, by_reader=False)), "graded_by": (), "judged": ()}
    )


def graded_by_reader(row: Row) -> Row:
    """The row with what the reader graded; where it graded nothing, with what it read."""
    graded = tuple(_graded(row, by_reader=True))
    return row.model_copy(update={"graded": (), "graded_by": (), "judged": graded or row.judged})


def _graded(row: Row, *, by_reader: bool) -> Iterator[tuple[int, bool]]:
    """Rows that do not say who graded are of a time when only models did."""
    graders = row.graded_by or (None,) * len(row.graded)
    for pair, grader in zip(row.graded, graders, strict=True):
        if (grader == READER) == by_reader:
            yield pair


def grader_metrics(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Estimate]:
    """Every metric of the group that has something to count."""
    ordered = sorted(rows, key=lambda row: (row.case, row.repeat))
    by_grader = any(row.graded for row in ordered)
    judged = _with_known_gold(ordered, by_grader=by_grader)
    shares = {
        name: share(
            [item.case for item in judged],
            [part(item) for item in judged],
            [whole(item) for item in judged],
            seed=seed,
        )
        for name, (part, whole) in _SHARES.items()
    }
    shares["seconds_per_10_graded"] = _seconds_per_10(ordered, by_grader=by_grader, seed=seed)
    return {name: found for name, found in shares.items() if found is not None}


_SHARES: dict[str, tuple[Callable[[_Judged], float], Callable[[_Judged], float]]] = {
    "false_rejection_gold": (
        lambda item: item.count(gold=True, accepted=False),
        lambda item: item.count(gold=True),
    ),
    "false_rejection_gold@1": (
        lambda item: item.first(accepted=False),
        lambda item: item.first(),
    ),
    "false_acceptance": (
        lambda item: item.count(gold=False, accepted=True),
        lambda item: item.count(gold=False),
    ),
    "grading_precision": (
        lambda item: item.count(gold=True, accepted=True),
        lambda item: item.count(accepted=True),
    ),
    "grading_recall": (
        lambda item: item.count(gold=True, accepted=True),
        lambda item: item.count(gold=True),
    ),
}


def _with_known_gold(rows: Sequence[Row], *, by_grader: bool) -> list[_Judged]:
    """Only questions whose gold the set names: in one that names none nothing can be judged."""
    judged = [(row, _judgements(row, by_grader=by_grader)) for row in rows]
    set_has_gold = any(_names_gold(row, found) for row, found in judged)
    return [
        _Judged(
            row.case, tuple((row.answerable and grade > 0, accepted) for grade, accepted in found)
        )
        for row, found in judged
        if (_names_gold(row, found) if row.answerable else set_has_gold)
    ]


def _judgements(row: Row, *, by_grader: bool) -> tuple[tuple[int, bool], ...]:
    if by_grader:
        return row.graded
    return row.judged


def _names_gold(row: Row, judged: Sequence[tuple[int, bool]]) -> bool:
    return row.answerable and (
        any(grade > 0 for grade, _ in judged) or not _OF_GOLD.isdisjoint(row.metrics)
    )


def _seconds_per_10(rows: Sequence[Row], *, by_grader: bool, seed: int) -> Estimate | None:
    is_timed = by_grader and any(_GRADER in row.seconds_by_node for row in rows)
    node = _GRADER if is_timed else _READER
    timed = [
        (row.case, row.seconds_by_node[node], len(row.graded if by_grader else row.judged))
        for row in rows
        if node in row.seconds_by_node and (row.graded if by_grader else row.judged)
    ]
    if not timed:
        return None
    seconds = np.asarray([item[1] for item in timed], dtype=np.float64)
    tens = np.asarray([item[2] for item in timed], dtype=np.float64) / 10
    return pooled(ratio(seconds, tens), Pool.of([item[0] for item in timed]), seed=seed)
