"""Rows for the understander: what it is given, what it should write, where the row is from.

    python -m training.understander.rows --data $SECONDLOOK_DATA --out rows.jsonl.gz

Tasks are told by the first word: `query:` a question over a table to a form, `alone:` a follow-up
to the question said in full, `parts:` a question to the questions that it is made of, `steps:` a
question to the steps that lead to its answer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.data.asked import (
    FOLDER,
    MATCHED,
    Row,
    compounds,
    described,
    matching,
    renamed,
    shown_table,
    table_rows,
    tables,
    talks,
)
from training.data.chance import chance, is_dev
from training.data.files import as_typed
from training.data.forms import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

SEED, DEV_SHARE = 22, 0.08
TURNS = 3
"""Questions and answers before this one that a follow-up is read with."""
ANSWER_WORDS = 40
TITLED = 0.5
"""How often a follow-up is told what it is about."""
_FIGURES = {"max": "max", "min": "min", "sum": "sum", "avg": "mean"}
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")


def conversation(about: str, said: Sequence[str], question: str) -> str:
    """A follow-up as the model sees it: `about` is the title of what the last answer was from, and
    `said` alternates questions and answers."""
    last = said[-2 * TURNS :]
    short = [" ".join(one.split()[:ANSWER_WORDS]) for one in last]
    return f"alone: {' | '.join([f'[{about}]', *short, question])}"


def own_rows(seed: int, times: int) -> Iterator[Row]:
    for file in sorted(FOLDER.glob("*.txt")):
        text, kind = file.read_text("utf-8"), file.stem.partition("-")[0]
        if kind == "tables":
            for table in tables(text):
                name = f"{file.stem} {table.names[0]}"
                dev = is_dev(SEED, name, DEV_SHARE)
                source = "tables-dev" if dev else "tables"
                number = 1 if dev else times
                yield from table_rows(table, chance(seed, name), times=number, source=source)
        elif kind == "talks":
            for at, (title, said, asked, full) in enumerate(talks(text)):
                dev = is_dev(SEED, said[0], DEV_SHARE)
                draw = chance(seed, f"{file.stem} {at}")
                for _ in range(1 if dev else 8):
                    about = title if draw.random() < TITLED else ""
                    yield Row(
                        conversation(about, said, as_typed(asked, draw)),
                        full,
                        "talks-dev" if dev else "talks",
                    )
        elif kind == "parts":
            for question, parts in compounds(text):
                dev = is_dev(SEED, question, DEV_SHARE)
                draw = chance(seed, question)
                for _ in range(1 if dev else 6):
                    yield Row(
                        f"parts: {as_typed(question, draw)}",
                        " || ".join(parts),
                        "parts-dev" if dev else "parts",
                    )


def wikisql(data: Path, seed: int) -> Iterator[Row]:
    """Cells are those that some question of the table names: the set has no others."""
    headers = {row["table"]: row["columns"] for row in _rows(data / "wikisql" / "headers.jsonl.gz")}
    asked = list(_rows(data / "wikisql" / "questions.jsonl.gz"))
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in asked:
        for column, _, value in row["where"]:
            cells[row["table"], column].append(str(value))
    for at, row in enumerate(asked):
        columns = headers.get(row["table"], ())
        if not {row["select"], *(one[0] for one in row["where"])} <= set(columns):
            continue
        draw = chance(seed, f"wikisql {at}")
        question = row["question"].strip()
        question = question.lower() if draw.random() < 0.3 else question  # noqa: PLR2004
        parts, order = [], draw.sample(columns, len(columns))
        numbers = {column: f"c{number}" for number, column in enumerate(order, 1)}
        wanted = _wikisql_form(row, question, numbers)
        if wanted is None:
            continue
        for column in order:
            known = sorted(set(cells[row["table"], column]))
            draw.shuffle(known)
            counts = bool(known) and all(map(_NUMBER.fullmatch, known))
            named = [] if draw.random() < 0.25 else matching(question, known)[:MATCHED]  # noqa: PLR2004
            others = [one for one in known if one not in matching(question, known)]
            parts.append(described(column, "number" if counts else "text", others, named))
        shown, test = shown_table("", parts), row["split"] == "test"
        yield Row(f"query: {question} | {shown}", wanted, "wikisql-test" if test else "wikisql")


def _wikisql_form(row: dict[str, Any], asked: str, numbers: dict[str, str]) -> str | None:
    """None where a value is not in the question's words: nobody could write it."""
    conditions = []
    for column, sign, value in row["where"]:
        at = asked.casefold().find(str(value).casefold())
        if at < 0 or sign not in "=<>" or " | " in str(value):
            return None
        conditions.append(f"{numbers[column]} {sign} {asked[at : at + len(str(value))]}")
    figure, column = row["agg"], numbers[row["select"]]
    head = f"show {column}"
    if figure == "count":
        head = "count"
    elif figure:
        head = f"{_FIGURES[figure.lower()]} {column}"
    return spoken(" | ".join([head, *conditions]))


