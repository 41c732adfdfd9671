"""A question about rows beside one table: which words name columns, and which ask for what."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

from secondlook.tables.table import NUMERIC, TEMPORAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.tables.query import Transform
    from secondlook.tables.resolver import AskedTable

MentionHow = Literal["exact", "part", "kin", "near"]
LONGEST_HEADER = 5
LEAST_SHARED = 0.4
KIN = 5
"""Letters that two words share at least to be of one family: `director`, `directed`."""


@dataclass(frozen=True, slots=True)
class ColumnMention:
    column: ColumnFacts
    first: int
    last: int
    score: float
    how: MentionHow

    @property
    def places(self) -> frozenset[int]:
        return frozenset(range(self.first, self.last + 1))


@dataclass(frozen=True)
class Sentence:
    """The question's words, and one table."""

    text: str
    words: tuple[Token, ...]
    table: TableIndex
    joined: str = field(init=False)
    """The words with one blank between them, for patterns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "joined", " ".join(word.text for word in self.words))

    @cached_property
    def content(self) -> frozenset[int]:
        """Places of the words that a reading should account for."""
        return frozenset(
            place for place, word in enumerate(self.words) if word.text not in EMPTY_WORDS
        )

    @cached_property
    def mentions(self) -> tuple[ColumnMention, ...]:
        """Columns named, the surest first."""
        found = [one for column in self.table.columns for one in _mentions(self.words, column)]
        return tuple(sorted(found, key=lambda one: (-one.score, one.first)))

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for word in self.words:
            starts.append(at)
            at += len(word.text) + 1
        return starts

    def places(self, start: int, end: int) -> frozenset[int]:
        """Of the words within characters of `joined`."""
        return frozenset(
            place
            for place, at in enumerate(self._starts)
            if at < end and at + len(self.words[place].text) > start
        )

    def finditer(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], frozenset[int]]]:
        for match in pattern.finditer(self.joined):
            yield match, self.places(match.start(), match.end())

    def search(self, pattern: re.Pattern[str]) -> frozenset[int] | None:
        match = pattern.search(self.joined)
        return self.places(match.start(), match.end()) if match else None

    def mention_within(self, first: int, last: int) -> list[ColumnMention]:
        """Columns named by words that start between two places, the surest first."""
        return [one for one in self.mentions if first <= one.first <= last]


def sentence(text: str, table: TableIndex) -> Sentence:
    return Sentence(text, tokens(text), table)


def _mentions(words: tuple[Token, ...], column: ColumnFacts) -> list[ColumnMention]:
    header = [word for word in column.words if word not in FUNCTION_WORDS] or list(column.words)
    found: list[ColumnMention] = []
    for length in range(min(LONGEST_HEADER, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            last = first + length - 1
            if any(one.first <= first and last <= one.last for one in found):
                continue
            rated = _rate([word.stem for word in words[first : last + 1]], header, words[first])
            if rated:
                found.append(ColumnMention(column, first, last, *rated))
    return found


def _rate(window: list[str], header: list[str], first: Token) -> tuple[float, MentionHow] | None:
    if not header:
        return None
    if len(window) == len(header) and set(window) == set(header):
        return (1.0, "exact")
    shared = set(window) & set(header)
    if shared and {window[0], window[-1]} <= shared:
        return _rate_part(window, header, shared)
    if len(window) > 1 or first.text in FUNCTION_WORDS:
        return None
    return _rate_word(window[0], header)


def _rate_part(
    window: list[str], header: list[str], shared: set[str]
) -> tuple[float, MentionHow] | None:
    if shared <= FUNCTION_WORDS and len(header) > len(shared):
        return None
    score = 2 * len(shared) / (len(window) + len(set(header)))
    return (score * 0.9, "part") if score >= LEAST_SHARED else None


def _rate_word(word: str, header: list[str]) -> tuple[float, MentionHow] | None:
    if any(len(one) >= KIN and word[:KIN] == one[:KIN] for one in header):
        return (0.5, "kin")
    if any(near(word, one) for one in header):
        return (0.4 if near(word, header[-1]) else 0.3, "near")
    return None


# A table as questions about its rows see it: facts of its columns, and where words stand.

LONGEST_TOTAL = 4
SUMMING_COLUMNS = 3
"""A row of sums says so in one of the first columns."""
MOST_CELLS = 20_000
"""Different texts of a table that are looked at, over all of its columns."""
_SUMS = frozenset({"career", "all", "overall", "average", "sum"})
_ABOUT = frozenset({"name", "player", "title", "team", "nation", "country", "driver"})
_SIDE = frozenset({"rank", "position", "number", "note", "result", "date", "year", "score"})


@dataclass(frozen=True)
class TableIndex:
    asked: AskedTable
    columns: tuple[ColumnFacts, ...]
    cells: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]
    """Per column its texts and their stems."""
    whole: dict[tuple[str, ...], list[tuple[int, str]]] = field(repr=False)
    """Stems of a text to columns and texts."""
    postings: dict[str, set[tuple[int, int]]] = field(repr=False)
    """A stem to columns and places of texts."""

    def column(self, name: str) -> ColumnFacts:
        return next(one for one in self.columns if one.name == name)

    @cached_property
    def totals(self) -> tuple[tuple[str, str], ...]:
        """Cells that mark a row as the sum of others: their column and value."""
        return tuple(
            (column.name, value)
            for column in self.columns[:SUMMING_COLUMNS]
            for value, words in self.cells[column.name]
            if _sums(words)
        )

    @cached_property
    def subject(self) -> ColumnFacts:
        """The column that says what a row is about."""
        return max(self.columns, key=_subjectness)


def _subjectness(column: ColumnFacts) -> float:
    score = 2.0 * (column.kind == "text") + column.wordy + column.distinct - column.missing
    score -= 0.15 * column.place
    words = set(column.words)
    return score - bool(words & _SIDE) + 0.6 * bool(words & _ABOUT)


def _sums(words: tuple[str, ...]) -> bool:
    if not words or len(words) >= LONGEST_TOTAL:
        return False
    alone = len(words) == 1 and words[0] in _SUMS
    return alone or words[0] in {"total", "subtotal"} or words[-1] == "total"


def index(asked: AskedTable) -> TableIndex:
    """Of one table; a column of numbers is known by its profile alone."""
    texts = [column.name for column in asked.table.columns if column.type == "text"]
    most = MOST_CELLS // max(1, len(texts))
    values = {name: list(asked.values(name))[:most] for name in texts}
    facts = [
        facts_of(asked, place, values.get(column.name, []))
        for place, column in enumerate(asked.table.columns)
    ]
    cells = {
        one.name: tuple((value, stems(value)) for value in values.get(one.name, []))
        for one in facts
    }
    return TableIndex(asked, tuple(facts), cells, *_places(facts, cells))


def _places(
    facts: list[ColumnFacts], cells: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]
) -> tuple[dict[tuple[str, ...], list[tuple[int, str]]], dict[str, set[tuple[int, int]]]]:
    whole: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    postings: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for place, fact in enumerate(facts):
        for at, (value, words) in enumerate(cells[fact.name]):
            if words:
                whole[words].append((place, value))
            for word in set(words):
                postings[word].add((place, at))
    return dict(whole), dict(postings)


# The words of a question or a cell: tokens with their places, stems and numbers.

TOKEN = re.compile(
    r"[<>!=]=|<>|[<>=\u2264\u2265\u2260]|(?<!\S)-(?=\d)(?:\d+\.\d+|\d+)|\d+(?:st|nd|rd|th)\b|\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[^\w\s]"
)
_STRAIGHT = str.maketrans({"\u2019": "'", "\u2013": "-", "\u2014": "-"})
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_SIGNS = frozenset("<>=\u2264\u2265\u2260")
SHORTEST = 4
"""Letters of a word whose ending is cut."""
FIRST_YEAR, LAST_YEAR = 1000, 2100


@dataclass(frozen=True, slots=True)
class Token:
    start: int
    end: int
    text: str
    """In lower case, without accents."""
    stem: str


@lru_cache(maxsize=20_000)
def plain(text: str) -> str:
    """In lower case, without accents, quotes and dashes made straight."""
    lowered = text.lower().translate(_STRAIGHT)
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFKD", lowered)
    return "".join(one for one in decomposed if not unicodedata.combining(one))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Without the endings of plurals and possessives."""
    word = word.removesuffix("'s").removesuffix("'")
    if word[:1].isdigit():
        return _ORDINAL.sub(r"\1", word)
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) > SHORTEST and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > SHORTEST and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) >= SHORTEST and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=50_000)
def tokens(text: str) -> tuple[Token, ...]:
    """Words and numbers of a text in order, punctuation left out."""
    found = []
    for match in TOKEN.finditer(text):
        if match[0].isalnum() or len(match[0]) > 1 or match[0] in _SIGNS:
            word = plain(match[0])
            found.append(Token(match.start(), match.end(), word, stem(word)))
    return tuple(found)


