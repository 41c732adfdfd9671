"""Every figure of docs/results.md, and the page's tables from them.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.eval_results embedded      # all answerable questions, without a model
    python -m benchmarks.eval_results model         # the local 0.5B model, three configurations
    python -m benchmarks.eval_results web           # when the web pays
    python -m benchmarks.eval_results thresholds    # when to search again
    python -m benchmarks.eval_results latency       # seconds per question: on a quiet machine
    python -m benchmarks.eval_results doc           # the tables of docs/results.md

Each can be interrupted and goes on when it is run again; `.cache/eval` holds what was done, and
deleting it starts anew. `model` needs `python scripts/fetch_test_model.py coder-0.5b` and a quiet
machine, for it tells seconds too. Figures are written to `benchmarks/results/eval_*.json`, without
questions, answers or passages.
"""

from __future__ import annotations

import argparse
import os
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import (
    RESULTS,
    SHOWN,
    TIMES,
    answered,
    differences,
    figures,
    write_results,
)
from benchmarks.eval_sets import (
    CACHE,
    ROOT,
    SEED,
    by_answerable,
    data_folder,
    read_rows,
    write_set,
)
from benchmarks.eval_tables import PUBLISHED_FALLBACK, filled
from benchmarks.eval_web import (
    ADAPTIVE,
    DATA,
    LINEAR,
    PAIRS,
    SHARE,
    both,
    configurations,
    prepare,
    small_web,
    web_study,
)
from benchmarks.eval_web_server import PORT
from scripts.fetch_test_model import MODELS, default_folder
from secondlook.evaluation.records import Configuration
from secondlook.reading.calibration import load_calibration
from secondlook.reading.weights import find_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secondlook.evaluation.study import Evaluated

    Answering = Callable[[Sequence[Configuration]], Evaluated]

PAGE = ROOT / "docs" / "results.md"
PRESET = "seed004"
"""The adaptive design as it was published."""
SCORE = "adaptive.min_rerank_score"
FORCED = {"answer.enable_abstention": False}
MODEL = "coder-0.5b"
PUBLISHED = tuple(PUBLISHED_FALLBACK)
CALIBRATED = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Probabilities; the calibrated one (docs/confidence.md) is tried beside them."""


def forced(plain: Sequence[Configuration]) -> list[Configuration]:
    """The same, answering whatever the evidence."""
    return [
        Configuration(f"{one.name}, forced", one.workflow, {**one.changes, **FORCED}, one.about)
        for one in plain
    ]


def question_set(options: argparse.Namespace) -> Path:
    source = data_folder() / DATA
    asked = {"answerable": options.questions, "unanswerable": options.unanswerable}
    queries = by_answerable(read_rows(source, "queries"), **asked)
    return write_set(study_folder(options), read_rows(source, "corpus"), queries)


def study_folder(options: argparse.Namespace) -> Path:
    asked = "all" if options.questions is None else options.questions
    folder: Path = options.cache / f"{options.command}-{asked}-{options.unanswerable}"
    return folder


def embedded(options: argparse.Namespace) -> dict[str, Any]:
    folder = question_set(options)
    plain = [Configuration(LINEAR, "linear"), Configuration(ADAPTIVE, "adaptive")]
    every = [*plain, *forced(plain)]
    evaluated = answered(folder, every, folder / "runs", memory=options.cache)
    return told(evaluated, [PAIRS[0], _both_forced(PAIRS[0])])


def model(options: argparse.Namespace) -> dict[str, Any]:
    if not options.model.is_file():
        raise SystemExit(f"no {options.model}: run python scripts/fetch_test_model.py {MODEL}")
    folder = question_set(options)
    study = prepare(folder / "web", answerable=0, unanswerable=0)
    with small_web(study.pages, options.port) as server:
        plain = configurations(server.url)
        evaluated = answered(
            folder,
            [*plain, *forced(plain)],
            folder / "runs",
            memory=folder,
            shared={"models.default": f"gguf:{options.model}"},
        )
    pairs = [*PAIRS, *map(_both_forced, PAIRS)]
    about = {"model": options.model.name, "web_pages": len(study.pages), "share": SHARE}
    return told(evaluated, pairs, (*SHOWN, *TIMES)) | about


def _both_forced(pair: tuple[str, str]) -> tuple[str, str]:
    return f"{pair[0]}, forced", f"{pair[1]}, forced"


def told(
    evaluated: Evaluated, pairs: Sequence[tuple[str, str]], shown: Sequence[str] = SHOWN
) -> dict[str, Any]:
    return {
        "data": DATA,
        "seed": SEED,
        "questions": len(evaluated.cases),
        "answerable": sum(case.answerable for case in evaluated.cases),
        "documents": evaluated.data.document_count,
        # The path of a model file says nothing; its name is told elsewhere.
        "versions": {key: one for key, one in evaluated.versions.items() if key != "model"},
        "configurations": figures(evaluated, shown),
        "differences": differences(evaluated.rows, pairs),
    }


def web(options: argparse.Namespace) -> dict[str, Any]:
    folder = study_folder(options)
    study = prepare(folder, answerable=options.questions, unanswerable=options.unanswerable)
    return web_study(study, both(study, folder, memory=options.cache, port=options.port))


def latency(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds per question, with nothing remembered from any other study."""
    folder = study_folder(options)
    shutil.rmtree(folder, ignore_errors=True)
    study = prepare(folder, answerable=options.questions, unanswerable=options.unanswerable)
    found = both(study, folder, memory=folder, port=options.port)
    return {
        "data": DATA,
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "conditions": {
            name: {"questions": len(one.cases), "configurations": figures(one, TIMES)}
            for name, one in found.items()
        },
    }


