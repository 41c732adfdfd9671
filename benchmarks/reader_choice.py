"""How well the reader chooses among options without a model, and by how much it must be sure.

    export SECONDLOOK_DATA=...
    python -m benchmarks.reader_choice [--questions 300]

Two sets, each question with the text that answers it in the place of the research:

`same passage`: questions of `squad2-dev` with four options, the right answer and three answers to
other questions of the same passage, which share no word with it.
`invented`: questions of `halueval-qa` (Li et al., 2023) with two options, the right answer and the
invented one. Length tells these apart: the right one is nearly always shorter, as `longer` shows.

Options are weighed as the product weighs them (`nodes/choosing/by_reader.py`). Writes
`benchmarks/results/reader_choice.json`: how often each signal is right, ties counted in parts, and
for several margins how many questions are decided and how many of those are right.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks.reading_answers import SEED, rows
from secondlook.evaluation.intervals import wilson
from secondlook.nodes.choosing.by_reader import LEAST_MARGIN, OptionScore, option_scores
from secondlook.nodes.choosing.task import Task
from secondlook.reading import load_reader
from secondlook.reading.support import Support, load_support
from secondlook.state import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.context import Context
    from secondlook.reading.port import Reader, Reading

RESULTS = Path(__file__).parent / "results" / "reader_choice.json"
MARGINS = (0.0, 0.05, LEAST_MARGIN, 0.2, 0.3, 0.5)
OTHERS = 3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Shelf:
    reader: Reader

    def read_text(self, query: str, text: str) -> Reading:
        return self.reader.read(query, [text])[0]


@dataclass(frozen=True, slots=True)
class _Desk:
    """As much of a context as the reader's choice needs."""

    shelf: _Shelf
    support: Support


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    options: tuple[str, ...]
    """The right one first."""
    text: str

    @property
    def task(self) -> Task:
        said = Sentence(text=self.text, cited=[], support=None, supported=None)
        options = dict(zip("ABCDEF", self.options, strict=False))
        return Task(stem=self.question, options=options, research=(said,), confidence=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    reader = load_reader(threads=given.threads)
    desk = _Desk(_Shelf(reader), load_support(threads=given.threads))
    found: dict[str, Any] = {"reader": reader.name, "least_margin": LEAST_MARGIN}
    for name, cases in (("same passage", _same_passage()), ("invented", _invented())):
        sample = random.Random(SEED).sample(list(cases), given.questions)
        found[name] = _measured(desk, sample)
        print(name, json.dumps(found[name], indent=1), flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _same_passage() -> Iterator[Case]:
    corpus = {row["id"]: row["text"] for row in rows("squad2-dev", "corpus")}
    by_passage: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in rows("squad2-dev", "queries"):
        if one["answerable"] and one["answers"]:
            by_passage[one["gold"][0]].append(one)
    for passage, asked in by_passage.items():
        answers = sorted({row["answers"][0] for row in asked})
        for row in asked:
            right = row["answers"][0]
            others = [one for one in answers if not _words(one) & _words(right)]
            if len(others) >= OTHERS:
                wrong = random.Random(row["id"]).sample(others, OTHERS)
                yield Case(row["question"], (right, *wrong), corpus[passage])


def _invented() -> Iterator[Case]:
    for row in rows("halueval-qa", "rows"):
        options = (row["right_answer"], row["hallucinated_answer"])
        yield Case(row["question"], options, row["knowledge"])


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _measured(desk: _Desk, cases: Sequence[Case]) -> dict[str, Any]:
    context = cast("Context", desk)
    scored = [tuple(option_scores(context, case.task).values()) for case in cases]
    signals: dict[str, list[list[float]]] = {
        "support": [[one.support for one in options] for options in scored],
        "overlap": [[one.overlap for one in options] for options in scored],
        "both": [[one.total for one in options] for options in scored],
        "longer": [[float(len(option)) for option in case.options] for case in cases],
    }
    return {
        "questions": len(cases),
        "options": len(cases[0].options),
        "right": {
            name: _share(map(_right, values), len(cases)) for name, values in signals.items()
        },
        "by_margin": [_at_margin(scored, margin) for margin in MARGINS],
    }


def _right(values: Sequence[float]) -> float:
    """1 where the first is best, and its part where several are."""
    best = max(values)
    return (values[0] == best) / sum(value == best for value in values)


def _share(hits: Any, count: int) -> dict[str, Any]:
    value = sum(hits) / count if count else 0.0
    low, high = wilson(value, count) if count else (0.0, 1.0)
    return {"value": round(value, 4), "low": round(low, 4), "high": round(high, 4)}


def _at_margin(scored: Sequence[tuple[OptionScore, ...]], margin: float) -> dict[str, Any]:
    totals = [[one.total for one in options] for options in scored]
    decided = [values for values in totals if _margin(values) >= margin]
    return {
        "margin": margin,
        "decided": round(len(decided) / len(totals), 4),
        "right": _share(map(_right, decided), len(decided)),
    }


def _margin(values: Sequence[float]) -> float:
    first, second = sorted(values, reverse=True)[:2]
    return first - second


if __name__ == "__main__":
    main()
