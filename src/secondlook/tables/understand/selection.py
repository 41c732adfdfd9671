"""Rows that a statistic is over: values that a question names, comparisons beside a column.

Stricter than `filters`: a condition that is not there spoils every number, so each must stand
right beside its column or be a value just as a cell has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Term
from secondlook.tables.resolver import is_in_capitals
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.filters import Clause
from secondlook.tables.understand.lexicon import FILLER, NUMBER, sentences, spans_of, statistics_in
from secondlook.tables.words import STOP_WORDS, atoms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.query import Arithmetic, Comparison, PartOfDate
    from secondlook.tables.resolver import AskedTable, Mention, Resolver, ValueMention
    from secondlook.tables.understand.lexicon import Span

_SIGNS: tuple[tuple[Comparison, str], ...] = (
    (">=", r"(?:greater|larger|more|higher|older) than or equal to|>=|\u2265|at least|since|from"),
    ("<=", r"(?:less|smaller|lower|fewer|younger) than or equal to|<=|\u2264|at most|up to|until"),
    ("!=", r"not equal to|!=|other than|not"),
    (">", r"(?:greater|larger|more|higher|later|older) than|>|above|over|exceed\w*|after|beyond"),
    ("<", r"(?:less|smaller|lower|fewer|earlier|younger) than|<|below|under|before"),
    ("=", r"equal(?:s|ing)?(?: to)?|==?|is|was"),
)
SIGN = "|".join(f"(?P<s{at}>{words})" for at, (_, words) in enumerate(_SIGNS))
_LINKS = r"column|values?|is|are|was|were|being|that|has|have|the|years?"
BETWEEN_WORDS = rf"[\"'\u201d)\s]*(?:\s*\b(?:{_LINKS})\b)*\s*"
COMPARED = re.compile(
    rf"^{BETWEEN_WORDS}(?:{SIGN})?\s*(?:the )?(?:year )?(?P<value>{NUMBER})(?P<on> (?:and|or)"
    r" (?:beyond|later|above|more|after|older|onwards?))?(?!\s*(?:standard|decimal|\.\d|times|%))",
    re.IGNORECASE,
)
OF_TIME = re.compile(r"\b(?:since|after|before|until|from|later|earlier)\b", re.IGNORECASE)
"""What compares times only."""
REVERSED = re.compile(rf"\b(?:{SIGN})\s+(?P<value>{NUMBER})\s*[\"'\u201c]?$", re.IGNORECASE)
RANGE = re.compile(rf"^{BETWEEN_WORDS}between\s+({NUMBER})\s+and\s+({NUMBER})", re.IGNORECASE)
IN_YEAR = re.compile(
    r"\b(?P<how>in|during|for|after|since|before|beyond|from)\s+(?:the\s+)?(?:years?\s+)?(?P<year>(?:1[5-9]|20)\d{2})\b"
    r"(?!\s*[-\u2013])",
    re.IGNORECASE,
)
YEAR_SIGNS: dict[str, Comparison] = {
    "after": ">", "beyond": ">", "since": ">=", "from": ">=", "before": "<",
}  # fmt: skip
SAMPLE, MOSTLY = 200, 0.5
SPELT_NUMBER = re.compile(r"\s*(?:[-+]?\d[\d,]*(?:\.\d+)?|\d+:\d{2}(?::\d{2})?)\s*")
BEFORE_A_GROUP = re.compile(r"\b(?:by|per|each|every|between|and)\s+(?:the\s+)?$", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not|never|non|un)[\s-]*(?:been |be )?$", re.IGNORECASE)
FEW = 60
"""Values that a column may have for a plain word to be taken for one of them."""
LONGEST = 60
OPENING, CLOSING = frozenset("\"'`\u201c\u2018"), frozenset("\"'`\u201d\u2019")


def chosen_rows(
    text: str,
    table: AskedTable,
    mentions: Sequence[Mention],
    resolver: Resolver,
    covered: Iterable[Span],
) -> list[Clause]:
    """Of a question itself. `covered`: what is known to mean something else."""
    named = [one for one in mentions if one.end <= len(text)]
    taken = [*covered, *spans_of(statistics_in(text))]
    compared = _comparisons(text, table, mentions)
    years = _years(text, table, [*taken, *spans_of(compared)])
    columns = frozenset(one.resolved.column for one in mentions)
    values = _values(text, table, resolver, [*taken, *spans_of(named)], columns)
    found = [*compared, *years, *values, *_truths(text, table, named)]
    return sorted(found, key=lambda one: one.start)


def _truths(question: str, table: AskedTable, mentions: Sequence[Mention]) -> list[Clause]:
    """`returned orders`, of a column that says yes or no; not `by returned`."""
    found: dict[str, Clause] = {}
    for one in mentions:
        column = one.resolved.column
        before = question[max(0, one.start - 20) : one.start]
        if _type(table, column) != "boolean" or BEFORE_A_GROUP.search(before):
            continue
        denied = DENIED.search(before) is not None
        condition = Filter(column=column, comparison="=", value=not denied)
        said = f"{column} is {'false' if denied else 'true'}"
        found.setdefault(column, Clause(one.start, one.end, condition, said))
    return list(found.values())


def _type(table: AskedTable, column: str) -> str:
    return next(one.type for one in table.table.columns if one.name == column)


def _comparisons(question: str, table: AskedTable, mentions: Sequence[Mention]) -> list[Clause]:
    found = []
    for low, high in sentences(question):
        within = [one for one in mentions if low <= one.start < high]
        for at, one in enumerate(within):
            column, kind = one.resolved.column, _type(table, one.resolved.column)
            if kind not in NUMERIC | TEMPORAL:
                continue
            before = REVERSED.search(question[low : one.start])
            if before is not None:  # `more than 10 units`
                sign, value = _sign(before) or "=", float(before["value"])
                found.append(_chosen((low + before.start(), one.end), column, sign, value))
                continue
            stop = within[at + 1].start if at + 1 < len(within) else high
            part: PartOfDate | None = "year" if kind in TEMPORAL else None
            found += _compared(question, one, stop, part)
    return found


def _sign(match: re.Match[str]) -> Comparison | None:
    return next((sign for at, (sign, _) in enumerate(_SIGNS) if match[f"s{at}"]), None)


def _compared(question: str, one: Mention, stop: int, part: PartOfDate | None) -> list[Clause]:
    column, tail = one.resolved.column, question[one.end : stop]
    between = RANGE.match(tail)
    if between is not None:
        span = one.start, one.end + between.end()
        return [
            _chosen(span, column, ">=", float(between[1]), part),
            _chosen(span, column, "<=", float(between[2]), part),
        ]
    match = COMPARED.match(tail)
    if match is None:
        return []
    said, is_year = _sign(match), column.strip().casefold() == "year"
    if not is_year and (
        (not said and not match["on"]) or (part is None and OF_TIME.search(match[0]))
    ):
        return []
    sign = ">=" if match["on"] else said or "="
    return [_chosen((one.start, one.end + match.end()), column, sign, float(match["value"]), part)]


def _chosen(
    span: Span, column: str, sign: Comparison, value: float, part: PartOfDate | None = None
) -> Clause:
    number = int(value) if value == int(value) else value
    condition = Filter(column=column, comparison=sign, value=number, part=part)
    return Clause(*span, condition, f"{column} {sign} {number}")


def _years(question: str, table: AskedTable, taken: Sequence[tuple[int, int]]) -> list[Clause]:
    """`in 2010`, where one column holds the years or the dates."""
    columns = [one for one in table.table.columns if one.name.strip().casefold() == "year"]
    columns = columns or [one for one in table.table.columns if one.type in TEMPORAL]
    if len(columns) != 1 or columns[0].type not in NUMERIC | TEMPORAL:
        return []
    part: PartOfDate | None = "year" if columns[0].type in TEMPORAL else None
    return [
        _chosen(
            match.span(),
            columns[0].name,
            YEAR_SIGNS.get(match["how"].lower(), "="),
            float(match["year"]),
            part,
        )
        for match in IN_YEAR.finditer(question)
        if not _overlaps(match.start(), match.end(), taken)
    ]


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < high and end > low for low, high in spans)


def _values(
    question: str,
    table: AskedTable,
    resolver: Resolver,
    taken: Sequence[tuple[int, int]],
    named: frozenset[str],
) -> list[Clause]:
    """Not of a column that is itself named and holds numbers: that one is measured."""
    by_place: dict[tuple[int, int], list[ValueMention]] = {}
    for one in resolver.values(question):
        measured = one.column in named and _type(table, one.column) != "boolean"
        if measured and spells_numbers(table, one.column):
            continue
        if not _overlaps(one.start, one.end, taken) and is_a_name(question, table, one):
            by_place.setdefault((one.start, one.end), []).append(one)
    found: dict[str, list[ValueMention]] = {}
    for mentions in by_place.values():
        if len({one.column for one in mentions}) == 1:
            found.setdefault(mentions[0].column, []).append(mentions[0])
    chosen = []
    for column, some in found.items():
        values = tuple(dict.fromkeys(one.value for one in some))
        if len(values) == 1:
            condition = Filter(column=column, comparison="=", value=values[0])
            end, said = some[0].end, f"{column} is {values[0]!r}"
        else:
            condition = Filter(column=column, comparison="in", values=values)
            end, said = some[-1].end, f"{column} is one of {', '.join(map(repr, values))}"
        chosen.append(Clause(some[0].start, end, condition, said))
    return chosen


def spells_numbers(table: AskedTable, column: str) -> bool:
    """A text column whose cells are mostly numbers or times of the form 1:02:03."""
    values = list(table.values(column))[:SAMPLE]
    numbers = sum(SPELT_NUMBER.fullmatch(one) is not None for one in values)
    return len(values) > 1 and numbers >= MOSTLY * len(values)


def is_a_name(question: str, table: AskedTable, one: ValueMention) -> bool:
    written = question[one.start : one.end]
    if written == one.value and is_in_capitals(question, written):
        return True
    if len(one.value) > LONGEST or written.casefold() in STOP_WORDS:
        return False
    profile = table.profile.column(one.column)
    is_one_of_few = profile is not None and 0 < profile.distinct <= FEW
    if written.casefold() in FILLER:  # "Engineering", where that is a department
        return is_one_of_few
    before, after = question[max(0, one.start - 1) : one.start], question[one.end : one.end + 1]
    if before in OPENING and after in CLOSING:
        return True
    if written.replace(".", "").isdigit():
        return False
    capital = written == one.value and not written.islower() and one.start > 0
    return is_one_of_few or capital or len(atoms(written)) > 1


# Groups of rows that a question speaks of: each class, by month, age groups with their bounds.

EACH = re.compile(
    r"\b(?:(?:for|in|of|within|at|on|from) )?(?:each|every)\b|\bper\b|\bby\b"
    r"|\bgroup(?:ed|ing)? by\b"
    r"|\bacross(?: (?:all|the|different))*\b|\bbroken down by\b|\bfor (?:the )?different\b"
    r"|\bseparately for\b|\bamong(?: the)?(?: different)?\b",
    re.IGNORECASE,
)
PARTS: dict[str, PartOfDate] = {
    "year": "year", "yearly": "year", "annual": "year", "annually": "year",
    "quarter": "quarter", "quarterly": "quarter", "month": "month", "monthly": "month",
    "weekday": "weekday", "hour": "hour", "hourly": "hour",
}  # fmt: skip
ADVERBS = re.compile(r"\b(?:yearly|annual(?:ly)?|quarterly|monthly|hourly)\b", re.IGNORECASE)
ALSO = re.compile(r"[\"'\u201d]?\s*(?:,|and|&|,\s*and)\s*(?:by |the )?[\"'\u201c]?", re.IGNORECASE)
NEAR = 25
SURE_ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class Group:
    key: Key
    start: int
    end: int


def groups_in(text: str, mentions: Sequence[Mention], table: AskedTable) -> list[Group]:
    """What rows are grouped by, in the order of the text."""
    found: list[Group] = []
    for cue in EACH.finditer(text):
        near = _mention_after(text, cue.end(), mentions)
        if near is not None and _can_group(near, table):
            found.append(Group(Key(column=near.resolved.column), cue.start(), near.end))
            found += _further(text, near, mentions, table)
            continue
        if near is not None:
            continue
        word = re.match(r"\s*(?:calendar )?(\w+)", text[cue.end() :])
        part = PARTS.get(word[1].lower().removesuffix("s")) if word else None
        dated = the_date(table)
        if word and part and dated:
            key = Key(column=dated, part=part)
            found.append(Group(key, cue.start(), cue.end() + word.end()))
    dated = the_date(table)
    if dated is not None:  # `the monthly total`
        found += [
            Group(Key(column=dated, part=PARTS[match[0].lower()]), *match.span())
            for match in ADVERBS.finditer(text)
        ]
    return list({one.key: one for one in reversed(found)}.values())[::-1]


def _further(
    text: str, first: Mention, mentions: Sequence[Mention], table: AskedTable
) -> list[Group]:
    """`by region and product`."""
    found, last = [], first
    for one in mentions:
        joined = one.start >= last.end and ALSO.fullmatch(text[last.end : one.start])
        if joined and _can_group(one, table):
            found.append(Group(Key(column=one.resolved.column), last.end, one.end))
            last = one
    return found


def cued(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The columns that stand right after a word for grouping, whether they can group or not."""
    after = [_mention_after(text, cue.end(), mentions) for cue in EACH.finditer(text)]
    return [one for one in after if one is not None]