def wikitables(data: Path, seed: int, times: int) -> Iterator[Row]:
    """Questions of WikiTableQuestions whose forms, written by hand, gave the right answer."""
    forms: dict[str, str] = {}
    for file in sorted(FOLDER.glob("wikitables-*.txt")):
        for line in file.read_text("utf-8").splitlines():
            name, _, form = line.partition("=>")
            forms[name.strip()] = form.strip()
    folder = data / "wikitables"
    held = {row["table"]: row for row in _rows(folder / "tables.jsonl.gz")}
    for row in _rows(folder / "questions.jsonl.gz"):
        if row["id"] in forms:
            table, dev = held[row["table"]], is_dev(SEED, row["table"], DEV_SHARE)
            for at in range(1 if dev else times):
                draw = chance(seed, f"{row['id']} {at}")
                yield _wikitables_row(row, table, forms[row["id"]], draw, dev=dev)


def _wikitables_row(
    row: dict[str, Any], table: dict[str, Any], form: str, draw: Random, *, dev: bool
) -> Row:
    question, order = row["question"], [*range(len(table["header"]))]
    if not dev:
        draw.shuffle(order)
        question = as_typed(question, draw)
    parts = []
    for at in order:
        cells = list(dict.fromkeys(str(cells[at]) for cells in table["rows"] if at < len(cells)))
        numbers = all(map(_NUMBER.fullmatch, filter(None, cells)))
        named = [] if numbers else matching(question, cells)[:MATCHED]
        kind = "number" if numbers else "text"
        parts.append(described(table["header"][at], kind, [one[:40] for one in cells], named))
    numbers_of = {f"c{at + 1}": f"c{place}" for place, at in enumerate(order, 1)}
    wanted = spoken(renamed(form, numbers_of))
    return Row(
        f"query: {question} | {shown_table('', parts)}", wanted, f"wtq{'-dev' if dev else ''}"
    )


def canard(data: Path) -> Iterator[Row]:
    """Of half of the conversations; the other half is for figures (`benchmarks/rewriting.py`)."""
    for row in _rows(data / "rewriting" / "canard_dev.jsonl.gz"):
        name = row["id"].split("_")[1]
        if int(name[:4], 16) % 2 == 1:
            continue
        title, _, *said = row["history"]
        dev = is_dev(SEED, name, DEV_SHARE)
        yield Row(
            conversation(title, said, row["question"]),
            row["rewrite"],
            "canard-dev" if dev else "canard",
        )


def qdmr(data: Path) -> Iterator[Row]:
    for row in _rows(data / "break" / "rows.jsonl.gz"):
        dev = is_dev(SEED, row["question"], DEV_SHARE)
        steps = " ; ".join(" ".join(step.split()) for step in row["steps"])
        yield Row(f"steps: {row['question']}", steps, "break-dev" if dev else "break")


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def every(data: Path | None, *, seed: int, times: int) -> Iterator[Row]:
    yield from own_rows(seed, times)
    if data is not None:
        yield from wikitables(data, seed, times)
        yield from wikisql(data, seed)
        yield from canard(data)
        yield from qdmr(data)


def write(file: Path, rows: Iterable[Row]) -> int:
    count = 0
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8") as out:
        for count, row in enumerate(rows, 1):  # noqa: B007
            out.write(json.dumps([row.given, row.wanted, row.source], ensure_ascii=False) + "\n")
    return count


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--times", type=int, default=12, help="how often a wording is filled in")
    given = options.parse_args(arguments)
    count = write(given.out, every(given.data, seed=given.seed, times=given.times))
    sys.stdout.write(f"{count} rows\n")


if __name__ == "__main__":
    main()