def thresholds(options: argparse.Namespace) -> dict[str, Any]:
    """The published design with its thresholds, and ours with probabilities."""
    folder = question_set(options)
    there = partial(answered, folder, out=folder / PRESET, memory=options.cache, preset=PRESET)
    here = partial(answered, folder, out=folder / "runs", memory=options.cache)
    published = _sweep(there, SCORE, PUBLISHED)
    alike = _sweep(there, SCORE, _scores_for(there, PUBLISHED_FALLBACK.values()))
    default = load_calibration(find_weights("reader").identity).min_quality
    calibrated = _sweep(here, "adaptive.min_quality", sorted({*CALIBRATED, default}))
    return {
        "data": DATA,
        "seed": SEED,
        "published": published,
        "alike": alike,
        "calibrated": calibrated | {"default": default},
    }


def _scores_for(answer: Answering, rates: Iterable[float]) -> list[float]:
    """Thresholds that fire here as often as the published ones did there."""
    (one,) = _swept([PUBLISHED[0]], SCORE).values()
    rows = answer([one]).rows[one.name]
    lowest = sorted(row.trigger for row in rows if row.trigger is not None)
    return [round(lowest[min(len(lowest) - 1, int(rate * len(lowest)))], 3) for rate in rates]


def _swept(values: Iterable[float], param: str) -> dict[float, Configuration]:
    """Nothing is withheld: only the search differs."""
    return {
        value: Configuration(f"{param} {value:g}", "adaptive", {**FORCED, param: value})
        for value in values
    }


def _sweep(answer: Answering, param: str, values: Sequence[float]) -> dict[str, Any]:
    """Each threshold against searching once."""
    base, tried = Configuration(LINEAR, "linear", FORCED), _swept(values, param)
    evaluated = answer([base, *tried.values()])
    found = figures(evaluated)
    return {
        "param": param,
        "preset": evaluated.request.preset,
        "questions": len(evaluated.cases),
        "answerable": sum(case.answerable for case in evaluated.cases),
        "base": found[LINEAR],
        "points": [
            {"value": value, **found[name], "differences": _effect(evaluated, name)}
            for value in values
            for name in [tried[value].name]
        ],
    }


def _effect(evaluated: Evaluated, name: str) -> list[dict[str, Any]]:
    """On all questions, and on those that were searched for again."""
    fell_back = {row.case for row in evaluated.rows[name] if row.fallback}
    parts = {"all": lambda _row: True, "fallback": lambda row: row.case in fell_back}
    return differences(evaluated.rows, [(LINEAR, name)], parts=parts)


def doc(options: argparse.Namespace) -> None:
    page = PAGE.read_text("utf-8")
    PAGE.write_text(filled(page, options.results), encoding="utf-8", newline="\n")


STUDIES = {
    "embedded": embedded,
    "model": model,
    "web": web,
    "thresholds": thresholds,
    "latency": latency,
}
QUESTIONS: dict[str, tuple[int | None, int]] = {
    "embedded": (None, 500),
    "model": (100, 50),
    "web": (500, 500),
    "thresholds": (500, 0),
    "latency": (60, 30),
}
"""How many are asked unless another number is given: answerable ones (None = all), and others."""


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    if options.command == "doc":
        doc(options)
        return
    found = STUDIES[options.command](options)
    asked = f"--questions {options.questions} " if options.questions is not None else ""
    command = f"{options.command} {asked}--unanswerable {options.unanswerable}"
    file = options.results / f"eval_{options.command}.json"
    write_results(file, f"python -m benchmarks.eval_results {command}", found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (questions, unanswerable) in QUESTIONS.items():
        command = commands.add_parser(name)
        command.add_argument("--questions", type=int, default=questions)
        command.add_argument("--unanswerable", type=int, default=unanswerable)
        command.add_argument("--cache", type=Path, default=CACHE, help="what was done is here")
        command.add_argument("--port", type=int, default=PORT, help="of the small web")
    commands.choices["model"].add_argument(
        "--model", type=Path, default=default_folder() / MODELS[MODEL].file, help="a GGUF file"
    )
    commands.add_parser("doc")
    for command in commands.choices.values():
        command.add_argument("--results", type=Path, default=RESULTS, help="folder of the figures")
    return parser


if __name__ == "__main__":
    main()
