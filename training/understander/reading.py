"""Questions over a table read by the understander: it writes a form, code accounts for it.

    python -m training.understander.reading --data $SECONDLOOK_DATA [--first 1000] [--n 120]

reads so many of WikiTableQuestions, and tells what the model and the product's grammar answer.

A reading stands only where every condition has its place in the table and no word that names
something is left over; how sure it is comes from how likely the model held what it wrote.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import wikitables
from secondlook.errors import SecondlookError
from secondlook.evaluation.library import GivenTables
from secondlook.reading.understander import understander
from secondlook.tables.query import Filter, Key, Measure, Order, Query, Term
from secondlook.tables.resolver import AS_WRITTEN, MOST_VALUES, AskedTable, Resolved, Resolver
from secondlook.tables.sql import key_name
from secondlook.tables.table import NUMERIC
from secondlook.tables.understand import interpreter
from secondlook.tables.understand.readings import Output, Reading, queries, values_of, wanted_of
from secondlook.tables.words import FUNCTION_WORDS, MONTHS, NUMBER_WORDS, atoms, same_word, stem
from secondlook.tables.worker import Worker
from training.data.asked import (
    FOLDER,
    MATCHED,
    described,
    matching,
    plain,
    shown_table,
    tables,
)
from training.data.forms import Form, FormError, parsed, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.evaluation.records import Case
    from secondlook.tables.desk import Desk
    from secondlook.tables.query import Comparison, Statistic
    from secondlook.tables.table import ColumnProfile, Table
    from secondlook.tables.understand.readings import Wanted
    from training.data.forms import Condition as Said

FAMILY = "forms"
MOST_TABLES = 4
MOST_COLUMNS = 24
LONGEST_CELL = 40
IMPLYING = 50
"""Cells of a column that is used whose words are taken to be about it."""
GENERAL = 4
"""A word that is used with so many different tables names nothing in one of them."""
LIMITS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
_DATES = frozenset({"date", "datetime"})
_STATISTICS: dict[str, Statistic] = {"count distinct": "distinct"}
_YES = frozenset({"yes", "y", "true", "1", "x", "ja", "oui"})
_NO = frozenset({"no", "n", "false", "0", "nein", "non"})
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_THOUSAND = re.compile(r"\d\s*k\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_SLOT = re.compile(r"\{[^}]*\}")


class _Unplaced(Exception):
    """Words that mean nothing in this table."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def read(
    question: str, tables: Sequence[AskedTable], resolver: Resolver, wanted: Wanted
) -> list[Reading]:
    """One reading for each of the tables that the question may be about."""
    if wanted.names:
        return []
    named = {table.table.id: 0 for table in tables}
    for one in resolver.values(question):
        named[one.table] += 2
    for mention in resolver.mentions(question):
        named[mention.resolved.table] += 1
    for table in tables:
        titles = {stem(atom.text) for atom in atoms(f"{table.table.name} {table.table.title}")}
        named[table.table.id] += 2 * sum(stem(atom.text) in titles for atom in atoms(question))
    likely = sorted(tables, key=lambda table: -named[table.table.id])[:MOST_TABLES]
    found = [
        (len(one.unplaced), -named[table.table.id], one.doubt, one)
        for table in likely
        for one in _reading(question, table, resolver.only(table))
    ]
    return [one for *_, one in sorted(found, key=lambda each: each[:3])][:1]


def _reading(question: str, asked: AskedTable, resolver: Resolver) -> Iterator[Reading]:
    columns = asked.profile.columns[:MOST_COLUMNS]
    written = understander().write(f"query: {question} | {shown(question, asked)}")
    names = [f"c{at}" for at in range(1, len(columns) + 1)]
    try:
        form = parsed(signed(written.text), names)
    except FormError:
        return
    if form.act == "none":
        return
    by_name = dict(zip(names, columns, strict=True))
    made = _Maker(asked, by_name, form)
    try:
        first, *more = made.queries()
        unplaced = left_over(question, made, resolver)
    except _Unplaced as lost:
        first, more, unplaced = Query(table=asked.table.id), [], (lost.words,)
    yield Reading(
        query=first,
        said=made.said,
        doubt=1.0 if made.is_vague() else 1.0 - written.likelihood,
        resolved=tuple(made.resolved()),
        family=FAMILY,
        answer=made.answer,
        outputs=made.outputs,
        more=tuple(more),
        operation="difference" if form.act == "difference" else None,
        rows=asked.profile.rows,
        unplaced=unplaced,
    )


