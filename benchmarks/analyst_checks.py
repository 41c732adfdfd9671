"""What the checks of results say against answers that are right.

Every check by arithmetic is told the gold answer of a question as if code had come to it. Whatever
it says against one is a false alarm: it would throw a right answer away. The other way round, an
answer with one figure moved out of its bounds (a correlation, p-value, share, count or mean that
the checks recognise, times 1,000) should be noticed.

    SECONDLOOK_DATA=... python benchmarks/analyst_checks.py [--output FILE]

`dabench`: its answers are named, its tables are read as CSV. `wikitables`: answers without names.
Columns count as resolved where the question names them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from secondlook.nodes.judging.arithmetic import checks
from secondlook.nodes.judging.kinds import kind_of_name
from secondlook.sandbox import Outcome
from secondlook.tables.table import ColumnProfile, TableProfile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.sandbox import Plain
    from secondlook.state.analysis import RequirementsData, ResolvedData

RESULTS = ROOT / "benchmarks" / "results" / "analyst_checks.json"
NUMERIC_SHARE = 0.8
FACTOR = 1_000
MOVED = {"correlation", "p_value", "share", "middle", "r_squared"}


def main() -> None:
    options = _options()
    data = Path(os.environ["SECONDLOOK_DATA"])
    found = {"dabench": _judged(_dabench(data)), "wikitables": _judged(_wikitables(data))}
    print(json.dumps(found, indent=2))
    options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    return parser.parse_args()


Case = tuple[str, list[str], "Plain", TableProfile]


def _judged(cases: Iterator[Case]) -> dict[str, Any]:
    alarms: Counter[str] = Counter()
    applied: Counter[str] = Counter()
    moved = noticed = questions = alarmed = 0
    for question, wanted, answer, profile in cases:
        questions += 1
        said = _said(question, wanted, answer, profile)
        applied.update(one["name"] for one in said)
        against = [one for one in said if not one["passed"]]
        alarms.update(one["name"] for one in against)
        alarmed += bool(against)
        if "--show" in sys.argv:
            for one in against:
                print(question[:150], "|", str(answer)[:80], "|", one["said"])
        for spoilt in _spoilt(answer):
            moved += 1
            noticed += any(not one["passed"] for one in _said(question, wanted, spoilt, profile))
    return {
        "questions": questions,
        "false_alarms": alarmed,
        "false_alarms_by_check": dict(sorted(alarms.items())),
        "applied_by_check": dict(sorted(applied.items())),
        "figures_moved": moved,
        "noticed": noticed,
    }


def _said(question: str, wanted: list[str], answer: Plain, profile: TableProfile) -> list[Any]:
    needs: RequirementsData = {
        "variables": [],
        "constraints": [],
        "analysis": "",
        "success": "",
        "wanted": wanted,
        "by": "rules",
    }
    outcome = Outcome(status="ok", result=answer, has_result=True)
    return checks(question, needs, outcome, {"t": profile}, _resolved(question, profile))


def _spoilt(answer: Plain) -> Iterator[Plain]:
    if isinstance(answer, dict):
        for name, value in answer.items():
            number = isinstance(value, int | float) and abs(value) * FACTOR > FACTOR / 20
            if number and kind_of_name(name) in MOVED:
                yield {**answer, name: float(str(value)) * FACTOR}


def _resolved(question: str, profile: TableProfile) -> list[ResolvedData]:
    return [
        {"asked": one.name, "table": "t", "column": one.name, "score": 1.0, "how": "exact"}
        for one in profile.columns
        if re.search(rf"(?<!\w){re.escape(one.name.casefold())}(?!\w)", question.casefold())
    ]


def _dabench(data: Path) -> Iterator[Case]:
    profiles: dict[str, TableProfile] = {}
    for asked in _lines(data / "dabench" / "questions.jsonl.gz"):
        file = data / "dabench" / "tables" / f"{asked['file_name']}.gz"
        if not asked["table_present"] or not file.exists():
            continue
        if file.name not in profiles:
            text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
            header, *rows = csv.reader(io.StringIO(text, newline=""))
            profiles[file.name] = _profile(header, rows)
        answer: Plain = {name: _value(value) for name, value in asked["answers"]}
        names = [name for name, _ in asked["answers"]]
        question = f"{asked['question']} {asked['constraints']}"
        yield question, names, answer, profiles[file.name]


def _wikitables(data: Path) -> Iterator[Case]:
    folder = data / "wikitables"
    tables = {one["table"]: one for one in _lines(folder / "tables.jsonl.gz")}
    for asked in _lines(folder / "questions.jsonl.gz"):
        table = tables[asked["table"]]
        answers: list[Plain] = [_value(one) for one in asked["answers"]]
        answer = answers[0] if len(answers) == 1 else answers
        yield asked["question"], [], answer, _profile(table["header"], table["rows"])


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _value(text: str) -> Plain:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in text else number


def _profile(header: Sequence[str], rows: Sequence[Sequence[str]]) -> TableProfile:
    columns = [
        _column(name, [row[at] if at < len(row) else "" for row in rows])
        for at, name in enumerate(header)
        if name.strip()
    ]
    return TableProfile(table="t", rows=len(rows), columns=tuple(columns))


def _column(name: str, cells: Sequence[str]) -> ColumnProfile:
    filled = [cell for cell in cells if cell.strip()]
    numbers = [float(one) for one in map(_value, filled) if isinstance(one, int | float)]
    if len(numbers) < NUMERIC_SHARE * len(filled) or not numbers:
        return ColumnProfile(name=name, type="text", rows=len(cells))
    low, high = min(numbers), max(numbers)
    return ColumnProfile(name=name, type="number", rows=len(cells), minimum=low, maximum=high)


if __name__ == "__main__":
    main()
