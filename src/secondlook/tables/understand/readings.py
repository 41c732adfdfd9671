"""What reading a question over tables comes to: data only."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import TypeAdapter

from secondlook.answer import Scalar  # noqa: TC001 - readings are stored by their types
from secondlook.tables.query import Query  # noqa: TC001
from secondlook.tables.resolver import Resolved  # noqa: TC001
from secondlook.tables.words import NUMBER_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from secondlook.tables.query import Computed

Operation = Literal["difference", "apart"]
"""`difference` is the first less the second, `apart` the same without its sign."""
AnswerForm = Literal["value", "list"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form in which a question wants its values, as in `@mean_fare[value]`."""

    names: tuple[str, ...] = ()
    decimals: int | None = None
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Per name the words it may be: `("Normal", "Non-normal")`."""
    each: Mapping[str, int] = field(default_factory=dict)
    """Decimals of single names, where the question tells them apart."""
    texts: frozenset[str] = frozenset()  # Names whose value is some text
    quoted: frozenset[str] = frozenset()  # Names whose texts stand in double quotes
    held: Mapping[str, str] = field(default_factory=dict)
    """What stands in the brackets of each name."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A test of one number of a result."""

    measure: str
    sign: Literal["<", "<=", ">", ">="]
    value: float
    absolute: bool = False  # Compare the size of the number, not its sign


@dataclass(frozen=True, slots=True)
class Case:
    """The word that holds where all of the bounds do."""

    word: str
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A wanted value: which number of the result it is, and how it is said."""

    name: str
    measure: str  # Column of the result
    query: int = 0  # 0 is the reading's first query, 1 the first of `more`
    group: tuple[Scalar, ...] = ()  # Of which group, where the result has several
    decimals: int | None = None
    cases: tuple[Case, ...] = ()  # The number turned into a word: the first case that holds
    every: Literal["list", "mapping"] | None = None
    """Every row of the result: the column's values, or groups with theirs."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a question."""

    query: Query
    said: str  # `mean of Fare over all rows`
    doubt: float  # 0..1: how likely it is wrong
    resolved: tuple[Resolved, ...]
    answer: AnswerForm
    outputs: tuple[Output, ...] = ()  # Empty: every measure under its own name
    more: tuple[Query, ...] = ()
    """Further queries: what `operation` combines with the first, or outputs refer to."""
    operation: Operation | None = None
    """Over the single values of `query` and `more`, in that order."""
    rows: int = 0  # Of the table
    unplaced: tuple[str, ...] = ()  # Content words of the question that it does not account for
    taken: tuple[str, ...] = ()
    """Words that it accounts for by nothing that they name, as `said` tells: those for which it has
    no condition, which may mean the rows, and `meant`."""
    meant: tuple[str, ...] = ()  # Words that were taken for a cell with another name


# The form in which a question wants its values: `@mean_fare[value]`, rounded to two places.

NAMED = re.compile(r"@(\w+)\s*\[([^\]\n]*)\]?")
WRAPPED = re.compile(r"(?<=[a-z,]) *\n *(?=[\"'\u201c][a-zA-Z])")
"""A line that goes on with a quoted word."""
INSTEAD = re.compile(r"[\"'](?:\w+ ){2,}\w+[.!]?[\"']")
"""A sentence to be said in place of the values."""
TEXT = re.compile(
    r"\b(?:strings?|names?|ids?|dates?|data ?frames?|lists?|descriptions?|csv|separated by)\b",
    re.IGNORECASE,
)
AND = re.compile(
    r",?\s+and\s+(?=[\"'\u201c]\w)|,\s*(?=[\"'\u201c]\w[\w ]*[\"'\u201d] (?:is|are|should)\b)"
)
VERB = re.compile(
    r"\b(?:is|are|should|must|can|represents?|denotes?|rounded|stands?)\b", re.IGNORECASE
)
CLAUSES = re.compile(r"\n|;|\.\s+|\.$|\bwhere\b")
PLACES = re.compile(
    r"\b(\d+|zero|one|two|three|four|five|six)\s*[- ]?(?:decimals?\b|digits? after)", re.IGNORECASE
)
WHOLE = re.compile(
    r"\b(?:nearest|closest) (?:integer|whole number)\b|\bto an integer\b", re.IGNORECASE
)
QUOTED = re.compile(r"[\"“]([^\"“”\n]{1,60})[\"”]|'([^'\n]{1,60})'")
WORDS_FOLLOW = re.compile(
    r"\b(?:string|word|either|one of|can be|is|are|be|values?|labels?|categor\w+|returns?)\b",
    re.IGNORECASE,
)


