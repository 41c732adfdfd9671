"""The numbers of a text, however they are written, so that they can be compared. 1,386,000 and
1.386 million are one number, and so are 12, twelve and 12th. A date is also the numbers it is made
of; a code that holds digits (HM-2024-07) counts as a whole."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from typing import Final

_MONTHS = "january february march april may june july august september october november december"
MONTHS: Final = tuple(_MONTHS.split())
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_WORDS: Final[dict[str, int]] = (
    {word: value for value, word in enumerate(_UNITS.split())}
    | {word: 10 * value for value, word in enumerate(_TENS.split(), 2)}
    | {word: value for value, word in enumerate(_ORDINALS.split())}
)
_LOOSE = frozenset({"zero", "one", "zeroth", "first", "second"})
"""Words that are as often no number: one of them, at first, a second later."""
_SCALES: Final = {
    "dozen": 12, "hundred": 10**2, "thousand": 10**3, "million": 10**6, "mn": 10**6,
    "billion": 10**9, "bn": 10**9, "trillion": 10**12,
}  # fmt: skip
_PERHAPS_SCALES: Final = {"k": 10**3, "m": 10**6}  # 3.4m is 3.4 million or 3.4 metres

_NARROW = "\u00a0\u202f\u2009"
_MINUS = "-\u2212"
_TOKEN = re.compile(
    r"(?P<date>(?<![\w-])\d{4}-\d{1,2}-\d{1,2}(?![\w-]))"
    r"|(?P<day>(?<![\w.])\d{1,2}(?P<dot>[./])\d{1,2}(?P=dot)\d{4}(?!\w))"
    r"|(?P<code>(?<!\w)(?:[^\W\d_]{1,12}\d|[A-Z]{1,12}[-_/]\d)\w{0,24}(?:[-_/]\w{1,24}){0,4})"
    r"|(?P<time>(?<![\d:])\d{1,2}:\d{2}(?![\d:]))(?:\s?(?P<half>[ap])\.?m\b)?"
    rf"|(?P<number>(?:(?<![\w)\]])[{_MINUS}])?\d{{1,40}}(?:[.,'\u2019{_NARROW}]\d{{1,40}}){{0,12}})"
    r"|(?P<word>[A-Za-z]+)"
)
_GROUPED = re.compile(rf"\d{{1,3}}(?:(?P<mark>[,'\u2019{_NARROW}])\d{{3}})(?:(?P=mark)\d{{3}})*")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
_MONTH = "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_WRITTEN_DATES = (
    re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}\b", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\s+{_DAY},?\s+{_YEAR}\b", re.IGNORECASE),
)
_WHITE = re.compile(rf"[^\S{_NARROW}]+")
"""White space that tells nothing; narrow spaces stay, they group digits."""
_NOON = 12
_TEN = 10
_TWENTY = 20


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a text; any of its `readings` may be what was meant."""

    written: str
    readings: frozenset[str]
    required: bool = True
    """Whether it must be found again; False for words that often are no number, and for what
    another number says already."""


def missing_numbers(claim: str, evidence: str) -> list[str]:
    """The numbers of `claim`, as it writes them, that stand nowhere in `evidence`."""
    wanted = [number for number in numbers(claim) if number.required]
    if not wanted:
        return []
    held = {reading for number in numbers(evidence) for reading in number.readings}
    held |= {reading.removeprefix("-") for reading in held}
    return [number.written for number in wanted if not number.readings & held]


def numbers(text: str) -> list[Number]:
    """Every number of a text; dates also as a whole."""
    text = _WHITE.sub(" ", text)
    tokens = list(_TOKEN.finditer(text))
    found: list[Number] = []
    at = 0
    while at < len(tokens):
        token, used = tokens[at], 1
        if written := token["number"]:
            scale = _scale_after(tokens, at + 1, text)
            used += scale is not None
            found.append(_scaled(written, scale))
            # Digits grouped by narrow spaces fall apart where a copy has plain ones.
            pieces = re.split(rf"[{_NARROW}]", written)
            found += [replace(_scaled(one, None), required=False) for one in pieces[1:] and pieces]
        elif token["word"]:
            used, number = _in_words(tokens, at, text)
            found += number
        else:
            found += _composed(token)
        at += used
    for written_date in chain.from_iterable(form.finditer(text) for form in _WRITTEN_DATES):
        # 14 October 2024 as the date it is; its day and year are numbers of their own already.
        month = written_date["month"].lower()[:3]
        number_of = 1 + next(at for at, name in enumerate(MONTHS) if name.startswith(month))
        key = _date(int(written_date["year"]), number_of, int(written_date["day"]))
        found.append(Number(written_date[0], frozenset({key}), required=False))
    return found


