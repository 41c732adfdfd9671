"""Questions as people type them, with what they mean, made from the files in `training/asked`.

Its README says how they are written. A table is drawn many times: other values, other headers,
other columns beside those that count.

    python -m training.data.asked FILE ...      checks files and shows some of what they make
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.roles.wants import read_form
from secondlook.tables.understand.forms import SIGNS, FormError, parsed
from secondlook.tables.understand.written import MATCHED, described, matching, shown_table
from secondlook.tables.words import FUNCTION_WORDS, atoms, stem
from training.data.chance import chance
from training.data.files import as_typed
from training.data.values import MONTHS, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from secondlook.tables.understand.forms import Form

FOLDER = Path(__file__).parents[1] / "asked"
SEVERAL, GENERAL, COMMON = 4, 20, 60
"""A word that is used with so many different tables names nothing in one of them; the larger
numbers are for words that are headers or values elsewhere."""
LEFT_OUT, LOWER, UNSEEN, SHORT, CALLED, INSTRUCTED = 0.3, 0.35, 0.45, 0.3, 0.7, 0.08
"""How often a column that does not count is left out, a value is typed in lower case, a cell that
the question names is not among those shown, a table has only a few rows, a value is called by
another name that it has, and an instruction follows that changes nothing."""
FIGURED, OFTEN, FILES = 0.95, 40, 5
"""A word stands for a figure if this share of what is asked with it does, in so many wordings, by
so many writers."""
_SLOT = re.compile(
    r"\{(?P<key>[^{}.!]+?)(?:\.(?P<what>2|year|month|quarter)(?:\.2)?|(?P<absent>!))?\}"
)
_CONDITION = re.compile(r"(.*?)( (?:!=|>=|<=|>|<|=|contains|in) )(.*)$")
_SIGNED = re.compile(r"(?<= )(!=|>=|<=|>|<|=)(?= )")
_NUMBERED = re.compile(r"\bc(\d+)\b")
_NUMBERS = frozenset(("int", "decimal", "money", "percent", "year"))
_TYPES = {"date": "date", "time": "time"} | dict.fromkeys(_NUMBERS, "number")


@dataclass(frozen=True, slots=True)
class Column:
    headers: tuple[str, ...]
    kind: str

    @property
    def name(self) -> str:
        return self.headers[0]

    @property
    def type(self) -> str:
        return _TYPES.get(self.kind.partition(" ")[0], "text")

    def called(self, value: str) -> tuple[str, ...]:
        """How else people call a value of it."""
        for one in self.kind.partition(" ")[2].split("/"):
            cell, *others = _parts(one, "=") or ("",)
            if cell.lower() == value.lower():
                return tuple(others)
        return ()


@dataclass(frozen=True, slots=True)
class Line:
    wordings: tuple[str, ...]
    form: str


@dataclass(slots=True)
class Table:
    names: tuple[str, ...]
    columns: list[Column] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def column(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Row:
    """What the model is given and what it should write."""

    given: str
    wanted: str
    source: str


# Reading the files


def tables(text: str) -> list[Table]:
    found: list[Table] = []
    asking = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("=== "):
            found.append(Table(_parts(line[4:], ";")))
            asking = False
        elif line == "---":
            asking = True
        elif line and found and asking:
            wordings, _, form = line.rpartition("=>")
            found[-1].lines.append(Line(_parts(wordings, "~"), form.strip()))
        elif line and found:
            headers, _, kind = line.partition("::")
            found[-1].columns.append(Column(_parts(headers, ";"), kind.strip()))
    return found


def talks(text: str) -> Iterator[tuple[str, list[str], str, str]]:
    """What it is about, what was said before, the question, and the question said in full."""
    said: list[str] = []
    asked = title = ""
    for raw in text.splitlines():
        mark, _, rest = raw.strip().partition(" ")
        if mark == "===":
            said, asked, title = [], "", rest.strip()
        elif mark == "Q:":
            if asked:
                said.append(asked)
            asked = rest.strip()
        elif mark == "A:":
            said += [asked, rest.strip()]
            asked = ""
        elif mark == "S:":
            full = asked if rest.strip() == "=" else rest.strip()
            yield title, list(said), asked, full
            asked = full


def wants(text: str) -> Iterator[tuple[str, str]]:
    """Questions, or their ids, with what they want; holes as the model writes them."""
    for line in filter(None, map(str.strip, text.splitlines())):
        question, _, form = line.rpartition(" => ")
        form = re.sub(r"\{(\d)\}", r"#\1", " ".join(form.split()))
        yield question.strip(), spoken(form) if form.startswith("survey ") else form


def _parts(text: str, mark: str) -> tuple[str, ...]:
    return tuple(part for one in text.split(mark) if (part := one.strip()))


# Filling in


@dataclass(slots=True)
class Drawn:
    """One table filled in."""

    table: Table
    draw: Random
    cells: dict[str, list[str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    """Values that the question calls otherwise."""

    def __post_init__(self) -> None:
        rows = self.draw.randint(3, 7) if self.draw.random() < SHORT else None
        style = self.draw.choice((str, str, str, _snake, str.title, str.upper, str.lower))
        for one in self.table.columns:
            header = style(self.draw.choice(one.headers))
            self.headers[one.name] = header if header not in self.headers.values() else one.name
            is_short = one.type == "text" and not one.kind.startswith("pick")
            self.cells[one.name] = _cells(one.kind, self.draw)[: rows if is_short else None]

    def filled(self, wording: str, form: str) -> tuple[str, str]:
        """Both with the same values; the wording may have another name for one."""
        values: dict[str, str] = {}

        def meant(found: re.Match[str]) -> str:
            tries = 0
            while found[0] not in values:
                value = self._value(found["key"], found["what"] or "", found["absent"])
                tries += 1
                if tries > 20 or value.lower() not in map(str.lower, values.values()):  # noqa: PLR2004
                    values[found[0]] = value
            return values[found[0]]

        def said(found: re.Match[str]) -> str:
            value, column = meant(found), self.table.column(found["key"])
            others = column.called(value) if column else ()
            if others and self.draw.random() < CALLED:
                self.called[value] = self.draw.choice(others)
            return self.called.get(value, value)

        question = _SLOT.sub(said, wording)
        return question, _SLOT.sub(meant, form)

    def _value(  # noqa: PLR0911 - one line a kind
        self, name: str, what: str, absent: str | None
    ) -> str:
        if name == "n":
            return str(self.draw.randint(2, 10))
        column = self.table.column(name)
        if column is None:
            raise FormError(f"no column {name!r} for a slot")
        if what == "month":
            return self.draw.choice(MONTHS)
        if what == "quarter":
            return str(self.draw.randint(1, 4))
        cells, kind = self.cells[name], column.kind
        if what == "year":
            return self.draw.choice(cells)[:4]
        if absent:
            picks = kind.partition("//")[2]
            drawn = picks.split("/") if picks else _cells(kind, self.draw)
            return self._typed(self.draw.choice(drawn).strip())
        value = self.draw.choice(cells)
        if column.type == "number" and not kind.startswith("year"):
            return _typed_number(value, self.draw, money=kind.startswith("money"))
        return self._typed(value)

    def _typed(self, value: str) -> str:
        return value.lower() if self.draw.random() < LOWER else value

    def shown(self, question: str, used: Sequence[str]) -> tuple[str, dict[str, str]]:
        """The table as the model sees it, and what each column is called there."""
        columns = [
            one for one in self.table.columns if one.name in used or self.draw.random() >= LEFT_OUT
        ]
        self.draw.shuffle(columns)
        columns = columns or self.table.columns[:2]
        parts = []
        for one in columns:
            cells = self.cells[one.name]
            hidden = self.draw.random() < UNSEEN
            named = [] if hidden else matching(question, cells)[:MATCHED]
            parts.append(described(self.headers[one.name], one.type, cells, named))
        numbers = {one.name: f"c{at}" for at, one in enumerate(columns, 1)}
        return shown_table(self.draw.choice(self.table.names), parts), numbers


def _typed_number(value: str, draw: Random, *, money: bool) -> str:
    """As people write limits: 1,200, 50k, £300."""
    number = float(value)
    if number >= 1000 and draw.random() < 0.4:  # noqa: PLR2004
        value = draw.choice((f"{round(number, -2):,.0f}", f"{round(number / 1000)}k"))
    elif number > 20 and draw.random() < 0.4:  # noqa: PLR2004
        value = f"{round(number / 10) * 10}"
    return draw.choice(("£", "$", "€")) + value if money and draw.random() < 0.25 else value  # noqa: PLR2004


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _cells(kind: str, draw: Random) -> list[str]:
    name, _, rest = kind.partition(" ")
    if name in {"pick", "text"}:
        return [one.partition("=")[0].strip() for one in rest.partition("//")[0].split("/")]
    if name == "date":
        low, _, high = rest.partition("-")
        return [
            f"{draw.randint(int(low), int(high))}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
            for _ in range(12)
        ]
    if name in _NUMBERS:
        low, _, high = rest.replace(",", "").partition("-")
        whole = name in {"int", "year"} or float(high) > 500  # noqa: PLR2004
        numbers = [draw.uniform(float(low), float(high)) for _ in range(12)]
        return [f"{one:.0f}" if whole else f"{one:.1f}" for one in numbers]
    return list(dict.fromkeys(value_of(kind, draw) for _ in range(12)))


def table_rows(table: Table, draw: Random, *, times: int, source: str) -> Iterator[Row]:
    for line in table.lines:
        for wording in line.wordings:
            for _ in range(times):
                yield _table_row(table, line.form, wording, draw, source)


def _table_row(table: Table, form: str, wording: str, draw: Random, source: str) -> Row:
    made = Drawn(table, draw)
    question, line = made.filled(wording, form)
    if draw.random() < INSTRUCTED:
        end = "" if question.endswith(("?", ".", "!")) else "."
        question = f"{question}{end} {draw.choice(instructions())}"
    meant = parsed(line, [one.name for one in table.columns])
    question = as_typed(question, draw)
    shown, numbers = made.shown(question, meant.columns)
    for value, called in made.called.items():
        if value.lower() not in shown.lower():
            line = line.replace(value, called)
    if question == question.lower():
        line = _lowered(line)
    return Row(f"query: {question} | {shown}", spoken(ordered(renamed(line, numbers))), source)


def _lowered(line: str) -> str:
    """Values as the question has them."""
    act, *conditions = line.split(" | ")
    signs = re.compile(r"( (?:!=|>=|<=|>|<|=|contains|in) )([^/]+)")
    lowered = [signs.sub(lambda found: found[1] + found[2].lower(), one) for one in conditions]
    if act.startswith("share "):
        act = signs.sub(lambda found: found[1] + found[2].lower(), act)
    return " | ".join([act, *lowered])


def renamed(line: str, numbers: Mapping[str, str]) -> str:
    """A form with other names for its columns. Values stay as they are."""
    names = sorted(numbers, key=len, reverse=True)
    known = re.compile(rf"(?<![\w{{])({'|'.join(map(re.escape, names))})(?!\w)")

    def say(text: str) -> str:
        return known.sub(lambda found: numbers[found[1]], text)

    parts = []
    for part in line.split(" | "):
        both = []
        for one in part.split(" / "):
            found = _CONDITION.match(one)
            both.append(say(found[1]) + found[2] + found[3] if found else say(one))
        parts.append(" / ".join(both))
    return " | ".join(parts).replace("distinct ", "show ", int(line.startswith("distinct ")))


@cache
def instructions() -> tuple[str, ...]:
    return tuple((FOLDER / "instructions.txt").read_text("utf-8").splitlines())


def words_of_tables() -> str:
    """A line of words that people use with tables of any kind, which ask and name nothing; one of
    pairs that measure the same: they are headers of the same columns of numbers; and one of words
    that stand for a figure."""
    asked_of, valued, said_in, unsaid = (Counter[str]() for _ in range(4))
    together, headers = Counter[str](), set[str]()
    for _, table in _tables_of_files():
        for words, form in _wordings(table):
            said_in.update(words)
            unsaid.update(words if form.act == "none" else ())
        # Where values have other names, words of a question may be such names.
        if any("=" in column.kind for column in table.columns):
            continue
        said = {word for words, _ in _wordings(table) for word in words}
        asked_of.update(said | {stem(word) for word in said})
        for column in table.columns:
            each = [
                {stem(atom.text) for atom in atoms(re.sub(r"\(.*?\)", " ", header))}
                - FUNCTION_WORDS
                for header in column.headers
            ]
            headers |= set().union(*each)
            if column.type == "number":
                pairs = (two for a, b in combinations(each, 2) for two in product(a - b, b - a))
                together.update({"=".join(sorted(two)) for two in pairs})
            elif column.kind.startswith("pick "):
                valued.update(atom.text for atom in atoms(column.kind[5:]))
    for one in instructions():
        asked_of.update({atom.text for atom in atoms(one)})
    least = {word: GENERAL if stem(word) in headers else SEVERAL for word in asked_of}
    least |= dict.fromkeys((word for word, count in valued.items() if count > 1), COMMON)
    general = sorted(
        word
        for word, count in asked_of.items()
        if count >= least[word] and not word.isdigit() and 2 * unsaid[word] <= said_in[word]
    )
    alike = sorted(two for two, count in together.items() if count > 1)
    return "\n".join(map(" ".join, (general, alike, _figure_words()))) + "\n"


def _figure_words() -> list[str]:
    """`typical=mean`: words that nearly always go with one figure, and are no header."""
    figured: dict[str, Counter[str]] = defaultdict(Counter)
    said_in, in_tables, in_headers = (Counter[str]() for _ in range(3))
    in_files: dict[str, set[Path]] = defaultdict(set)
    for file, table in _tables_of_files():
        named = {stem(x.text) for c in table.columns for h in c.headers for x in atoms(h)}
        in_headers.update(named)
        here = set[str]()
        for words, form in _wordings(table):
            own = {stem(one) for one in words if not one.isdigit()} - named
            here |= own
            said_in.update(own)
            figures = {one.figure for one in (form, *form.more)} - {"", "count"}
            for one in own:
                figured[one].update(figures)
        in_tables.update(here)
        for word in here:
            in_files[word].add(file)
    return [
        f"{word}={figure.replace(' ', '_')}"
        for word, counts in sorted(figured.items())
        for figure, count in counts.most_common(1)
        if count >= OFTEN
        and len(in_files[word]) >= FILES
        and in_tables[word] >= 20 * in_headers[word]
        and count >= FIGURED * said_in[word]
    ]


def _tables_of_files() -> Iterator[tuple[Path, Table]]:
    for file in sorted(FOLDER.glob("tables-*.txt")):
        yield from ((file, table) for table in tables(file.read_text("utf-8")))


def _wordings(table: Table) -> Iterator[tuple[set[str], Form]]:
    """The words of each, without what fills its slots, and what it means."""
    names = [one.name for one in table.columns]
    for line in table.lines:
        form = parsed(_SLOT.sub("1", line.form), names)
        for wording in line.wordings:
            yield {atom.text for atom in atoms(_SLOT.sub(" ", wording))}, form


# Values that stand before a noun for rows, made by program: people leave prepositions out

ABSENT = 0.4
"""How often the value is one that the table does not have."""
_LABELS = frozenset(("code", "person", "firm", "text", "first"))
_ROWS = ("entries", "records", "items", "lines", "rows", "ones", "cases")
_POINTED = (
    ("which {V} ROW has the highest N", "top 1 L by N | P = {V}"),
    ("which of the {V} ROWS has the lowest N", "bottom 1 L by N | P = {V}"),
    ("{V} ROW with the most N", "top 1 L by N | P = {V}"),
    ("which {V} has the highest N", "top 1 L by N | P = {V}"),
    ("how many {V} ROWS are there", "count | P = {V}"),
    ("how many {V} ROWS do we have with N over {N}", "count | P = {V} | N > {N}"),
    ("number of {V} ROWS with N under {N}", "count | P = {V} | N < {N}"),
    ("{V} ROWS above {N} N", "show L | P = {V} | N > {N}"),
    ("average N of {V} ROWS", "mean N | P = {V}"),
    ("total N of the {V} ones", "sum N | P = {V}"),
    ("what is the N of all {V} ROWS together", "sum N | P = {V}"),
    ("how many ROWS are there", "count"),
    ("how many ROWS are {V}", "count | P = {V}"),
    ("how many ROWS have more than {N} N", "count | N > {N}"),
    ("which ROW has the lowest N", "bottom 1 L by N"),
    ("which ROW has the highest N", "top 1 L by N"),
    ("how many {V} ROWS in {D.year}", "count | P = {V} | year(D) = {D.year}"),
    ("how many {V} ROWS were there in {D.month} {D.year}",
     "count | P = {V} | month(D) = {D.month} | year(D) = {D.year}"),
    ("how many ROWS did we have in {D.year}", "count | year(D) = {D.year}"),
    ("which was the last of the {V} ROWS", "top 1 L by D | P = {V}"),
    ("total N over time", "sum N by month(D)"),
    ("plot the total N over time", "sum N by month(D)"),
    ("draw the average N over time as a line", "mean N by month(D)"),
    ("how has the average N changed over the years", "mean N by year(D)"),
    ("number of ROWS over time", "count by month(D)"),
    ("trend of the total N of {V} ROWS", "sum N by month(D) | P = {V}"),
    ("average N of all the ROWS", "mean N"),
    ("Calculate the mean N of the ROWS in the dataset.", "mean N"),
    ("What is the mean and the median N of the {V} ROWS in this file?",
     "mean N; median N | P = {V}"),
    ("Is there a relationship between N and M among the ROWS?", "correlation N, M"),
)  # fmt: skip


def pointed(table: Table, draw: Random) -> Iterator[Line]:
    """Each once, with columns of the table in place of the capitals: L names a row, N and M are
    numbers, D a date, P holds the value V. Where the table has no such column, it is left out."""
    kinds = {one.name: one.kind.partition(" ")[0] for one in table.columns}
    labels = [one for one, kind in kinds.items() if kind in _LABELS]
    numbers = [one for one, kind in kinds.items() if kind in _NUMBERS - {"year"}]
    dates = [one for one, kind in kinds.items() if kind == "date"]
    picks = [one.name for one in table.columns if one.kind.startswith("pick ")]
    picks = [one for one in picks if "yes" not in _cells(_column(table, one).kind, draw)]
    picks += [one for one, kind in kinds.items() if kind in {"town", "country"}]
    for wording, form in _POINTED:
        there = {"L": labels, "N": numbers, "D": dates, "P": picks, "M": numbers[1:]}
        needed = [mark for mark in there if re.search(rf"\b{mark}\b", form)]
        if not all(there[mark] for mark in needed):
            continue
        chosen = {mark: draw.choice(there[mark]) for mark in needed}
        if chosen.get("M") == chosen.get("N") and "M" in chosen:
            chosen["N"] = numbers[0]
        row = draw.choice((*_ROWS, *(one.split()[-1] for one in table.names if "_" not in one)))
        said = wording.replace("ROWS", row).replace("ROW", _single(row))
        meant = form
        if "P" in chosen:
            absent = "//" in _column(table, chosen["P"]).kind and draw.random() < ABSENT
            slot = f"{{{chosen['P']}{'!' if absent else ''}}}"
            said, meant = said.replace("{V}", slot), meant.replace("{V}", slot)
        for mark, name in chosen.items():
            said = re.sub(rf"(?<={{){mark}\b", name, said)
            meant = re.sub(rf"\b{mark}\b", name, meant)
            header = draw.choice(_column(table, name).headers).replace("_", " ")
            said = re.sub(rf"\b{mark}\b", re.sub(r"\(.*?\)", "", header).strip().lower(), said)
        yield Line((said,), meant)


def _column(table: Table, name: str) -> Column:
    return next(one for one in table.columns if one.name == name)


def _single(plural: str) -> str:
    return plural.removesuffix("ies") + "y" if plural.endswith("ies") else plural.removesuffix("s")


def spoken(line: str) -> str:
    """With words for signs, as the model writes it."""
    return _SIGNED.sub(lambda found: SIGNS[found[1]], line)


def ordered(line: str) -> str:
    """With its conditions by their columns, so that what means the same is written the same."""
    act, *conditions = line.split(" | ")
    first = conditions[:1] if act.startswith("difference ") else []
    rest = sorted(
        conditions[len(first) :], key=lambda one: [int(c) for c in _NUMBERED.findall(one)[:1]]
    )
    return " | ".join([act, *first, *rest])


# Checking


def faults(file: Path) -> Iterator[str]:
    text = file.read_text("utf-8")
    if file.name.startswith("talks"):
        for _, said, asked, full in talks(text):
            if not said or not asked or not full:
                yield f"a turn without what came before it: {asked!r}"
        return
    if file.name.startswith(("wants", "test-wants", "hotpot")):
        yield from (f"no form: {one!r}" for one, form in wants(text) if read_form(form) is None)
        return
    for table in tables(text):
        yield from (f"{table.names[0]}: {fault}" for fault in _table_faults(table))


def _table_faults(table: Table) -> Iterator[str]:
    draw = chance(0, table.names[0])
    try:
        Drawn(table, draw)
    except (ValueError, IndexError, TypeError) as fault:
        yield f"a column's kind: {fault}"
        return
    for line in table.lines:
        if not line.wordings:
            yield f"no wording: {line}"
        for wording in line.wordings:
            yield from _wording_faults(table, line.form, wording, draw)


def _wording_faults(table: Table, form: str, wording: str, draw: Random) -> Iterator[str]:
    slots = {found[0] for found in _SLOT.finditer(wording)}
    lacking = {found[0] for found in _SLOT.finditer(form)} - slots
    if lacking:
        yield f"{sorted(lacking)} not said in {wording!r}"
    if "=>" in wording or " | " in wording:
        yield f"two lines in one: {wording!r}"
    try:
        _table_row(table, form, wording, draw, "")
    except (FormError, IndexError) as fault:
        yield f"{fault} in {wording!r} => {form!r}"


def main(files: Sequence[str]) -> int:
    wrong = 0
    for file in map(Path, files):
        for fault in faults(file):
            sys.stderr.write(f"{file.name}: {fault}\n")
            wrong += 1
        text = file.read_text("utf-8")
        if file.name.startswith("tables"):
            found = tables(text)
            lines = sum(len(one.lines) for one in found)
            wordings = sum(len(line.wordings) for one in found for line in one.lines)
            sys.stdout.write(
                f"{file.name}: {len(found)} tables, {lines} lines, {wordings} wordings\n"
            )
            for table in [] if wrong else found[:1]:
                for row in list(table_rows(table, chance(1, "shown"), times=1, source=""))[:6]:
                    sys.stdout.write(f"  {row.given}\n    {row.wanted}\n")
        elif file.name.startswith("talks"):
            sys.stdout.write(f"{file.name}: {len(list(talks(text)))} turns\n")
        else:
            sys.stdout.write(f"{file.name}: {len(list(wants(text)))} questions\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
