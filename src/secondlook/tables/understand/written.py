"""Questions over a table read by the embedded understander: it writes a form, code accounts for it.
A reading stands only where every condition has its place in the table and no word that names
something is left over; how sure it is comes from how likely the model held what it wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from secondlook.errors import SecondlookError
from secondlook.reading import load_embedder
from secondlook.reading.understander import understander
from secondlook.reading.weights import find_weights
from secondlook.tables.query import Query
from secondlook.tables.resolver import AS_WRITTEN, Resolver
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.charts import chart_words
from secondlook.tables.understand.form_queries import Maker, Unplaced
from secondlook.tables.understand.forms import FormError, parsed, signed
from secondlook.tables.understand.methods import methods_in
from secondlook.tables.understand.outputs import named_outputs
from secondlook.tables.understand.readings import QUOTED, Reading, Wanted, parts, queries, values_of
from secondlook.tables.words import (
    FUNCTION_WORDS,
    MONTHS,
    NUMBER_WORDS,
    atoms,
    plain,
    same_word,
    stem,
    stems,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from secondlook.reading.understander import Written
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.table import ColumnProfile
    from secondlook.tables.understand.forms import Form
    from secondlook.tables.understand.readings import Operation, Output

MOST_TABLES = 4
MOST_COLUMNS = 24
LONGEST_CELL = 40
SHOWN, MATCHED = 2, 3
"""Cells of a column that the model sees: so many of the first, so many that the question names."""
FEW, ROOM = 8, 100
"""A column of text with no more values, which take no more letters, is seen whole."""
MOST_TAKEN = 1
"""Words of a question without a place that do not keep it from being read; they are said."""
SETTLED = 0.05  # With less doubt, no other form is looked for
NAMED = 0.9  # Of a column that the question names, and does not merely seem to mean
_PER = re.compile(r"\b(?:per|each|every) ([^\W\d_]+)", re.IGNORECASE)
_CLEAR = "|".join(one for one in MONTHS if len(one) > 4 and one != "march")  # noqa: PLR2004
_MONTH = re.compile(
    rf"\b({_CLEAR}|june|july)\b"
    r"|\b(?:in|of|to|by|and|for|from|since|until|before|after|during|between|\d+) (march|may)\b",
    re.IGNORECASE,
)
"""A month that is meant; `may` and `march` are also other words."""
_QUANTITIES = """number count value amount quantity figure percentage percent share proportion
formula observation result"""
QUANTITIES = frozenset(map(stem, _QUANTITIES.split()))  # Words that measure nothing by themselves
_FIGURED = re.compile(
    r"\b(?:mean|average|avg|median|total|highest|lowest|largest|smallest|maximum|minimum|max|min"
    r"|sum of(?: the)?) ([^\W\d_]+)",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_NUMBERED = re.compile(r"^\s*(?:question )?\d{1,2}\s*[.:)]\s+(?=\S)", re.IGNORECASE)
_VALUED = re.compile(
    r"(?<!number )(?<!amount )\b(?:of|in|for|from|at|by|with|to|is|are|was|were) "
    r"(?:the |all |our )?$",
    re.IGNORECASE,
)
"""Before a word that is a value rather than a word for rows."""
_PERIODS = frozenset(map(stem, ("year", "quarter", "month", "week", "day", "weekday", "hour")))
LIKE = 0.7  # Of two words for the same thing, as the embedder has it
IMPLYING = 50  # Cells of a column that is used whose words are taken to be about it


def read(
    question: str, tables: Sequence[AskedTable], wanted: Wanted | None = None
) -> Reading | None:
    """Over that of the likeliest tables which leaves no word unplaced, or the likeliest. Where
    values are wanted under names, what follows the first paragraph says how they are computed and
    called, not what is asked."""
    whole, wanted = question, wanted or Wanted()
    if wanted.names:
        question = next(filter(None, map(str.strip, parts(question).body.split("\n"))), question)
    question = _NUMBERED.sub("", question)
    resolver, named = Resolver(tables), {table.table.id: 0 for table in tables}
    for one in resolver.values(question):
        named[one.table] += 2
    for mention in resolver.mentions(question):
        named[mention.resolved.table] += 1
    for table in tables:
        titles = stems(table.table.name, table.table.title)
        named[table.table.id] += 2 * sum(stem(atom.text) in titles for atom in atoms(question))
    likely = sorted(tables, key=lambda table: -named[table.table.id])[:MOST_TABLES]
    asked = [_Asked(question, table, Resolver([table]), whole, wanted) for table in likely]
    found = [one for one in map(_reading, asked) if one is not None]
    if not found:
        return None

    def order(one: Reading) -> tuple[bool, int, int, float]:
        return bool(one.unplaced), -named[one.query.table], len(one.unplaced), one.doubt

    best = min(found, key=order)
    # Among several tables a word without a condition may be about another.
    elsewhere = {*best.taken} - {*best.meant} and len(tables) > 1
    return replace(best, unplaced=best.taken) if elsewhere else best


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question over one table."""

    question: str
    table: AskedTable
    resolver: Resolver
    whole: str  # With what is said of how values are computed and called
    wanted: Wanted

    @property
    def columns(self) -> Sequence[ColumnProfile]:
        return self.table.profile.columns[:MOST_COLUMNS]


