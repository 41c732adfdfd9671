"""How well passages are judged, counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.evaluation.summary import grader_metrics
from tests.support.eval_planted import a_row

if TYPE_CHECKING:
    from secondlook.evaluation.records import Row

GOLD, OTHER = 1, 0


def values(rows: list[Row]) -> dict[str, float | None]:
    return {name: found.value for name, found in grader_metrics(rows).items()}


def graded(case: str, *judged: tuple[int, bool], **known: Any) -> Row:
    return a_row(case, graded=judged, **known)


def test_what_a_grader_did_is_counted() -> None:
    rows = [
        graded("q1", (GOLD, False), (OTHER, True), (OTHER, False)),
        graded("q2", (GOLD, True), (2, True), (OTHER, False)),
        graded("q3", (OTHER, False), (GOLD, True)),
    ]
    found = values(rows)
    assert found["false_rejection_gold"] == pytest.approx(1 / 4)
    assert found["false_rejection_gold@1"] == pytest.approx(1 / 2)
    assert found["false_acceptance"] == pytest.approx(1 / 4)
    assert found["grading_precision"] == pytest.approx(3 / 4)
    assert found["grading_recall"] == pytest.approx(3 / 4)
    assert grader_metrics(rows)["false_rejection_gold@1"].n == 2


def test_without_a_grader_the_reader_is_one() -> None:
    rows = [a_row("q1", judged=((GOLD, False), (OTHER, True), (GOLD, True), (OTHER, False)))]
    found = values(rows)
    assert found["false_rejection_gold"] == 0.5
    assert found["false_rejection_gold@1"] == 1.0
    assert found["false_acceptance"] == 0.5


def test_a_question_without_an_answer_has_no_gold() -> None:
    rows = [
        graded("q1", (GOLD, True)),
        graded("q2", (GOLD, False), (OTHER, True), answerable=False, scored=False),
    ]
    found = values(rows)
    assert found["false_rejection_gold"] == 0.0
    assert found["false_acceptance"] == 0.5
    assert found["grading_precision"] == 0.5


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"graded": ((GOLD, True),) * 5, "seconds_by_node": {"grade": 2.0, "rerank": 1.0}}, 4.0),
        ({"graded": ((GOLD, True),) * 5, "seconds_by_node": {"rerank": 1.0}}, 2.0),
        ({"judged": ((GOLD, True),) * 20, "seconds_by_node": {"grade": 9.0, "rerank": 1.0}}, 0.5),
        ({"judged": ((GOLD, True),) * 20, "seconds_by_node": {"retrieve": 1.0}}, None),
        ({"seconds_by_node": {"rerank": 1.0}}, None),
    ],
)
def test_seconds_are_of_ten_passages(known: dict[str, Any], expected: float | None) -> None:
    assert values([a_row("q1", **known)]).get("seconds_per_10_graded") == expected