class Parts(NamedTuple):
    body: str
    form: str


def parts(question: str) -> Parts:
    """The form begins with the line, or sentence, that holds the first `@name[`."""
    question = WRAPPED.sub(" ", question.replace("\\n", "\n"))
    first = NAMED.search(question)
    if first is None:
        return Parts(question, "")
    start = question.rfind("\n", 0, first.start()) + 1
    cut = first.start()
    if question[start:cut].strip(" \t{"):
        stop = max(question.rfind(mark, start, cut) for mark in (". ", "? ", "! "))
        cut = stop + 1 if stop >= start else start
    return Parts(question[:cut].rstrip(" {\n\t"), question[cut:])


def wanted_of(question: str) -> Wanted:
    cut = parts(question)
    named = NAMED.findall(cut.form)
    named = [one for one in named if not INSTEAD.fullmatch(one[1].strip())] or named
    held = {name: inside.strip(" \"'") for name, inside in named}
    explained = _explained(cut.form, held)
    words = {name: allowed(said, held) for name, said in explained.items()}
    places = {name: decimals_in(said) for name, said in explained.items()}
    of_all = decimals_in(cut.form)
    return Wanted(
        names=tuple(held),
        decimals=of_all if of_all is not None else decimals_in(cut.body),
        forms={name: some for name, some in words.items() if some},
        each={name: count for name, count in places.items() if count is not None},
        texts=frozenset(one for one, said in explained.items() if TEXT.search(said)),
        quoted=frozenset(name for name, inside in named if inside.strip().startswith('"')),
        held=held,
    )


def _explained(form: str, held: Mapping[str, str]) -> dict[str, str]:
    """What the form says of each name: the clauses that speak of what its brackets hold."""
    tail = NAMED.sub(" ", form)
    clauses = [one for whole in CLAUSES.split(tail) for one in _statements(whole)]
    said: dict[str, str] = {}
    for name, inside in held.items():
        keys = "|".join(map(re.escape, {inside.casefold(), name.casefold()} - {""}))
        about = [one for one in clauses if re.search(rf"(?<!\w)(?:{keys})(?!\w)", one.casefold())]
        said[name] = ". ".join([inside, *about])
    return said


def _statements(clause: str) -> list[str]:
    """`"a" is a string and "b" is a number` says two things, `"a" and "b" are numbers` one."""
    found: list[str] = []
    pending = ""
    for part in AND.split(clause):
        pending = f"{pending} and {part}" if pending else part
        if VERB.search(pending):
            found.append(pending)
            pending = ""
    if pending.strip():
        found = [*found[:-1], f"{found[-1]} and {pending}"] if found else [pending]
    return [one for one in found if one.strip()]


def decimals_in(text: str) -> int | None:
    found = PLACES.search(text)
    if found is not None:
        return int(found[1]) if found[1].isdigit() else NUMBER_WORDS[found[1].lower()]
    return 0 if WHOLE.search(text) else None


def allowed(text: str, held: Mapping[str, str]) -> tuple[str, ...]:
    """Words that a value may be: two or more in quotes, after what introduces them."""
    start = WORDS_FOLLOW.search(text)
    if start is None:
        return ()
    words = [one or other for one, other in QUOTED.findall(text[start.start() :])]
    named = {*held, *held.values()}
    different = tuple(dict.fromkeys(word for word in words if word not in named))
    return different if len(different) > 1 else ()


# From what a reading's queries came to, to the values that were asked for.

SIGNS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def queries(reading: Reading) -> tuple[Query, ...]:
    return (reading.query, *reading.more)


