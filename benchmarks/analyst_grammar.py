"""How well questions over tables are read and computed without a model.

    SECONDLOOK_DATA=... python benchmarks/analyst_grammar.py --set dabench
    SECONDLOOK_DATA=... python benchmarks/analyst_grammar.py --set dabench --sweep
    SECONDLOOK_DATA=... python benchmarks/analyst_grammar.py --set wikitables
    python benchmarks/analyst_grammar.py --set meaning

`dabench` is InfiAgent-DABench (evaluate only): question, constraints and wanted form are asked as
one text over one CSV file, read and profiled as any user's is. A question is right when every
value agrees with the reference as text or to 1e-6; one that is not answered counts as not right.
The grammar was developed on the questions with even ids, so both halves are reported. Nothing of
the data is printed or kept.

`--sweep` reports the same at other limits on doubt. `wikitables` is `analyst_wikitables.py`.
`meaning` prints how alike the shipped embedder finds names of columns that have nothing to do with
each other (every pair of `UNRELATED`): what `tables.resolving.meaning` takes for nothing in common.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.errors import TableError
from secondlook.tables.desk import Desk, compute
from secondlook.tables.read import read_tables
from secondlook.tables.resolver import AskedTable
from secondlook.tables.understand.interpreter import understand
from secondlook.tables.understand.readings import formatted, queries, values_of, wanted_of
from secondlook.tables.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.tables.understand.readings import Reading

RESULTS = Path(__file__).parent / "results" / "analyst_grammar.json"
LEVELS = ("easy", "medium", "hard")
CLOSE = 1e-6
UNRELATED = (
    "ticket fare",
    "wind speed",
    "blood pressure",
    "number of goals",
    "postal code",
    "loan interest",
    "species of flower",
    "engine power",
    "film director",
    "soil moisture",
    "exam grade",
    "shipping weight",
    "language spoken",
    "battery voltage",
    "date of birth",
    "crime type",
)
LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True, slots=True)
class Asked:
    level: str
    half: str
    family: str = ""
    doubt: float = 1.0
    answered: bool = False
    right: bool = False
    parts: int = 0
    parts_right: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("dabench", "wikitables", "meaning"), default="dabench")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    if chosen.set == "wikitables":
        raise SystemExit("python benchmarks/analyst_wikitables.py reports that set")
    if chosen.set == "meaning":
        print(json.dumps(unrelated_cosines(), indent=2))
        return
    asked = list(ask_all(data_folder() / "dabench"))
    report = {"dabench": report_of(asked)}
    if chosen.sweep:
        report["sweep"] = {str(limit): figures(at_limit(asked, limit)) for limit in LIMITS}
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    chosen.results.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


def unrelated_cosines() -> dict[str, float]:
    """Over all pairs of names that share no meaning."""
    from secondlook.reading import load_embedder

    vectors = [[float(part) for part in one] for one in load_embedder().embed_passages(UNRELATED)]
    cosines = sorted(
        sum(a * b for a, b in zip(one, other, strict=True))
        for one, other in combinations(vectors, 2)
    )
    return {
        "pairs": len(cosines),
        "mean": round(sum(cosines) / len(cosines), 3),
        "median": round(cosines[len(cosines) // 2], 3),
        "highest tenth from": round(cosines[len(cosines) * 9 // 10], 3),
    }


def data_folder() -> Path:
    found = os.environ.get("SECONDLOOK_DATA")
    if not found:
        raise SystemExit("Set SECONDLOOK_DATA to the folder that holds dabench/.")
    return Path(found)


def ask_all(folder: Path) -> Iterator[Asked]:
    with tempfile.TemporaryDirectory() as scratch, Worker() as worker:
        tables = Tables(folder / "tables", Path(scratch), worker)
        for done, question in enumerate(questions(folder), start=1):
            yield tables.ask(question)
            if done % 20 == 0:
                print(f"{done} questions", file=sys.stderr)


def questions(folder: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(folder / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class Tables:
    """The tables of the set, each read once."""

    def __init__(self, folder: Path, scratch: Path, worker: Worker) -> None:
        self._folder, self._scratch, self._worker = folder, scratch, worker
        self._desks: dict[str, Desk] = {}

    def ask(self, question: dict[str, Any]) -> Asked:
        half = "even" if int(question["id"]) % 2 == 0 else "odd"
        text = "\n".join((question["question"], question["constraints"], question["format"]))
        expected = {name: str(value) for name, value in question["answers"]}
        desk = self._desk(question["file_name"])
        (table,) = desk.tables()[:1]
        over = AskedTable(
            table, desk.profile(table.id), lambda column: distinct(self._worker, desk, column)
        )
        understood = understand(text, [over])
        reading = understood.best or next(iter(understood.others), None)
        if reading is None:
            return Asked(question["level"], half, parts=len(expected))
        values = self._values(desk, reading, text)
        right = sum(agrees(values.get(name), value) for name, value in expected.items())
        return Asked(
            level=question["level"],
            half=half,
            family=reading.family,
            doubt=reading.doubt,
            answered=understood.best is not None and bool(values),
            right=right == len(expected),
            parts=len(expected),
            parts_right=right,
        )

    def _desk(self, name: str) -> Desk:
        if name not in self._desks:
            source = self._folder / f"{name}.gz"
            read = read_tables(source, self._scratch, worker=self._worker)
            entries = [(one.table, one.file) for one in read]
            self._desks[name] = Desk(entries, folder=self._scratch, worker=self._worker)
        return self._desks[name]

    def _values(self, desk: Desk, reading: Reading, text: str) -> dict[str, str]:
        try:
            computed = [desk.compute(one) for one in queries(reading)]
        except TableError:
            return {}
        values = values_of(reading, computed, wanted_of(text))
        return {name: formatted(value) for name, value in values.items()}


def distinct(worker: Worker, desk: Desk, column: str) -> list[str]:
    """Values of a column as stored."""
    from secondlook.tables.query import Query

    (table,) = desk.tables()[:1]
    asked = Query(table=table.id, select=(column,), distinct=True, limit=5000, ties=False)
    found = compute(worker, asked, table, desk.file(table.id))
    return [str(row[0]) for row in found.rows if row[0] is not None]


def agrees(value: str | None, expected: str) -> bool:
    if value is None:
        return False
    if value == expected:
        return True
    try:
        return abs(float(value) - float(expected)) < CLOSE
    except ValueError:
        return False


def at_limit(asked: Iterable[Asked], limit: float) -> list[Asked]:
    """The same questions, answered where the doubt is at most the limit."""
    return [
        Asked(
            **{name: getattr(one, name) for name in one.__slots__ if name != "answered"},
            answered=bool(one.family) and one.doubt <= limit,
        )
        for one in asked
    ]


def report_of(asked: list[Asked]) -> dict[str, Any]:
    return {
        "all": figures(asked),
        "levels": {
            level: figures([one for one in asked if one.level == level]) for level in LEVELS
        },
        "halves": {
            half: figures([one for one in asked if one.half == half]) for half in ("even", "odd")
        },
        "families": dict(Counter(one.family for one in asked if one.answered)),
    }


def figures(asked: list[Asked]) -> dict[str, Any]:
    answered = [one for one in asked if one.answered]
    right = [one for one in answered if one.right]
    parts = sum(one.parts for one in asked)
    return {
        "questions": len(asked),
        "answered": len(answered),
        "right": len(right),
        "accuracy": _share(len(right), len(asked)),
        "wrong_among_answered": _share(len(answered) - len(right), len(answered)),
        "sub_questions_right": _share(sum(one.parts_right for one in answered), parts),
        "proportional": _share(
            sum(one.parts_right / one.parts for one in answered if one.parts), len(asked)
        ),
    }


def _share(some: float, of: int) -> float | None:
    return round(some / of, 4) if of else None


if __name__ == "__main__":
    main()
