"""How well passages are judged, counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
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


def test_where_a_grader_judges_the_reader_is_not_asked() -> None:
    rows = [
        graded("q1", (GOLD, True), judged=((GOLD, False),)),
        a_row("q2", judged=((GOLD, False),)),
    ]
    assert values(rows)["false_rejection_gold"] == 0.0


def test_a_question_without_an_answer_has_no_gold() -> None:
    rows = [
        graded("q1", (GOLD, True)),
        graded("q2", (GOLD, False), (OTHER, True), answerable=False, scored=False),
    ]
    found = values(rows)
    assert found["false_rejection_gold"] == 0.0
    assert found["false_acceptance"] == 0.5
    assert found["grading_precision"] == 0.5


def test_a_set_that_names_no_gold_has_nothing_to_judge_by() -> None:
    rows = [
        graded("q1", (OTHER, True)),
        graded("q2", (OTHER, True), answerable=False, scored=False),
    ]
    assert values(rows) == {}


def test_gold_that_was_not_found_is_still_known() -> None:
    rows = [
        graded("q1", (OTHER, True), metrics={"recall@5": 0.0}),
        graded("q2", (OTHER, True)),
    ]
    found = grader_metrics(rows)
    assert (found["false_acceptance"].value, found["false_acceptance"].n) == (1.0, 1)
    assert "false_rejection_gold" not in found


def test_all_alike_still_leaves_doubt() -> None:
    rows = [graded(f"q{number}", (GOLD, True), (GOLD, True)) for number in range(10)]
    found = grader_metrics(rows)["false_rejection_gold"]
    assert (found.value, found.low, found.n) == (0.0, 0.0, 10)
    assert found.high is not None
    assert 0.2 < found.high < 0.35


def test_an_interval_draws_questions_not_passages() -> None:
    """A question's passages are all judged alike here, so ten of each tell no more than one."""
    generator = np.random.default_rng(0)
    accepted = generator.random(80) < 0.6
    rows = [
        graded(f"q{number:02}", *[(GOLD, bool(was))] * 10) for number, was in enumerate(accepted)
    ]
    found = grader_metrics(rows)["grading_recall"]
    low, high = np.percentile(generator.choice(accepted, (4000, 80)).mean(axis=1), [2.5, 97.5])
    assert found.low == pytest.approx(low, abs=0.03)
    assert found.high == pytest.approx(high, abs=0.03)


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
