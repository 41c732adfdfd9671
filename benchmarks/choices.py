"""How often choices are set apart as they are, and how often a question without any is taken apart.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.choices

Every question of `barexam` and `mmlu-law`, typed with its choices in four forms, and without them.
Nothing was fitted to these sets, but for one rule that was widened once two questions of `mmlu-law`
had been taken apart: text that goes on after a list in one line is no choice. Also counted:
questions that name no facts, for which `research.enable_issues` would ask a model. Writes
`benchmarks/results/choices.json`.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from secondlook.nodes.multiple_choice import parsed, rendered
from secondlook.nodes.multiple_choice.neutral import names_no_facts

if TYPE_CHECKING:
    from collections.abc import Callable

SETS = ("barexam", "mmlu-law")


def on_lines(stem: str, choices: dict[str, str]) -> str:
    return "\n".join([stem, *(f"({letter}) {text}" for letter, text in choices.items())])


def with_points(stem: str, choices: dict[str, str]) -> str:
    return "\n".join([stem, *(f"{letter}. {text}" for letter, text in choices.items())])


def in_one_line(stem: str, choices: dict[str, str]) -> str:
    return " ".join([stem, *(f"({letter}) {text}" for letter, text in choices.items())])


FORMS: dict[str, Callable[[str, dict[str, str]], str]] = {
    "under a heading": rendered,
    "(A) on lines": on_lines,
    "A. on lines": with_points,
    "(A) in one line": in_one_line,
}


def questions(name: str) -> list[tuple[str, dict[str, str]]]:
    file = Path(os.environ["SECONDLOOK_DATA"]) / name / "queries.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        (
            row["question"].strip(),
            {letter: " ".join(text.split()) for letter, text in row["choices"].items()},
        )
        for row in rows
    ]


def measured(name: str) -> dict[str, Any]:
    asked = questions(name)
    return {
        "questions": len(asked),
        "not read": {
            form: sum(parsed(typed(*one)).choices != one[1] for one in asked)
            for form, typed in FORMS.items()
        },
        "without choices, taken apart": sum(bool(parsed(stem).choices) for stem, _ in asked),
        "naming no facts": sum(names_no_facts(stem) for stem, _ in asked),
    }


def main() -> None:
    results = {name: measured(name) for name in SETS}
    print(json.dumps(results, indent=1))
    write_results(RESULTS / "choices.json", "python -m benchmarks.choices", results)


if __name__ == "__main__":
    main()
