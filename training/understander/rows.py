"""Rows for the understander: what it is given, what it should write, where the row is from.

    python -m training.understander.rows --data $SECONDLOOK_DATA --out rows.jsonl.gz

Tasks are told by the first word: `query:` a question over a table to a form, `alone:` a follow-up
to the question said in full, `wants:` a question to what it wants, with its parts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from itertools import islice, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import wikitables as wiki
from secondlook.roles.follow_up import conversation
from secondlook.tables.understand.written import (
    MATCHED,
    MOST_COLUMNS,
    described,
    matching,
    shown,
    shown_table,
)
from training.data.asked import (
    FOLDER,
    Drawn,
    Row,
    Table,
    ordered,
    pointed,
    renamed,
    spoken,
    table_rows,
    tables,
    talks,
    wants,
)
from training.data.chance import chance, is_dev
from training.data.files import as_typed
from training.data.follow_ups import Talk, asked_again, by_page, with_pronouns
from training.data.texts import names
from training.understander.reading import asked_table, desks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from secondlook.tables.resolver import AskedTable

SEED, DEV_SHARE = 22, 0.08
POINTED, AGAIN, PAGES = 8, 3, 6_000
"""How often the questions of a table have a value before a noun, and are asked again of another
value; how many passages lend their questions."""
CANARD = 8
"""How often a turn of CANARD is told with the turns before it said in full."""
TITLED = 0.5
"""How often a follow-up is told what it is about."""
WIKISQL, WIKISQL_TEST = 0.25, 0.05
"""Of the rows of WikiSQL, so many."""
SINGLE, OWN_SINGLE, HOTPOT = 8_000, 0.15, 3
"""How many questions of SQuAD, which share of our own, want one thing; how often one of several
facts is told."""
UNCLEAR = 1_500
"""Questions whose pronoun stands for nothing that was said, and as many with one that does."""
_PRONOUN = re.compile(
    r"\b(?:he|she|they|it|him|them|his|her|their|its)\b(?! (?:is|was) (?:possible|true))",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:who|what|which|when|where|how)\b", re.IGNORECASE)
_FIGURES = {"max": "max", "min": "min", "sum": "sum", "avg": "mean"}
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")


def own_rows(seed: int, times: int) -> Iterator[Row]:
    for file in sorted(FOLDER.glob("*.txt")):
        text, kind = file.read_text("utf-8"), file.stem.partition("-")[0]
        if kind == "tables":
            for table in tables(text):
                yield from _of_table(table, f"{file.stem} {table.names[0]}", seed, times)
        elif kind == "talks":
            for at, talk in enumerate(starmap(Talk, talks(text))):
                dev = is_dev(SEED, talk.said[0], DEV_SHARE)
                draw = chance(seed, f"{file.stem} {at}")
                yield from _turns([talk] * (1 if dev else 8), draw, f"talks{'-dev' if dev else ''}")
        elif kind == "wants":
            for question, form in wants(text):
                yield from _wanted(question, form, seed, 6)


def _wanted(question: str, form: str, seed: int, times: int) -> Iterator[Row]:
    dev, draw = is_dev(SEED, question, DEV_SHARE), chance(seed, question)
    for _ in range(1 if dev else times):
        typed = as_typed(" ".join(question.split()), draw)
        said = form.lower() if typed == typed.lower() else form
        yield Row(f"wants: {typed}", said, "wants-dev" if dev else "wants")


def _of_table(table: Table, name: str, seed: int, times: int) -> Iterator[Row]:
    held = "-dev" if is_dev(SEED, name, DEV_SHARE) else ""
    yield from table_rows(
        table, chance(seed, name), times=1 if held else times, source=f"tables{held}"
    )
    for at in range(1 if held else POINTED):
        draw = chance(seed, f"pointed {name} {at}")
        lines = Table(table.names, table.columns, list(pointed(table, draw)))
        yield from table_rows(lines, draw, times=1, source=f"pointed{held}")
    for at in range(1 if held else AGAIN):
        draw = chance(seed, f"again {name} {at}")
        yield from _turns(asked_again(table, Drawn(table, draw), draw), draw, f"again{held}")


def _turns(talks: Iterable[Talk], draw: Random, source: str) -> Iterator[Row]:
    for one in talks:
        told = " ".join((*one.said, one.asked))
        needed = one.about in one.full and one.about not in told
        about = one.about if needed or draw.random() < TITLED else ""
        given = conversation(about, one.said, as_typed(one.asked, draw))
        yield Row(given, one.full, source)


def pages(data: Path, seed: int) -> Iterator[Row]:
    """Questions of SQuAD, with pronouns for names that were just said."""
    titles = {row["id"]: row["title"] for row in _rows(data / "squad-train" / "corpus.jsonl.gz")}
    questions = list(_rows(data / "squad-train" / "queries.jsonl.gz"))
    for at, (title, asked) in enumerate(islice(by_page(questions, titles), PAGES)):
        dev, draw = is_dev(SEED, title, DEV_SHARE / 4), chance(seed, f"page {at}")
        yield from _turns(with_pronouns(title, asked, draw), draw, f"pages{'-dev' if dev else ''}")


def unclear(data: Path, seed: int) -> Iterator[Row]:
    """Questions of SQuAD with a pronoun for the only name that they have, or with one that is
    theirs."""
    titles = {row["id"]: row["title"] for row in _rows(data / "squad-train" / "corpus.jsonl.gz")}
    questions = list(_rows(data / "squad-train" / "queries.jsonl.gz"))
    draw = chance(seed, "unclear")
    made = 0
    for title, asked in by_page(questions, titles):
        for talk in with_pronouns(title, asked, draw):
            word = _PRONOUN.search(talk.asked)
            if made < UNCLEAR and talk.asked != talk.full and word and not _named(talk.asked):
                yield from _wanted(talk.asked, f"unclear: {word[0]}", seed, 1)
                made += 1
    own = [row["question"] for row in questions if _PRONOUN.search(row["question"])]
    own = [one for one in own if _named(_PRONOUN.split(one, maxsplit=1)[0])]
    for question in draw.sample(own, UNCLEAR):
        yield from _wanted(question, "one", seed, 1)


def _named(question: str) -> bool:
    """Whether it holds a name; a capital at the beginning makes none."""
    return any(names(question[:1].lower() + question[1:]))


def single(data: Path, seed: int) -> Iterator[Row]:
    """Questions that want one thing: of SQuAD, of our talks, and of cells of our tables. A figure
    may also be one over documents."""
    asked = [row["question"] for row in _rows(data / "squad-train" / "queries.jsonl.gz")]
    draw = chance(seed, "single")
    for question in draw.sample(asked, SINGLE):
        yield from _wanted(question, "one", seed, 1)
    for row in own_rows(seed, 1):
        task, _, text = row.given.partition(": ")
        said = row.wanted if task == "alone" else text.partition(" | table")[0]
        one = task == "alone" or (task == "query" and row.wanted.startswith("show "))
        if one and not row.source.endswith("-dev") and draw.random() < OWN_SINGLE:
            yield from _wanted(said, "one", seed, 1)


def hotpot(data: Path, seed: int) -> Iterator[Row]:
    """Questions that need several facts, with their parts: written by hand, or those of BREAK whose
    second step asks about the first. None of those that figures are made of."""
    asked = {
        row["id"]: row["question"] for row in _rows(data / "hotpot-train" / "queries.jsonl.gz")
    }
    for file in sorted(FOLDER.glob("hotpot-*.txt")):
        for name, form in wants(file.read_text("utf-8")):
            yield from _wanted(asked[name], form, seed, HOTPOT)
    kept = {_plain(row["question"]) for row in _rows(data / "hotpot" / "queries.jsonl.gz")}
    kept |= {_plain(question) for question in asked.values()}
    for row in _rows(data / "break" / "rows.jsonl.gz"):
        steps = [" ".join(one.split()) for one in row["steps"]]
        follows = row["operators"] == "['select', 'project']" and row["level"] == "high"
        if follows and "#1" in steps[1] and _plain(row["question"]) not in kept:
            parts = [one if _ASKS.match(one) else f"what is {one}" for one in steps]
            form = f"last: {parts[0]}? || {parts[1]}?"
            yield from _wanted(row["question"], form, seed, HOTPOT)


def _plain(question: str) -> str:
    return " ".join(re.findall(r"\w+", question.casefold()))


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
        draw, test = chance(seed, f"wikisql {at}"), row["split"] == "test"
        if draw.random() > (WIKISQL_TEST if test else WIKISQL):
            continue
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
        yield Row(
            f"query: {question} | {shown_table('', parts)}",
            wanted,
            "wikisql-test" if test else "wikisql",
        )


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
    return spoken(ordered(" | ".join([head, *conditions])))


def wikitables(data: Path, seed: int, times: int) -> Iterator[Row]:
    """Questions of WikiTableQuestions whose forms, written by hand, gave the right answer."""
    forms: dict[str, str] = {}
    for file in sorted(FOLDER.glob("wikitables-*.txt")):
        for line in file.read_text("utf-8").splitlines():
            name, _, form = line.partition("=>")
            forms[name.strip()] = form.strip()
    known = wiki.load(data / "wikitables")
    with desks(known) as desk_of:
        for case in known.cases:
            if case.id not in forms:
                continue
            desk, dev = desk_of(case.table or ""), is_dev(SEED, case.table or "", DEV_SHARE)
            table = asked_table(desk, desk.tables()[0])
            for at in range(1 if dev else times):
                draw = chance(seed, f"{case.id} {at}")
                yield _wikitables_row(case.question, table, forms[case.id], draw, dev=dev)


def _wikitables_row(question: str, table: AskedTable, form: str, draw: Random, *, dev: bool) -> Row:
    """As the product shows the table, with its columns in some order."""
    columns = list(table.profile.columns)[:MOST_COLUMNS]
    order = [*range(len(columns))]
    if not dev:
        draw.shuffle(order)
        question = as_typed(question, draw)
    asked = shown(question, table, [columns[at] for at in order])
    asked = re.sub(r"^table [^:]*:", "table:", asked)
    numbers = {f"c{at + 1}": f"c{place}" for place, at in enumerate(order, 1)}
    return Row(
        f"query: {question} | {asked}",
        spoken(ordered(renamed(form, numbers))),
        f"wtq{'-dev' if dev else ''}",
    )


def canard(data: Path) -> Iterator[Row]:
    """Of half of the conversations; the other half is for figures (`benchmarks/rewriting.py`). What
    was asked before is told as it was typed and as it was said in full."""
    full: dict[str, str] = {}
    for row in _rows(data / "rewriting" / "canard_dev.jsonl.gz"):
        name = row["id"].split("_")[1]
        if int(name[:4], 16) % 2 == 1:
            continue
        full[f"{name} {row['question']}"] = row["rewrite"]
        title, _, *said = row["history"]
        again = [full.get(f"{name} {one}", one) for one in said]
        dev = is_dev(SEED, name, DEV_SHARE)
        draw = chance(SEED, row["id"])
        for at, told in enumerate([again] if dev else [said, *[again] * CANARD]):
            asked = as_typed(row["question"], draw) if at else row["question"]
            given = conversation(title, told, asked)
            yield Row(given, row["rewrite"], "canard-dev" if dev else "canard")


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
        yield from pages(data, seed)
        yield from single(data, seed)
        yield from unclear(data, seed)
        yield from hotpot(data, seed)


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