def _reading(asked: _Asked) -> Reading | None:
    """The likeliest form; other forms that come to the same cells make it likelier."""
    given = f"query: {asked.question} | {shown(asked.question, asked.table, asked.columns)}"
    likeliest = understander().write(given)
    first = _read_form(likeliest, asked)
    if first is not None and not first.unplaced and SETTLED < first.doubt < 1.0:
        cells = _cells_of(first, asked.table)
        for written in understander().several(given):
            other = _read_form(written, asked)
            if other and written.text != likeliest.text and cells == _cells_of(other, asked.table):
                first = replace(first, doubt=max(0.0, first.doubt - written.likelihood))
    return first


def _cells_of(reading: Reading, asked: AskedTable) -> JsonValue:
    """What it comes to; itself, where that is not known."""
    try:
        computed = [asked.compute(one) for one in queries(reading)] if asked.compute else []
    except SecondlookError:
        computed = []
    return list(values_of(reading, computed).values()) or reading.said


def _read_form(written: Written, asked: _Asked) -> Reading | None:
    question, table, wanted = asked.question, asked.table, asked.wanted
    columns = {f"c{at}": one for at, one in enumerate(asked.columns, 1)}
    try:
        form = parsed(signed(written.text), list(columns))
    except FormError:
        return None
    if form.act == "none":
        words = unknown_words(question, table)
        return _unread(table, words) if words else None
    if _invents_numbers(form, question):
        return None
    made = Maker(table, columns, form, stems(question), methods_in(asked.whole))
    try:
        first, *more = made.queries()
        unplaced, taken, meant = left_over(question, made, asked.resolver, task=bool(wanted.names))
    except Unplaced as lost:
        return _unread(table, (_as_typed(lost.words, question),))
    told = [f", with no condition for {one!r}" for one in taken]
    told += [f", with {said!r} for {named!r}" for named, said in meant.items()]
    said = "".join((made.said, *told))
    outputs: tuple[Output, ...] | None = made.outputs
    if wanted.names and (first.measures or len(wanted.names) > 1 or not wanted.texts):
        outputs = named_outputs(wanted, first, table, asked.whole) if not more else None
    if outputs is None:
        return None
    return Reading(
        query=first,
        said=said,
        doubt=1.0 if made.is_vague else 1.0 - written.likelihood,
        resolved=tuple(made.resolved()),
        answer=made.answer,
        outputs=outputs,
        more=tuple(more),
        operation=_operation(question, form),
        rows=table.profile.rows,
        unplaced=unplaced,
        taken=(*taken, *meant),
        meant=tuple(meant),
    )


def _invents_numbers(form: Form, question: str) -> bool:
    """Whether a condition is on a number, or a year, that nobody said."""
    said = set(_DIGITS.findall(question.replace(",", "")))
    said |= {f"{NUMBER_WORDS[x.text]:g}" for x in atoms(question) if x.text in NUMBER_WORDS}
    return any(
        (numbers := set(_DIGITS.findall(value.replace(",", "")))) and not numbers & said
        for one in (*form.where, *form.between)
        if one.key.part in {"", "year"}
        for value in one.values
    )


def _unread(asked: AskedTable, words: tuple[str, ...]) -> Reading:
    """Nothing but the words that have no place."""
    return Reading(
        query=Query(table=asked.table.id), said="", doubt=1.0, resolved=(), answer="value",
        unplaced=words,
    )  # fmt: skip