@lru_cache(maxsize=50_000)
def number(word: str) -> float | None:
    """`three`, `1,200` or `4.5` as a number."""
    if word in NUMBER_WORDS:
        return float(NUMBER_WORDS[word])
    if not word.removeprefix("-")[:1].isdigit():
        return None
    try:
        return float(word.replace(",", ""))
    except ValueError:
        return None


def is_year(value: float | None) -> bool:
    return value is not None and value == int(value) and FIRST_YEAR <= value <= LAST_YEAR


# Words that questions about rows are made of, and words that mean nearly the same.

_FUNCTION = """a an the of in on at to for by with from as and or is was were are be been being do
does did has have had that this these those there their they he she it its his her them who whom
whose what which when where how why many much name list tell me all any each every some one than
then if but not no so into during between within per about also would will can could should you i
we us our your my him only ever make made get got give show find please table column row according
listed following total number amount more most less least other"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""Words that name no value and no column by themselves."""

_EMPTY = """a an the of in on at to for by with from as is was were are be been being do does did
has have had that this these those there their they he she it its his her them you i we us our your
my and or me please according listed list table column row chart so into also would will can could
ever shown given following all any each such out up s one ones"""
EMPTY_WORDS = frozenset(_EMPTY.split())
"""Words that a reading need not account for."""

