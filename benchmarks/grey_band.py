"""How wide the reader's grey band should be: what a model would be asked, and what it could mend.

    export SECONDLOOK_DATA=...
    python -m benchmarks.grey_band [--set squad2-dev] [--questions 200]

The ten best passages of each question are graded by the reader. For several widths around both
thresholds: the share of passages that `auto` would show a model, the share of questions with such a
passage, and how many of the reader's mistakes lie among them: gold passages that it holds for
irrelevant, gold passages that it does not see an answer in, and others that it sees one in. A
question without an answer counts for the last alone. Writes `benchmarks/results/grey_band.json`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.grading_cases import desk, drawn
from secondlook.nodes.grading import by_reader
from secondlook.reading.calibration import load_calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.grading_cases import Asked
    from secondlook.reading.calibration import Calibration

RESULTS = Path(__file__).parent / "results" / "grey_band.json"
RELEVANCE = (0.5, 1.0, 1.5, 2.0, 3.0)
ANSWER = (0.0, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class Graded:
    """One passage: what it is, what the reader makes of it, how far from either threshold."""

    question: int
    is_gold: bool
    grade: str
    relevance: float
    chance: float | None

    def is_grey(self, relevance: float, answer: float) -> bool:
        if abs(self.relevance) < relevance:
            return True
        return self.relevance > 0 and self.chance is not None and abs(self.chance) < answer


MISTAKES: dict[str, Callable[[Graded], bool]] = {
    "gold_irrelevant": lambda one: one.is_gold and one.grade == "irrelevant",
    "gold_without_answer": lambda one: one.is_gold and one.grade == "about",
    "other_with_answer": lambda one: not one.is_gold and one.grade == "answers",
}


def graded(asked: Sequence[Asked], calibration: Calibration) -> list[Graded]:
    found = []
    for number, one in enumerate(asked):
        for item, is_gold in zip(one.found, one.gold, strict=True):
            if item["relevance"] is None:
                continue
            chance = by_reader.answer_chance(item, calibration)
            found.append(
                Graded(
                    number,
                    is_gold,
                    by_reader.reader_grade(item, calibration),
                    item["relevance"] - calibration.min_about,
                    None if chance is None else chance - calibration.min_answer,
                )
            )
    return found


def row(passages: Sequence[Graded], relevance: float, answer: float) -> dict[str, Any]:
    grey = [one for one in passages if one.is_grey(relevance, answer)]
    questions = len({one.question for one in passages})
    mended = {name: sum(map(is_one, grey)) for name, is_one in MISTAKES.items()}
    return {
        "relevance": relevance,
        "answer": answer,
        "passages": round(len(grey) / len(passages), 4),
        "questions": round(len({one.question for one in grey}) / questions, 4),
        **{f"{name}_in_band": count for name, count in mended.items()},
    }


def run(name: str, questions: int) -> dict[str, Any]:
    with desk(name) as opened:
        calibration = load_calibration(opened.library.shelf().reader_name)
        passages = graded(
            [opened.asked(case) for case in drawn(opened.data.cases, questions)], calibration
        )
    return {
        "set": name,
        "reader": calibration.reader,
        "questions": questions,
        "passages": len(passages),
        "mistakes": {name: sum(map(is_one, passages)) for name, is_one in MISTAKES.items()},
        "used": row(passages, by_reader.GREY_RELEVANCE, by_reader.GREY_ANSWER),
        "widths": [row(passages, one, other) for one in RELEVANCE for other in ANSWER],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", default="squad2-dev")
    parser.add_argument("--questions", type=int, default=200)
    given = parser.parse_args()
    made = run(given.set, given.questions)
    print(json.dumps(made, indent=2))
    RESULTS.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