def _as_typed(words: str, question: str) -> str:
    """`laptops`, where the model wrote `laptop`."""
    named = [one for one in atoms(question) if stem(one.text) in stems(words)]
    return question[named[0].start : named[-1].end] if named else words


def unknown_words(question: str, asked: AskedTable) -> tuple[str, ...]:
    """Words that neither the table nor people who ask tables have."""
    columns = asked.profile.columns
    known = stems(asked.table.name, asked.table.title, *(one.name for one in columns))
    known |= stems(*(cell for one in columns for cell in _cells(one, asked)[:IMPLYING]))
    words = (atom.text for atom in atoms(question))
    return tuple(one for one in words if _is_left(one, set(), known, set(), ()))


def _operation(question: str, form: Form) -> Operation | None:
    if form.act != "difference":
        return None
    return "apart" if "differ" in question.casefold() else "difference"


# The table as the model sees it


def shown(question: str, asked: AskedTable, columns: Sequence[ColumnProfile]) -> str:
    parts = []
    for column in columns:
        cells = [one[:LONGEST_CELL] for one in _cells(column, asked) if one.strip()]
        named = matching(question, cells)[:MATCHED] if column.type not in NUMERIC else []
        kind = "date" if column.type in TEMPORAL else "text"
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


def matching(question: str, cells: Sequence[str]) -> list[str]:
    """Cells that the question names."""
    words = plain(question)
    return [one for one in cells if plain(one) in words]


def described(header: str, kind: str, cells: Sequence[str], named: Sequence[str]) -> str:
    is_whole = kind == "text" and len(cells) <= FEW and sum(map(len, cells)) <= ROOM
    seen = cells if is_whole else cells[:SHOWN]
    few = [" ".join(one.split()) for one in dict.fromkeys([*named, *seen])]
    name = " ".join(header.split())
    return f"{name} ({kind}: {', '.join(few)})" if few else f"{name} ({kind})"


def shown_table(name: str, columns: Sequence[str]) -> str:
    """Columns are numbered, and forms name them by their numbers: what is short is written fast,
    and a column that is not there cannot be written."""
    numbered = " ; ".join(f"c{at} {one}" for at, one in enumerate(columns, 1))
    return f"table {name}: {numbered}" if name else f"table: {numbered}"


# What a reading must account for


