"""Columns of two tables that mean the same things: likely by name and type, then counted."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

from secondlook.tables.table import NUMERIC, ColumnProfile, ColumnType, Join, Table, TableProfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from secondlook.tables.worker import Worker

Profiled: TypeAlias = "tuple[Table, TableProfile, Path]"
SECONDS = 120.0
JOINABLE: frozenset[ColumnType] = frozenset({"integer", "text", "date"})
COMPARED_VALUES = 1_000
"""So many different values of the left are looked for in the right."""
MOST_COUNTED = 40
"""Likely pairs that are counted; each costs a scan of two columns."""
MOST_PER_PAIR = 3
ALIKE = 0.5
"""Likeness of names from which half of the values are enough."""
SAME_NAME = 0.95
ENOUGH_OVERLAP = 0.5
OVERLAP_WITHOUT_NAME = 0.9
FEWEST_WITHOUT_NAME = 5
FEWEST_WITHOUT_KEY = 10
"""Two tables may share a category, but `yes` and `no` join nothing."""
NAMING_WORDS = frozenset(
    {"id", "ids", "key", "code", "no", "nr", "num", "number", "fk", "pk", "ref"}
)
_NAMELESS = re.compile(r"Unnamed: \d+$")


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
    def enough(self) -> float:
        return ENOUGH_OVERLAP if self.likeness >= ALIKE else OVERLAP_WITHOUT_NAME

    @property
    def order(self) -> tuple[float, bool]:
        return (-self.likeness, not self.right.column.key)


def find_joins(worker: Worker, tables: Sequence[Profiled]) -> tuple[Join, ...]:
    """Likely joins, the surest first."""
    likely = sorted(_candidates(tables), key=lambda each: each.order)[:MOST_COUNTED]
    if not likely:
        return ()
    overlaps = count_overlaps(worker, likely)
    found = [
        (each, share) for each, share in zip(likely, overlaps, strict=True) if share >= each.enough
    ]
    found.sort(key=lambda each: (-each[1] * (1 + each[0].likeness), each[0].order))
    return tuple(_best_of_each_pair(found))


def count_overlaps(worker: Worker, candidates: Sequence[Candidate]) -> list[float]:
    pairs = [{"left": _told(each.left), "right": _told(each.right)} for each in candidates]
    found: list[float] = worker.call("joins:overlaps", seconds=SECONDS, pairs=pairs)
    return found


def _told(side: Side) -> dict[str, Any]:
    types = [column.type for column in side.table.columns]
    distinct = side.column.distinct
    return {"file": side.file, "place": side.place, "types": types, "distinct": distinct}


def _best_of_each_pair(found: Iterable[tuple[Candidate, float]]) -> Iterable[Join]:
    taken: dict[frozenset[str], int] = {}
    for each, overlap in found:
        pair = frozenset({each.left.table.id, each.right.table.id})
        taken[pair] = taken.get(pair, 0) + 1
        if taken[pair] <= MOST_PER_PAIR:
            yield Join(
                left=each.left.table.id,
                left_column=each.left.column.name,
                right=each.right.table.id,
                right_column=each.right.column.name,
                overlap=round(overlap, 4),
            )


def _candidates(tables: Sequence[Profiled]) -> Iterable[Candidate]:
    for one, other in combinations(map(joinable_sides, tables), 2):
        for first, second in product(one, other):
            candidate = pair_up(first, second)
            if candidate and _plausible(candidate):
                yield candidate


def joinable_sides(profiled: Profiled) -> list[Side]:
    table, profile, file = profiled
    names = _name_parts(table.name)
    return [
        Side(table, file, place, column, _name_parts(column.name), names)
        for place, column in enumerate(profile.columns)
        if column.type in JOINABLE and column.distinct > 1 and not _NAMELESS.match(column.name)
    ]


def _name_parts(name: str) -> frozenset[str]:
    return frozenset(map(singular, name_words(name)))


def pair_up(one: Side, other: Side) -> Candidate | None:
    """None where types or ranges rule a match out. The key is on the right."""
    types = {one.column.type, other.column.type}
    if len(types) > 1 and types != {"integer", "text"}:
        return None
    if len(types) == 1 and not _ranges_meet(one.column, other.column):
        return None
    left, right = sorted((one, other), key=lambda side: (side.column.key, side.column.distinct))
    return Candidate(left, right, likeness(left, right))


def _ranges_meet(one: ColumnProfile, other: ColumnProfile) -> bool:
    ends = (one.minimum, one.maximum, other.minimum, other.maximum)
    if any(end is None for end in ends):
        return True
    least, greatest, other_least, other_greatest = ends
    return bool(least <= other_greatest and other_least <= greatest)  # type: ignore[operator]


def _plausible(each: Candidate) -> bool:
    left, right = each.left.column, each.right.column
    if each.likeness >= ALIKE and right.key:
        return True
    if each.likeness >= SAME_NAME:
        names = bool(each.left.words & NAMING_WORDS) or left.type != "integer"
        return names and left.distinct >= FEWEST_WITHOUT_KEY
    # Numbers meet by chance: without a name in common only texts count.
    texts = left.type == right.type == "text"
    return texts and right.key and left.distinct >= FEWEST_WITHOUT_NAME


def likeness(one: Side, other: Side) -> float:
    """`customer_id` is `customers.id`; but the `id` of one table is not that of another."""
    if one.words == other.words:
        return 0.0 if one.words <= NAMING_WORDS else 1.0
    if _names_the_other(one, other) or _names_the_other(other, one):
        return SAME_NAME
    mine, theirs = one.words - NAMING_WORDS, other.words - NAMING_WORDS
    both = mine | theirs
    return 0.9 * len(mine & theirs) / len(both) if both else 0.0


def _names_the_other(one: Side, other: Side) -> bool:
    if not other.words or not other.words <= NAMING_WORDS:
        return False
    meant = one.words - NAMING_WORDS
    return bool(meant) and meant <= other.table_words


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004  # not `dies`
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word  # noqa: PLR2004


def overlaps(connection: DuckDBPyConnection, *, pairs: list[dict[str, Any]]) -> list[float]:
    """Of each pair: which share of the left's values the right has. Runs in the worker."""
    return [_overlap(connection, pair["left"], pair["right"]) for pair in pairs]


