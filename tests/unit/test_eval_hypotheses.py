"""Three hypotheses, each driven to every verdict by rows made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.evaluation.hypotheses import criteria, judge
from tests.support.eval_rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Criterion, Hypothesis, Row


def judged(name: str, *configurations: Sequence[Row]) -> Hypothesis:
    found = {one[0].configuration: one for one in configurations}
    return next(one for one in judge(found) if one.name == name)


def retried(figures: Sequence[float], retries: Sequence[int], **more: Any) -> list[Row]:
    return [
        one.model_copy(update={"retries": again})
        for one, again in zip(rows(figures, "corrective", **more), retries, strict=True)
    ]


@pytest.mark.parametrize(
    ("without", "rewriting", "verdict"),
    [
        ([0.0] * 40, [1.0] * 20 + [0.0] * 20, "supported"),
        ([0.0] * 300, [0.0] * 300, "not supported"),
        ([1.0] * 40, [0.0] * 20 + [1.0] * 20, "not supported"),
        ([0.0] * 20, [1.0] * 2 + [0.0] * 18, "undecided"),
    ],
)
def test_rewriting(without: list[float], rewriting: list[float], verdict: str) -> None:
    found = judged("H1", rows(without, "linear"), retried(rewriting, [1] * len(rewriting)))
    assert found.verdict == verdict
    assert found.numbers["success_n"] == len(without)
    assert (found.numbers["with"], found.numbers["without"]) == ("corrective", "linear")
    assert ("more_questions" in found.numbers) == (verdict == "undecided")


def read(n: int, gold: Sequence[float], other: Sequence[float]) -> list[Row]:
    passages = (*((1, score > 0) for score in gold), *((0, score > 0) for score in other))
    return [row(f"q{at}", configuration="linear", judged=passages) for at in range(n)]


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        (read(60, [2.0], [-2.0, -1.0]), "supported"),
        (read(60, [2.0], [1.0, 1.0]), "not supported"),  # precision of a third
        (read(60, [-2.0], [-1.0]), "not supported"),  # nothing accepted
        (read(5, [2.0], [-2.0]), "undecided"),
        # Precision of 36 in 42: around 80 %.
        ([*read(36, [2.0], [-2.0])[6:], *read(6, [1.0], [1.0])], "undecided"),
    ],
)
def test_the_reader_as_a_grader(pairs: list[Row], verdict: str) -> None:
    found = judged("H2 reader", pairs)
    assert found.verdict == verdict, found
    assert found.numbers["pairs"] == sum(len(one.judged) for one in pairs)


def test_a_model_as_a_grader_is_judged_beside_the_reader() -> None:
    """The reader accepts what it should; the model rejects seven of ten gold passages."""
    asked = [
        row(
            f"q{at}",
            configuration="corrective",
            judged=((1, True), (0, False)),
            graded=((1, at % 10 < 3), (0, False)),
        )
        for at in range(80)
    ]
    assert judged("H2 reader", asked).verdict == "supported"
    model = judged("H2 model", asked)
    assert model.verdict == "not supported"
    assert model.numbers["recall"] == pytest.approx(0.3)
    assert model.numbers["precision"] == 1.0
    assert judged("H2 model", read(3, [1.0], [0.0])).why == "no model graded a passage"


def succeeding(*at_retry: int, failed: int = 0, most: int = 3) -> list[Row]:
    """So many questions that succeed at once, at retry 1, 2, ...; the failed tried `most` times."""
    retries = [number for number, many in enumerate(at_retry) for _ in range(many)]
    figures = [1.0] * len(retries) + [0.0] * failed
    return retried(figures, retries + [most] * failed)


@pytest.mark.parametrize(
    ("tries", "verdict"),
    [
        (succeeding(850, 100, 30, 10, failed=10), "supported"),
        (succeeding(850, 30, 30, 30, failed=60), "not supported"),
        (succeeding(850, 10, 30, 100, failed=10), "not supported"),
        (succeeding(20, 4, 2, 1, failed=3), "undecided"),
    ],
)
def test_diminishing_returns(tries: list[Row], verdict: str) -> None:
    found = judged("H3", tries)
    assert found.verdict == verdict, found
    assert found.numbers["cumulative_3"] == pytest.approx(
        sum(one.right is True for one in tries) / len(tries)
    )


# The claim as it was first stated, and the bars that were set beforehand.


def _first_stated(rows: dict[str, list[Row]]) -> Hypothesis:
    return next(one for one in judge(rows) if one.name == "H1 as first stated")


def recalled(name: str, figures: Sequence[float], recall: Sequence[float]) -> list[Row]:
    return [
        one.model_copy(update={"metrics": {**one.metrics, "recall@5": share}})
        for one, share in zip(rows(figures, name), recall, strict=True)
    ]


def stated(n: int, *, rise: int, full: int = 0) -> Hypothesis:
    """`n` questions that linear answers poorly; of `full` it has all gold already."""
    before = [1.0] * full + [0.5] * (n - full)
    after = [1.0] * (full + rise) + [0.5] * (n - full - rise)
    return _first_stated(
        {
            "linear": recalled("linear", [0.0] * n + [1.0] * 30, before + [0.0] * 30),
            "corrective": recalled("corrective", [0.0] * n + [1.0] * 30, after + [1.0] * 30),
        }
    )


@pytest.mark.parametrize(
    ("rise", "verdict"), [(100, "supported"), (75, "undecided"), (20, "not supported")]
)
def test_the_claim_as_it_was_first_stated(rise: int, verdict: str) -> None:
    found = stated(100, rise=rise)
    assert (found.verdict, found.numbers["rose"]) == (verdict, rise)
    assert found.numbers["share_questions"] == 100
    assert "any other" in found.why


def by_name(found: Sequence[Criterion]) -> dict[str, Criterion]:
    return {one.name: one for one in found}


def test_the_bars_that_were_set() -> None:
    linear = recalled("linear", [1.0] * 80 + [0.0] * 20, [0.9] * 100)
    more: dict[str, Any] = {"seconds": 2.0}
    corrective = [
        one.model_copy(
            update={
                **more,
                "configuration": "corrective",
                "retries": int(at < 8 or at > 90),
                "metrics": {**one.metrics, "recall@5": 0.98, "faithfulness": 1.0},
            }
        )
        for at, one in enumerate(linear)
    ]
    found = by_name(criteria({"linear": linear, "corrective": corrective}))
    assert {name: one.met for name, one in found.items()} == {
        "recall@5": True,
        "faithfulness": True,
        "success": False,
        "seconds, 95 of 100": False,
        "asked again though linear is right": True,
    }
    assert found["seconds, 95 of 100"].value == pytest.approx(2.0)
    again = found["asked again though linear is right"]
    assert (again.value, again.n) == (0.1, 80)
    assert "verbatim" in found["faithfulness"].why
    written = [one.model_copy(update={"method": "generative"}) for one in corrective]
    assert "verbatim" not in by_name(criteria({"corrective": written}))["faithfulness"].why
