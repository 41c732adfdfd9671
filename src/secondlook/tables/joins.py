"""Columns of two tables that mean the same things: likely by name and type, then counted.

Also here, for profiles too: what a header says, and asking a Parquet file many things at once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.tables.table import NUMERIC, ColumnProfile, ColumnType, Join, Table, TableProfile
from secondlook.tables.words import singular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from secondlook.tables.worker import Worker

Profiled: TypeAlias = "tuple[Table, TableProfile, Path]"
SECONDS = 120.0
COMPARED_VALUES = 1_000
"""So many different values of the left are looked for in the right."""
MOST_COUNTED = 40
"""Likely pairs that are counted; each costs a scan of two columns."""
MOST_PER_PAIR = 3
ALIKE, SAME_NAME = 0.5, 0.95
"""Likeness of names from which half of the values are enough, and that of the same name."""
NAMING_WORDS = frozenset(
    {"id", "ids", "key", "code", "no", "nr", "num", "number", "fk", "pk", "ref"}
)


@dataclass(frozen=True, slots=True)
class Side:
    table: Table
    file: Path
    place: int
    column: ColumnProfile
    words: frozenset[str]
    """Of its name."""
    table_words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The left's values are looked for among the right's."""

    left: Side
    right: Side
    likeness: float

    @property
    def order(self) -> tuple[float, bool]:
        return (-self.likeness, not self.right.column.key)


def find_joins(worker: Worker, tables: Sequence[Profiled]) -> tuple[Join, ...]:
    """Likely joins, the surest first."""
    pairs = (
        pair_up(first, second)
        for one, other in combinations(map(joinable_sides, tables), 2)
        for first, second in product(one, other)
    )
    likely = [each for each in pairs if each is not None and _plausible(each)]
    likely = sorted(likely, key=lambda each: each.order)[:MOST_COUNTED]
    if not likely:
        return ()
    shares: list[float] = worker.call(
        "joins:overlaps",
        seconds=SECONDS,
        pairs=[{"left": _sent(each.left), "right": _sent(each.right)} for each in likely],
    )
    found = [
        (each, share)
        for each, share in zip(likely, shares, strict=True)
        if share >= (0.5 if each.likeness >= ALIKE else 0.9)
    ]
    found.sort(key=lambda each: (-each[1] * (1 + each[0].likeness), each[0].order))
    taken: Counter[frozenset[str]] = Counter()
    joins = []
    for each, share in found:
        pair = frozenset({each.left.table.id, each.right.table.id})
        taken[pair] += 1
        if taken[pair] <= MOST_PER_PAIR:
            joins.append(
                Join(
                    left=each.left.table.id,
                    left_column=each.left.column.name,
                    right=each.right.table.id,
                    right_column=each.right.column.name,
                    overlap=round(share, 4),
                )
            )
    return tuple(joins)


def _sent(side: Side) -> dict[str, Any]:
    types = [column.type for column in side.table.columns]
    distinct = side.column.distinct
    return {"file": side.file, "place": side.place, "types": types, "distinct": distinct}


def joinable_sides(profiled: Profiled) -> list[Side]:
    def words(name: str) -> frozenset[str]:
        return frozenset(map(singular, name_words(name)))

    table, profile, file = profiled
    return [
        Side(table, file, place, column, words(column.name), words(table.name))
        for place, column in enumerate(profile.columns)
        if column.type in {"integer", "text", "date"}
        and column.distinct > 1
        and not re.match(r"Unnamed: \d+$", column.name)
    ]


def pair_up(one: Side, other: Side) -> Candidate | None:
    """None where types or ranges rule a match out. The key is on the right."""
    types = {one.column.type, other.column.type}
    if len(types) > 1 and types != {"integer", "text"}:
        return None
    low, high = one.column.minimum, one.column.maximum
    least, most = other.column.minimum, other.column.maximum
    known = None not in {low, high, least, most}
    if len(types) == 1 and known and not (low <= most and least <= high):  # type: ignore[operator]
        return None
    left, right = sorted((one, other), key=lambda side: (side.column.key, side.column.distinct))
    return Candidate(left, right, likeness(left, right))