# The table as the model sees it


def shown(question: str, asked: AskedTable) -> str:
    parts = []
    for column in asked.profile.columns[:MOST_COLUMNS]:
        cells = [one[:LONGEST_CELL] for one in _cells(column, asked) if one.strip()]
        named = matching(question, cells)[:MATCHED] if column.type not in NUMERIC else []
        kind = "date" if column.type in _DATES else "text"
        kind = "number" if column.type in NUMERIC else kind
        kind = "time" if column.type == "time" else kind
        parts.append(described(column.name, kind, cells, named))
    return shown_table(asked.table.name.replace("_", " "), parts)


def _cells(column: ColumnProfile, asked: AskedTable) -> list[str]:
    if column.type == "boolean":
        return ["yes", "no"]
    if column.type == "text":
        return list(asked.values(column.name))
    return [one.value for one in column.top] or list(column.examples)


# From a form to a query


@dataclass(slots=True)
class _Maker:
    asked: AskedTable
    columns: dict[str, ColumnProfile]
    form: Form
    used: frozenset[str] = frozenset()
    """Names of columns."""

    def queries(self) -> list[Query]:  # noqa: PLR0911 - one line a kind
        form, where = self.form, tuple(map(self.filter, self.form.where))
        self.used = frozenset(self.columns[one].name for one in form.columns)
        table = self.asked.table.id
        if form.act == "difference":
            pair = [self.filter(one) for one in form.between]
            measures = (self.measure(),)
            return [Query(table=table, where=(*where, one), measures=measures) for one in pair]
        if form.act == "share":
            if form.figure != "count":
                raise _Unplaced("share")
            counted = tuple(self.filter(one) for one in form.between)
            share = Measure(name="share in %", statistic="share", where=counted)
            return [Query(table=table, where=where, measures=(share,))]
        if form.act == "show":
            select = tuple(self.columns[one].name for one in form.shown)
            return [Query(table=table, where=where, select=select, distinct=True)]
        if form.act in {"first", "last"}:
            select = tuple(self.columns[one].name for one in form.shown)
            order = (Order(by="", descending=form.act == "last"),)
            return [Query(table=table, where=where, select=select, order=order, limit=1)]
        if form.act in {"after", "before"}:
            select, side = tuple(self.columns[one].name for one in form.shown), form.act
            return [Query(table=table, where=where, select=select, neighbour=side)]  # type: ignore[arg-type]
        if form.act == "groups":
            measure, (limit,) = self.measure(), form.between
            sign: Any = limit.sign
            kept = Filter(column=measure.name, comparison=sign, value=_number(limit.values[0]))
            return [
                Query(
                    table=table, where=where, group_by=self.keys(), measures=(measure,),
                    having=(kept,),
                )
            ]  # fmt: skip
        if form.act == "figure":
            keys = self.keys()
            measures = (self.measure(),)
            return [Query(table=table, where=where, group_by=keys, measures=measures)]
        return [self.ranked(table, where)]

    def ranked(self, table: str, where: tuple[Filter, ...]) -> Query:
        form, last = self.form, self.form.act == "top"
        limit = int(form.n)
        if form.figure:
            measure = self.measure()
            order = (Order(by=measure.name, descending=last),)
            keys = self.keys()
            return Query(
                table=table, where=where, group_by=keys, measures=(measure,), order=order,
                limit=limit,
            )  # fmt: skip
        by = self.columns[form.by[0].column]
        transform: Any = None if by.type in NUMERIC or by.type in _DATES else "number"
        order = (Order(by=by.name, descending=last, transform=transform),)
        present = Filter(column=by.name, comparison="present")
        select = tuple(dict.fromkeys(self.columns[one].name for one in form.shown))
        return Query(table=table, where=(*where, present), select=select, order=order, limit=limit)

    def keys(self) -> tuple[Key, ...]:
        found: list[Key] = []
        for one in self.form.by:
            column = self.columns[one.column]
            if not one.part or (one.part == "year" and column.type in NUMERIC):
                found.append(Key(column=column.name))
                continue
            if column.type not in _DATES:
                raise _Unplaced(one.part)
            part: Any = one.part
            if part in {"month", "quarter"} and not self._of_one_year(column):
                found.append(Key(column=column.name, part="year"))
            found.append(Key(column=column.name, part=part))
        return tuple(found)

    def _of_one_year(self, column: ColumnProfile) -> bool:
        """Chosen by a condition; a table of one year says which it is all the same."""
        return any(
            one.key.part == "year" and self.columns[one.key.column].name == column.name
            for one in self.form.where
        )

    def measure(self) -> Measure:
        form = self.form
        if form.figure == "count":
            return Measure(name="count", statistic="count")
        column = self.columns[form.of]
        statistic: Any = _STATISTICS.get(form.figure, form.figure)
        counts = column.type in NUMERIC or column.type in _DATES or statistic == "distinct"
        term = Term(column=column.name, transform=None if counts else "number")
        return Measure(name=f"{form.figure} of {column.name}", statistic=statistic, of=term)

    def filter(self, said: Said) -> Filter:  # noqa: PLR0911 - one line a kind
        column = self.columns[said.key.column]
        name: dict[str, Any] = {"column": column.name}
        if said.sign in {"missing", "present"}:
            return Filter(**name, comparison=said.sign)  # type: ignore[arg-type]
        if said.key.part:
            return self._of_part(said, column)
        if column.type in _DATES:
            return self._of_date(said, column)
        comparison: Comparison = said.sign  # type: ignore[assignment]
        if column.type in NUMERIC:
            values = tuple(map(_number, said.values))
            return Filter(
                **name, comparison=comparison, value=values[0], values=values[1:] and values
            )
        if column.type == "boolean":
            yes = said.values[0].casefold() in _YES
            if not yes and said.values[0].casefold() not in _NO:
                raise _Unplaced(said.values[0])
            return Filter(**name, comparison=comparison, value=yes)
        if comparison == "contains":
            return Filter(**name, comparison="contains", value=said.values[0])
        if comparison not in {"=", "!=", "in"}:
            values = tuple(map(_number, said.values))
            return Filter(**name, comparison=comparison, value=values[0], transform="number")
        cells = [self.cell(column, one) for one in said.values]
        flat = tuple(dict.fromkeys(one for some in cells for one in some))
        if len(flat) == 1:
            sign: Comparison = "!=" if comparison == "!=" else "="
            return Filter(**name, comparison=sign, value=flat[0])
        return Filter(**name, comparison="in", values=flat, negated=comparison == "!=")

    def cell(self, column: ColumnProfile, said: str) -> list[str]:
        """As the table has it: the same words, up to endings, or the only cells that hold them."""
        cells = list(self.asked.values(column.name))
        words = [stem(one.text) for one in atoms(said)]
        folded_words = plain(said)
        if same := [one for one in cells if plain(one) == folded_words]:
            return same
        if same := [one for one in cells if [stem(a.text) for a in atoms(one)] == words]:
            return same
        folded = said.casefold()
        for known in (_YES, _NO):
            if folded in known and (same := [one for one in cells if one.casefold() in known]):
                return same
        if words and (
            same := [one for one in cells if set(words) <= {stem(a.text) for a in atoms(one)}]
        ):
            return same if len(same) == 1 or len(words) > 1 else _raised(said)
        return _raised(said)

    def _of_part(self, said: Said, column: ColumnProfile) -> Filter:
        part: Any = said.key.part
        comparison: Any = said.sign
        value = said.values[0].casefold()
        number = MONTHS.get(value, MONTHS.get(value[:3])) if part == "month" else None
        number = number if number is not None else int(_number(value.lstrip("q")))
        if part == "weekday":
            raise _Unplaced(said.values[0])
        if column.type in NUMERIC and part == "year":
            return Filter(column=column.name, comparison=comparison, value=number)
        if column.type not in _DATES:
            if part not in {"year", "month"}:
                raise _Unplaced(said.values[0])
            return Filter(column=column.name, comparison=comparison, value=number, transform=part)
        return Filter(column=column.name, comparison=comparison, value=number, part=part)

    def _of_date(self, said: Said, column: ColumnProfile) -> Filter:
        value = said.values[0].strip()
        comparison: Any = said.sign
        if _YEAR.fullmatch(value):
            return Filter(column=column.name, comparison=comparison, value=int(value), part="year")
        if _ISO.fullmatch(value) and len(said.values) == 1:
            return Filter(column=column.name, comparison=comparison, value=value)
        raise _Unplaced(said.values[0])

    def is_vague(self) -> bool:
        """Cells that hold a value and more, and rows that are counted though one alone can be
        meant: what the table says of them may be another thing than was asked."""
        for said in (*self.form.where, *self.form.between):
            column = self.columns[said.key.column]
            if self.form.figure == "count" and self.form.act == "figure" and column.key:
                return said.sign == "="
            if column.type != "text" or said.sign not in {"=", "!=", "in"}:
                continue
            for value in map(plain, said.values):
                held = {plain(one) for one in self.asked.values(column.name)}
                if value in held and any(value in one for one in held - {value}):
                    return True
        return False

    # How it is told

    @property
    def answer(self) -> Any:
        form = self.form
        one = form.act in {"top", "bottom"} and form.n == "1" and not form.figure
        if (
            form.act in {"show", "top", "bottom", "first", "last", "after", "before"}
            and not form.figure
        ):
            return "value" if one and len(form.shown) == 1 else "list"
        return "value"

    @property
    def outputs(self) -> tuple[Output, ...]:
        form = self.form
        if form.act not in {"top", "bottom", "groups"} or not form.figure or len(form.by) != 1:
            return ()
        key = self.keys()[-1]
        every = None if form.n == "1" else "list"
        return (Output(name="answer", measure=key_name(key), every=every),)  # type: ignore[arg-type]

    @property
    def said(self) -> str:
        form = self.form

        def name(key: str) -> str:
            return self.columns[key].name if key in self.columns else key

        def told(said: Said) -> str:
            key = name(said.key.column)
            key = f"{said.key.part} of {key}" if said.key.part else key
            return " ".join(filter(None, (key, said.sign, " or ".join(said.values))))

        figure = f"{form.figure} of {name(form.of)}" if form.of else form.figure
        keys = ", ".join(
            f"{one.part} of {name(one.column)}" if one.part else name(one.column) for one in form.by
        )
        listed = ", ".join(map(name, form.shown))
        which = "highest" if form.act == "top" else "lowest"
        text = {
            "show": listed,
            "figure": f"{figure or 'count'} of rows" if form.figure == "count" else figure,
            "share": f"share of rows where {' and '.join(map(told, form.between))}",
            "difference": f"{figure}: {' less '.join(map(told, form.between))}",
        }.get(form.act, "")
        if form.act == "figure" and keys:
            text += f" by {keys}"
        if form.act in {"top", "bottom"}:
            text = (
                f"the {form.n} {keys} with the {which} {figure}"
                if form.figure
                else f"{listed} of the {form.n} with the {which} {keys}"
            )
        where = " and ".join(map(told, form.where))
        return f"{text} where {where}" if where else text

    def resolved(self) -> Iterator[Resolved]:
        for name in sorted(self.used):
            yield Resolved(name, self.asked.table.id, name, 1.0, "meaning")


