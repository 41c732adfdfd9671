"""Every falsification of a real answer is caught, and no true answer is called false."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.groundedness import judged
from secondlook.reading.support import CoverageSupport, load_support, stands_in
from secondlook.verify import examine, verify
from tests.support import answers
from tests.support.tampering import cases

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.library.library import Library

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS: list[dict[str, Any]] = json.loads(
    (ROOT / "examples" / "questions.json").read_text("utf-8")
)["answered"]
TAMPERED_WITH = [0, 8, 11, 13, 17, 19]
"""One question for each form of document: pdf, docx, md, html, txt, xlsx."""
AT_LEAST = 120
WORDS = CoverageSupport()
"""Hundreds of falsifications of form: who judges meaning is measured elsewhere, and slower."""


@pytest.fixture(scope="module")
def library(samples: Library) -> Library:
    return samples


@pytest.fixture(scope="module")
def extracted(library: Library) -> list[Answer]:
    return [answers.extractive(library, one["question"], one["says"]) for one in QUESTIONS]


def test_true_answers_stand(library: Library, extracted: list[Answer]) -> None:
    names = ("harbour-survey-2024.pdf", "harbour-handbook.docx", "lighthouse-log-2023.txt")
    others = [
        answers.generative(library),
        answers.abstained(library, "What does the harbour master earn?"),
        *(answers.outline(library, name) for name in names),
        *(answers.summary(library, name) for name in names),
    ]
    for answer in [*extracted, *others]:
        report = examine(answer, library)
        assert report.problems == [], answer.text
        assert report.notes == [] or answer.method == "outline", answer.text


@pytest.mark.parametrize("at", TAMPERED_WITH)
def test_every_falsified_extract_is_caught(
    library: Library, extracted: list[Answer], at: int
) -> None:
    _all_caught(extracted[at], extracted[(at + 9) % len(extracted)], library, at_least=40)


def test_every_falsified_model_answer_is_caught(library: Library, extracted: list[Answer]) -> None:
    _all_caught(answers.generative(library), extracted[18], library, at_least=AT_LEAST)


def test_every_falsified_outline_and_summary_is_caught(
    library: Library, extracted: list[Answer]
) -> None:
    made = answers.outline(library, "lighthouse-log-2023.txt")
    _all_caught(made, extracted[0], library, at_least=AT_LEAST)
    made = answers.summary(library, "annual-report-2023.html")
    _all_caught(made, extracted[0], library, at_least=60)


def test_every_falsified_web_answer_is_caught(library: Library, extracted: list[Answer]) -> None:
    assert verify(answers.from_the_web(), None) == []
    _all_caught(answers.from_the_web(), extracted[0], library, at_least=40)


def _all_caught(answer: Answer, other: Answer, library: Library, *, at_least: int) -> None:
    assert verify(answer, library, support=WORDS) == []
    tried = 0
    missed = []
    for case in cases(answer, other):
        tried += 1
        kinds = {problem.kind for problem in verify(case.answer, library, support=WORDS)}
        if not kinds & case.kinds:
            missed.append((case.name, sorted(kinds)))
    assert missed == []
    assert tried >= at_least


# Answers whose hashes, quotes and numbers all hold, and whose claims no longer follow from them.

LEAST_CAUGHT, MOST_FALSE_ALARMS = 0.9, 0.12


def test_the_reader_sees_most_of_it_and_lets_true_answers_by(
    library: Library, extracted: list[Answer]
) -> None:
    judge = load_support("reader")
    assert stands_in(judge) is None
    given = [(answer, [one["says"]]) for answer, one in zip(extracted, QUESTIONS, strict=True)]
    found = judged(given, library, {"reader": judge}, each=3)["reader"]
    assert found["falsified_caught"]["all"]["n"] >= 40
    assert found["falsified_caught"]["all"]["share"] >= LEAST_CAUGHT, found
    assert found["false_alarms"]["all"]["n"] >= len(extracted)
    assert found["false_alarms"]["all"]["share"] <= MOST_FALSE_ALARMS, found
