"""Rows that a statistic is over: values that a question names, comparisons beside a column.

Stricter than `filters`: a condition that is not there spoils every number, so each must stand
right beside its column or be a value just as a cell has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from secondlook.tables.query import Filter, Key, Term
from secondlook.tables.resolver import STOP_WORDS, atoms, is_in_capitals
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.lexicon import FILLER, NUMBER, options, sentences, statistics_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.query import Arithmetic, Comparison, Condition, PartOfDate
    from secondlook.tables.resolver import AskedTable, Mention, Resolver, ValueMention

_SIGNS: tuple[tuple[Comparison, str], ...] = (
    (">=", r"(?:greater|larger|more|higher|older) than or equal to|>=|\u2265|at least|since|from"),
    ("<=", r"(?:less|smaller|lower|fewer|younger) than or equal to|<=|\u2264|at most|up to|until"),
    ("!=", r"not equal to|!=|other than|not"),
    (
        ">",
        r"(?:greater|larger|more|higher|later|older) than|>|above|over|exceed\w*|after|beyond",
    ),
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
    "after": ">",
    "beyond": ">",
    "since": ">=",
    "from": ">=",
    "before": "<",
}
SAMPLE, MOSTLY = 200, 0.5
SPELT_NUMBER = re.compile(r"\s*(?:[-+]?\d[\d,]*(?:\.\d+)?|\d+:\d{2}(?::\d{2})?)\s*")
BEFORE_A_GROUP = re.compile(r"\b(?:by|per|each|every|between|and)\s+(?:the\s+)?$", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not|never|non|un)[\s-]*(?:been |be )?$", re.IGNORECASE)
FEW = 60
"""Values that a column may have for a plain word to be taken for one of them."""
LONGEST = 60
OPENING, CLOSING = frozenset("\"'`\u201c\u2018"), frozenset("\"'`\u201d\u2019")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Characters [start, end) of a question say which rows it is about."""

    start: int
    end: int
    condition: Condition
    said: str


def chosen_rows(  # noqa: PLR0917
    text: str,
    end: int,
    table: AskedTable,
    mentions: Sequence[Mention],
    resolver: Resolver,
    covered: Iterable[tuple[int, int]],
) -> list[Chosen]:
    """Of the first `end` characters, the question itself. `covered`: what is known to mean
    something else."""
    question = text[:end]
    taken = [*covered, *((one.start, one.end) for one in statistics_in(question))]
    compared = _restated(text, end, table, mentions)
    named = [(one.start, one.end) for one in mentions if one.end <= len(question)]
    years = _years(question, table, [*taken, *((one.start, one.end) for one in compared)])
    columns = frozenset(one.resolved.column for one in mentions)
    values = _values(question, table, resolver, [*taken, *named], columns)
    limit = options(text).limit
    compared = [one for one in compared if limit is None or _value(one) != limit]
    truths = _truths(question, table, mentions)
    return sorted([*compared, *years, *values, *truths], key=lambda one: one.start)


def _restated(text: str, end: int, table: AskedTable, mentions: Sequence[Mention]) -> list[Chosen]:
    """Comparisons of the question; where further lines compare the same column, theirs hold."""
    here = _comparisons(text[:end], table, mentions)
    columns = {_column(one) for one in here}
    there = [
        one
        for one in _comparisons(text, table, mentions)
        if one.start >= end and _column(one) in columns
    ]
    again = {_column(one) for one in there}
    kept = [one for one in here if _column(one) not in again]
    spans = {_column(one): (one.start, one.end) for one in here}
    return kept + [
        Chosen(*spans[_column(one)], one.condition, one.said)
        for one in {_column(each): each for each in there}.values()
    ]


def _value(one: Chosen) -> object:
    """Never that of an outlier's limit, which stands beside the column too."""
    return one.condition.value if isinstance(one.condition, Filter) else None


def _column(one: Chosen) -> str:
    return one.condition.column if isinstance(one.condition, Filter) else ""


def _truths(question: str, table: AskedTable, mentions: Sequence[Mention]) -> list[Chosen]:
    """`returned orders`, of a column that says yes or no; not `by returned`."""
    found: dict[str, Chosen] = {}
    for one in mentions:
        column = one.resolved.column
        if one.end > len(question) or _type(table, column) != "boolean":
            continue
        before = question[max(0, one.start - 20) : one.start]
        if BEFORE_A_GROUP.search(before):
            continue
        denied = DENIED.search(before) is not None
        condition = Filter(column=column, comparison="=", value=not denied)
        said = f"{column} is {'false' if denied else 'true'}"
        found.setdefault(column, Chosen(one.start, one.end, condition, said))
    return list(found.values())