def _raised(said: str) -> list[str]:
    raise _Unplaced(said)


def _number(text: str) -> float:
    if text.casefold() in NUMBER_WORDS:
        return NUMBER_WORDS[text.casefold()]
    found = _NUMBER.search(text)
    if found is None:
        raise _Unplaced(text)
    value = float(found[0].replace(",", ""))
    value = value * 1000 if _THOUSAND.search(text) else value
    return int(value) if value.is_integer() else value


# What a reading must account for


def left_over(question: str, made: _Maker, resolver: Resolver) -> tuple[str, ...]:
    """Words that name something and have no place in the reading: cells, numbers, and words that
    are neither general nor those of a column it uses."""
    form, columns = made.form, [made.asked.profile.column(name) for name in made.used]
    used = [one for one in columns if one is not None]
    said = [value for one in (*form.where, *form.between) for value in one.values]
    placed = _stems(*said, form.n)
    known = _stems(*made.used, made.asked.table.name, made.asked.table.title)
    implied = _stems(*(value for one in used for value in _cells(one, made.asked)[:IMPLYING]))
    words = [atom.text for atom in atoms(question)]
    left = [one for one in words if _is_left(one, placed, known, implied, (*said, form.n))]
    for mention in resolver.values(question):
        named = _stems(question[mention.start : mention.end])
        if mention.score >= AS_WRITTEN and not named <= placed | known and not named & implied:
            left.append(mention.value)
    types = {column.type for column in used}
    if "how long" in " ".join(words) and form.act == "show" and not types & {*NUMERIC, "time"}:
        left.append("long")
    left += [one for one in words if one not in known and _is_untold(one, words, form)]
    return tuple(dict.fromkeys(left))


