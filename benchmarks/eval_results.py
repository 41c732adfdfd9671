"""The figures of docs/results.md: answers without a model, the web, and when to search again.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.eval_results embedded      # all answerable questions, without a model
    python -m benchmarks.eval_results web           # when the web pays
    python -m benchmarks.eval_results thresholds    # when to search again

All are over `squad2-dev`. For `web` two sets are made of it. As is, the library holds every
passage. Moved, 30 % of the gold passages (fixed seed) are not in the library. In both, the same
small web on loopback holds exactly those 30 % and, as the rest of the web, the 18,891 passages of
`squad-train`, which are about other articles. So one thing differs: whether the library lacks what
the web has. Each study can be interrupted and goes on when it is run again; `.cache/eval` holds
what was done. Writes `benchmarks/results/eval_*.json`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import (
    CACHE,
    RESULTS,
    SEED,
    answered,
    by_answerable,
    differences,
    figures,
    parser,
    rows,
    save,
    write_set,
)
from benchmarks.web_server import PORT, CorpusServer, Page
from secondlook.evaluation.records import Configuration
from secondlook.reading.calibration import load_calibration
from secondlook.reading.weights import find_weights

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from benchmarks.common import Rows
    from secondlook.answer import Scalar
    from secondlook.evaluation.study import Evaluated

DATA, ELSEWHERE = "squad2-dev", "squad-train"
SHARE = 0.3
LINEAR, ADAPTIVE, WITH_WEB = "linear", "adaptive", "adaptive+web"
PAIRS = ((LINEAR, ADAPTIVE), (ADAPTIVE, WITH_WEB))
FORCED: dict[str, Scalar] = {"answer.enable_abstention": False}
PRESET = "seed004"
"""The adaptive design as it was published."""
SCORES = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Thresholds that were published with it."""
QUALITIES = (0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Probabilities; the calibrated one (docs/confidence.md) is tried beside them."""
QUESTIONS: dict[str, tuple[int | None, int]] = {
    "embedded": (None, 500),
    "web": (500, 500),
    "thresholds": (500, 0),
}
"""How many are asked unless another number is given: answerable ones (None = all), and others."""


def told(evaluated: Evaluated, pairs: Sequence[tuple[str, str]], **parts: Any) -> dict[str, Any]:
    return {
        "questions": len(evaluated.cases),
        "answerable": sum(case.answerable for case in evaluated.cases),
        "documents": evaluated.data.document_count,
        "configurations": figures(evaluated),
        "differences": differences(evaluated.rows, pairs, **parts),
    }


def embedded(folder: Path, queries: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """`linear` and `adaptive`, as they are and answering whatever the evidence."""
    data = write_set(folder, rows(DATA, "corpus"), queries)
    plans = [Configuration(name, name) for name in (LINEAR, ADAPTIVE)]
    forced = [Configuration(f"{one.name}, forced", one.workflow, FORCED) for one in plans]
    found = answered(data, [*plans, *forced], folder / "runs", memory=options.cache)
    return told(found, [PAIRS[0], (forced[0].name, forced[1].name)])


def moved(corpus: Rows, asked: Rows, gone: set[str], folder: Path) -> dict[str, Path]:
    """Two sets of the same questions: with every passage, and without those that are gone. Each
    question says in `type` whether it is concerned."""
    marked = [row | {"type": "moved" if gone & set(row["gold"]) else "kept"} for row in asked]
    left = [row for row in corpus if row["id"] not in gone]
    # Gold is what the library holds: where to find the rest is not for its search to know.
    there = [row | {"gold": [key for key in row["gold"] if key not in gone]} for row in marked]
    return {
        "as is": write_set(folder / "as-is", corpus, marked),
        "moved": write_set(folder / "moved", left, there),
    }


def some_gold(corpus: Rows, queries: Rows, share: float = SHARE) -> set[str]:
    """That share of the passages that are gold to any of the questions."""
    gold = {key for row in queries for key in row["gold"]} & {row["id"] for row in corpus}
    return set(random.Random(SEED).sample(sorted(gold), round(share * len(gold))))


def configurations(url: str) -> list[Configuration]:
    on: dict[str, Scalar] = {
        "web.enable_web_search": True,
        "web.url": url,
        "web.allow_private": True,  # the pages are on loopback too
    }
    return [
        Configuration(LINEAR, "linear", {}, "search once"),
        Configuration(ADAPTIVE, "adaptive", {}, "search again where the search looks poor"),
        Configuration(WITH_WEB, "adaptive", on, "and then look on the web"),
    ]


def condition(evaluated: Evaluated) -> dict[str, Any]:
    """Figures of one condition: of all questions, and of those whose passage is concerned."""
    parts = {
        "all": lambda _row: True,
        "moved": lambda row: row.type == "moved",
        "kept": lambda row: row.type == "kept",
    }
    counts = {kind: sum(case.type == kind for case in evaluated.cases) for kind in [*parts][1:]}
    return {"by_part": counts, **told(evaluated, PAIRS, parts=parts)}


def web(folder: Path, queries: Rows, options: argparse.Namespace) -> dict[str, Any]:
    corpus = rows(DATA, "corpus")
    # What is moved depends on the whole set, not on how many questions are asked.
    gone = some_gold(corpus, rows(DATA, "queries"))
    sets = moved(corpus, queries, gone, folder)
    held = [row for row in corpus if row["id"] in gone] + rows(ELSEWHERE, "corpus")
    pages = [Page(row["id"], row["title"], row["text"]) for row in held]
    try:
        server = CorpusServer(pages, port=options.port)
    except OSError as error:
        raise SystemExit(f"port {options.port} cannot be used: {error}") from error
    with server:
        plans = configurations(server.url)
        found = {
            name: condition(answered(path, plans, folder / path.name, memory=options.cache))
            for name, path in sets.items()
        }
    return {
        "share": SHARE,
        "moved_passages": len(gone),
        "web_pages": len(pages),
        "elsewhere": ELSEWHERE,
        "conditions": found,
    }


def thresholds(folder: Path, queries: Rows, options: argparse.Namespace) -> dict[str, Any]:
    """The published design with its thresholds, and ours with probabilities, each against
    searching once. Nothing is withheld: only the search differs."""
    data = write_set(folder, rows(DATA, "corpus"), queries)
    default = load_calibration(find_weights("reader").identity).min_quality
    swept: dict[str, Any] = {"default": default}
    for param, values, preset in (
        ("adaptive.min_rerank_score", SCORES, PRESET),
        ("adaptive.min_quality", sorted({*QUALITIES, default}), None),
    ):
        base = Configuration(LINEAR, "linear", FORCED)
        tried = [
            Configuration(f"{param} {value:g}", "adaptive", {**FORCED, param: value})
            for value in values
        ]
        found = answered(
            data, [base, *tried], folder / str(preset), memory=options.cache, preset=preset
        )
        swept[param] = {
            "preset": preset,
            "configurations": figures(found),
            "differences": [change for one in tried for change in _effect(found, one.name)],
        }
    return swept


def _effect(evaluated: Evaluated, name: str) -> list[dict[str, Any]]:
    """On all questions, and on those that were searched for again."""
    again = {row.case for row in evaluated.rows[name] if row.fallback}
    parts = {"all": lambda _row: True, "searched again": lambda row: row.case in again}
    return differences(evaluated.rows, [(LINEAR, name)], parts=parts)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("study", choices=QUESTIONS)
    options.add_argument("--questions", type=int, help="answerable ones")
    options.add_argument("--unanswerable", type=int)
    options.add_argument("--cache", type=Path, default=CACHE / "eval", help="what was done is here")
    options.add_argument("--port", type=int, default=PORT, help="of the small web")
    options.add_argument("--results", type=Path, default=RESULTS, help="folder of the figures")
    given = options.parse_args(arguments)
    can, cannot = QUESTIONS[given.study]
    can = can if given.questions is None else given.questions
    cannot = cannot if given.unanswerable is None else given.unanswerable
    queries = by_answerable(rows(DATA, "queries"), answerable=can, unanswerable=cannot)
    folder = given.cache / f"{given.study}-{'all' if can is None else can}-{cannot}"
    study = {"embedded": embedded, "web": web, "thresholds": thresholds}[given.study]
    found = {"data": DATA, "seed": SEED, **study(folder, queries, given)}
    save(f"eval_{given.study}", found, folder=given.results)


if __name__ == "__main__":
    main()
