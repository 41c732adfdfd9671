"""What the benchmarks of research make of rows: recall at equal numbers of passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import research_recall
from tests.support.engine import settings_of
from tests.support.eval_rows import row

if TYPE_CHECKING:
    from secondlook.evaluation.records import Row


def one_pass(case: str, *ranks: int, **more: Any) -> Row:
    return row(case, None, gold=2, gold_ranks=ranks, shown=20, **more)


def in_steps(case: str, share: float, shown: int, **more: Any) -> Row:
    return row(case, None, gold=2, shown=shown, metrics={"recall_shown": share}, **more)


def test_one_pass_is_cut_where_the_steps_end() -> None:
    deep = one_pass("q", 3, 11)
    assert [research_recall.best(deep, number) for number in (2, 3, 10, 11)] == [0, 0.5, 0.5, 1]


def test_steps_are_held_against_as_many_passages_of_the_same_question() -> None:
    base = [one_pass("q", 1, 8), one_pass("r", 1, 12), one_pass("s", 2)]
    other = [in_steps("q", 1.0, 10), in_steps("r", 1.0, 10), in_steps("s", 0.5, 5)]
    found = research_recall.at_equal_numbers(base, other)
    assert (found["improved"], found["same"], found["degraded"]) == (1, 2, 0)
    assert found["difference"] == round(0.5 / 3, 4)
    assert (found["recall_one_pass"], found["recall_steps"]) == (0.6667, 0.8333)
    assert found["low"] <= found["difference"] <= found["high"]
    assert found["by_type"] == {}


def test_types_are_compared_apart() -> None:
    base = [one_pass("q", 1, 8, type="bridge"), one_pass("r", 1, 12, type="comparison")]
    other = [in_steps("q", 0.5, 10, type="bridge"), in_steps("r", 1.0, 10, type="comparison")]
    found = research_recall.at_equal_numbers(base, other)["by_type"]
    assert {kind: one["difference"] for kind, one in found.items()} == {
        "bridge": -0.5,
        "comparison": 0.5,
    }


def test_one_pass_may_show_as_many_as_the_most_steps() -> None:
    settings = settings_of(answer={"k": 5}, research={"max_cycles": 6})
    found = {one.name: one for one in research_recall.configurations(settings)}
    assert found["deep"].changes == {"answer.k": 30, "search.candidates": 30}
    assert found["wide"].changes["search.looks"] == 30
    assert found["research"].changes == {}


def test_what_is_written_has_a_line_for_each_comparison() -> None:
    rows = {
        name: [in_steps("q", 0.5, 5, gold_ranks=(1,))]
        for name in ("linear", "deep", "wide", "corrective", "research")
    }
    content = research_recall.told(rows)
    assert content["questions"] == 1
    assert content["recall"]["research"]["value"] == 0.5
    assert len(research_recall.table(content).splitlines()) == 2 + len(content["comparisons"]) == 6