def _composed(token: re.Match[str]) -> list[Number]:
    """What a time, a code or a date in figures holds."""
    if written := token["time"]:
        hour, minute = map(int, written.split(":"))
        hour = (
            hour % _NOON + _NOON * (token["half"] == "p")
            if token["half"] and hour <= _NOON
            else hour
        )
        return [
            Number(
                written,
                frozenset({f"{hour}:{minute:02}"} | ({str(hour)} if minute == 0 else set())),
            )
        ]
    if written := token["code"]:
        digits = re.findall(r"\d{1,40}", written)
        inside = [Number(one, frozenset({_shown(Decimal(one))}), required=False) for one in digits]
        return [Number(written, frozenset({written.casefold()})), *inside]
    written = token[0]
    first, second, third = map(int, re.split(r"\D", written))
    parts: tuple[int, ...] = (first, third)
    if "-" in written:
        readings = {_date(first, second, third)}
    else:  # 14.10.2024 and 10/14/2024: either may be the day
        parts = (third, *{first, second})
        readings = {_date(third, second, first), _date(third, first, second)}
    alone = [Number(written, frozenset({str(part)}), required=False) for part in parts]
    return [Number(written, frozenset(readings)), *alone]


def _value(written: str) -> Decimal | None:
    """What the digits say; None when they are no one number, such as 1.2.3."""
    digits = written.lstrip(_MINUS)
    grouped = _GROUPED.match(digits)
    if grouped and not digits[grouped.end() :].startswith(grouped["mark"]):
        digits = re.sub(r"\D", "", grouped[0]) + digits[grouped.end() :]
    elif _DOTTED.fullmatch(digits):
        digits = digits.replace(".", "")
    parts = re.split(r"\D", digits)
    if len(parts) > 2:  # noqa: PLR2004
        return None
    value = Decimal(".".join(parts))
    return -value if written[0] in _MINUS else value


def _scale_after(tokens: Sequence[re.Match[str]], at: int, text: str) -> str | None:
    """The word after a number when it multiplies it."""
    if at >= len(tokens) or not tokens[at]["word"]:
        return None
    word = tokens[at]["word"].lower()
    gap = text[tokens[at - 1].end() : tokens[at].start()]
    if (word in _SCALES and gap in {"", " ", "-", *_NARROW}) or (
        word in _PERHAPS_SCALES and not gap
    ):
        return word
    return None


def _scaled(written: str, scale: str | None) -> Number:
    value = _value(written)
    if value is None:
        return Number(written, frozenset({written}))
    if scale is None:
        return Number(written, frozenset({_shown(value)}))
    if scale in _PERHAPS_SCALES:
        both = {_shown(value), _shown(value * _PERHAPS_SCALES[scale])}
        return Number(f"{written}{scale}", frozenset(both))
    return Number(f"{written} {scale}", frozenset({_shown(value * _SCALES[scale])}))


def _in_words(tokens: Sequence[re.Match[str]], at: int, text: str) -> tuple[int, list[Number]]:
    """How many tokens from `at` on are taken, and the number in words that they make."""
    first = tokens[at]["word"].lower()
    if first in _SCALES and first not in {"mn", "bn"}:
        return 1, [Number(tokens[at][0], frozenset({str(_SCALES[first])}), required=False)]
    if first not in _WORDS:
        return 1, []
    value, used = _WORDS[first], 1
    if value >= _TWENTY and (unit := _unit_after(tokens, at + 1, text)):
        value, used = value + unit, 2
    scale = _scale_after(tokens, at + used, text)
    if scale in _SCALES:
        value, used = value * _SCALES[scale], used + 1
    written = text[tokens[at].start() : tokens[at + used - 1].end()]
    required = used > 1 or first not in _LOOSE
    return used, [Number(written, frozenset({str(value)}), required=required)]


def _unit_after(tokens: Sequence[re.Match[str]], at: int, text: str) -> int:
    """The four of twenty-four; 0 when none follows."""
    if at >= len(tokens) or not tokens[at]["word"]:
        return 0
    gap = text[tokens[at - 1].end() : tokens[at].start()]
    unit = _WORDS.get(tokens[at]["word"].lower(), 0)
    return unit if unit < _TEN and not gap.strip(f" -{_NARROW}") else 0


def _date(year: int, month: int, day: int) -> str:
    return f"{year}-{month:02}-{day:02}"


def _shown(value: Decimal) -> str:
    """One form for equal numbers: 7.80 is 7.8, and 1.386 million is 1386000."""
    shown = f"{value:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