def _stems(*texts: str) -> set[str]:
    return {stem(atom.text) for text in texts for atom in atoms(text)}


def _is_left(
    text: str, placed: set[str], known: set[str], implied: set[str], said: Sequence[str]
) -> bool:
    """Whether a word has no place among values, headers, the cells below them, general words."""
    word, general = stem(text), general_words()
    if word in placed or text in placed or text in FUNCTION_WORDS:
        return False
    if text.isdigit():
        return not _in_placed_number(text, said)
    if len(text) < 2 or word in general or text in general:  # noqa: PLR2004
        return False
    if any(same_word(word, one) for one in known) or word in implied:
        return False
    return not text.endswith(("ed", "ing"))  # what somebody did; cells are asked for apart


_COMPARED = frozenset({">", "<", ">=", "<="})
_BEFORE = frozenset(("after", "before", "since", "until"))
_BESIDE = frozenset(("next", "previous", "following", "preceding", "consecutive"))
_ENDS = frozenset((
    "first", "last", "latest", "earliest", "newest", "oldest", "most", "least", "fewest",
    "highest", "lowest", "biggest", "largest", "smallest", "longest", "shortest", "cheapest",
    "best", "worst",
))  # fmt: skip
_NOT = frozenset(("not", "without", "except", "never", "excluding", "nor"))


