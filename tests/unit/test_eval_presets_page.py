"""The tables of presets and graders on docs/results.md, and how a preset's losses are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import labelled_pairs, seed_table, seed_table_page
from benchmarks.eval_runs import RESULTS
from tests.support.eval_rows import row, withheld

if TYPE_CHECKING:
    from pathlib import Path

ESTIMATE = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
PRESET: dict[str, Any] = {
    "metrics": dict.fromkeys(("f1", "success", "recall@5", "llm_calls", "retry_rate"), ESTIMATE),
    "seconds": 3.0,
    "times_linear": 1.5,
    "grading": {"false_rejection_gold": 0.25},
    "right_refused": None,
    "lost": {"questions": 1, "withheld": 1, "otherwise": 0},
}


def test_the_page_says_what_the_results_say() -> None:
    page = seed_table_page.PAGE.read_text("utf-8")
    found = seed_table_page.filled(page, RESULTS)
    assert found == page, "run python -m benchmarks.seed_table --page"
    assert all(f"<!-- made {name} -->" in page for name in seed_table_page.TABLES)


def test_what_was_not_measured_is_told_with_its_command(tmp_path: Path) -> None:
    page = "<!-- made presets -->\nold\n<!-- /made presets -->"
    found = seed_table_page.filled(page, tmp_path)
    assert "Not measured yet: `python -m benchmarks.seed_table --model gguf:PATH`" in found
    assert "old" not in found


def test_a_preset_is_a_line() -> None:
    made = {"questions": 50, "model": "m.gguf", "presets": {"linear": PRESET}}
    line = seed_table_page.presets(made).splitlines()[-1]
    assert line.startswith("| linear | 0.500 (0.400 to 0.600) | 0.500 | – | 0.500 | 0.50 | 3.00 s")  # noqa: RUF001
    assert line.endswith("| 1.50x | 50.0 % | 25.0 % | – |")  # noqa: RUF001
    assert "| linear | 1 | 1 | 0 |" in seed_table_page.losses(made)
    kept = {**PRESET, "lost": {"questions": 0}}
    assert "No preset" in seed_table_page.losses({"presets": {"linear": kept}})


@pytest.mark.parametrize("name", seed_table.PRESETS)
def test_a_preset_becomes_a_configuration(name: str) -> None:
    found = seed_table.configuration(name, {"web.url": "http://127.0.0.1:1"})
    assert found.name == name
    assert found.workflow in {"linear", "adaptive", "corrective"}
    assert "answer.workflow" not in found.changes
    assert found.changes["web.url"] == "http://127.0.0.1:1"
    assert found.changes["answer.k"] == 5


def test_losses_are_counted_by_how_they_came_about() -> None:
    base = [row(f"q{at}", 1.0) for at in range(5)]
    own = [
        row("q0", 1.0),
        withheld("q1"),
        row("q2", 0.2, retries=1),
        row("q3", 0.5, sent_back=True, retries=1),
        row("q4", 0.9),
    ]
    assert seed_table.losses(base, own) == {
        "questions": 4,
        "withheld": 1,
        "asked again": 1,
        "refused by a check": 1,
        "otherwise": 1,
    }
    assert [after.case for _, after in seed_table.worse(base, own)] == ["q1", "q2", "q3", "q4"]


def test_right_answers_that_a_check_refused() -> None:
    base = [row("q0", 1.0), row("q1", 1.0), row("q2", 0.0)]
    own = [one.model_copy(update={"sent_back": at != 1}) for at, one in enumerate(base)]
    assert seed_table.rejected(base, own)["right_refused"] is None  # nothing checks there
    checked = [one.model_copy(update={"seconds_by_node": {"grade_answer": 1.0}}) for one in own]
    assert seed_table.rejected(base, checked)["right_refused"] == 0.5
    assert seed_table.rejected(base, checked)["grading"] == {}
    graded = [row("q0", graded=((1, False), (0, True)), graded_by=("m", "m"))]
    assert seed_table.rejected(base, graded)["grading"]["false_rejection_gold"] == 1.0


def test_two_questions_are_shown_of_a_preset_that_loses(capsys: pytest.CaptureFixture[str]) -> None:
    base = [row(f"q{at}", 1.0, configuration="linear") for at in range(4)]
    lost = [row(f"q{at}", 0.0, configuration="p", queries=("one", "two")) for at in range(4)]
    seed_table.audit({"linear": base, "p": lost, "same": base})
    told = capsys.readouterr().out
    assert told.count("queries: one | two") == seed_table.AUDITED
    assert "p loses 1.000" in told
    assert "same" not in told


def test_labelled_pairs_are_whole() -> None:
    pairs = labelled_pairs.pairs()
    assert len(pairs) >= 50
    assert {pair.label for pair in pairs} == set(labelled_pairs.LABELS)
    assert len({(pair.set, pair.query) for pair in pairs}) == len(pairs)
    assert all(pair.why and pair.weight > 0 for pair in pairs)


def test_precision_and_recall_of_a_grader() -> None:
    found = labelled_pairs.scores(
        [(True, True, 1.0), (True, False, 3.0), (False, True, 1.0), (False, False, 9.0)]
    )
    assert (found["precision"]["value"], found["precision"]["weighted"]) == (0.5, 0.25)
    assert (found["recall"]["value"], found["recall"]["n"]) == (0.5, 2)
    assert labelled_pairs.scores([(False, False, 1.0)])["recall"] == {"value": None, "n": 0}