def _plausible(each: Candidate) -> bool:
    left, right = each.left.column, each.right.column
    if each.likeness >= ALIKE and right.key:
        return True
    if each.likeness >= SAME_NAME:
        # Two tables may share a category, but `yes` and `no` join nothing.
        names = bool(each.left.words & NAMING_WORDS) or left.type != "integer"
        return names and left.distinct >= 10  # noqa: PLR2004
    # Numbers meet by chance: without a name in common only texts count.
    return left.type == right.type == "text" and right.key and left.distinct >= 5  # noqa: PLR2004


def likeness(one: Side, other: Side) -> float:
    """`customer_id` is `customers.id`; but the `id` of one table is not that of another."""
    if one.words == other.words:
        return 0.0 if one.words <= NAMING_WORDS else 1.0
    for mine, theirs in ((one, other), (other, one)):
        meant = mine.words - NAMING_WORDS
        is_named = theirs.words and theirs.words <= NAMING_WORDS
        if is_named and meant and meant <= theirs.table_words:
            return SAME_NAME
    first, second = one.words - NAMING_WORDS, other.words - NAMING_WORDS
    both = first | second
    return 0.9 * len(first & second) / len(both) if both else 0.0


def overlaps(connection: DuckDBPyConnection, *, pairs: list[dict[str, Any]]) -> list[float]:
    """Of each pair: which share of the left's values the right has. Runs in the worker.

    Values are drawn by their hash, so that only such can be on the other side as well."""

    def values(side: dict[str, Any], parts: int) -> str:
        source = open_source(connection, side["file"], rows=0, types=side["types"])
        value = f"c{side['place']}::VARCHAR"
        drawn = f"{value} IS NOT NULL AND hash({value}) % {parts} = 0"
        return f"SELECT DISTINCT {value} AS v FROM {source.relation} WHERE {drawn}"  # noqa: S608  # places only

    shares = []
    for left, right in ((pair["left"], pair["right"]) for pair in pairs):
        parts = max(1, int(left["distinct"]) // COMPARED_VALUES)
        mine, theirs = values(left, parts), values(right, parts)
        query = f"SELECT count(*), count(*) FILTER (v IN ({theirs})) FROM ({mine})"  # noqa: S608
        found = connection.execute(query, [right["file"], left["file"]]).fetchone()
        drawn, shared = found or (0, 0)
        shares.append(shared / drawn if drawn else 0.0)
    return shares


# What a header says beside its name: a unit, a currency; and which are hard to tell apart.

SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN_CODES = _words(
    """eur usd gbp chf jpy cny inr cad aud nzd sek nok dkk pln czk huf brl mxn zar krw sgd
    hkd"""
)
"""ISO 4217. Those that are no English words: they count in small letters too (`price_eur`)."""
CODES = {one.upper() for one in PLAIN_CODES} | _words(
    """TWD THB IDR MYR PHP VND ILS AED SAR TRY RUB UAH RON BGN ISK ARS CLP COP PEN EGP NGN KES PKR
    BDT LKR MAD TND QAR KWD"""
)
"""In brackets, and in capitals, these are currencies."""
CURRENCY_WORDS = {"euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "yen": "JPY"}
SCALES = {
    word: name
    for name, words in {
        "thousands": "k thousand thousands 000 000s '000",
        "millions": "m mn mio million millions",
        "billions": "bn billion billions",
    }.items()
    for word in words.split()
}
ENDINGS = _words(
    """mm cm km mi ft kg mg lb lbs oz ms secs seconds mins minutes hrs hours days weeks months
    years yrs ml mph kmh kph rpm hz khz mhz ghz celsius fahrenheit kelvin hpa kpa mbar psi kw
    kwh mwh mw gw kj kcal mb gb tb kb bytes db px m2 m3 km2 sqft sqm ha acres miles kilometers
    kilometres meters metres feet pounds kilograms grams liters litres gallons mpg bpm pct
    percent ppm"""
)
"""Units that a name may end in without brackets: `weight_kg`. Others are too often something
else."""
UNITS = ENDINGS | _words(
    """% ‰ ppb m in inch inches yd nm µm um g t µg ug s µs us ns sec second min minute h hr hour day
    week month year yr l cl dl hl gal kn knots °c °f k pa mpa bar atm w wh j mj cal v mv kv a ma ah
    mah ohm ω n b kib mib gib bit bits byte dba dpi cm2 cm3 m² m³ km² cm² cm³ acre sqkm cc hp bhp
    mol mmol ° deg degrees rad lux lm cd mmhg g/dl mg/dl mmol/l persons people units pieces
    pcs"""
)
ONE_LETTER = frozenset("%‰°mgtshlLWVKJN")
"""As they are written: `size (M)` is no length."""
BY_QUANTITY = {
    "temperature temp tmin tmax": {"c": "°C", "f": "°F", "k": "K"},
    "height length distance width depth altitude elevation dist": {"m": "m", "in": "in"},
    "weight mass": {"g": "g", "t": "t"},
    "time duration elapsed latency runtime delay": {"s": "s", "sec": "s", "min": "min", "h": "h"},
    "volume capacity": {"l": "l"},
    "power voltage current": {"w": "W", "v": "V", "a": "A"},
    "energy": {"j": "J", "wh": "Wh"},
    "pressure": {"pa": "Pa", "bar": "bar"},
    "speed velocity": {"ms": "m/s", "kn": "kn"},
}
"""Short units that only mean one after the name of what they measure."""
PERCENT = frozenset({"pct", "percent", "percentage", "%"})


@dataclass(frozen=True, slots=True)
class Said:
    unit: str | None = None
    currency: str | None = None


def read_header(name: str) -> Said:
    """Brackets are believed first, then signs, then the last word."""
    for inside in reversed(re.findall(r"[(\[{]([^()\[\]{}]{1,24})[)\]}]", name)):
        said = _in_brackets(inside.strip())
        if said.unit or said.currency:
            return said
    words = name_words(name)
    currency = next((code for sign, code in SIGNS.items() if sign in name), None)
    for word in (*words[-1:], *words[:1]):
        small = word.upper() if word in PLAIN_CODES else CURRENCY_WORDS.get(word)
        currency = currency or small
    if currency:
        scale = next((SCALES[word] for word in words if word in SCALES and len(word) > 1), None)
        return Said(scale, currency)
    return Said(_unit_at_the_end(name, words))


def name_words(name: str) -> list[str]:
    """`customerID` and `customer_id` are both `customer`, `id`."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.findall(r"[^\W\d_]+|\d+|[%°²³]", apart)]


def _in_brackets(inside: str) -> Said:
    """`EUR`, `m/s`, `USD millions`, `€/kg`, `in thousands`, `$M`."""
    parts = [part for part in re.split(r"[\s,.]+", inside) if part.lower() != "in"]
    currency = next(filter(None, map(_money, parts)), None)
    others = [part.lower() for part in parts if not _money(part)]
    scale = next((SCALES[part] for part in others if part in SCALES), None)
    if currency:
        return Said(scale, currency)
    per_money = _money(re.split(r"\s*(?:/|\bper\b)\s*", inside)[0])
    if per_money and "/" in inside:
        return Said(inside, per_money)
    for sign, code in SIGNS.items():
        rest = inside.replace(sign, "").strip().lower()
        if sign in inside and rest in SCALES:
            return Said(SCALES[rest], code)
    if is_unit(inside):
        return Said("%" if inside.lower() in PERCENT else inside)
    return Said(scale if scale and inside.lower() not in {"k", "m"} else None)


def _money(word: str) -> str | None:
    if word in CODES or word.lower() in PLAIN_CODES:
        return word.upper()
    return SIGNS.get(word) or CURRENCY_WORDS.get(word.lower())


def is_unit(text: str) -> bool:
    """One unit, or a product or quotient of them: `kg`, `m/s`, `kg/m^3`, `kWh per day`."""
    parts = [part.strip() for part in re.split(r"[/*·]|\bper\b", text)]
    return all(
        part in ONE_LETTER
        if len(part) == 1
        else part.lower() in UNITS
        or (bool(part) and re.sub(r"(\^?-?[0-9]|[²³])$", "", part.lower()) in UNITS)
        for part in parts
    )


def _unit_at_the_end(name: str, words: Sequence[str]) -> str | None:
    if "%" in name or PERCENT.intersection(words):
        return "%"
    if len(words) < 2:  # noqa: PLR2004  # `days` alone is a name
        return None
    *before, last = words
    if len(before) > 1 and f"{before[-1]}{last}" in ENDINGS:  # `area_m2` came apart at its digit
        last = f"{before.pop()}{last}"
    if last in ENDINGS:
        return last
    for quantities, units in BY_QUANTITY.items():
        if last in units and set(quantities.split()).intersection(before):
            return units[last]
    return None


def hard_to_tell_apart(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Headers that differ in case, blanks, punctuation or a number of repetition only."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        bare = re.sub(r"\.\d+$", "", name)
        alike["".join(filter(str.isalnum, bare.casefold()))].append(name)
    return [tuple(group) for plain, group in alike.items() if plain and len(group) > 1]


# Asking a Parquet file many things at once.

Fact: TypeAlias = tuple[int, str]
"""Something about the column at that place."""
COLUMNS_AT_ONCE = 100
"""Parquet lies in columns, so a table of 5,000 is read in batches at no further cost."""
NATIVE_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE"})
"""Whose sums cannot overflow; others are turned into DOUBLE first."""
LARGEST = "1e140"
"""A number beyond it is set aside: its square, summed up, would be no number any more. So are
infinity and NaN, which compare as greater."""


@dataclass(frozen=True, slots=True)
class Source:
    connection: DuckDBPyConnection
    file: str
    rows: int
    types: tuple[ColumnType, ...]
    stored: tuple[str, ...]
    """DuckDB's own names of the types."""

    @property
    def relation(self) -> str:
        """Every column under its place, and the number of the row as `r`. Takes `file`."""
        places = ",".join(f"c{place}" for place in range(len(self.types)))
        return f"read_parquet(?, file_row_number = true) AS t({places},r)"

    def ask(
        self, wanted: Mapping[Fact, str], *, given: str = "", where: str = "true"
    ) -> dict[Fact, Any]:
        """Each aggregate's value, in as many queries as there are batches of columns. `given` is
        a further column to compute for every row first."""
        found: dict[Fact, Any] = {}
        batches: dict[int, list[Fact]] = defaultdict(list)
        for fact in wanted:
            batches[fact[0] // COLUMNS_AT_ONCE].append(fact)
        for batch in batches.values():
            asked = ",".join(wanted[fact] for fact in batch)
            found.update(zip(batch, self.rows_of(asked, given=given, where=where)[0], strict=True))
        return found

    def rows_of(self, asked: str, *, given: str = "", where: str = "true") -> list[tuple[Any, ...]]:
        """The rows of a query. SQL is made of places and constants of ours, never of cells."""
        rows = f"(SELECT *, {given} FROM {self.relation})" if given else self.relation  # noqa: S608
        query = f"SELECT {asked} FROM {rows} WHERE {where}"  # noqa: S608
        return self.connection.execute(query, [self.file]).fetchall()

    def value(self, place: int) -> str:
        """The column as what can be counted; numbers so that they can be summed and squared."""
        column, type_ = f"c{place}", self.types[place]
        if type_ == "other":
            return f"{column}::VARCHAR"
        if type_ not in NUMERIC:
            return column
        number = column if self.stored[place] in NATIVE_NUMBERS else f"{column}::DOUBLE"
        if type_ == "integer":
            return number
        return f"CASE WHEN abs({number}) < {LARGEST} THEN {number} END"

    def places(self, *types: ColumnType) -> list[int]:
        return [place for place, type_ in enumerate(self.types) if type_ in types]


def open_source(
    connection: DuckDBPyConnection, file: str, *, rows: int, types: Iterable[ColumnType]
) -> Source:
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [file]).fetchall()
    return Source(connection, file, rows, tuple(types), tuple(str(row[1]) for row in described))


# Numbers and other people's texts in a sentence.

LONGEST_VALUE = 40


def percent(share: float) -> str:
    if 0 < share < 0.01:  # noqa: PLR2004
        return "<1 %"
    if 0.99 < share < 1:  # noqa: PLR2004
        return ">99 %"
    return f"{100 * share:.0f} %"


def quoted(text: str) -> str:
    """As a Python literal, cut: one line, whatever is in it."""
    return repr(cut(text, LONGEST_VALUE))


def single_line(text: str, longest: int) -> str:
    """Without quotes around it. Control characters and line breaks are blanks."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return cut(" ".join(shown.split()), longest)


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