def _is_untold(  # noqa: PLR0911 - one line a word
    word: str, words: Sequence[str], form: Form
) -> bool:
    """Whether a word that asks for something is not said by any part of the form."""
    said = [*form.where, *form.between]
    compares = any(one.sign in _COMPARED for one in said)
    ranks = form.act in {"top", "bottom"} or form.figure in {"min", "max"}
    several = form.act == "difference" or any(len(one.values) > 1 for one in said)
    if word in _BESIDE:
        return True
    if word in _BEFORE:
        return not compares
    if word == "than":
        return not compares and form.act != "difference"
    if word in _ENDS:
        return not ranks and not compares
    if word in {"or", "between"}:
        return not several and not compares
    if word in _NOT:
        denied = any(
            one.sign in {"!=", "missing"} or set(map(str.casefold, one.values)) & _NO
            for one in said
        )
        return not denied
    if word in {"average", "mean"}:
        return form.figure != "mean"
    if word == "only":
        at = words.index(word)
        return words[at - 1 : at] == ["the"] or words[at + 1 : at + 2] == ["one"]
    return word == "each" and not form.by


def _in_placed_number(digits: str, said: Sequence[str]) -> bool:
    return any(digits in re.sub(r"[,.]", "", one) or digits in one for one in said)


@cache
def general_words() -> frozenset[str]:
    """Words that people use with tables of any kind: they ask, and name nothing."""
    asked_of: dict[str, set[str]] = defaultdict(set)
    for file in sorted(FOLDER.glob("tables-*.txt")):
        for table in tables(file.read_text("utf-8")):
            said = " ; ".join(wording for line in table.lines for wording in line.wordings)
            for atom in atoms(_SLOT.sub(" ", said)):
                for word in (atom.text, stem(atom.text)):
                    asked_of[word].add(f"{file.stem} {table.names[0]}")
    return frozenset(
        word for word, some in asked_of.items() if len(some) >= GENERAL and not word.isdigit()
    )


