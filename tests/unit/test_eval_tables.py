"""Sets of questions over tables: how they are read, and when an answer to one is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.evaluation.ablation import ablation_plan
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import describe
from secondlook.evaluation.metrics import value_right
from secondlook.settings import load as settings_of
from tests.support.table_sets import dabench_set

if TYPE_CHECKING:
    from pathlib import Path

HARBOURS = {"id": 2, "question": "How many?", "file_name": "ports.csv", "answers": [["n", "2"]]}


def test_questions_of_dabench_carry_constraints_and_the_wanted_form(tmp_path: Path) -> None:
    data = load(dabench_set(tmp_path / "da"))
    assert (data.form, data.tables, data.has_corpus) == ("tables", 1, False)
    first = data.cases[0]
    assert first.question.splitlines()[0] == "What is the mean depth?"
    assert first.question.splitlines()[-1].startswith("@mean_depth[")
    assert (first.table, first.type) == ("ports.csv", "easy")
    assert first.values == (("mean_depth", "10.5"),)
    assert first.answers == ("@mean_depth[10.5]",)
    assert data.read_table("ports.csv").content.startswith(b"port,depth")
    assert describe(data)["tables"] == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**HARBOURS, "file_name": "gone.csv"}, "its table 'gone.csv' is not in the folder"),
        ({**HARBOURS, "answers": []}, "answers is missing"),
        ({**HARBOURS, "answers": ["2"]}, "answers.0 must be a list"),
        ({**HARBOURS, "question": " "}, "question is empty"),
    ],
)
def test_a_row_that_cannot_be_used_is_told(
    tmp_path: Path, row: dict[str, Any], reason: str
) -> None:
    folder = dabench_set(tmp_path / "da", row)
    data = load(folder)
    assert len(data.cases) == 2
    assert reason in data.problems[0].reason


@pytest.mark.parametrize(
    ("expected", "value", "is_so"),
    [
        ("34.65", 34.65, True),
        ("34.65", "34.65", True),
        ("34.65", 34.6500002, True),
        ("34.65", 34.66, False),
        ("Normal", "Normal", True),
        ("Normal", "normal", False),
        ("True", True, True),
        ("1", True, False),
        ("[1, 2.5]", [1.0, 2.5], True),
        ("[1, 2.5]", [2.5, 1.0], False),
        ("[1, 2.5]", [1.0], False),
        ("{'a': 1}", {"a": 1.0}, True),
        ("{'a': 1}", {"b": 1.0}, False),
        ("a, b", ["a", "b"], True),
        ("[1, 2", [1, 2], False),
    ],
)
def test_a_value_is_right_by_dabench(expected: str, value: object, is_so: bool) -> None:
    assert value_right(expected, value) is is_so


def test_an_ablation_without_a_model_tries_what_needs_none() -> None:
    settings = settings_of({"models.default": "none"}).settings
    plan, left_out = ablation_plan(settings, ["analyst"])
    assert [item.name for item in plan] == [
        "analyst",
        "analyst without understanding",
        "analyst without alignment",
        "analyst without arithmetic",
    ]
    assert "--model" in left_out["analyst.enable_code_check"]
    assert "--model" in left_out["models.servers.judge = model"]