def _can_group(mention: Mention, table: AskedTable) -> bool:
    """Named almost as it is; numbers only where their values repeat."""
    if mention.resolved.score < SURE_ENOUGH:
        return False
    column = mention.resolved.column
    profile = table.profile.column(column)
    kind = next((one.type for one in table.table.columns if one.name == column), "text")
    measures = kind in NUMERIC
    return not measures or profile is None or profile.distinct * 2 <= profile.rows


def _mention_after(text: str, at: int, mentions: Sequence[Mention]) -> Mention | None:
    for one in mentions:
        between = text[at : one.start]
        if one.start >= at and len(between) <= NEAR and not re.search(r"[.,;:?!\n]", between):
            if statistics_in(between) or "'s" in between or "\u2019s" in between:
                return None
            words = [atom.text for atom in atoms(between)]
            if len([word for word in words if word not in STOP_WORDS]) <= 1:
                return one
    return None


def the_date(table: AskedTable) -> str | None:
    """The table's only column of dates."""
    dates = [one.name for one in table.table.columns if one.type in {"date", "datetime"}]
    return dates[0] if len(dates) == 1 else None


# New columns that a question describes: a difference, a sum, a ratio of others.

NEW = re.compile(
    r"\b(?:new|additional|derived) (?:column|feature|variable|attribute|field)\b"
    r"|\b(?:create|add|generate|derive|define)\w*\b[^.\n]{0,30}\b(?:column|feature|variable)\b",
    re.IGNORECASE,
)
NAMED = re.compile(
    r"\b(?:called|named|as|:)?\s*[\"'\u201c`]([^\"'\u201c\u201d`\n]{2,60})[\"'\u201d`]",
    re.IGNORECASE,
)
CUES: tuple[tuple[Arithmetic, re.Pattern[str], bool], ...] = tuple(
    (operator, re.compile(pattern, re.IGNORECASE), reverse)  # type: ignore[misc]
    for operator, pattern, reverse in (
        ("-", r"\bsubtract\w*\b", True),
        ("-", r"\bdifferences?\b", False),
        ("/", r"\b(?:ratio|divid\w*|quotient)\b", False),
        ("*", r"\b(?:product of|multipl\w*)\b", False),
        (
            "+",
            r"\b(?:sum(?:s|med|ming)? (?:of|up)?|add(?:ing|ed)?(?: up)?|plus|total of|combin\w*)",
            False,
        ),
    )
)
"""Operator, what says it, and whether the order is reversed: subtract A from B is B - A."""
_AROUND = r"[\s\"'\u201c\u201d`()]*(?:columns?)?\s*"
_SIGN = r"[-+*/\u2212\u00d7]|multiplied by|times|divided by|plus|minus|added to"
FORMULA = re.compile(rf"^{_AROUND}({_SIGN})\s*(?:the )?{_AROUND}$", re.IGNORECASE)
SPELT: dict[str, Arithmetic] = {
    "+": "+", "plus": "+", "added to": "+", "-": "-", "\u2212": "-", "minus": "-",
    "*": "*", "\u00d7": "*", "times": "*", "multiplied by": "*", "/": "/", "divided by": "/",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Derived:
    name: str
    term: Term
    spans: tuple[tuple[int, int], ...]
    """What of the text says it."""
    columns: tuple[str, ...]


def derived_in(text: str, mentions: Sequence[Mention]) -> Derived | None:
    """The first new column of the text; None where there is none or it is not understood."""
    start = NEW.search(text)
    if start is None:
        return None
    columns = {one.resolved.column for one in mentions if one.resolved.how == "exact"}
    names = (match[1] for match in NAMED.finditer(text, start.start()))
    name, term = next((one for one in names if one not in columns), "new column"), None
    spans = [match.span() for match in NEW.finditer(text)]
    for span in sentences(text):
        if span[1] <= start.start():
            continue
        within = [one for one in mentions if span[0] <= one.start < span[1]]
        found = _term(span, text, within)
        if found is not None:
            spans += [(one.end, two.start) for one, two in pairwise(within)]
            spans += [cue.span() for _, pattern, _ in CUES for cue in pattern.finditer(text, *span)]
            spans += [match.span() for match in NAMED.finditer(text, *span)]
            term = term or found
    if term is None:
        return None
    others = (term.other, *(one for _, one in term.rest))
    parts = (term.column, *(one for one in others if isinstance(one, str)))
    return Derived(name, term, tuple(spans), parts)


def _term(span: Span, text: str, mentions: Sequence[Mention]) -> Term | None:
    """`A - B`, spelt out or described."""
    for one, other in pairwise(mentions):
        sign = FORMULA.match(text[one.end : other.start])
        if sign is not None:
            operator = SPELT[sign[1].lower()]
            return Term(column=one.resolved.column, operator=operator, other=other.resolved.column)
    for operator, pattern, reverse in CUES:
        for cue in pattern.finditer(text, *span):
            named = (one.resolved.column for one in mentions if one.start >= cue.end())
            columns = list(dict.fromkeys(named))
            if len(columns) < 2:  # noqa: PLR2004
                continue
            first, second, *rest = columns
            if reverse:
                first, second = second, first
            more = tuple(("+", one) for one in rest) if operator == "+" else ()
            return Term(column=first, operator=operator, other=second, rest=more)  # type: ignore[arg-type]
    return None