def _overlap(connection: DuckDBPyConnection, left: dict[str, Any], right: dict[str, Any]) -> float:
    """Values are drawn by their hash, so that only such can be on the other side as well."""
    parts = max(1, int(left["distinct"]) // COMPARED_VALUES)
    values = [_values(connection, side, parts) for side in (left, right)]
    query = f"SELECT count(*), count(*) FILTER (v IN ({values[1]})) FROM ({values[0]})"  # noqa: S608  # places only
    counted = connection.execute(query, [right["file"], left["file"]]).fetchone()
    drawn, shared = counted or (0, 0)
    return shared / drawn if drawn else 0.0


def _values(connection: DuckDBPyConnection, side: dict[str, Any], parts: int) -> str:
    source = open_source(connection, side["file"], rows=0, types=side["types"])
    value = f"c{side['place']}::VARCHAR"
    drawn = f"{value} IS NOT NULL AND hash({value}) % {parts} = 0"
    return f"SELECT DISTINCT {value} AS v FROM {source.relation} WHERE {drawn}"  # noqa: S608  # places only


# What a header says beside its name: a unit, a currency; and which are hard to tell apart.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
CODES = _words(
    """
    EUR USD GBP CHF JPY CNY INR CAD AUD NZD SEK NOK DKK PLN CZK HUF BRL MXN ZAR KRW SGD HKD TWD
    THB IDR MYR PHP VND ILS AED SAR TRY RUB UAH RON BGN ISK ARS CLP COP PEN EGP NGN KES PKR BDT
    LKR MAD TND QAR KWD
    """
)
"""ISO 4217. In brackets, and in capitals, they are currencies."""
PLAIN_CODES = _words(
    """
    eur usd gbp chf jpy cny inr cad aud nzd sek nok dkk pln czk huf brl mxn zar krw sgd hkd
    """
)
"""Those that are no English words: they count in small letters too, as in `price_eur`."""
CURRENCY_WORDS = {
    "euro": "EUR",
    "euros": "EUR",
    "dollar": "USD",
    "dollars": "USD",
    "yen": "JPY",
    "rupees": "INR",
}
SCALES = {
    "k": "thousands",
    "thousand": "thousands",
    "thousands": "thousands",
    "000": "thousands",
    "000s": "thousands",
    "'000": "thousands",
    "m": "millions",
    "mn": "millions",
    "mio": "millions",
    "million": "millions",
    "millions": "millions",
    "bn": "billions",
    "billion": "billions",
    "billions": "billions",
}
UNITS = _words(
    """
    % ‰ ppm ppb mm cm m km mi ft in inch inches yd nm µm um mg g kg t lb lbs oz µg ug s ms µs us
    ns sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks
    month months year years yr yrs l ml cl dl hl gal mph kmh kph kn knots rpm hz khz mhz ghz °c
    °f k celsius fahrenheit kelvin pa hpa kpa mpa bar mbar psi atm w kw mw gw kwh mwh wh j kj mj
    cal kcal v mv kv a ma ah mah ohm ω n kn nm b kb mb gb tb kib mib gib bit bits byte bytes db
    dba px dpi m2 m3 km2 cm2 cm3 m² m³ km² cm² cm³ ha acre acres sqft sqm sqkm cc hp bhp mol
    mmol ° deg degrees rad lux lm cd bpm mmhg g/dl mg/dl mmol/l pct percent persons people units
    pieces pcs miles kilometers kilometres meters metres feet pounds kilograms grams liters
    litres gallons mpg
    """
)
ENDINGS = _words(
    """
    mm cm km mi ft kg mg lb lbs oz ms secs seconds mins minutes hrs hours days weeks months
    years yrs ml mph kmh kph rpm hz khz mhz ghz celsius fahrenheit kelvin hpa kpa mbar psi kw
    kwh mwh mw gw kj kcal mb gb tb kb bytes db px m2 m3 km2 sqft sqm ha acres miles kilometers
    kilometres meters metres feet pounds kilograms grams liters litres gallons mpg bpm pct
    percent ppm
    """
)
"""Units that a name may end in without brackets: `weight_kg`. Others are too often something
else."""
ONE_LETTER = frozenset("%‰°mgtshlLWVKJN")
"""As they are written: `size (M)` is no length."""
BY_QUANTITY = {
    "temperature temp tmin tmax": {"c": "°C", "f": "°F", "k": "K"},
    "height length distance width depth altitude elevation dist radius diameter visibility": {
        "m": "m",
        "in": "in",
    },
    "weight mass": {"g": "g", "t": "t"},
    "time duration elapsed latency runtime delay": {"s": "s", "sec": "s", "min": "min", "h": "h"},
    "volume capacity": {"l": "l"},
    "power": {"w": "W"},
    "voltage": {"v": "V"},
    "current": {"a": "A"},
    "energy": {"j": "J", "wh": "Wh"},
    "pressure": {"pa": "Pa", "bar": "bar"},
    "speed velocity": {"ms": "m/s", "kn": "kn"},
}
"""Short units that only mean one after the name of what they measure."""
PERCENT = frozenset({"pct", "percent", "percentage", "%"})
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]{1,24})[)\]}]")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = re.compile(r"[^\W\d_]+|\d+|[%°²³]")
_PER = re.compile(r"\s*(?:/|\bper\b)\s*")
_POWER = re.compile(r"(\^?-?[0-9]|[²³])$")


