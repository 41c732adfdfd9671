"""Fits, prints, and writes what the product loads and what its documentation quotes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.calibrate_answers import CALIBRATION, CHOICES, ORACLE, calibrate_answers
from benchmarks.calibrate_read import load_readings
from benchmarks.calibrate_searches import calibrate_searches
from secondlook.reading import load_reader
from secondlook.retrieval.search import DEFAULT_OPTIONS

if TYPE_CHECKING:
    from secondlook.reading.calibration import Logistic

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ROOT / "src" / "secondlook" / "reading" / "calibration.json"
RESULTS = ROOT / "benchmarks" / "results" / "calibration.json"


def report() -> None:
    reader = load_reader().name
    known = load_readings(reader)
    answers = calibrate_answers(known)
    quality, (min_quality, min_web), searches = calibrate_searches(known)
    made = answers.figures["sets"][CALIBRATION]
    hotpot = searches["sets"]["hotpot-train, calibration"]
    shipped = {
        "reader": reader,
        "made": datetime.now(UTC).date().isoformat(),
        "by": "python -m benchmarks.calibrate fit",
        "data": {
            "answer": f"squad2-dev, half of the articles: {made['n']} questions, "
            f"{made['answerable']} of them answerable",
            "quality": "the answerable questions of squad2-dev, half of the articles "
            f"({searches['sets']['squad2-dev, calibration']['n']}), and of hotpot-train "
            f"({hotpot['n']}), each also with its gold passages taken out",
        },
        "choice": answers.choice,
        "answer": _stored(answers.model),
        "quality": _stored(quality),
        "thresholds": {
            "answer": answers.threshold,
            "quality": min_quality,
            "web_quality": min_web,
        },
    }
    search = {
        name: getattr(DEFAULT_OPTIONS, name)
        for name in ("dense", "lexical", "rrf_k", "candidates", "blend")
    }
    _write(SHIPPED, shipped)
    found = {"answers": answers.figures, "searches": searches}
    _write(RESULTS, {"made": shipped, "search": search, **found})
    _print(shipped, answers.figures, searches)


def _stored(model: Logistic) -> dict[str, Any]:
    return {"bias": model.bias, "weights": dict(model.weights)}


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _print(shipped: dict[str, Any], answers: dict[str, Any], searches: dict[str, Any]) -> None:
    print(json.dumps(shipped, indent=2))
    for name, choices in answers["choice"].items():
        print(f"\nWhich span to answer with: {name}")
        for choice in (*CHOICES, ORACLE):
            print(f"  {choice:24} {choices[choice]}")
    print("\nWhat a probability could be made from: log loss over left-out articles")
    _print_figures(answers["features"])
    for name, figures in answers["sets"].items():
        print(f"\nAnswers: {name}")
        _print_figures(figures)
    for name, figures in searches["sets"].items():
        print(f"\nSearches: {name}")
        _print_figures(figures)


def _print_figures(figures: dict[str, Any]) -> None:
    for key, value in figures.items():
        if isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
            for rule, numbers in value.items():
                print(f"  {key}: {rule:24} {numbers}")
        else:
            print(f"  {key}: {value}")


if __name__ == "__main__":
    report()
