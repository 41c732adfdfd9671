"""Numbers in an explanation that the executed result does not hold."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.reading.numbers import Number, numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.sandbox.port import Frame, Outcome, Plain

_DEEPEST = 12
_MOST = 100_000
_SCALES: Final = (1.0, 1e3, 1e6, 1e9)
_SCALED = re.compile(r"\b(?:thousands?|millions?|billions?|bn|mn)\b|\d[kKmM]\b")
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b|percentage\b|pct\b)", re.IGNORECASE)
_DOWNWARD = re.compile(
    r"\b(?:negativ\w*|decreas\w*|declin\w*|f[ea]ll\w*|drop\w*|lower|less|loss\w*|lost|below|minus|"
    r"down|reduc\w*|shrink\w*|shrank|fewer|inverse\w*|behind|under|lag\w*)\b",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"^\s*(?:[-*\u2022]\s*)?\d{1,2}[.)]\s+")
_DIGITS = re.compile(r"\d[\d,'\u2019\u00a0\u202f\u2009]*(?:\.\d+)?|\.\d+")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")
_TIMED = re.compile(r"\b(\d{4}-\d{2}-\d{2})T(?=\d{2}:)")
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class _Held:
    values: tuple[float, ...]
    words: frozenset[str]
    """Numbers of the texts: as they are read, also dates and codes."""


def stray_numbers(
    sentence: str, values: Iterable[Plain | Frame], *, allowed: Iterable[str] = ()
) -> list[str]:
    """Those that stand neither in `values` nor in the `allowed` texts, as the sentence writes them.

    A number stands there if it is equal at the digits shown, also as a percentage of a share, and
    in thousands or millions where the sentence says so.
    """
    text = _LIST_MARK.sub("", sentence)
    said = _said(text)
    if not said:
        return []
    held = _held(values, allowed)
    scales = _SCALES if _SCALED.search(text) else _SCALES[:1]
    downward = _DOWNWARD.search(text) is not None
    return [
        number.written
        for number in said
        if not _stands(number, held, scales, percent=_is_percent(number, text), downward=downward)
    ]


def says_a_number_of(sentence: str, shown: str) -> bool:
    """Whether any of its numbers stands in what was shown, be it rounded."""
    said = _said(_LIST_MARK.sub("", sentence))
    return len(stray_numbers(sentence, (), allowed=[shown])) < len(said)


def _said(text: str) -> list[Number]:
    return [number for number in numbers(text) if number.required]


def values_of(outcome: Outcome) -> list[Plain | Frame]:
    """What an explanation of that outcome may speak of."""
    frames = [outcome.frame] if outcome.frame is not None else []
    return [outcome.result, *frames, *outcome.frames.values()]


def _held(values: Iterable[Plain | Frame], allowed: Iterable[str]) -> _Held:
    found: list[float] = []
    texts = list(allowed)
    for value in values:
        for one in _flat(value, 0):
            if isinstance(one, str):
                texts.append(one)
            elif math.isfinite(one):
                found.append(one)
            if len(found) >= _MOST:
                break
    dated = [_TIMED.sub(r"\1 ", text) for text in texts]
    words = {reading for text in dated for number in numbers(text) for reading in number.readings}
    found += [float(word) for word in words if _PLAIN.fullmatch(word)]
    return _Held(tuple(found), frozenset(words))


def _flat(value: Plain | Frame, depth: int) -> Iterator[str | float]:
    """Every number and text, keys included, and how many there are."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None or depth > _DEEPEST:
        return
    elif isinstance(value, int | float):
        yield _as_float(value)
    elif isinstance(value, list):
        yield float(len(value))
        for one in value:
            yield from _flat(one, depth + 1)
    elif isinstance(value, dict):
        yield float(len(value))
        yield from value
        for one in value.values():
            yield from _flat(one, depth + 1)
    else:
        yield float(value.total_rows)
        yield float(len(value.columns))
        yield from value.columns
        for row in value.rows:
            for cell in row:
                yield from _flat(cell, depth + 1)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_percent(number: Number, text: str) -> bool:
    at = text.find(number.written)
    return at >= 0 and _PERCENT.match(text, at + len(number.written)) is not None


def _stands(
    number: Number, held: _Held, scales: tuple[float, ...], *, percent: bool, downward: bool
) -> bool:
    if number.readings & held.words:
        return True
    readings = [float(one) for one in number.readings if _PLAIN.fullmatch(one)]
    return any(
        _is_held(reading, _unit(number, reading), held, scales, percent=percent, downward=downward)
        for reading in readings
    )


def _is_held(
    said: float,
    unit: float,
    held: _Held,
    scales: tuple[float, ...],
    *,
    percent: bool,
    downward: bool,
) -> bool:
    factors = (1.0, 100.0) if percent else (1.0,)
    for value in held.values:
        for factor in factors:
            for scale in scales:
                meant = value * factor / scale
                if _equal(said, meant, unit) or (downward and _equal(said, -meant, unit)):
                    return True
    return False


def _equal(said: float, meant: float, unit: float) -> bool:
    """At the digits shown."""
    return abs(said - meant) <= unit / 2 * (1 + _SLACK) + abs(meant) * 1e-12


def _unit(number: Number, reading: float) -> float:
    """What its last digit counts: 0.1 of 42.3, a hundred thousand of 1.2 million."""
    digits = _DIGITS.search(number.written)
    if digits is None:  # in words: exact
        return 0.0
    bare = re.sub(r"[^\d.]", "", digits[0])
    written = float(bare or 0)
    scale = abs(reading) / written if written else 1.0
    decimals = len(bare.partition(".")[2])
    return scale * 10.0**-decimals
