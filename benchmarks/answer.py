"""From question to answer without a model: how long, where the time goes, and what must be paid.

Questions of `squad2-dev` over its 594 passages. Each is answered by `linear` and `adaptive`, and
its candidates are read by the bare reader, by turns, so that a busy moment hits all three.
The figure that counts is the ratio of the whole answer to the reader's forward passes alone.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.answer [--questions 150] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks.reading_answers import SEED, answer_scores, rows
from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.library.report import Text
from secondlook.retrieval.fusion import best_looks
from secondlook.settings import load

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.reading.reader import OnnxReader

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "answer"
DATA = "squad2-dev"
GOAL = 1.3
GOAL_TRIGGERED = 2.0


def library_folder() -> Path:
    """The passages as a library, made once: each passage is a document of its own."""
    folder = CACHE / DATA
    if not (folder / "library.json").exists():
        with Library.open(folder) as library:
            library.add_texts(
                Text(name=row["id"], text=row["text"], title=row["title"])
                for row in rows(DATA, "corpus")
            )
    return folder


def timed(engine: Secondlook, question: str, workflow: str) -> tuple[float, Answer]:
    forget(engine)
    began = time.perf_counter()
    answer = engine.ask(question, workflow=workflow)
    return time.perf_counter() - began, answer


def bare(engine: Secondlook, question: str, answer: Answer) -> float:
    """The reader alone over what this answer had it read, with as many looks."""
    search = engine.settings.search
    fusion = {
        seen.id: seen.fusion_score or 0.0
        for seen in answer.passages
        if seen.rerank_score is not None
    }
    shelf = engine.library.shelf()
    held = shelf.passages(list(fusion))
    choose = best_looks([fusion[name] for name in held], blend=search.blend, looks=search.looks)
    forget(engine)
    began = time.perf_counter()
    shelf.read(question, list(held.values()), choose=choose)
    return time.perf_counter() - began


def forget(engine: Secondlook) -> None:
    """What was read for one contender must not spare another the reading."""
    cast("OnnxReader", engine.library.reader()).forget()


def measure(questions: list[dict[str, Any]], runs: Path) -> list[dict[str, Any]]:
    settings = load({"library.path": library_folder(), "runs.path": runs}).settings
    measured = []
    with Secondlook.open(settings=settings) as engine:
        timed(engine, questions[0]["question"], "linear")  # loads everything
        for at, row in enumerate(questions, 1):
            measured.append(_one(engine, row))
            if at % 25 == 0:
                print(f"{at} of {len(questions)}", flush=True)
    return measured


def _one(engine: Secondlook, row: dict[str, Any]) -> dict[str, Any]:
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
        "read": sum(seen.rerank_score is not None for seen in answer.passages),
        "read_adaptive": sum(seen.rerank_score is not None for seen in other.passages),
        "stages": {step.node: step.seconds for step in answer.steps},
        "answerable": row["answerable"],
        "answered": answer.status == "answered",
        "f1": answer_scores(answer.short or "", row["answers"])[1] if row["answerable"] else None,
    }


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def summary(measured: list[dict[str, Any]]) -> dict[str, Any]:
    stages: dict[str, list[float]] = defaultdict(list)
    for row in measured:
        for node, seconds in row["stages"].items():
            stages[node].append(seconds)
        stages["outside the graph"].append(row["linear"] - sum(row["stages"].values()))
    triggered = [row for row in measured if row["triggered"]]
    untriggered = [row for row in measured if not row["triggered"]]
    answered = [row for row in measured if row["answered"]]
    return {
        "questions": len(measured),
        "seconds": {
            name: {
                "p50": round(percentile([row[name] for row in measured], 0.5), 4),
                "p95": round(percentile([row[name] for row in measured], 0.95), 4),
            }
            for name in ("linear", "reading", "adaptive")
        },
        "stages_p50": {node: round(statistics.median(taken), 4) for node, taken in stages.items()},
        "whole / reading": round(_median_ratio(measured, "linear", "reading"), 3),
        "fallback": {
            "rate": round(len(triggered) / len(measured), 3),
            "same answer where it did not fire": all(row["same"] for row in untriggered),
            "adaptive / linear, triggered": round(_median_ratio(triggered, "adaptive", "linear"), 3)
            if triggered
            else None,
            "adaptive / linear, not triggered": round(
                _median_ratio(untriggered, "adaptive", "linear"), 3
            ),
            "added seconds, p50": round(
                statistics.median(row["adaptive"] - row["linear"] for row in triggered), 4
            )
            if triggered
            else None,
            "passages read": round(statistics.mean(row["read_adaptive"] for row in triggered), 1)
            if triggered
            else None,
        },
        "answered": {
            "of answerable": _share(measured, "answered", answerable=True),
            "of unanswerable": _share(measured, "answered", answerable=False),
            "f1 of answered answerable": round(
                statistics.mean(row["f1"] for row in answered if row["f1"] is not None), 3
            ),
        },
    }


def _median_ratio(measured: list[dict[str, Any]], above: str, below: str) -> float:
    return float(statistics.median(row[above] / row[below] for row in measured))


def _share(measured: list[dict[str, Any]], key: str, *, answerable: bool) -> float:
    chosen = [row[key] for row in measured if row["answerable"] is answerable]
    return round(float(sum(chosen) / len(chosen)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks/results/answer.json")
    options = parser.parse_args()
    chosen = random.Random(SEED).sample(list(rows(DATA, "queries")), options.questions)
    CACHE.mkdir(parents=True, exist_ok=True)
    found = summary(measure(chosen, CACHE / "runs.db"))
    found |= {
        "data": DATA,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "goals": {"whole / reading": GOAL, "adaptive / linear, triggered": GOAL_TRIGGERED},
    }
    options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
