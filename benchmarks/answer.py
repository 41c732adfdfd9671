"""From question to answer without a model: how long, and what must be paid.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.answer [--questions 150]
    SECONDLOOK_DATA=FOLDER python -m benchmarks.answer evaluation [--questions 500]

Questions of `squad2-dev` over its 594 passages. Each is answered by `linear` and `adaptive`, and
its candidates are read by the bare reader, by turns, so that a busy moment hits all three. The
figure that counts is the ratio of the whole answer to the reader's forward passes alone.
`evaluation` runs `secondlook eval` as a person would, with an empty cache: once, the same again,
and the same with results elsewhere, beside the sum of its reader and embedder passes. Writes
benchmarks/results/answer.json or eval_speed.json.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks.common import (
    CACHE,
    data_folder,
    parser,
    save,
    spread,
    squad_library,
    squad_questions,
)
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation.metrics import f1
from secondlook.retrieval.search import best_looks
from secondlook.settings import load

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.reading.reader import OnnxReader

DATA = "squad2-dev"
GOALS = {"whole / reading": 1.3, "adaptive / linear, triggered": 2.0}


def timed(engine: Secondlook, question: str, workflow: str) -> tuple[float, Answer]:
    forget(engine)
    began = time.perf_counter()
    answer = engine.ask(question, workflow=workflow)
    return time.perf_counter() - began, answer


def forget(engine: Secondlook) -> None:
    """What was read for one contender must not spare another the reading."""
    cast("OnnxReader", engine.library.reader()).forget()


def bare(engine: Secondlook, question: str, answer: Answer) -> float:
    """The reader alone over what this answer had it read, with as many looks."""
    search, shelf = engine.settings.search, engine.library.shelf()
    read = [seen for seen in answer.passages if seen.rerank_score is not None]
    fusion = {seen.id: seen.fusion_score or 0.0 for seen in read}
    held = shelf.passages(list(fusion))
    choose = best_looks([fusion[name] for name in held], blend=search.blend, looks=search.looks)
    forget(engine)
    began = time.perf_counter()
    shelf.read(question, list(held.values()), choose=choose)
    return time.perf_counter() - began


def measured(engine: Secondlook, row: dict[str, Any]) -> dict[str, Any]:
    linear, answer = timed(engine, row["question"], "linear")
    reading = bare(engine, row["question"], answer)
    adaptive, other = timed(engine, row["question"], "adaptive")
    triggered = any(step.node == "fall_back" for step in other.steps)
    return {
        "linear": linear,
        "reading": reading,
        "adaptive": adaptive,
        "triggered": triggered,
        "same": triggered or (answer.text, answer.citations) == (other.text, other.citations),
        "stages": {step.node: step.seconds for step in answer.steps},
        "answerable": row["answerable"],
        "answered": answer.status == "answered",
        "f1": f1(answer.short or "", row["answers"]) if row["answerable"] else None,
    }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    def ratio(rows: list[dict[str, Any]], above: str, below: str) -> float | None:
        ratios = [row[above] / row[below] for row in rows]
        return round(statistics.median(ratios), 3) if ratios else None

    def share(*, answerable: bool) -> float:
        some = [float(row["answered"]) for row in found if row["answerable"] is answerable]
        return round(sum(some) / max(1, len(some)), 3)

    stages: dict[str, list[float]] = defaultdict(list)
    for row in found:
        for node, seconds in row["stages"].items():
            stages[node].append(seconds)
        stages["outside the graph"].append(row["linear"] - sum(row["stages"].values()))
    again = [row for row in found if row["triggered"]]
    once = [row for row in found if not row["triggered"]]
    scores = [row["f1"] for row in found if row["answered"] and row["f1"] is not None]
    return {
        "questions": len(found),
        "seconds": {
            name: spread([row[name] for row in found]) for name in ("linear", "reading", "adaptive")
        },
        "stages_p50": {node: round(statistics.median(taken), 4) for node, taken in stages.items()},
        "whole / reading": ratio(found, "linear", "reading"),
        "fallback": {
            "rate": round(len(again) / len(found), 3),
            "same answer where it did not fire": all(row["same"] for row in once),
            "adaptive / linear, triggered": ratio(again, "adaptive", "linear"),
            "adaptive / linear, not triggered": ratio(once, "adaptive", "linear"),
        },
        "answered": {
            "of answerable": share(answerable=True),
            "of unanswerable": share(answerable=False),
            "f1 of answered answerable": round(statistics.mean(scores), 3) if scores else None,
        },
        "goals": GOALS,
    }


def evaluation(questions: int, place: Path, out: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "secondlook", "eval", str(data_folder() / DATA)]
    command += ["--workflow", "linear,adaptive", "--model", "none", "--limit", str(questions)]
    command += ["--json", "--out", str(place / out)]
    environment = os.environ | {"SECONDLOOK_CACHE": str(place / "cache")}
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    wall = time.perf_counter() - began
    passes = json.loads(done.stdout)["passes"]
    models = passes["reader_seconds"] + passes["embedder_seconds"]
    ratio = round(wall / models, 3) if models else None
    return {"wall": round(wall, 2), "wall / passes": ratio, **passes}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", nargs="?", choices=["answer", "evaluation"], default="answer")
    options.add_argument("--questions", type=int, help="150, or 500 of an evaluation")
    given = options.parse_args()
    if given.what == "evaluation":
        with tempfile.TemporaryDirectory() as folder:
            count = given.questions or 500
            runs = {"linear,adaptive": "first", "the same again": "first", "elsewhere": "second"}
            found = {name: evaluation(count, Path(folder), out) for name, out in runs.items()}
        save("eval_speed", {"data": DATA, "questions": count, "goal": 1.3, **found})
        return
    asked = squad_questions(given.questions or 150)
    runs_path = CACHE / "answer" / "runs.db"
    settings = load({"library.path": squad_library(), "runs.path": runs_path}).settings
    with Secondlook.open(settings=settings) as engine:
        timed(engine, asked[0]["question"], "linear")  # loads everything
        rows = []
        for at, row in enumerate(asked, 1):
            rows.append(measured(engine, row))
            if at % 25 == 0:
                print(f"{at} of {len(asked)}", flush=True)
    save("answer", {"data": DATA, **summary(rows)})


if __name__ == "__main__":
    main()
