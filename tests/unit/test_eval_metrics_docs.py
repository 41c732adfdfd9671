"""docs/metrics.md and the catalogue of metrics are one: names, questions, direction, examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from secondlook.evaluation.metrics import METRICS
from tests.support.eval_questions import of_all, question, row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
_SECTION = re.compile(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`([^`]+)`")
_EXAMPLE = re.compile(r"`((?:question|of_all)\([^`]*)` = (-?[\d.]*\d)")
_OVER = {
    "gold": "questions with gold documents",
    "scored": "questions with a right answer",
    "answered": "answered questions",
    "claims": "answers with checked sentences",
    "choices": "multiple-choice questions",
    "unanswerable": "questions without an answer",
    "all": "all questions",
    "graded": "questions with judged passages",
    "researched": "researched questions",
    "tables": "questions over tables",
}
SECTIONS = {
    tuple(_NAME.findall(title)): text
    for title, text in _SECTION.findall(PAGE.read_text("utf-8").replace("\r\n", "\n"))
}
EXAMPLES = [
    (" ".join(expression.split()), float(value))
    for text in SECTIONS.values()
    for expression, value in _EXAMPLE.findall(text)
]


def test_every_metric_has_one_section_and_every_section_a_metric() -> None:
    named = [name for names in SECTIONS for name in names]
    assert sorted(named) == sorted(METRICS)


def test_groups_come_in_the_order_of_the_catalogue() -> None:
    first_of_group = {item.group: name for name, item in reversed(METRICS.items())}
    text = PAGE.read_text("utf-8")
    places = [text.index(f"### `{name}`") for name in reversed(first_of_group.values())]
    assert places == sorted(places)


@pytest.mark.parametrize("name", METRICS)
def test_section_says_which_questions_and_what_is_better(name: str) -> None:
    text = next(text for names, text in SECTIONS.items() if name in names)
    metric = METRICS[name]
    assert f"Over {_OVER[metric.over]}; {metric.better} is better.\n" in text


@pytest.mark.parametrize("names", SECTIONS, ids=lambda names: names[0])
def test_section_has_an_example_that_computes_its_metric(names: tuple[str, ...]) -> None:
    found = [expression for expression, _ in _EXAMPLE.findall(SECTIONS[names])]
    assert any(expression.endswith(f'["{name}"]') for expression in found for name in names)


@pytest.mark.parametrize(("expression", "value"), EXAMPLES)
def test_example_comes_out_as_written(expression: str, value: float) -> None:
    names = {"question": question, "of_all": of_all, "row": row}
    assert eval(expression, names) == pytest.approx(value, abs=0.0006)  # noqa: S307 - our own page