def left_over(
    question: str, made: Maker, resolver: Resolver, *, task: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Words that name something and have no place in the reading: cells, numbers, and words that
    are neither general nor those of a column it uses. Then those that may mean its rows, as
    `athletes` does: the model writes a condition for a value, also for one that is not there. And
    those that are other words for a cell of the reading, which is given with them."""
    form, columns = made.form, [made.asked.profile.column(name) for name in made.used]
    used = [one for one in columns if one is not None]
    said = [value for one in (*form.where, *form.between) for value in one.values]
    placed = stems(*said, form.n) | stems(made.methods.said, chart_words(question))
    placed |= {one.at for one in (form, *form.more) if one.at}
    known = stems(*made.used, made.asked.table.name, made.asked.table.title)
    implied = stems(*(value for one in used for value in _cells(one, made.asked)[:IMPLYING]))
    words = [atom.text for atom in atoms(question)]
    loose = [one for one in words if _is_left(one, placed, known, implied, (*said, form.n))]
    if task:  # it is told at length what to do; columns stand in quotes
        loose = [one for one in loose if one.isdigit()]
        quoted = (one or other for one, other in QUOTED.findall(question))
        loose += [one for one in quoted if not stems(one) <= known | placed]
    meant = other_words(loose, question, made)
    loose = [one for one in loose if one not in meant]
    left: list[str] = []
    for mention in resolver.values(question):
        named = stems(question[mention.start : mention.end])
        if mention.score >= AS_WRITTEN and not named <= placed | known and not named & implied:
            left.append(mention.value)
    measured = {one.name for one in made.asked.profile.columns if one.type in {*NUMERIC, *TEMPORAL}}
    for column in resolver.mentions(question):
        text, one = question[column.start : column.end], column.resolved
        if one.score >= NAMED and one.column in measured and not stems(text) <= placed | known:
            left.append(text)
    for group in _PER.findall(question):
        known_by = (same_word(stem(group.casefold()), one) for one in known | _PERIODS)
        left += [] if any(known_by) else [group]
    months = [one or other for one, other in _MONTH.findall(question)]
    left += [one for one in months if stem(one.casefold()) not in placed]
    if (
        form.act in {"show", "distinct"}
        and not form.where
        and not stems(*made.used) & stems(question)
    ):
        left += words[:1]  # a whole column that nobody named
    nouns = [stem(one.casefold()) for one in _FIGURED.findall(question)]
    counted = QUANTITIES | _figures().keys()
    left += [one for one in nouns if one not in counted and _measures_other(one, made)]
    figures = {one.figure for one in made.figures}
    own = known | implied | stems(made.methods.said)
    left += [one for one in words if figure_of(one, own) not in {"", *figures}]
    small = [
        atom.text
        for atom in atoms(question)
        if question[atom.start].islower() and not _VALUED.search(question[: atom.start])
    ]
    taken = [one for one in dict.fromkeys(loose) if one in small and stem(one) != "column"]
    if left or len(set(loose)) > MOST_TAKEN or len(taken) < len(set(loose)):
        return tuple(dict.fromkeys((*loose, *left))), (), {}
    return (), tuple(taken), meant


def other_words(words: Sequence[str], question: str, made: Maker) -> dict[str, str]:
    """Words that come closer in meaning to a cell of a condition, which the question does not name,
    than to any other cell or header: `food` where the reading has `groceries`. A header is no such
    thing: `laptops` are devices, and a reading of all devices has dropped them."""
    form, asked, named = made.form, made.asked, stems(question)
    said = [one for one in (*form.where, *form.between) if one.key.column in made.columns]
    held = [made.columns[one.key.column] for one in said]
    values = {plain(value) for one in said for value in one.values}
    cells = [x for one in held if one.type == "text" for x in _cells(one, asked)[:IMPLYING]]
    own = {one for one in cells if plain(one) in values and not stems(one) & named}
    if not words or not own:
        return {}
    headers = [one.name.replace("_", " ") for one in asked.profile.columns]
    things = list(dict.fromkeys((*cells, *headers)))
    vectors = load_embedder().embed_passages([*things, *words])
    close = vectors[len(things) :] @ vectors[: len(things)].T
    nearest = {word: things[int(row.argmax())] for word, row in zip(words, close, strict=True)}
    likeness = dict(zip(words, close.max(axis=1), strict=True))
    return {word: one for word, one in nearest.items() if one in own and likeness[word] >= LIKE}


def _is_left(
    text: str, placed: set[str], known: set[str], implied: set[str], said: Sequence[str]
) -> bool:
    """Whether a word has no place among values, headers, the cells below them, general words."""
    word, general = stem(text), general_words()
    if word in placed or text in placed or text in FUNCTION_WORDS:
        return False
    if text.isdigit():
        return not any(text in re.sub(r"[,.]", "", one) or text in one for one in said)
    if len(text) < 2 or word in general or text in general:  # noqa: PLR2004
        return False
    if any(same_word(word, one) for one in known) or word in implied:
        return False
    return not text.endswith(("ed", "ing"))  # what somebody did; cells are asked for apart


def _measures_other(noun: str, made: Maker) -> bool:
    """`total revenue` of a table that has none is no total of its units."""
    groups = [one for one in measures() if noun in one]
    named = stems(*made.used)
    return bool(groups) and not any(
        same_word(noun, word) or any(word in one for one in groups) for word in named
    )


@cache
def _words() -> tuple[str, str, str]:
    text = (find_weights("understander").folder / "words.txt").read_text("utf-8")
    general, alike, figures = text.splitlines()
    return general, alike, figures


@cache
def general_words() -> frozenset[str]:
    """Words that people use with tables of any kind, as counted in the training data: they ask, and
    name nothing."""
    return frozenset(_words()[0].split())


@cache
def measures() -> tuple[frozenset[str], ...]:
    """Pairs of words, as stems, that measure the same."""
    return tuple(frozenset(two.split("=")) for two in _words()[1].split())


def figure_of(word: str, known: set[str]) -> str:
    """The figure that a word stands for, as it does in nearly all of the training data; none where
    it is a word of the table."""
    return "" if stem(word) in known else _figures().get(stem(word), "")


@cache
def _figures() -> dict[str, str]:
    pairs = (one.split("=") for one in _words()[2].split())
    return {word: figure.replace("_", " ") for word, figure in pairs}
