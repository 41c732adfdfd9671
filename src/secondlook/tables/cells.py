"""How the cells of a column may be written, and how DuckDB turns them into values. A form is a
pattern that every cell must match as a whole, and an expression. Python tries patterns on a sample,
DuckDB holds every row to them: so patterns use only what both engines read alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.table import ColumnType

MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas.read_csv takes for a missing value wherever it stands (its default `na_values`)."""
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
OTHERWISE_MISSING = frozenset(
    {name.lower() for name in MISSING}
    | {"n.a.", "n.a", "nil", "missing", "unknown", "not available", "?", "??", ".", "..", "...",
       "\u2026", "#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!", "nat", "tba", "tbd"}
    | {dash * times for dash in DASHES for times in (1, 2, 3)}
)  # fmt: skip
"""In lower case. Missing only in a column whose other cells are all numbers, dates or the like."""
_MARKS = sorted(one for one in MISSING if one)
BLANKS = " \t\r\n\u00a0\u2007\u2009\u202f"


@dataclass(frozen=True, slots=True)
class Form:
    type: ColumnType
    pattern: str = ""  # Of a whole cell; "" for any text
    value: str = "{x}"  # The cell in SQL; NULL where it is no value after all, such as 30 February
    note: str = ""  # What was assumed, with {column}; "" where there was nothing to assume
    is_trimmed: bool = False  # Whether blanks around a cell have to be taken off first
    has_gaps: bool = False  # Whether cells of OTHERWISE_MISSING are in it
    plainly: str = ""
    """In SQL with {x}, the cell, and {v}, its value: where it holds, the cell fits and has that
    value. Cheaper than the pattern, which is tried where it does not hold; "" where there is no
    such condition."""

    def fits(self, cell: str) -> bool:
        return not self.pattern or _compiled(self.pattern).fullmatch(cell) is not None

    def bare(self, column: str) -> str:
        """The cell without blanks around it, in SQL."""
        return f"trim({column}, {quoted(BLANKS)})" if self.is_trimmed else column

    def tried(self, column: str) -> str:
        """The value in SQL, whether or not the cell fits."""
        return self.value.format(x=self.bare(column))

    def is_plain(self, column: str, tried: str) -> str:
        """Whether what was tried is the column's value, in SQL; NULL or no tells nothing."""
        return self.plainly.format(x=self.bare(column), v=tried)

    def converted(self, column: str) -> str:
        """The column's value in SQL: NULL where the cell is missing or does not fit."""
        if not self.pattern:
            return column
        matches = f"regexp_full_match({self.bare(column)}, {quoted(self.pattern)})"
        return f"CASE WHEN {matches} THEN {self.tried(column)} END"

    def misfit(self, column: str) -> str:
        """Whether a cell is there but does not fit, in SQL."""
        misfit = f"{column} IS NOT NULL AND {self.converted(column)} IS NULL"
        if self.plainly:
            plain = self.is_plain(column, f"({self.tried(column)})")
            misfit = f"NOT coalesce({plain}, false) AND {misfit}"
        return f"({misfit} AND NOT {self.is_gap(column)})" if self.has_gaps else f"({misfit})"

    def is_gap(self, column: str) -> str:
        """Whether a cell means missing here, in SQL."""
        # No list: DuckDB makes a join of a long one, and a join does not keep the order of rows.
        return f"regexp_full_match(lower({self.bare(column)}), {quoted(_GAPS)})"


_GAPS = "|".join(map(re.escape, sorted(OTHERWISE_MISSING)))
TEXT = Form("text")


def says_missing(cell: str) -> str:
    """Whether a text is one of MISSING, in SQL."""
    return f"regexp_full_match({cell}, {quoted('|'.join(map(re.escape, _MARKS)))})"