_TELLING = """most least first last total average difference more less than not only after before
same consecutive or and between both higher lower next previous never each other at top longest
highest lowest years long time how when as"""
TELLING_WORDS = frozenset(_TELLING.split())
"""Words that ask for something: a reading that leaves one out has missed it."""

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
NUMBER_WORDS = {word: number for number, word in enumerate(_TO_TWENTY.split())} | {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "hundred": 100,
    "dozen": 12,
}
_TO_TENTH = "first second third fourth fifth sixth seventh eighth ninth tenth"
ORDINALS = {word: number for number, word in enumerate(_TO_TENTH.split(), 1)}
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}

_ROWS_VOCABULARY_YEAR = (
    "january february march april may june july august september october november december"
)
MONTH_NAMES = tuple(_ROWS_VOCABULARY_YEAR.split())
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}

_FORMS = """won:win wins:win winner:win winners:win winning:win lost:loss lose:loss losses:loss
losing:loss men:man women:woman people:person children:child drawn:draw tied:tie ties:tie
series:series built:build written:writer wrote:writer directed:director produced:producer
elected:election scored:score movie:film movies:film"""
IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())

_SHORT = """pts:point pt:point pos:position att:attendance no:number num:number pop:population
avg:average pct:percentage gp:game yr:year w:win l:loss d:draw t:tie g:goal gf:goal pld:match
ep:episode alt:altitude elev:elevation dept:department min:minute qty:quantity amt:amount
temp:temperature lbs:pound ft:foot nat:nation opp:opponent"""
ABBREVIATIONS = dict(pair.split(":") for pair in _SHORT.split())
"""In names of columns."""

