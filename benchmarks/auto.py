"""Does `auto` put questions where they belong, and what does that cost or bring?

    SECONDLOOK_DATA=FOLDER python -m benchmarks.auto [--n 100] [--set wikitables]

Every question is asked where it could go wrong: those about documents beside tables that have
nothing to do with them, those about a table beside documents that have nothing to do with it, and
those of `benchmarks/sets/auto.jsonl` of the sample documents, where one library holds both. There
is no model. All of a set is asked of `linear`, then of `auto`, then of the workflow that a person
would name who knows the kind of the question (`corrective` or `analyst`). The reader forgets before
each question what it has read. Scores are F1 overall of documents, the share right of tables, the
share answered of samples. Writes `benchmarks/results/auto.json` where all sets are asked.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmarks import wikitables
from benchmarks.common import (
    ROOT,
    SEED,
    chosen,
    data_folder,
    each_once,
    parser,
    read_lines,
    rows,
    save,
    share,
    write_set,
)
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.library import EvaluatedLibrary, GivenTables, given
from secondlook.evaluation.metrics import answer_metrics
from secondlook.evaluation.records import Case
from secondlook.library.library import samples_folder
from secondlook.settings import load as load_settings

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.reading.reader import OnnxReader
    from secondlook.tables.desk import Desk

OWN = Path(__file__).parent / "sets" / "auto.jsonl"
SETS = ("squad2-dev", "hotpot", "wikitables", "dabench", "samples")
KNOWING = {"documents": "corrective", "tables": "analyst", "both": "auto"}
"""The workflow that a person would name who knows the kind of a question."""
WAYS = ("linear", "auto", "knowing the kind")
_DISTRACTORS, _PASSAGES = 3, 400


@dataclass(frozen=True, slots=True)
class Asked:
    case: Case
    kind: str
    desk: Desk | None = None


def measured(name: str, most: int) -> dict[str, Any]:
    routed: Counter[str] = Counter()
    right: list[bool] = []
    scores: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        paths = {"library.path": folder / "library", "runs.path": folder / "runs.db"}
        settings = load_settings({**paths, "runs.keep": 0}).settings
        with EvaluatedLibrary.open(settings=settings) as library:
            questions = _filled(library, name, most, folder)
            for who in WAYS:
                # With an engine of its own, which has read nothing yet.
                own = EvaluatedLibrary.open(settings=settings, create=False)
                with Secondlook(own, settings=settings) as engine:
                    engine.ask("What is this about?", workflow="linear")  # models load once
                    for asked in questions:
                        workflow = KNOWING[asked.kind] if who == WAYS[-1] else who
                        cast("OnnxReader", engine.library.reader()).forget()
                        began = time.perf_counter()
                        with given(asked.desk):
                            answer = engine.ask(asked.case.question, workflow=workflow)
                        seconds[who].append(time.perf_counter() - began)
                        scores[who].append(_score(asked, answer))
                        if who == "auto":
                            routed[_routed(answer)] += 1
                            right.append(_routed(answer) == asked.kind)
    linear = statistics.median(seconds["linear"])
    return {
        "questions": len(right),
        "routed_right": share(right),
        "first_choice": dict(sorted(routed.items())),
        "score": {who: round(statistics.mean(some), 4) for who, some in scores.items()},
        "seconds_to_linear": {
            who: round(statistics.median(taken) / linear, 2) for who, taken in seconds.items()
        },
    }


def _routed(answer: Answer) -> str:
    """The kind that was decided on first, whatever was tried after it."""
    first = answer.steps[0]
    if "documents and a table" in first.said:
        return "both"
    return "tables" if first.route and first.route.to == "analyst" else "documents"


def _score(asked: Asked, answer: Answer) -> float:
    if asked.kind == "tables" and asked.case.answers:
        return float(all(wikitables.parts_right(asked.case, answer).values()))
    if asked.case.answers or not asked.case.answerable:
        return answer_metrics(asked.case, answer).get("f1_overall", 0.0)
    return float(answer.status == "answered")


def _filled(library: EvaluatedLibrary, name: str, most: int, folder: Path) -> list[Asked]:
    """The library with what belongs to the set, and the questions with the tables given."""
    if name == "samples":
        library.add([samples_folder()])
        return [
            Asked(Case(id=str(at), question=row["question"]), row["kind"])
            for at, row in enumerate(read_lines(OWN))
        ]
    if name in {"wikitables", "dabench"}:
        _add_passages(library, "squad2-dev", folder, most=50)
        loading = wikitables.load if name == "wikitables" else load
        data = loading(data_folder() / name)
        tables = GivenTables(data.read_table, folder / "tables", library.worker)
        cases = sample(data.cases, limit=most, seed=SEED)
        return [Asked(case, "tables", tables.desk(case.table)) for case in cases if case.table]
    cases = _add_passages(library, name, folder, most=most).cases
    # Tables of other people beside the documents, always the same.
    data = wikitables.load(data_folder() / "wikitables")
    tables = GivenTables(data.read_table, folder / "tables", library.worker)
    names = sorted({case.table for case in data.cases if case.table})[: 50 * _DISTRACTORS : 50]
    desk = tables.desk(names[0])
    for other in names[1:]:
        more = tables.desk(other)
        desk = desk.with_tables([(table, more.file(table.id)) for table in more.tables()])
    return [Asked(case, "documents", desk) for case in cases]


def _add_passages(library: EvaluatedLibrary, name: str, folder: Path, *, most: int) -> EvalSet:
    """So many questions, the passages that answer them, and others up to a fixed number."""
    queries = chosen(each_once(rows(name, "queries")), most)
    corpus = rows(name, "corpus")
    gold = {passage for row in queries for passage in row["gold"]}
    others = chosen([row for row in corpus if row["id"] not in gold], _PASSAGES)
    kept = [row for row in corpus if row["id"] in gold] + others
    data = load(write_set(folder / name, kept, queries))
    library.add_texts(data.texts())
    return data


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--n", type=int, default=100, help="questions of each set")
    options.add_argument("--set", action="append", choices=SETS, help="only this one; repeatable")
    given_options = options.parse_args()
    os.chdir(ROOT)
    found = {}
    for name in given_options.set or SETS:
        found[name] = measured(name, given_options.n)
        print(json.dumps({name: found[name]}, indent=1), flush=True)
    if set(found) == set(SETS):
        save("auto", {"seed": SEED, "sets": found})


if __name__ == "__main__":
    main()