# WikiTableQuestions, read by the model and by the product's grammar


@dataclass(frozen=True, slots=True)
class Outcome:
    doubt: float
    right: bool


def of_model(question: str, asked: Sequence[AskedTable]) -> Reading | None:
    """As `understand` chooses, without the grammar's guards and without a limit of doubt."""
    if interpreter.POINTED.search(question):
        return None
    found = read(question, asked, Resolver(asked), wanted_of(question))
    return next((one for one in found if not one.unplaced), None)


def of_grammar(question: str, asked: Sequence[AskedTable]) -> Reading | None:
    return interpreter.understand(question, asked, families=interpreter.FAMILIES).best


READERS: dict[str, Callable[[str, Sequence[AskedTable]], Reading | None]] = {
    "model": of_model,
    "grammar": of_grammar,
}


def asked_table(desk: Desk, table: Table) -> AskedTable:
    @cache
    def values(column: str) -> list[str]:
        there = Filter(column=column, comparison="present")
        query = Query(
            table=table.id, where=(there,), select=(column,), distinct=True, limit=MOST_VALUES
        )
        return [str(row[0]) for row in desk.compute(query).rows]

    return AskedTable(table, desk.profile(table.id), values, compute=desk.compute)


def outcome(case: Case, reader: str, desk: Desk) -> Outcome | None:
    """None where nothing was read, or nothing follows from it."""
    try:
        reading = READERS[reader](case.question, [asked_table(desk, one) for one in desk.tables()])
        if reading is None:
            return None
        computed = [desk.compute(one) for one in queries(reading)]
        values = values_of(reading, computed, wanted_of(case.question))
    except (SecondlookError, ValueError) as failure:
        sys.stderr.write(f"{case.id} by the {reader}: {failure}\n")
        return None
    if not values:
        return None
    cells = [cell for value in values.values() for cell in wikitables.cells(value)]
    right = wikitables.right([wikitables.denotations_said(one) for one in cells], case.answers)
    return Outcome(reading.doubt, right)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="holds the folder wikitables")
    options.add_argument("--first", type=int, default=1000, help="question to begin with")
    options.add_argument("--n", type=int, default=120, help="how many questions")
    given = options.parse_args(arguments)
    data = wikitables.load(given.data / "wikitables")
    cases = data.cases[given.first : given.first + given.n]
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        desks = GivenTables(data.read_table, Path(folder), lambda: worker)
        asked = [(case, desks.desk(case.table or "")) for case in cases]
        for reader in READERS:
            began = time.monotonic()
            found = [outcome(case, reader, desk) for case, desk in asked]
            took = time.monotonic() - began
            sys.stdout.write(f"{reader}: {len(cases)} questions, {took:.0f} s\n")
            for limit in LIMITS:
                some = [one for one in found if one is not None and one.doubt <= limit]
                right = sum(one.right for one in some)
                told = f"answered {len(some)}, right {right}, wrong {len(some) - right}"
                sys.stdout.write(f"  doubt at most {limit:.2f}: {told}\n")


if __name__ == "__main__":
    main()