def _type(table: AskedTable, column: str) -> str:
    return next(one.type for one in table.table.columns if one.name == column)


def _comparisons(question: str, table: AskedTable, mentions: Sequence[Mention]) -> list[Chosen]:
    found = []
    for low, high in sentences(question):
        within = [one for one in mentions if low <= one.start < high]
        for at, one in enumerate(within):
            kind = _type(table, one.resolved.column)
            if kind not in NUMERIC | TEMPORAL:
                continue
            before = REVERSED.search(question[low : one.start])
            if before is not None:
                found.append(_before(low, before, one))
                continue
            stop = within[at + 1].start if at + 1 < len(within) else high
            part: PartOfDate | None = "year" if kind in TEMPORAL else None
            found += _compared(question, one, stop, part)
    return found


def _before(low: int, match: re.Match[str], one: Mention) -> Chosen:
    """`more than 10 units`."""
    sign = next(sign for at, (sign, _) in enumerate(_SIGNS) if match[f"s{at}"])
    start, value = low + match.start(), float(match["value"])
    return _chosen(start, one.end, one.resolved.column, sign, value, None)


def _compared(question: str, one: Mention, stop: int, part: PartOfDate | None) -> list[Chosen]:
    column, tail = one.resolved.column, question[one.end : stop]
    between = RANGE.match(tail)
    if between is not None:
        return [
            _chosen(one.start, one.end + between.end(), column, ">=", float(between[1]), part),
            _chosen(one.start, one.end + between.end(), column, "<=", float(between[2]), part),
        ]
    match = COMPARED.match(tail)
    if match is None:
        return []
    said = [sign for at, (sign, _) in enumerate(_SIGNS) if match[f"s{at}"]]
    is_year = column.strip().casefold() == "year"
    if not said and not match["on"] and not is_year:
        return []
    if not is_year and part is None and OF_TIME.search(match[0]):
        return []
    sign = ">=" if match["on"] else (said[0] if said else "=")
    return [_chosen(one.start, one.end + match.end(), column, sign, float(match["value"]), part)]


def _chosen(  # noqa: PLR0917
    start: int,
    end: int,
    column: str,
    sign: Comparison,
    value: float,
    part: PartOfDate | None,
) -> Chosen:
    number = int(value) if value == int(value) else value
    condition = Filter(column=column, comparison=sign, value=number, part=part)
    return Chosen(start, end, condition, f"{column} {sign} {number}")