_TEMPORAL = """year season date term reign release released founded opened built established
completed born died launched elected introduced entered closed active served commissioned"""
TEMPORAL_WORDS = frozenset(_TEMPORAL.split())

OUTCOMES = {
    "win": ("w", "win"),
    "loss": ("l", "loss"),
    "tie": ("t", "d", "tie"),
    "draw": ("d", "draw"),
}
"""Words of a question, and how a result begins that means them: `W 28-21`."""

_NEAR = """nation country noc nationality state
team club franchise squad school university college
player name athlete person driver rider swimmer skater runner competitor candidate man woman member contestant racer golfer cyclist wrestler actor artist director author writer winner win
film title show song album single book episode track series game release role
location venue place city site stadium town country arena
year season date time day month
rank position place ranking finish standing
point score result
competition tournament event championship race meet contest
opponent team rival against
height elevation altitude tall high
length distance long km mile
attendance crowd attendee spectator person
population person inhabitant resident
party affiliation
district county constituency region province area
vote ballot
time duration
company manufacturer constructor brand maker
award prize honor
language dialect
medal total
viewer audience
win result outcome
cost price money prize earning purse salary
ship vessel boat
game match
character role"""  # noqa: E501  # a line is a group
NEAR = tuple(frozenset(line.split()) for line in _NEAR.splitlines())

_PEOPLE = """name player driver rider candidate winner win champion athlete artist actor person
director writer author skater swimmer golfer opponent leader manager coach president member nominee
recipient competitor cyclist wrestler officeholder incumbent team representative contestant singer
performer jockey owner king"""
_ASKED_BY = {
    "who": _PEOPLE,
    "whom": _PEOPLE,
    "where": "location venue place city country site stadium town arena region",
    "how long": "length duration time distance year term",
    "how far": "distance length result round",
    "how tall": "height",
    "how high": "height elevation altitude",
    "how old": "age",
    "how much": "price cost amount money prize purse salary earning value",
    "how big": "area size population",
    "how large": "area size population",
    "how deep": "depth",
    "how fast": "speed time",
    "how heavy": "weight",
}
ASKED_BY = {asking: frozenset(words.split()) for asking, words in _ASKED_BY.items()}
"""Names of columns that a question word asks for."""

RANKS = frozenset({"rank", "position", "place", "seed", "finish", "ranking", "standing", "peak"})
"""Columns of which the lowest number is the best."""


def near(one: str, other: str) -> bool:
    return any(one in group and other in group for group in NEAR)


# What a question about rows needs to know of a column: its kind, the words of its name.

Kind = Literal["number", "year", "date", "label", "text"]
"""A label is a number that only names a row."""
TRANSFORMS: dict[Kind, Transform] = {"number": "number", "year": "year", "date": "date"}
MOSTLY = 0.6
"""Share of the values that make a column of texts one of dates, or of results."""
NUMBERS_SHARE = 0.7
YEARS_SHARE = 0.9
LONGEST_DATED = 25
LONGEST_YEAR = 12
LONGEST_NUMBER = 16
"""Characters of a text that is still a dated one, a year, or a number."""
EARLIEST, SPAN = 1700, 300
"""Whole numbers from then on, no further apart, are years whatever they are called."""
SAMPLE = 500
"""Values that are looked at to tell the kind of a column."""
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_LEADING_NUMBER = re.compile(r"^\W*(?:[a-z]{1,3}\W{0,2})?[-+]?[\d.,]*\d", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b", re.IGNORECASE
)
_ISO = re.compile(r"^\d{4}-\d{2}-\d{2}")
_DIGIT = re.compile(r"\d")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_LABELS = frozenset({"id", "code", "key", "index", "uuid", "zip", "isbn"})
_NOTHING = frozenset({"-", "\u2013", "\u2014"})


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    name: str
    kind: Kind
    typed: bool
    """Numbers or dates by type, not texts that hold them."""
    words: tuple[str, ...]
    """Stems of its name."""
    place: int
    distinct: float
    """Share of different values."""
    minimum: float | None = None
    maximum: float | None = None
    wordy: float = 0.0
    """Share of values with letters."""
    missing: float = 0.0
    outcomes: bool = False
    """Results of games: `W 28-21`."""

    @property
    def measurable(self) -> bool:
        """Whether its values are more or less than each other."""
        return self.kind in TRANSFORMS

    @property
    def transform(self) -> Transform | None:
        """To compare its values as numbers or dates."""
        if not self.measurable or (self.typed and self.kind != "date"):
            return None
        return TRANSFORMS[self.kind]


