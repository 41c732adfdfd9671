"""Every shipped preset on the same questions: what each published idea is worth with a small model.

    export SECONDLOOK_DATA=FOLDER
    python scripts/fetch_test_model.py coder-0.5b
    python -m benchmarks.seed_table --model gguf:PATH        # 50 questions, on a quiet machine
    python -m benchmarks.seed_table --page                   # the tables of docs/results.md

Answerable questions of `squad2-dev`. It can be interrupted and goes on when it is run again: rows
lie under `.cache/eval`. No prompt is asked twice: what a model replied is kept, and counted with
the time that it took. `adaptive-web` looks on the small web of `benchmarks/eval_web.py`, on
loopback. Without `--model` the two presets that are about a model's judgement are left out.

How long it takes was reckoned from calls: with half a billion parameters on two cores about 1 call
of 7 s per question in `linear`; `adaptive`, `rerank-control` and most of `corrective` ask the same
prompts. Answer grading adds 1 or 2 calls, document grading 1 to 4 of about 12 s and up to 3
rewrites of 4 s: within an hour for 50 questions.

Writes `benchmarks/results/seed_table.json`, figures alone. For each preset that loses F1 two
questions to look at are printed, those that lose most, with what was asked, graded and answered.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, answered, differences, figures, write_results
from benchmarks.eval_sets import CACHE, SEED, by_answerable, data_folder, read_rows, write_set
from benchmarks.eval_web import prepare, small_web
from benchmarks.eval_web_server import PORT
from secondlook.evaluation.figures import Figures
from secondlook.evaluation.graders import grader_metrics
from secondlook.evaluation.questions import question_values
from secondlook.evaluation.records import Configuration
from secondlook.settings.preset_files import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.evaluating import Evaluated
    from secondlook.evaluation.records import Row

DATA = "squad2-dev"
FILE = "seed_table.json"
BASE = "linear"
PRESETS = (
    BASE,
    "rerank-control",
    "adaptive",
    "adaptive-web",
    "answer-grading",
    "corrective",
    "doc-grading",
)
"""The costliest last: who interrupts it has the others."""
NEED_A_MODEL = frozenset({"answer-grading", "doc-grading"})
SHOWN = (
    "f1", "em", "success", "faithfulness", "recall@5", "answered_answerable",
    "wrong_among_answered", "llm_calls", "tokens_in", "tokens_out", "retry_rate", "mean_retries",
    "regenerations", "fallback_rate", "web_rate", "needs_review", "failed", "latency_p50",
    "latency_p95",
)  # fmt: skip
COMPARED = ("f1", "success", "faithfulness", "recall@5")
CHECKS = frozenset({"check_grounded", "check_useful", "grade_answer"})
"""Steps that can refuse an answer."""
AUDITED = 2
_SAME = 1e-9


def configuration(name: str, more: Mapping[str, Scalar]) -> Configuration:
    """A shipped preset as a configuration: its file says the workflow and what is set."""
    sections = tomllib.loads((SHIPPED / f"{name}.toml").read_text("utf-8"))
    values: dict[str, Scalar] = {
        f"{section}.{key}": value
        for section, held in sections.items()
        for key, value in held.items()
    }
    workflow = str(values.pop("answer.workflow"))
    return Configuration(name, workflow, {**values, **more}, f"--preset {name}")


def web_settings(url: str) -> dict[str, Scalar]:
    """Pages and server are on loopback."""
    return {"web.backend": "searxng", "web.url": url, "web.allow_private": True}


def run(options: argparse.Namespace) -> dict[str, Any]:
    model = options.model
    folder = CACHE / f"presets-{options.questions}-{_name(model) or 'none'}"
    source = data_folder() / DATA
    queries = by_answerable(
        read_rows(source, "queries"), answerable=options.questions, unanswerable=0
    )
    write_set(folder, read_rows(source, "corpus"), queries)
    study = prepare(folder / "web", answerable=0, unanswerable=0)
    names = [name for name in PRESETS if model or name not in NEED_A_MODEL]
    with small_web(study.pages, options.port) as server:
        web = web_settings(server.url)
        plans = [configuration(name, web if name == "adaptive-web" else {}) for name in names]
        shared: dict[str, Scalar] = {"models.default": model} if model else {}
        # A memory of its own: the seconds that it counts were taken by this study.
        evaluated = answered(folder, plans, folder / "runs", memory=folder, shared=shared)
    audit(evaluated.rows)
    return told(evaluated, _name(model))


def _name(model: str | None) -> str | None:
    return Path(model.partition(":")[2]).name if model else None


def told(evaluated: Evaluated, model: str | None) -> dict[str, Any]:
    rows = evaluated.rows
    found = figures(evaluated, SHOWN)
    for name, own in rows.items():
        found[name] |= spent(rows[BASE], own) | rejected(rows[BASE], own)
        found[name]["lost"] = losses(rows[BASE], own)
    pairs = [(BASE, name) for name in rows if name != BASE]
    return {
        "data": DATA,
        "seed": SEED,
        "model": model,
        "questions": len(evaluated.cases),
        "documents": evaluated.data.document_count,
        "model_calls": evaluated.passes.model_calls,
        "left_out": [] if model else sorted(NEED_A_MODEL),
        "versions": {key: one for key, one in evaluated.versions.items() if key != "model"},
        "presets": found,
        "differences": differences(rows, pairs, metrics=COMPARED),
    }


def spent(base: Sequence[Row], rows: Sequence[Row]) -> dict[str, float]:
    """Mean seconds per question, and how many times those of the baseline."""
    own, others = fmean(row.seconds for row in rows), fmean(row.seconds for row in base)
    return {"seconds": round(own, 3), "times_linear": round(own / others, 3)}


def rejected(base: Sequence[Row], rows: Sequence[Row]) -> dict[str, Any]:
    """What was refused wrongly: gold passages by whoever graded, and answers that were right.

    Of answers: among the questions that the baseline gets right, those where a check refused one.
    """
    graders = grader_metrics(rows) if any(row.graded for row in rows) else {}
    gold = {
        name: round(found.value, 4)
        for name in ("false_rejection_gold", "false_rejection_gold@1", "false_acceptance")
        if (found := graders.get(name)) is not None and found.value is not None
    }
    right = {row.case for row in base if row.right}
    back = [row.sent_back for row in rows if row.case in right]
    checked = any(CHECKS & set(row.seconds_by_node) for row in rows)
    refused = round(fmean(back), 4) if back and checked else None
    return {"grading": gold, "right_refused": refused, "right_in_linear": len(right)}


def losses(base: Sequence[Row], rows: Sequence[Row]) -> dict[str, int]:
    """How the answers came about that have less F1 than the baseline's, each counted once."""
    counted = {"withheld": 0, "asked again": 0, "refused by a check": 0, "otherwise": 0}
    for _, row in worse(base, rows):
        counted[_cause(row)] += 1
    return {"questions": sum(counted.values()), **counted}