@dataclass(frozen=True, slots=True)
class Said:
    unit: str | None = None
    currency: str | None = None


def read_header(name: str) -> Said:
    """Brackets are believed first, then signs, then the last word."""
    for inside in reversed(_BRACKETS.findall(name)):
        said = _inside(inside.strip())
        if said.unit or said.currency:
            return said
    words = name_words(name)
    currency = _currency(name, words)
    return Said(_scale(words) if currency else _unit(name, words), currency)


def name_words(name: str) -> list[str]:
    """`customerID` and `customer_id` are both `customer`, `id`."""
    return [word.lower() for word in _WORDS.findall(_HUMPS.sub(" ", name))]


def _inside(inside: str) -> Said:
    """Of brackets: `EUR`, `m/s`, `USD millions`, `€/kg`, `in thousands`."""
    parts = [part for part in re.split(r"[\s,.]+", inside) if part.lower() != "in"]
    currency = next(filter(None, map(_money, parts)), None)
    others = [part for part in parts if not _money(part)]
    scale = next((SCALES[part.lower()] for part in others if part.lower() in SCALES), None)
    if currency:
        return Said(scale, currency)
    per_money = _money(_PER.split(inside)[0])
    if per_money and "/" in inside:
        return Said(inside, per_money)
    stuck = _stuck(inside)
    if stuck:
        return stuck
    if is_unit(inside):
        return Said("%" if inside.lower() in PERCENT else inside)
    return Said(scale if scale and inside.lower() not in {"k", "m"} else None)