def present(cell: str) -> str:
    """The text in SQL, NULL where it is one of MISSING. Most show by their length or by how they
    begin that they are none: that is cheaper than to compare each cell of a file with all."""
    firsts = sorted({one[0] for one in _MARKS})
    before, high = max(pairwise(firsts), key=lambda two: ord(two[1]) - ord(two[0]))
    low, behind = chr(ord(before) + 1), chr(ord(firsts[-1]) + 1)
    other = (
        f"strlen({cell}) > {max(map(len, _MARKS))} OR {cell} >= {quoted(behind)}"
        f" OR ({cell} >= {quoted(low)} AND {cell} < {quoted(high)})"
    )
    return f"CASE WHEN {other} THEN {cell} WHEN NOT {says_missing(cell)} THEN {cell} END"


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def quoted(text: str) -> str:
    """As a string in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """As a name in SQL."""
    return '"' + name.replace('"', '""') + '"'


# Numbers as people write them: plain, grouped, with a decimal comma, a currency or a percent sign.

Decimal = Literal[".", ","]

BOOLEAN = Form(
    "boolean",
    "true|false|True|False|TRUE|FALSE",
    "lower({x}) = 'true'",
    # No longer list: DuckDB makes a join of one, and a join does not keep the order of rows.
    plainly="({x} = 'true' OR {x} = 'false')",
)
INTEGER = Form(
    "integer",
    "[+-]?(?:0|[1-9][0-9]*)",
    "TRY_CAST({x} AS BIGINT)",
    # Written back it is the same: it was no 007, 1.5, 1e3, 1_000 or 0x1F, which DuckDB takes too.
    plainly="CAST({v} AS VARCHAR) = {x}",
)
NUMBER = Form(
    "number",
    r"[+-]?(?:(?:0|[1-9][0-9]*|[0-9]+\.[0-9]*|\.[0-9]+)"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+|[iI]nf(?:inity)?)",
    "TRY_CAST({x} AS DOUBLE)",
    # It begins with a digit from 1 to 9, or with "0.": so it is no code, no name and not
    # hexadecimal. DuckDB would read 1_000 as a number; pandas and we do not.
    plainly="{v} IS NOT NULL AND (({x} >= '1' AND {x} < ':') OR ({x} >= '0.' AND {x} < '0/')"
    " OR ({x} >= '-1' AND {x} < '-:')) AND NOT contains({x}, '_')",
)
_LARGEST = 2**63
_FRACTIONAL = re.compile("[.eEiI]")

_GAP = "[ \u00a0\u2009\u202f]?"
_SIGN = "[+\u2212-]?"
_CURRENCIES = (
    r"\$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "฿", "₫", "₴", "₱", "zł", "kr", "Kč", "Rs",
    r"US\$", r"A\$", r"C\$", r"R\$", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD",
)  # fmt: skip
_CURRENCY = re.compile("|".join(sorted(_CURRENCIES, key=len, reverse=True)))
_GROUPED = {
    ".": r"(?:[0-9]{{1,3}}(?:,[0-9]{{2,3}})*,[0-9]{{3}}|{spaced}|0|[1-9][0-9]*)",
    ",": r"(?:[0-9]{{1,3}}(?:\.[0-9]{{3}})+|{spaced}|0|[1-9][0-9]*)",
}
_SPACED = "[0-9]{1,3}(?:[ \u00a0\u2009\u202f'\u2019][0-9]{3})+"
_FRACTION = {".": r"(?:\.[0-9]+)?", ",": "(?:,[0-9]+)?"}
_SCIENTIFIC = "(?:[eE][+-]?[0-9]{1,3})?"
_DECORATION = re.compile("[,%()\u2212'\u2019 \u00a0\u2009\u202f]|[^0-9.eE+-]")
_DOTS_AS_GROUPS = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|0|[1-9][0-9]{0,2})", re.ASCII)


def plain_number(cells: Sequence[str]) -> Form | None:
    """Digits alone that are too many for an integer are no number: the last ones would be lost."""
    if all(INTEGER.fits(cell) and -_LARGEST <= int(cell) < _LARGEST for cell in cells):
        return INTEGER
    is_number = all(NUMBER.fits(cell) for cell in cells)
    return NUMBER if is_number and any(_FRACTIONAL.search(cell) for cell in cells) else None


def dots_may_group(cells: Sequence[str]) -> bool:
    """ "1.234" is 1234 where a comma marks decimals."""
    return any("." in cell for cell in cells) and all(_DOTS_AS_GROUPS.fullmatch(c) for c in cells)


def decorated_number(cells: Sequence[str]) -> dict[Decimal, Form] | None:
    """One reading, or two by what marks decimals. None where they are no numbers, or their signs
    contradict one another."""
    if not any(_DECORATION.search(cell) for cell in cells):
        return None
    found = {one.group() for cell in cells if (one := _CURRENCY.search(cell))}
    has_percent = [cell.endswith("%") for cell in cells]
    if len(found) > 1 or (any(has_percent) and (found or not all(has_percent))):
        return None
    sign, decimals = next(iter(found), ""), get_args(Decimal)
    forms = {one: decorated_form(one, cells, sign, is_percent=any(has_percent)) for one in decimals}
    readings = {one: form for one, form in forms.items() if all(map(form.fits, cells))}
    if not any(char in cell for cell in cells for char in ".,"):
        readings.pop(",", None)  # nothing tells them apart, and nothing depends on it
    return readings or None


def decorated_form(
    decimal: Decimal, cells: Sequence[str], currency: str = "", *, is_percent: bool = False
) -> Form:
    sign = f"(?:{re.escape(currency)})?" if currency else ""
    whole = _GROUPED[decimal].format(spaced=_SPACED)
    number = f"{whole}{_FRACTION[decimal]}{_SCIENTIFIC}"
    percent = f"{_GAP}%" if is_percent else ""
    core = f"{_SIGN}{sign}{_GAP}{_SIGN}{number}{_GAP}{sign}{percent}"
    # The cell without what decorates it: digits, signs and a decimal point.
    cell = f"replace({{x}}, '{currency}', '')" if currency else "{x}"
    signed = f"replace(replace({cell}, '\u2212', '-'), '(', '-')"
    digits = f"regexp_replace({signed}, '[^0-9eE+{decimal}-]', '', 'g')"
    digits = digits if decimal == "." else f"replace({digits}, ',', '.')"
    is_whole = not any(decimal in cell or "e" in cell.lower() for cell in cells)
    group, blanks = "," if decimal == "." else ".", "[0-9][ \u00a0\u2009\u202f'\u2019][0-9]"
    assumed = {
        f"the currency sign {currency} was taken off": bool(currency),
        "the percent sign was taken off: 45 % is 45": is_percent,
        "a comma marks decimals": any(decimal == "," and "," in cell for cell in cells),
        f"{group!r} groups digits": any(group in cell for cell in cells),
        "blanks or apostrophes group digits": any(re.search(blanks, cell) for cell in cells),
        "brackets mean a negative number": any(cell.startswith("(") for cell in cells),
    }
    return Form(
        "integer" if is_whole else "number",
        rf"(?:{core}|\({core}\))",
        f"TRY_CAST({digits} AS {'BIGINT' if is_whole else 'DOUBLE'})",
        "{column}: read as numbers" + "".join(f"; {one}" for one in assumed if assumed[one]),
    )


# Dates and times as people write them; day and month are told apart by the data.

_TIME = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
_HALF_DAY = "(?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9])? ?(?:AM|PM|am|pm)"
_HALF_DAY_FORMATS = ("%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
_DAY_FORMATS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
_ZONE = "(?:Z| ?UTC| ?[+-][0-9]{2}(?::?[0-9]{2})?)"
_ISO_DAY = "[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_MONTH_NUMBER = "(?:0?[1-9]|1[0-2])"
_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"

# What is written back the same was no 2020/01/05 and has lost no time or zone; of that length it is
# also no "infinity", no year before Christ and none of five digits.
_AS_WRITTEN = "CAST({{v}} AS VARCHAR) = {{x}} AND strlen({{x}}) = {length}"

ISO_DATE = Form(
    "date", _ISO_DAY, "TRY_CAST({x} AS DATE)", plainly=_AS_WRITTEN.format(length=len("2020-01-05"))
)
ISO_DATETIME = Form(
    "datetime",
    f"{_ISO_DAY}(?:[ T]{_TIME})?",
    "TRY_CAST({x} AS TIMESTAMP)",
    plainly=_AS_WRITTEN.format(length=len("2020-01-05 10:30:00")),
)
ISO_WITH_ZONE = Form(
    "datetime",
    f"{_ISO_DAY}[ T]{_TIME}{_ZONE}",
    "timezone('UTC', TRY_CAST(replace({x}, ' UTC', 'Z') AS TIMESTAMPTZ))",
    "{column}: times carry a time zone and were turned into UTC",
)
TIME_OF_DAY = Form("time", _TIME, "TRY_CAST({x} AS TIME)")
HALF_DAY_TIME = Form(
    "time", _HALF_DAY, "CAST(try_strptime({x}, " + repr(list(_HALF_DAY_FORMATS)) + ") AS TIME)"
)

# Ways to write a day: the pattern, and the formats of it.
_YEAR_FIRST = [(f"[0-9]{{4}}[{s}]{_MONTH_NUMBER}[{s}]{_DAY}", [f"%Y{s}%m{s}%d"]) for s in "/."]
_NAMED = [
    (f"(?i:{pattern})", [written.format(name) for name in ("%B", "%b")])
    for pattern, written in (
        (f"{_DAY}[.]? {_MONTH}[.]?,? [0-9]{{4}}", "%d {} %Y"),
        (f"{_MONTH}[.]? {_DAY},? [0-9]{{4}}", "{} %d %Y"),
        (f"{_DAY}-{_MONTH}-[0-9]{{4}}", "%d-{}-%Y"),
        (f"{_DAY}-{_MONTH}-[0-9]{{2}}", "%d-{}-%y"),
        (f"{_DAY}/{_MONTH}/[0-9]{{4}}", "%d/{}/%Y"),
        (f"[0-9]{{4}}-{_MONTH}-{_DAY}", "%Y-{}-%d"),
    )
]
_UNNAMED = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:(?:, ?|[ T])(.+))?", re.ASCII)


def iso_form(cells: Sequence[str]) -> Form | None:
    times = (TIME_OF_DAY, HALF_DAY_TIME)
    return _first_that_fits(cells, (ISO_DATE, ISO_DATETIME, ISO_WITH_ZONE, *times))


def written_form(cells: Sequence[str]) -> Form | None:
    """Days with the year first or the month by name: nothing to assume."""
    found = (_dated(cells, pattern, formats) for pattern, formats in (*_YEAR_FIRST, *_NAMED))
    return next((form for form in found if form is not None), None)


def local_form(cells: Sequence[str]) -> Form | None:
    """31.12.2020, 12/31/2020: all with the same sign between, in one order."""
    parts = [one for one in map(_UNNAMED.fullmatch, cells) if one is not None]
    signs = {one.group(2) for one in parts}
    lengths = {len(one.group(4)) for one in parts}
    if len(parts) < len(cells) or len(signs) != 1 or len(lengths) != 1:
        return None
    sign, is_short = signs.pop(), lengths.pop() == 2  # noqa: PLR2004 - digits of a year
    if is_short and sign == "." and not all(re.match(r"\d\d\.\d\d\.", cell) for cell in cells):
        return None  # version numbers
    may_be = [all(int(one.group(at)) <= 12 for one in parts) for at in (1, 3)]  # noqa: PLR2004
    is_sure, day_first = not all(may_be), may_be[1] and (not may_be[0] or sign != "/")
    if not any(may_be) or (is_short and not is_sure and sign == "-"):
        return None
    said = "day, month, year" if day_first else "month, day, year"
    why = "" if is_sure else f"; no date in it tells, {sign!r} is taken to mean so"
    example = repr(cells[0][:40]).replace("{", "{{").replace("}", "}}")
    order = ((_DAY, "%d"), (_MONTH_NUMBER, "%m"))
    year = ("[0-9]{2}", "%y") if is_short else ("[0-9]{4}", "%Y")
    patterns, formats = zip(*(order if day_first else order[::-1]), year, strict=True)
    note = f"{{column}}: dates such as {example} were read as {said}{why}"
    return _dated(cells, f"[{sign}]".join(patterns), [sign.join(formats)], note)


def _dated(
    cells: Sequence[str], pattern: str, formats: Sequence[str], note: str = ""
) -> Form | None:
    """The day alone, or with a time behind it."""
    # Signs that carry no meaning are taken out, so that fewer formats do.
    cell = "regexp_replace({x}, '[.]?,? |([0-9])T([0-9])', '\\1 \\2', 'g')"
    cell = f"regexp_replace({cell}, '(?i)sept([ /-])', 'Sep\\1')"
    forms = [Form("date", pattern, f"CAST(try_strptime({cell}, {[*formats]}) AS DATE)", note)]
    behind = ((f"(?:,? |T){_TIME}", _DAY_FORMATS), (f",? {_HALF_DAY}", _HALF_DAY_FORMATS))
    for time, times in behind:
        both = [f"{day} {one}" for day in formats for one in times]
        forms.append(Form("datetime", f"{pattern}{time}", f"try_strptime({cell}, {both})", note))
    return _first_that_fits(cells, forms)


def _first_that_fits(cells: Sequence[str], forms: Iterable[Form]) -> Form | None:
    return next((form for form in forms if all(form.fits(cell) for cell in cells)), None)