def _years(question: str, table: AskedTable, taken: Sequence[tuple[int, int]]) -> list[Chosen]:
    """`in 2010`, where one column holds the years or the dates."""
    columns = [one for one in table.table.columns if one.name.strip().casefold() == "year"]
    columns = columns or [one for one in table.table.columns if one.type in TEMPORAL]
    if len(columns) != 1 or columns[0].type not in NUMERIC | TEMPORAL:
        return []
    part: PartOfDate | None = "year" if columns[0].type in TEMPORAL else None
    return [
        _chosen(
            *match.span(),
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
) -> list[Chosen]:
    """Not of a column that is itself named and holds numbers: that one is measured."""
    by_place: dict[tuple[int, int], list[ValueMention]] = {}
    for one in resolver.values(question):
        measured = one.column in named and _type(table, one.column) != "boolean"
        if measured and spells_numbers(table, one.column):
            continue
        if not _overlaps(one.start, one.end, taken) and is_a_name(question, table, one):
            by_place.setdefault((one.start, one.end), []).append(one)
    found: dict[str, list[Chosen]] = {}
    for (start, end), mentions in by_place.items():
        columns = {one.column for one in mentions}
        if len(columns) == 1:
            one = mentions[0]
            condition = Filter(column=one.column, comparison="=", value=one.value)
            said = f"{one.column} is {one.value!r}"
            found.setdefault(one.column, []).append(Chosen(start, end, condition, said))
    return [_joined(column, some) for column, some in found.items()]


def spells_numbers(table: AskedTable, column: str) -> bool:
    """A text column whose cells are mostly numbers or times of the form 1:02:03."""
    values = list(table.values(column))[:SAMPLE]
    numbers = sum(SPELT_NUMBER.fullmatch(one) is not None for one in values)
    return len(values) > 1 and numbers >= MOSTLY * len(values)


def _joined(column: str, some: list[Chosen]) -> Chosen:
    """Several values of one column: any of them."""
    values = tuple(
        dict.fromkeys(one.condition.value for one in some if isinstance(one.condition, Filter))
    )
    if len(values) == 1:
        return some[0]
    condition = Filter(column=column, comparison="in", values=values)
    said = f"{column} is one of {', '.join(map(repr, values))}"
    return Chosen(some[0].start, some[-1].end, condition, said)


def is_a_name(question: str, table: AskedTable, one: ValueMention) -> bool:
    written = question[one.start : one.end]
    if written == one.value and is_in_capitals(question, written):
        return True
    if len(one.value) > LONGEST or written.casefold() in STOP_WORDS | FILLER:
        return False
    before, after = question[max(0, one.start - 1) : one.start], question[one.end : one.end + 1]
    if before in OPENING and after in CLOSING:
        return True
    if written.replace(".", "").isdigit():
        return False
    if len(atoms(written)) > 1 or (
        written == one.value and not written.islower() and one.start > 0
    ):
        return True
    profile = table.profile.column(one.column)
    return profile is not None and 0 < profile.distinct <= FEW


# Groups of rows that a question speaks of: each class, by month, age groups with their bounds.

EACH = re.compile(
    r"\b(?:(?:for|in|of|within|at|on|from) )?(?:each|every)\b|\bper\b|\bby\b"
    r"|\bgroup(?:ed|ing)? by\b"
    r"|\bacross(?: (?:all|the|different))*\b|\bbroken down by\b|\bfor (?:the )?different\b"
    r"|\bseparately for\b|\bamong(?: the)?(?: different)?\b",
    re.IGNORECASE,
)
PARTS: dict[str, PartOfDate] = {
    "year": "year",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
    "quarter": "quarter",
    "quarterly": "quarter",
    "month": "month",
    "monthly": "month",
    "weekday": "weekday",
    "hour": "hour",
    "hourly": "hour",
}
ADVERBS = re.compile(r"\b(?:yearly|annual(?:ly)?|quarterly|monthly|hourly)\b", re.IGNORECASE)
LABELLED = re.compile(
    r"[\"'\u201c]?(?P<label>[A-Za-z][\w -]{0,30}?)[\"'\u201d]?\s*[(:]\s*(?:ages?\s*)?(?:"
    r"(?P<low>\d+(?:\.\d+)?)\s*(?:-|\u2013|to|and)\s*(?P<high>\d+(?:\.\d+)?)"
    r"|(?P<above>\d+(?:\.\d+)?)(?:\s*\+|[^)\n,;]{0,20}?(?:and|or) "
    r"(?:above|older|more|over|up|higher))"
    r"|(?:under|below|less than|<)\s*(?P<below>\d+(?:\.\d+)?))[^)\n,;]{0,20}\)?",
    re.IGNORECASE,
)
ALSO = re.compile(r"[\"'\u201d]?\s*(?:,|and|&|,\s*and)\s*(?:by |the )?[\"'\u201c]?", re.IGNORECASE)
NEAR = 25
SURE_ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class Group:
    key: Key
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Interval:
    label: str
    low: float | None
    high: float | None
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
    found += _adverbs(text, table)
    unique: dict[Key, Group] = {}
    for one in found:
        unique.setdefault(one.key, one)
    return list(unique.values())


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


def _adverbs(text: str, table: AskedTable) -> list[Group]:
    """`the monthly total`."""
    dated = the_date(table)
    return [
        Group(Key(column=dated, part=PARTS[match[0].lower()]), *match.span())
        for match in ADVERBS.finditer(text)
        if dated is not None
    ]


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


def intervals_in(text: str) -> list[Interval]:
    """`Child (0-12), Teenager (13-19), Adult (20 and above)`; fewer than two are none."""
    found = []
    for match in LABELLED.finditer(text):
        low = match["low"] or match["above"]
        high = match["high"] or match["below"]
        found.append(
            Interval(
                match["label"].strip(),
                float(low) if low else None,
                float(high) if high else None,
                *match.span(),
            )
        )
    return found if len(found) > 1 else []


def interval_conditions(
    column: str, intervals: Sequence[Interval]
) -> dict[str, tuple[Condition, ...]]:
    """Per label; what lies between two of them (12 to 13) belongs to the upper one."""
    made: dict[str, tuple[Condition, ...]] = {}
    edge: tuple[float, Literal[">", ">="]] | None = None
    for one in sorted(intervals, key=lambda one: one.low if one.low is not None else float("-inf")):
        filters: list[Condition] = []
        if edge is not None:
            filters.append(Filter(column=column, comparison=edge[1], value=edge[0]))
        elif one.low is not None:
            filters.append(Filter(column=column, comparison=">=", value=one.low))
        if one.high is not None:
            closed = one.low is not None
            filters.append(
                Filter(column=column, comparison="<=" if closed else "<", value=one.high)
            )
            edge = (one.high, ">" if closed else ">=")
        made[one.label] = tuple(filters)
    return made


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
CUES: tuple[tuple[Arithmetic, str, bool], ...] = (
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
"""Operator, what says it, and whether the order is reversed: subtract A from B is B - A."""
_AROUND = r"[\s\"'\u201c\u201d`()]*(?:columns?)?\s*"
_SIGN = r"[-+*/\u2212\u00d7]|multiplied by|times|divided by|plus|minus|added to"
FORMULA = re.compile(rf"^{_AROUND}({_SIGN})\s*(?:the )?{_AROUND}$", re.IGNORECASE)
SPELT: dict[str, Arithmetic] = {
    "+": "+",
    "-": "-",
    "*": "*",
    "/": "/",
    "multiplied by": "*",
    "times": "*",
    "\u00d7": "*",
    "divided by": "/",
    "plus": "+",
    "added to": "+",
    "minus": "-",
    "\u2212": "-",
}


@dataclass(frozen=True, slots=True)
class Derived:
    name: str
    term: Term
    spans: tuple[tuple[int, int], ...]
    """What of the text says it."""
    columns: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        return frozenset(atom.text for atom in atoms(self.name))


def derived_in(text: str, mentions: Sequence[Mention]) -> Derived | None:
    """The first new column of the text; None where there is none or it is not understood."""
    start = NEW.search(text)
    if start is None:
        return None
    name, term = _name(text, start.start(), mentions), None
    spans = [match.span() for match in NEW.finditer(text)]
    for span in sentences(text):
        if span[1] <= start.start():
            continue
        within = [one for one in mentions if span[0] <= one.start < span[1]]
        found = _formula(text, within) or _described(text, span, within)
        if found is not None:
            spans += [(one.end, two.start) for one, two in pairwise(within)]
            spans += [(one.start(), one.end()) for one in _cues(text, span)]
            spans += [match.span() for match in NAMED.finditer(text, *span)]
            term = term or found
    if term is None:
        return None
    columns = (term.column, *(one for one in (term.other,) if isinstance(one, str)))
    columns += tuple(one for _, one in term.rest if isinstance(one, str))
    return Derived(name, term, tuple(spans), columns)


def _cues(text: str, span: tuple[int, int]) -> list[re.Match[str]]:
    patterns = [re.compile(pattern, re.IGNORECASE) for _, pattern, _ in CUES]
    return [match for one in patterns for match in one.finditer(text, *span)]


def _name(text: str, start: int, mentions: Sequence[Mention]) -> str:
    columns = {one.resolved.column for one in mentions if one.resolved.how == "exact"}
    for match in NAMED.finditer(text, start):
        if match[1] not in columns:
            return match[1]
    return "new column"


def _formula(text: str, mentions: Sequence[Mention]) -> Term | None:
    """`A - B`, spelt out."""
    for one, other in pairwise(mentions):
        sign = FORMULA.match(text[one.end : other.start])
        if sign is not None:
            operator = SPELT[sign[1].lower()]
            return Term(column=one.resolved.column, operator=operator, other=other.resolved.column)
    return None


def _described(text: str, span: tuple[int, int], mentions: Sequence[Mention]) -> Term | None:
    for operator, pattern, reverse in CUES:
        for cue in re.compile(pattern, re.IGNORECASE).finditer(text, *span):
            columns = _after(mentions, cue.end())
            if len(columns) < 2:  # noqa: PLR2004
                continue
            if operator == "+":
                first, second, *rest = columns
                more: tuple[tuple[Arithmetic, str], ...] = tuple(("+", one) for one in rest)
                return Term(column=first, operator="+", other=second, rest=more)
            first, second = columns[:2]
            if reverse:
                first, second = second, first
            return Term(column=first, operator=operator, other=second)
    return None


def _after(mentions: Sequence[Mention], at: int) -> list[str]:
    named = (one.resolved.column for one in mentions if one.start >= at)
    return list(dict.fromkeys(named))