def _stuck(inside: str) -> Said | None:
    """A sign and a scale in one: `$M`, `k€`."""
    for sign, code in SIGNS.items():
        rest = inside.replace(sign, "").strip().lower()
        if sign in inside and rest in SCALES:
            return Said(SCALES[rest], code)
    return None


def _money(word: str) -> str | None:
    if word in SIGNS:
        return SIGNS[word]
    if word in CODES or word.lower() in PLAIN_CODES:
        return word.upper()
    return CURRENCY_WORDS.get(word.lower())


def is_unit(text: str) -> bool:
    """One unit, or a product or quotient of them: `kg`, `m/s`, `kg/m^3`, `kWh per day`."""
    parts = [part.strip() for part in re.split(r"[/*·]|\bper\b", text)]
    return all(_one_unit(part) for part in parts)


def _one_unit(part: str) -> bool:
    lower = part.lower()
    if len(part) == 1:
        return part in ONE_LETTER
    return lower in UNITS or (bool(lower) and _POWER.sub("", lower) in UNITS)


def _currency(name: str, words: Sequence[str]) -> str | None:
    for sign, code in SIGNS.items():
        if sign in name:
            return code
    for word in (*words[-1:], *words[:1]):
        if word in PLAIN_CODES:
            return word.upper()
        if word in CURRENCY_WORDS:
            return CURRENCY_WORDS[word]
    return None


def _scale(words: Sequence[str]) -> str | None:
    return next((SCALES[word] for word in words if word in SCALES and len(word) > 1), None)


def _unit(name: str, words: Sequence[str]) -> str | None:
    if "%" in name or PERCENT.intersection(words):
        return "%"
    if len(words) < 2:  # noqa: PLR2004  # `days` alone is a name
        return None
    *before, last = _joined(words)
    if last in ENDINGS:
        return last
    for quantities, units in BY_QUANTITY.items():
        if last in units and set(quantities.split()).intersection(before):
            return units[last]
    return None


def _joined(words: Sequence[str]) -> list[str]:
    """`area_m2` was taken apart at its digit; `speed_km_h` means km/h."""
    *before, last = words
    joined = f"{before[-1]}{last}"
    if joined in ENDINGS and len(before) > 1:
        return [*before[:-1], joined]
    return list(words)


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
        for batch in _batches(wanted):
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


def _batches(wanted: Iterable[Fact]) -> list[list[Fact]]:
    batches: dict[int, list[Fact]] = {}
    for fact in wanted:
        batches.setdefault(fact[0] // COLUMNS_AT_ONCE, []).append(fact)
    return list(batches.values())


# Numbers and other people's texts in a sentence.

LONGEST_VALUE = 40
FEW, NEARLY_ALL = 0.01, 0.99


def percent(share: float) -> str:
    if 0 < share < FEW:
        return "<1 %"
    if NEARLY_ALL < share < 1:
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