def values_of(
    reading: Reading, computed: Sequence[Computed], wanted: Wanted | None = None
) -> dict[str, JsonValue]:
    """By the wanted names, where there are some; nothing where nothing follows."""
    wanted = wanted or Wanted()
    if len(computed) != 1 + len(reading.more):
        return {}
    if reading.operation is not None:
        return _named(wanted, {"answer": _operated(reading.operation, computed)})
    if reading.outputs:
        values = {one.name: _output(one, computed) for one in reading.outputs}
        return {
            name: f'"{value}"' if name in wanted.quoted and isinstance(value, str) else value
            for name, value in values.items()
        }
    if reading.query.measures:
        return _named(wanted, _measured(reading.query, computed[0], wanted))
    return _named(wanted, {"answer": _of_rows(reading, computed[0])})


def _named(wanted: Wanted, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Under the wanted names where they are as many; a value alone needs no other."""
    names = wanted.names if len(wanted.names) == len(values) else tuple(values)
    known = {
        name: _rounded(value, wanted.each.get(name, wanted.decimals))
        for name, value in zip(names, values.values(), strict=True)
    }
    return {name: value for name, value in known.items() if value is not None}


def _rounded(value: JsonValue, decimals: int | None) -> JsonValue:
    if decimals is None or not isinstance(value, float):
        return value
    return round(value, decimals)


def _cell(computed: Computed, column: str, row: tuple[Scalar, ...] | None) -> Scalar:
    if row is None or column not in computed.columns:
        return None
    return row[computed.columns.index(column)]


def _output(one: Output, computed: Sequence[Computed]) -> JsonValue:
    if not 0 <= one.query < len(computed):
        return None
    result = computed[one.query]
    if one.every is not None:
        values = [_rounded(_cell(result, one.measure, row), one.decimals) for row in result.rows]
        names = [str(row[0]) for row in result.rows]
        return values if one.every == "list" else dict(zip(names, values, strict=True))
    keys = len(one.group)
    row = next((row for row in result.rows if row[:keys] == one.group), None)
    for case in one.cases:
        cells = [_cell(result, bound.measure, row) for bound in case.bounds]
        numbers = [cell for cell in cells if isinstance(cell, int | float)]
        if len(numbers) < len(cells):
            return None
        if all(
            SIGNS[bound.sign](abs(value) if bound.absolute else value, bound.value)
            for bound, value in zip(case.bounds, numbers, strict=True)
        ):
            return case.word
    return None if one.cases else _rounded(_cell(result, one.measure, row), one.decimals)


def _measured(query: Query, computed: Computed, wanted: Wanted) -> dict[str, JsonValue]:
    keys = len(query.group_by)
    if not keys:
        row = computed.rows[0] if computed.rows else ()
        return dict(zip(computed.columns, row, strict=False))
    groups = [
        ", ".join("missing" if one is None else str(one) for one in row[:keys])
        for row in computed.rows
    ]
    return {
        one.name: {
            group: _rounded(row[keys + at], wanted.decimals)
            for group, row in zip(groups, computed.rows, strict=True)
        }
        for at, one in enumerate(query.measures)
    }


def _of_rows(reading: Reading, computed: Computed) -> JsonValue:
    if not computed.rows:
        return None
    if reading.answer == "value" and len(computed.rows) == 1:
        return computed.rows[0][0]
    if len(computed.columns) == 1:
        return [row[0] for row in computed.rows]
    return [dict(zip(computed.columns, row, strict=True)) for row in computed.rows]


def _operated(operation: Operation, computed: Sequence[Computed]) -> JsonValue:
    firsts = [one.rows[0][0] if one.rows and one.rows[0] else None for one in computed]
    numbers = [one for one in firsts if isinstance(one, int | float)]
    if len(numbers) != len(firsts) or len(numbers) < 2:  # noqa: PLR2004
        return None
    first, second = numbers[:2]
    return first - second if operation == "difference" else abs(first - second)


# Readings as plain JSON data and back: they outlive a restart of a run.


@cache
def _stored() -> TypeAdapter[Reading]:
    return TypeAdapter(Reading)


def reading_data(reading: Reading) -> dict[str, Any]:
    data: dict[str, Any] = _stored().dump_python(reading, mode="json")
    return data


def reading_from(data: dict[str, Any]) -> Reading:
    return _stored().validate_python(data)
