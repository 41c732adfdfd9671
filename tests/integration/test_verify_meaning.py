"""Answers whose hashes, quotes and numbers all hold, and whose claims no longer follow from them.

The full measurement is `python -m benchmarks.groundedness`; this is a small one of the same kind.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.groundedness import (
    judged,
)
from secondlook.reading.support import load_support, stands_in
from tests.support import answers

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.library.library import Library

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS: list[dict[str, Any]] = json.loads(
    (ROOT / "examples" / "questions.json").read_text("utf-8")
)["answered"]
LEAST_CAUGHT, MOST_FALSE_ALARMS = 0.8, 0.1


@pytest.fixture(scope="module")
def extracted(samples: Library) -> list[Answer]:
    return [answers.extractive(samples, one["question"], one["says"]) for one in QUESTIONS]


def test_the_reader_sees_most_of_it_and_lets_true_answers_by(
    samples: Library, extracted: list[Answer]
) -> None:
    judge = load_support("reader")
    assert stands_in(judge) is None
    given = [(answer, [one["says"]]) for answer, one in zip(extracted, QUESTIONS, strict=True)]
    found = judged(given, samples, {"reader": judge}, each=3)["reader"]
    assert found["falsified_caught"]["all"]["n"] >= 40
    assert found["falsified_caught"]["all"]["share"] >= LEAST_CAUGHT, found
    assert found["false_alarms"]["all"]["n"] >= len(extracted)
    assert found["false_alarms"]["all"]["share"] <= MOST_FALSE_ALARMS, found
