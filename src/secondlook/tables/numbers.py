"""Numbers as people write them: plain, grouped, with a decimal comma, a currency or a percent sign.

What pandas reads as a number is one here, except digits behind a leading zero: those are codes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.tables.forms import Form

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_CODE = re.compile(r"[+-]?0[0-9]+", re.ASCII)

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


def is_code(cells: Sequence[str]) -> bool:
    """Whether it would be a number but for leading zeros: postcodes, article numbers."""
    return any(_CODE.fullmatch(cell) for cell in cells)


def plain_number(cells: Sequence[str]) -> Form | None:
    """Digits alone that are too many for an integer are no number: the last ones would be lost."""
    if all(INTEGER.fits(cell) and -_LARGEST <= int(cell) < _LARGEST for cell in cells):
        return INTEGER
    is_number = all(NUMBER.fits(cell) for cell in cells)
    return NUMBER if is_number and any(_FRACTIONAL.search(cell) for cell in cells) else None


def dots_may_group(cells: Sequence[str]) -> bool:
    """ "1.234" is 1234 where a comma marks decimals."""
    return any("." in cell for cell in cells) and all(_DOTS_AS_GROUPS.fullmatch(c) for c in cells)


def grouped_by_dots(cells: Sequence[str]) -> Form:
    return _decorated_form(",", "", is_percent=False, cells=cells)


@dataclass(frozen=True, slots=True)
class Decorated:
    """What a column of decorated numbers can be: one reading, or two."""

    readings: dict[Decimal, Form]

    def read(self, decimal: Decimal) -> Form:
        return self.readings.get(decimal) or next(iter(self.readings.values()))

    @property
    def proves(self) -> Decimal | None:
        return next(iter(self.readings)) if len(self.readings) == 1 else None


def decorated_number(cells: Sequence[str]) -> Decorated | None:
    """None where they are no numbers, or their signs contradict one another."""
    if not any(_DECORATION.search(cell) for cell in cells):
        return None
    found = {one.group() for cell in cells if (one := _CURRENCY.search(cell))}
    has_percent = [cell.endswith("%") for cell in cells]
    if len(found) > 1 or (any(has_percent) and (found or not all(has_percent))):
        return None
    sign = next(iter(found), "")
    readings: dict[Decimal, Form] = {}
    for decimal in _DECIMALS:
        form = _decorated_form(decimal, sign, is_percent=any(has_percent), cells=cells)
        if all(form.fits(cell) for cell in cells):
            readings[decimal] = form
    if not readings:
        return None
    if not any(char in cell for cell in cells for char in ".,"):
        readings.pop(",", None)  # nothing tells them apart, and nothing depends on it
    return Decorated(readings)


_DECIMALS: tuple[Decimal, Decimal] = (".", ",")


def _decorated_form(
    decimal: Decimal, currency: str, *, is_percent: bool, cells: Sequence[str]
) -> Form:
    sign = f"(?:{re.escape(currency)})?" if currency else ""
    whole = _GROUPED[decimal].format(spaced=_SPACED)
    number = f"{whole}{_FRACTION[decimal]}{_SCIENTIFIC}"
    percent = f"{_GAP}%" if is_percent else ""
    core = f"{_SIGN}{sign}{_GAP}{_SIGN}{number}{_GAP}{sign}{percent}"
    is_whole = not any(_has_fraction(cell, decimal) for cell in cells)
    return Form(
        "integer" if is_whole else "number",
        rf"(?:{core}|\({core}\))",
        f"TRY_CAST({_digits(decimal, currency)} AS {'BIGINT' if is_whole else 'DOUBLE'})",
        _note(cells, decimal, currency, is_percent=is_percent),
    )


def _digits(decimal: Decimal, currency: str) -> str:
    """The cell without what decorates it, in SQL: digits, signs and a decimal point."""
    cell = f"replace({{x}}, '{currency}', '')" if currency else "{x}"
    signed = f"replace(replace({cell}, '\u2212', '-'), '(', '-')"
    digits = f"regexp_replace({signed}, '[^0-9eE+{decimal}-]', '', 'g')"
    return digits if decimal == "." else f"replace({digits}, ',', '.')"


def _has_fraction(cell: str, decimal: Decimal) -> bool:
    return decimal in cell or "e" in cell.lower()


def _note(cells: Sequence[str], decimal: Decimal, currency: str, *, is_percent: bool) -> str:
    said: list[str] = []
    if currency:
        said.append(f"the currency sign {currency} was taken off")
    if is_percent:
        said.append("the percent sign was taken off: 45 % is 45")
    group = "," if decimal == "." else "."
    if any(decimal == "," and "," in cell for cell in cells):
        said.append("a comma marks decimals")
    if any(group in cell for cell in cells):
        said.append(f"{group!r} groups digits")
    if any(re.search("[0-9][ \u00a0\u2009\u202f'\u2019][0-9]", cell) for cell in cells):
        said.append("blanks or apostrophes group digits")
    if any(cell.startswith("(") for cell in cells):
        said.append("brackets mean a negative number")
    return "{column}: read as numbers" + "".join(f"; {one}" for one in said)