def stems(value: str) -> tuple[str, ...]:
    return tuple(token.stem for token in tokens(value))


def header_words(name: str) -> tuple[str, ...]:
    if name.strip() in {"#", "\u2116"}:
        return ("number",)
    words = [ABBREVIATIONS.get(one, one) for one in stems(_CAMEL.sub(" ", name))]
    return tuple(stem(word) for word in words)


def facts_of(asked: AskedTable, place: int, values: Sequence[str]) -> ColumnFacts:
    """`values` are the texts of the column, empty for one of numbers or dates."""
    column = asked.table.columns[place]
    profile = asked.profile.column(column.name)
    rows = max(1, asked.table.rows)
    words = header_words(column.name)
    low = _numeric(profile.minimum if profile else None)
    high = _numeric(profile.maximum if profile else None)
    sample = values[:SAMPLE]
    if column.type in TEMPORAL:
        kind: Kind = "date"
    elif column.type in NUMERIC:
        kind = "year" if _are_years(words, low, high) else "number"
        kind = "label" if set(words) & _LABELS else kind
    else:
        kind = _kind_of_texts(words, sample)
    return ColumnFacts(
        name=column.name,
        kind=kind,
        typed=column.type in NUMERIC or column.type in TEMPORAL,
        words=words,
        place=place,
        distinct=profile.distinct / rows if profile else 0.0,
        minimum=low,
        maximum=high,
        wordy=_share(sample, lambda value: any(one.isalpha() for one in value)),
        missing=profile.missing / rows if profile else 0.0,
        outcomes=_are_outcomes(sample),
    )


def _numeric(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _share(values: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(bool(holds(value)) for value in values) / max(1, len(values))


def _are_years(words: tuple[str, ...], low: float | None, high: float | None) -> bool:
    if low is None or high is None or not FIRST_YEAR <= low <= high <= LAST_YEAR:
        return False
    return bool(set(words) & TEMPORAL_WORDS) or (low >= EARLIEST and high - low < SPAN)


def _are_outcomes(values: Sequence[str]) -> bool:
    begin = [words[0] for value in values if (words := stems(value))]
    letters = {"w", "l", "t", "d"}
    return len(begin) > 1 and sum(one in letters for one in begin) >= MOSTLY * len(begin)


def _kind_of_texts(words: tuple[str, ...], values: Sequence[str]) -> Kind:
    filled = [one for one in values if one.strip() and one.strip() not in _NOTHING]
    if not filled or _share(filled, _is_date) >= MOSTLY:
        return "date" if filled else "text"
    if _are_outcomes(values):
        return "text"
    numbers = _share(filled, _LEADING_NUMBER.match)
    years = _share(filled, lambda one: _YEAR.search(one) and len(one) < LONGEST_DATED)
    if years >= MOSTLY and TEMPORAL_WORDS & set(words):
        return "year"
    short = max(len(one) for one in filled) < LONGEST_YEAR
    if years >= YEARS_SHARE and numbers >= MOSTLY and short:
        return "year"
    brief = sum(len(one) for one in filled) < LONGEST_NUMBER * len(filled)
    return "number" if numbers >= NUMBERS_SHARE and brief else "text"


def _is_date(value: str) -> bool:
    return bool((_MONTH.search(value) and _DIGIT.search(value)) or _ISO.match(value))
