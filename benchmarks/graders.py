"""Who grades passages and answers how well, and how fast: the reader beside a local model.

    export SECONDLOOK_DATA=FOLDER
    python scripts/fetch_test_model.py coder-0.5b
    python -m benchmarks.graders gguf:PATH [--questions 20]      # on a quiet machine: it times

Answerable questions of `squad2-dev`, drawn by chance, with the ten best passages that the product
finds for each. Every grader grades all ten, one grader after the other, question by question:

- `reader`: its look at all ten is timed with its grading, though a run has mostly looked already;
- `llm-batch`: all in one call; `llm-each`: one call each; `auto`: the reader, and one call for
  what it is unsure about, to a model that passed the grading probe (`secondlook models probe`).

False rejection is of gold passages, of all and of those at rank 1; false acceptance of the others,
some of which help though the set does not name them. Answers are graded too: the sentence that
holds the right answer, and for contrast that of another question; by the reader as `corrective`
checks that an answer is useful, by the model as `answer.enable_answer_grading` has it.
Writes `benchmarks/results/graders.json`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime

from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.grading_cases import PASSAGES, desk, drawn, with_settings
from secondlook.evaluation.intervals import wilson
from secondlook.nodes.checking.useful import usefulness
from secondlook.nodes.grade_answer import grade_answer
from secondlook.nodes.grading import graded
from secondlook.retrieval.sentences import sentence_starts
from secondlook.state import RELEVANT, Cited, DraftData, Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.grading_cases import Asked, Desk

DATA = "squad2-dev"
GRADERS = ("reader", "llm-batch", "llm-each", "auto")
GOAL = 10.0
"""How many times faster than one call of a model the reader must be."""


@dataclass(slots=True)
class Tally:
    """What one grader did, question by question."""

    seconds: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    pairs: list[tuple[bool, bool]] = field(default_factory=list)
    """Of each passage: is gold, was accepted."""
    first: list[bool] = field(default_factory=list)
    """Of each gold passage at rank 1, whether it was accepted."""
    by_model: int = 0
    warnings: int = 0


def share(hits: Sequence[bool]) -> dict[str, Any]:
    if not hits:
        return {"value": None, "n": 0}
    value = sum(hits) / len(hits)
    low, high = wilson(value, len(hits))
    return {"value": round(value, 4), "low": round(low, 4), "high": round(high, 4), "n": len(hits)}


def take(place: Desk, asked: Asked, grader: str, tally: Tally) -> None:
    """Has the grader grade the passages of one question."""
    settings = with_settings(place.settings, grader=grader, graded=PASSAGES)
    context = place.context(asked.case.question, settings=settings)
    # With `auto` the reader grades too; what a model alone grades nobody has to read.
    looked = place.looked(asked) if grader in {"reader", "auto"} else 0.0
    began = time.perf_counter()
    made = place.do(graded(context, asked.case.question, list(asked.found)))
    tally.seconds.append(looked + time.perf_counter() - began)
    accepted = [item["grade"] in RELEVANT for item in made.found]
    tally.pairs += list(zip(asked.gold, accepted, strict=True))
    tally.first += accepted[:1] if asked.gold[:1] == (True,) else []
    tally.calls.append(context.ledger.usage().calls)
    tally.by_model += sum(item["graded_by"] not in {None, "reader"} for item in made.found)
    tally.warnings += bool(made.warnings)


def told(tally: Tally) -> dict[str, Any]:
    return {
        "seconds_per_10": round(statistics.median(tally.seconds), 4),
        "calls": round(statistics.fmean(tally.calls), 2),
        "graded_by_a_model": tally.by_model,
        "questions_with_a_warning": tally.warnings,
        "false_rejection_gold": share([not accepted for gold, accepted in tally.pairs if gold]),
        "false_rejection_gold@1": share([not accepted for accepted in tally.first]),
        "false_acceptance": share([accepted for gold, accepted in tally.pairs if not gold]),
    }


def right_answer(place: Desk, asked: Asked) -> Sentence | None:
    """The sentence of a gold passage that holds the right answer, cited."""
    held = place.library.shelf().passages([item["id"] for item in asked.found])
    for item, gold in zip(asked.found, asked.gold, strict=True):
        text = held[item["id"]].text
        starts = sentence_starts(text) if gold else []
        for start, end in pairwise((*starts, len(text))):
            if any(right.casefold() in text[start:end].casefold() for right in asked.case.answers):
                at = held[item["id"]].start
                cited = Cited(passage=item["id"], start=at + start, end=at + end)
                return Sentence(
                    text=text[start:end].strip(), cited=[cited], support=None, supported=None
                )
    return None


def draft(sentence: Sentence, model: str) -> DraftData:
    return DraftData(
        method="generative",
        model=model,
        sentences=[sentence],
        short=None,
        stop="answered",
        confidence=None,
        reasons=[],
        note=None,
    )


async def is_accepted(place: Desk, asked: Asked, sentence: Sentence, *, by: str) -> bool | None:
    """Whether it passes for an answer to the question; None where nobody could tell."""
    context = place.context(asked.case.question)
    if by == "reader":
        return (await usefulness(context, asked.case.question, sentence["text"])).is_useful
    best = [
        {**item, "kept": rank < place.settings.answer.k} for rank, item in enumerate(asked.found)
    ]
    state: Any = {
        "question": asked.case.question,
        "queries": [asked.case.question],
        "scope": {"documents": None, "labels": []},
        "found": best,
        "draft": draft(sentence, place.settings.models.default),
        "answer_grades": [],
    }
    made = await grade_answer(state, Runtime(context=context))
    (verdict,) = made["answer_grades"]
    return None if verdict == "not graded" else verdict == "yes"


def answers(place: Desk, every: Sequence[Asked], *, by: str) -> dict[str, Any]:
    held = [(asked, one) for asked in every if (one := right_answer(place, asked)) is not None]
    right = [place.do(is_accepted(place, asked, one, by=by)) for asked, one in held]
    others = [one for _, one in (*held[1:], *held[:1])]
    wrong = [
        place.do(is_accepted(place, asked, one, by=by))
        for (asked, _), one in zip(held, others, strict=True)
    ]
    return {
        "false_rejection_right": share([said is False for said in right if said is not None]),
        "false_acceptance_wrong": share([said for said in wrong if said is not None]),
        "not_graded": sum(said is None for said in (*right, *wrong)),
    }


def run(model: str, questions: int) -> dict[str, Any]:
    with desk(DATA, {"models.default": model}) as place:
        answerable = [case for case in place.data.cases if case.answerable]
        tallies = {grader: Tally() for grader in GRADERS}
        every = []
        for number, case in enumerate(drawn(answerable, questions), 1):
            asked = place.asked(case)
            every.append(asked)
            for grader, tally in tallies.items():
                take(place, asked, grader, tally)
            line = ", ".join(f"{name} {one.seconds[-1]:.2f} s" for name, one in tallies.items())
            print(f"{number} of {questions}: {line}", file=sys.stderr, flush=True)
        graders = {name: told(tally) for name, tally in tallies.items()}
        batch = tallies["llm-batch"].seconds
        for name, tally in tallies.items():
            each = [two / one for one, two in zip(tally.seconds, batch, strict=True)]
            graders[name]["faster_than_llm_batch"] = round(statistics.median(each), 2)
        return {
            "data": DATA,
            "model": Path(model.partition(":")[2]).name,
            "reader": place.library.reader().name,
            "questions": len(every),
            "passages": PASSAGES,
            "graders": graders,
            "answers": {by: answers(place, every, by=by) for by in ("reader", "model")},
            "reader_fast_enough": graders["reader"]["faster_than_llm_batch"] >= GOAL,
            "load_average": [round(load, 1) for load in os.getloadavg()],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="the model that grades, such as gguf:PATH")
    parser.add_argument("--questions", type=int, default=20)
    options = parser.parse_args()
    made = run(options.model, options.questions)
    command = f"python -m benchmarks.graders gguf:{made['model']} --questions {options.questions}"
    write_results(RESULTS / "graders.json", command, made)


if __name__ == "__main__":
    main()
