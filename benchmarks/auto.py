"""Does `auto` put questions where they belong, and what does that cost or bring?

    python -m benchmarks.auto --n 100
    python -m benchmarks.auto --n 100 --set wikitables --save

Every question is asked where it could go wrong: those about documents beside tables that have
nothing to do with them, those about a table beside documents that have nothing to do with it, and
those of `benchmarks/sets/auto.jsonl` of the sample documents, where one library holds both. There
is no model. All of a set is asked of `linear`, then of `auto`, then of the workflow that a person
would name who knows the kind of the question (`corrective` or `analyst`). The reader forgets before
each question what it has read.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from benchmarks.eval_sets import ROOT, SEED, chosen, data_folder, each_once, read_rows, write_set
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.library import EvaluatedLibrary, GivenTables, given
from secondlook.evaluation.metrics import answer_metrics, parts_right
from secondlook.evaluation.records import Case
from secondlook.evaluation.statistics import wilson
from secondlook.library.library import samples_folder
from secondlook.settings import load as load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.reading.reader import OnnxReader
    from secondlook.settings.sections import Settings
    from secondlook.tables.desk import Desk

Kind = Literal["documents", "tables", "both"]
RESULTS = Path(__file__).parent / "results" / "auto.json"
OWN = Path(__file__).parent / "sets" / "auto.jsonl"
SETS = ("squad2-dev", "hotpot", "wikitables", "dabench", "samples")
KNOWING: dict[Kind, str] = {"documents": "corrective", "tables": "analyst", "both": "auto"}
"""The workflow that a person would name who knows the kind of a question."""
KNOWING_THE_KIND = "knowing the kind"
_DISTRACTORS = 3
_PASSAGES = 400


@dataclass(frozen=True, slots=True)
class Asked:
    case: Case
    kind: Kind
    desk: Desk | None = None


@dataclass(slots=True)
class Tally:
    """What came of the questions of one set."""

    routed: dict[str, int] = field(default_factory=dict)
    right: int = 0
    scores: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    missed: list[dict[str, str]] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        questions = sum(self.routed.values())
        low, high = wilson(self.right / questions, questions)
        linear = statistics.median(self.seconds["linear"])
        return {
            "questions": questions,
            "routed_right": round(self.right / questions, 4),
            "routed_right_95": [round(low, 4), round(high, 4)],
            "first_choice": dict(sorted(self.routed.items())),
            "score": {name: _mean(scores) for name, scores in self.scores.items()},
            "seconds_to_linear": {
                name: round(statistics.median(taken) / linear, 2)
                for name, taken in self.seconds.items()
            },
            "missed": self.missed[:10],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100, help="questions of each set")
    parser.add_argument("--set", action="append", choices=SETS, help="only this one; repeatable")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/auto.json")
    options = parser.parse_args()
    found = {}
    for name in options.set or SETS:
        found[name] = measured(name, options.n)
        print(json.dumps({name: found[name]}, indent=1, ensure_ascii=False), flush=True)
    if options.save:
        RESULTS.write_text(_written(found, options), encoding="utf-8")


def _written(found: dict[str, Any], options: argparse.Namespace) -> str:
    content = {
        "command": f"python -m benchmarks.auto --n {options.n} --save",
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "what": "score: F1 overall of documents, share right of tables, share answered of samples",
        "seed": SEED,
        # Words of the questions stay out: some sets may be evaluated with and not passed on.
        "sets": {
            name: {key: one[key] for key in one if key != "missed"} for name, one in found.items()
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def measured(name: str, most: int) -> dict[str, Any]:
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        settings = _settings(Path(folder))
        with EvaluatedLibrary.open(settings=settings) as library:
            questions = _filled(library, name, most, Path(folder))
            for who in ("linear", "auto", KNOWING_THE_KIND):
                _pass(settings, questions, who, tally)
    return tally.told()


def _pass(settings: Settings, questions: Sequence[Asked], who: str, tally: Tally) -> None:
    """With an engine of its own, which has read nothing yet."""
    library = EvaluatedLibrary.open(settings=settings, create=False)
    with Secondlook(library, settings=settings) as engine:
        engine.ask("What is this about?", workflow="linear")  # engines and models load once
        for asked in questions:
            _answer(engine, asked, who, tally)


def _answer(engine: Secondlook, asked: Asked, who: str, tally: Tally) -> None:
    workflow = KNOWING[asked.kind] if who == KNOWING_THE_KIND else who
    cast("OnnxReader", engine.library.reader()).forget()
    began = time.perf_counter()
    answer = _ask(engine, asked, workflow)
    tally.seconds.setdefault(who, []).append(time.perf_counter() - began)
    tally.scores.setdefault(who, []).append(_score(asked, answer))
    if who == "auto":
        _count(tally, asked, answer)


def _count(tally: Tally, asked: Asked, answer: Answer) -> None:
    routed = _routed(answer)
    tally.routed[routed] = tally.routed.get(routed, 0) + 1
    right = routed == asked.kind
    tally.right += right
    if not right:
        said = answer.steps[0].said
        tally.missed.append({"question": asked.case.question, "kind": asked.kind, "why": said})


def _routed(answer: Answer) -> str:
    """The kind that was decided on first, whatever was tried after it."""
    first = answer.steps[0]
    if "documents and a table" in first.said:
        return "both"
    to = first.route.to if first.route else ""
    return "tables" if to == "analyst" else "documents"


def _ask(engine: Secondlook, asked: Asked, workflow: str) -> Answer:
    with given(asked.desk):
        return engine.ask(asked.case.question, workflow=workflow)


def _score(asked: Asked, answer: Answer) -> float:
    if asked.kind == "tables" and asked.case.answers:
        return float(all(parts_right(asked.case, answer).values()))
    if asked.case.answers or not asked.case.answerable:
        return answer_metrics(asked.case, answer).get("f1_overall", 0.0)
    return float(answer.status == "answered")


# The worlds


def _settings(folder: Path) -> Settings:
    return load_settings(
        {"library.path": folder / "library", "runs.path": folder / "runs.db", "runs.keep": 0}
    ).settings


def _filled(library: EvaluatedLibrary, name: str, most: int, folder: Path) -> list[Asked]:
    if name == "samples":
        library.add([samples_folder()])
        lines = OWN.read_text("utf-8").splitlines()
        return [_own(json.loads(line), at) for at, line in enumerate(lines)]
    if name in {"wikitables", "dabench"}:
        _add_passages(library, "squad2-dev", folder, most=50)
        return _over_tables(library, load(data_folder() / name), most, folder)
    data = _add_passages(library, name, folder, most=most)
    distractors = _distractors(library, folder)
    return [Asked(case, "documents", distractors) for case in data.cases]


def _own(row: dict[str, Any], at: int) -> Asked:
    return Asked(Case(id=str(at), question=row["question"]), row["kind"])


def _add_passages(library: EvaluatedLibrary, name: str, folder: Path, *, most: int) -> EvalSet:
    """So many questions, the passages that answer them, and others up to a fixed number."""
    source = data_folder() / name
    queries = chosen(each_once(read_rows(source, "queries")), most)
    corpus = read_rows(source, "corpus")
    gold = {passage for row in queries for passage in row["gold"]}
    others = chosen([row for row in corpus if row["id"] not in gold], _PASSAGES)
    kept = [row for row in corpus if row["id"] in gold] + others
    data = load(write_set(folder / name, kept, queries))
    library.add_texts(data.texts())
    return data


def _over_tables(library: EvaluatedLibrary, data: EvalSet, most: int, folder: Path) -> list[Asked]:
    tables = GivenTables(data.read_table, folder / "tables", library.worker)
    cases = sample(data.cases, limit=most, seed=SEED)
    return [Asked(case, "tables", tables.desk(case.table)) for case in cases if case.table]


def _distractors(library: EvaluatedLibrary, folder: Path) -> Desk:
    """Tables of other people beside the documents, always the same."""
    data = load(data_folder() / "wikitables")
    tables = GivenTables(data.read_table, folder / "tables", library.worker)
    names = sorted({case.table for case in data.cases if case.table})[: 50 * _DISTRACTORS : 50]
    desk = tables.desk(names[0])
    for name in names[1:]:
        more = tables.desk(name)
        desk = desk.with_tables([(table, more.file(table.id)) for table in more.tables()])
    return desk


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
