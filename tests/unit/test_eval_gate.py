"""Two runs over the same set: a significant loss fails, nothing else does."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import UsageError
from secondlook.evaluation.comparison import gate
from secondlook.evaluation.records import Results
from tests.support.eval_rows import churned, row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Row

SET = {"name": "set", "fingerprint": "abc"}


def run(*configurations: Sequence[Row], **more: Any) -> Results:
    found = tuple(one for rows in configurations for one in rows)
    return Results(**{"data": SET, "rows": found, **more})


def test_a_significant_loss_fails() -> None:
    found = gate(run(rows([1.0] * 100)), run(rows([0.0] * 20 + [1.0] * 80)))
    assert found.failed
    assert found.lost == ("base",)
    assert len(found.comparisons) == 1
    assert found.lines == (
        "base: f1 1.000 -> 0.800, -0.200 [-0.280, -0.130], p = 0.000, n = 100: a significant loss",
    )


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ([1.0] * 100, "no significant loss"),
        ([0.0] * 3 + [1.0] * 97, "no significant loss"),
        ([0.5] * 100, "a significant loss"),
    ],
)
def test_what_is_said(figures: list[float], said: str) -> None:
    found = gate(run(rows([1.0] * 100)), run(rows(figures)))
    assert found.lines[-1].endswith(said)
    assert found.failed == (said == "a significant loss")


def test_the_same_twice_passes_and_so_does_mere_churn() -> None:
    """At most 5 of 100 seeds, and half of those are gains."""
    failed = 0
    for seed in range(60):
        generator = random.Random(seed)
        figures = [float(generator.random() < 0.7) for _ in range(200)]
        again = churned(figures, generator, churn=0.05)
        failed += gate(run(rows(figures)), run(rows(again)), seed=1).failed
    assert failed <= 3


def test_other_documents_or_questions_are_an_error() -> None:
    one = run(rows([1.0]))
    with pytest.raises(UsageError, match="different documents \\('set' and 'other'\\)") as failure:
        gate(one, run(rows([1.0]), data={"name": "other", "fingerprint": "def"}))
    assert failure.value.exit_code == 2
    asked = [row("q0000", question="something else?")]
    with pytest.raises(UsageError, match="question 'q0000' is not the same"):
        gate(one, run(asked))
    with pytest.raises(UsageError, match="question 'q0000' is not the same"):
        gate(one, run([row("q0000", expected=("that",))]))
    with pytest.raises(UsageError, match="without rows"):
        gate(one, run())
    with pytest.raises(UsageError, match="no question in common"):
        gate(one, run(rows([1.0, 1.0])[1:]))


def test_settings_and_versions_that_differ_are_told() -> None:
    before = run(
        rows([1.0] * 3), settings={"search": {"k": 5, "blend": 1.0}, "x": 1}, versions={"a": "1"}
    )
    after = run(
        rows([1.0] * 7)[1:], settings={"search": {"k": 9, "blend": 1.0}}, versions={"a": "2"}
    )
    assert gate(before, after).lines[:-1] == (
        "setting search.k: 5 -> 9",
        "setting x: 1 -> 'not there'",
        "version a: '1' -> '2'",
    )
    many = {"search": {f"key{at}": at for at in range(15)}}
    lines = gate(before, run(rows([1.0] * 3), settings=many)).lines
    assert "8 more settings differ" in lines
