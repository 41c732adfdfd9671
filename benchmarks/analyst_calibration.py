"""What the confidence of an answer over tables is worth: fitted on WikiTableQuestions (Pasupat and
Liang, ACL 2015; CC BY-SA 4.0), questions 200 to 699, and checked on questions 700 to 999.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.analyst_calibration                  # every question
    python -m benchmarks.analyst_calibration --n 400          # 400 to fit, 200 to check
    python -m benchmarks.analyst_calibration --minutes 30     # what can be asked in that time
    python -m benchmarks.analyst_calibration --model gguf:FILE --n 60 --without-grammar

Every question is asked of the engine as `secondlook eval` asks it. Answers are kept under
`.cache/analyst` as they come, for the grammar as it stands: a run goes on where it stopped. Writes
`confidence.json` beside the code that reads it, and `benchmarks/results/analyst_calibration.json`
with the error of calibration (ECE, ten bins) and how well right is told from wrong (AUROC).
Questions about rows, statistics and written code are fitted apart, and only from 30 answers on:
what has fewer has no confidence. Without a model nothing is written that could be fitted; what was
fitted before of a kind that is not there stays. `--of VERSION` fits on answers that were kept for
an earlier state of the grammar; the results name the state.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.eval_sets import data_folder
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation import datasets
from secondlook.evaluation.cache import Memory, RememberingModels
from secondlook.evaluation.library import GivenTables, cache_folder, given, open_indexed
from secondlook.evaluation.metrics import is_right
from secondlook.evaluation.statistics import Pool, pooled
from secondlook.evaluation.summary import auroc, ece
from secondlook.nodes.judge import result as confidence
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.settings import load
from secondlook.store.answers import AnswerMemory
from secondlook.tables import understand as asking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.records import Case

KEPT = Path(".cache") / "analyst"
SHIPPED = Path(confidence.__file__).parent / confidence.FILE
FIT, CHECK = (200, 700), (700, 1000)
"""Neither fitted nor tuned on: on its own questions the grammar looks too sure of itself."""
SEED = 4
KINDS = ("rows", "statistics", "generated")
FEWEST = 30
"""Answers of a kind from which a probability is fitted."""
TOLD_EVERY = 25
SOURCE = "WikiTableQuestions (Pasupat and Liang, 2015; CC BY-SA 4.0)"


@dataclass(frozen=True, slots=True)
class Known:
    """One answer, and whether it is right."""

    kind: str
    signals: dict[str, float]
    right: bool


@dataclass(slots=True)
class Rows:
    """Answers by question, on disk."""

    file: Path
    held: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path) -> Rows:
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = cls(file)
        if file.exists():
            for line in file.read_text("utf-8").splitlines():
                row = json.loads(line)
                rows.held[row["id"]] = row
        return rows

    def add(self, row: dict[str, Any]) -> None:
        self.held[row["id"]] = row
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def main() -> None:
    options = _options()
    data = datasets.load(data_folder() / "wikitables")
    fit = _drawn(data.cases[slice(*FIT)], options.n)
    check = _drawn(data.cases[slice(*CHECK)], options.n // 2 if options.n else None)
    version = options.of or _version(options)
    rows = Rows.open(KEPT / f"calibration-{version}.jsonl")
    if not options.of:
        asyncio.run(_answer_all(data, _in_turn(fit, check), rows, options))
    known = {name: _known(cases, rows) for name, cases in (("fit", fit), ("check", check))}
    fitted = _fitted(known["fit"])
    found = {
        kind: _checked(kind, model, known)
        for kind, model in fitted.items()
        if any(one.kind == kind for one in known["check"])
    }
    print(json.dumps(found, indent=1))
    _ship(fitted, known["fit"], version)
    write_results(
        RESULTS / f"analyst_calibration{_suffix(options)}.json",
        _command(options),
        {
            "source": SOURCE,
            "grammar": version,
            "answers_by_kind": _counted(known),
            "asked_to_fit": sum(case.id in rows.held for case in fit),
            "asked_to_check": sum(case.id in rows.held for case in check),
            "kinds": found,
        },
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--n", type=int, help="questions to fit on, and half of it to check")
    parser.add_argument("--minutes", type=float, help="no question is begun after them")
    parser.add_argument("--of", help="fit on the answers kept for this state of the grammar")
    parser.add_argument("--model", default="none")
    parser.add_argument("--without-grammar", action="store_true", help="have all code written")
    return parser.parse_args()


def _command(options: argparse.Namespace) -> str:
    named = "" if options.model == "none" else f" --model gguf:{Path(options.model).name}"
    n = f" --n {options.n}" if options.n else ""
    without = " --without-grammar" if options.without_grammar else ""
    of = f" --of {options.of}" if options.of else ""
    return f"python -m benchmarks.analyst_calibration{n}{named}{without}{of}"


def _suffix(options: argparse.Namespace) -> str:
    return "" if options.model == "none" else "_generated"


def _version(options: argparse.Namespace) -> str:
    """Of what shapes an answer: the grammar as it stands, and the model."""
    digest = hashlib.sha256(f"{options.model}{options.without_grammar}".encode())
    for file in sorted(Path(asking.__file__).parent.iterdir()):
        if file.suffix in {".py", ".json"}:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _drawn(cases: Sequence[Case], n: int | None) -> list[Case]:
    """The first of a fixed order: more questions keep those of a smaller number."""
    order = list(cases)
    random.Random(SEED).shuffle(order)
    return order if n is None else order[:n]


def _in_turn(fit: Sequence[Case], check: Sequence[Case]) -> list[Case]:
    """Two to fit on for one to check with, so that a part of it serves too."""
    placed = [(at, case) for at, case in enumerate(fit)]
    placed += [(2 * at, case) for at, case in enumerate(check)]
    return [case for _, case in sorted(placed, key=lambda item: item[0])]


async def _answer_all(
    data: EvalSet, cases: Sequence[Case], rows: Rows, options: argparse.Namespace
) -> None:
    missing = [case for case in cases if case.id not in rows.held]
    if not missing:
        return
    changes: dict[str, object] = {"models.default": options.model, "runs.keep": 0}
    if options.without_grammar:
        changes["analyst.enable_grammar"] = False
    settings = load(changes).settings
    memory = Memory(KEPT / "replies.db")
    library = open_indexed(data, settings, memory)
    tables = GivenTables(data.read_table, cache_folder() / "tables", library.worker)
    models = RememberingModels(settings, memory=memory)
    engine = Secondlook(library, settings=settings, models=models, memory=AnswerMemory.temporary())
    try:
        until = time.monotonic() + 60 * (options.minutes if options.minutes is not None else 1e6)
        for at, case in enumerate(missing, 1):
            if time.monotonic() > until:
                break
            with given(await asyncio.to_thread(tables.desk, case.table or "")):
                answer = await engine.aask(case.question, workflow="analyst", run=f"c-{case.id}")
            rows.add(_row(case, answer))
            if at % TOLD_EVERY == 0:
                print(f"{at} of {len(missing)}", file=sys.stderr)
    finally:
        await engine.adetach()
        library.close()
        memory.close()


def _row(case: Case, answer: Answer) -> dict[str, Any]:
    right, analysis = is_right(case, answer), answer.analysis
    if right is None or analysis is None or analysis.kind not in {"computed", "generated"}:
        return {"id": case.id, "answered": False}
    kind, seen = confidence.signals(
        query=analysis.query if isinstance(analysis.query, dict) else None,
        scores=[column.score for column in analysis.columns],
        checks={check.name: check.passed for check in analysis.checks},
        attempts=len(analysis.attempts),
        remedies=len(analysis.remedies),
    )
    return {"id": case.id, "answered": True, "kind": kind, "signals": seen, "right": right}


def _known(cases: Sequence[Case], rows: Rows) -> list[Known]:
    held = [rows.held[case.id] for case in cases if case.id in rows.held]
    return [Known(row["kind"], row["signals"], row["right"]) for row in held if row["answered"]]


def _fitted(known: Sequence[Known]) -> dict[str, Any]:
    found = {}
    for kind in sorted({one.kind for one in known}):
        outcomes = [Outcome(one.signals, one.right) for one in known if one.kind == kind]
        if len(outcomes) >= FEWEST:
            found[kind] = fit_logistic(outcomes, sorted(outcomes[0].features))
    return found


def _checked(kind: str, model: Any, known: dict[str, list[Known]]) -> dict[str, Any]:
    import numpy as np

    fit, check = ([one for one in known[name] if one.kind == kind] for name in ("fit", "check"))
    sure = np.array([model.probability(one.signals) for one in check])
    right = np.array([float(one.right) for one in check])
    pool = Pool.of([str(at) for at in range(len(check))])
    return {
        "weights": dict(model.weights),
        "fitted_on": len(fit),
        "right_in_fit": round(sum(one.right for one in fit) / len(fit), 4),
        "checked_on": len(check),
        "right_in_check": round(float(right.mean()), 4),
        "mean_confidence": round(float(sure.mean()), 4),
        "ece": _figure(pooled(ece(sure, right), pool, recentred=True)),
        "auroc": _figure(pooled(auroc(sure, right), pool)),
        "bins": _bins(sure, right),
    }


def _figure(estimate: Any) -> dict[str, float | None]:
    return {
        name: None if (value := getattr(estimate, name)) is None else round(value, 4)
        for name in ("value", "low", "high")
    }


def _bins(sure: Any, right: Any) -> list[dict[str, float]]:
    """Fifths of the answers, the least sure first."""
    import numpy as np

    parts = np.array_split(np.argsort(sure, kind="stable"), 5)
    return [
        {
            "n": int(part.size),
            "confidence": round(float(sure[part].mean()), 3),
            "right": round(float(right[part].mean()), 3),
        }
        for part in parts
        if part.size
    ]


def _counted(known: dict[str, list[Known]]) -> dict[str, dict[str, int]]:
    """Also of kinds of which too few came to fit anything."""
    return {
        name: {kind: sum(one.kind == kind for one in held) for kind in KINDS}
        for name, held in known.items()
    }


def _ship(fitted: dict[str, Any], known: Sequence[Known], version: str) -> None:
    """What was fitted before of other kinds stays."""
    before = json.loads(SHIPPED.read_text("utf-8"))["fitted"] if SHIPPED.exists() else {}
    new = {
        kind: {
            "bias": model.bias,
            "weights": dict(model.weights),
            "answers": sum(one.kind == kind for one in known),
            "grammar": version,
        }
        for kind, model in fitted.items()
    }
    made = {
        "made_by": "python -m benchmarks.analyst_calibration",
        "fitted_on": f"{SOURCE}, questions {FIT[0]} to {FIT[1] - 1}",
        "fitted": {**before, **new},
    }
    SHIPPED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