def _cause(row: Row) -> str:
    if row.sent_back:
        return "refused by a check"
    if row.retries or row.fallback:
        return "asked again"
    return "otherwise" if row.answered else "withheld"


def worse(base: Sequence[Row], rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Questions that lose F1, the largest loss first."""
    before, after = question_values(base, "f1"), question_values(rows, "f1")
    firsts = {row.case: row for row in base}
    found = [
        (firsts[row.case], row)
        for row in rows
        if row.case in before and after.get(row.case, 0.0) < before[row.case] - _SAME
    ]
    return sorted(
        found, key=lambda pair: (after[pair[1].case] - before[pair[1].case], pair[1].case)
    )


def audit(rows: Mapping[str, Sequence[Row]]) -> None:
    """Questions for a person to look at: with texts of the set, so to the terminal only."""
    base = Figures(rows[BASE]).metric("f1")
    for name, found in rows.items():
        own = Figures(found).metric("f1")
        if name == BASE or fmean(own.values()) >= fmean(base.values()) - _SAME:
            continue
        print(f"\n== {name} loses {fmean(base.values()) - fmean(own.values()):.3f} of F1")
        for before, after in worse(rows[BASE], found)[:AUDITED]:
            show(before, after)


def show(before: Row, after: Row) -> None:
    print(f"\n{after.case}: {after.question}")
    print(f"  right: {'; '.join(after.expected)}")
    for row in (before, after):
        print(f"  {row.configuration}: {row.status}, {row.stop_reason}: {row.short!r}")
        print(f"    text: {' '.join(row.text.split())}")
    print(f"  queries: {' | '.join(after.queries)}")
    grades = ", ".join(
        f"{'gold ' if gold else ''}{'accepted' if was else 'rejected'}"
        for gold, was in after.graded
    )
    print(f"  grades: {grades or 'none'}")
    recall = [row.metrics.get("recall@5") for row in (before, after)]
    print(f"  recall@5: {recall[0]} then {recall[1]}; refused by a check: {after.sent_back}")
    for looked in after.best:
        print(f"  passage [{looked.grade}] {looked.title}: {looked.text}")
    for warning in after.warnings:
        print(f"  warning: {warning}")


def main() -> None:
    from benchmarks.seed_table_page import fill

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="the model that writes and judges, such as gguf:PATH")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--page", action="store_true", help="only write the tables of the page")
    options = parser.parse_args()
    if not options.page:
        made = run(options)
        model = f" --model gguf:{made['model']}" if made["model"] else ""
        command = f"python -m benchmarks.seed_table{model} --questions {options.questions}"
        write_results(RESULTS / FILE, command, made)
    print(f"{fill()} written", file=sys.stderr)


if __name__ == "__main__":
    main()
