"""Whether what code came to agrees with our own computation of the same question.

Nothing is said where the two cannot be compared, or where both may be right: a skewness has more
than one definition, a mean has one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING, Final, TypeAlias

from secondlook.nodes.judge.arithmetic import Named, named_values, shown, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import Scalar
    from secondlook.nodes.state import AnalysisCheckData
    from secondlook.sandbox.port import Frame, Outcome, Plain
    from secondlook.tables.query import Computed, Measure, Query

AGREEMENT: Final = "recomputed"
Cells: TypeAlias = "tuple[float | str, ...]"
_SHARES: Final = frozenset({"share", "missing_share"})
_SPREADS: Final = frozenset({"std", "variance"})
_DISPUTED: Final = frozenset(
    {"skewness", "kurtosis", "normality", "outliers_z", "outliers_iqr", "quantile", "mode", "iqr"}
    | {"slope", "correlation_p"}
)
"""With more than one definition in use: agreement says something, disagreement does not."""
_CALLED: Final[dict[str, frozenset[str]]] = {
    "mean": frozenset({"mean", "average", "avg"}),
    "std": frozenset({"std", "stdev", "deviation", "sd"}),
    "variance": frozenset({"variance", "var"}),
    "min": frozenset({"min", "minimum", "lowest"}),
    "max": frozenset({"max", "maximum", "highest"}),
    "sum": frozenset({"sum", "total"}),
    "skewness": frozenset({"skewness", "skew"}),
    "kurtosis": frozenset({"kurtosis", "kurt"}),
    "correlation": frozenset({"correlation", "corr", "pearson", "r"}),
}
"""What a statistic is called in the names of values; by its own name where it is not here."""
_EXACT = 1e-6
_ROUGHLY_WHOLE = 100
_COMMON_PLACES: Final = frozenset({1, 2, 3, 4})
_MOST_CELLS = 6
"""Cells of a row among which its key is looked for."""
_MOST_DECIMALS = 9


def agrees(query: Query, computed: Computed, outcome: Outcome) -> AnalysisCheckData | None:
    """None where they cannot be compared."""
    if outcome.status != "ok" or not outcome.has_result or not computed.rows:
        return None
    if not query.measures:
        return _rows_agree(query, computed, outcome)
    if not query.group_by:
        return _values_agree(query, computed, outcome)
    return _groups_agree(query, computed, outcome)


# Values of the whole table


def _values_agree(query: Query, computed: Computed, outcome: Outcome) -> AnalysisCheckData | None:
    ours = [
        (measure, value)
        for measure in query.measures
        if measure.name in computed.columns
        and (value := computed.rows[0][computed.columns.index(measure.name)]) is not None
    ]
    theirs = [one for one in named_values(outcome) if one.value is not None]
    pairs = list(_paired(ours, theirs))
    if not pairs:
        return None
    for measure, value, other in pairs:
        if not _same(measure, value, other.value, computed.used):
            return None if measure.statistic in _DISPUTED else _disagree(measure, value, other)
    measure, value, _ = pairs[0]
    return _agree(f"{measure.name.replace('_', ' ')} {_written(value)}", len(pairs))


def _paired(
    ours: Sequence[tuple[Measure, Scalar]], theirs: Sequence[Named]
) -> Iterator[tuple[Measure, Scalar, Named]]:
    """By name; a single value by being the only one, or by being among theirs."""
    by_name = {"".join(words_of(one.name)): one for one in theirs if one.name}
    named = [
        (measure, value, by_name[key])
        for measure, value in ours
        if (key := "".join(words_of(measure.name))) in by_name
    ]
    if named or len(ours) != 1:
        yield from named or _by_statistic(ours, theirs)
        return
    measure, value = ours[0]
    is_number = _as_number(value) is not None
    alike = [one for one in theirs if (_as_number(one.value) is not None) == is_number]
    if len(alike) == 1:
        yield measure, value, alike[0]
        return
    yield from ((measure, value, one) for one in alike if _same(measure, value, one.value, None))


def _by_statistic(
    ours: Sequence[tuple[Measure, Scalar]], theirs: Sequence[Named]
) -> Iterator[tuple[Measure, Scalar, Named]]:
    """`avg_fare` is the mean where there is one mean on either side."""
    for measure, value in ours:
        words = _CALLED.get(measure.statistic, frozenset({measure.statistic}))
        like = [one for one in theirs if words & set(words_of(one.name))]
        alone = sum(one.statistic == measure.statistic for one, _ in ours) == 1
        if alone and len(like) == 1:
            yield measure, value, like[0]


def _same(measure: Measure, ours: Scalar, theirs: Scalar, used: int | None) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return bool(ours) == bool(theirs)
    their_number, our_number = _as_number(theirs), _as_number(ours)
    if our_number is None or their_number is None:
        return _text(ours) == _text(theirs)
    return any(
        _equal(their_number, one, decimals=measure.decimals)
        for one in _forms(measure, our_number, used)
    )


def _forms(measure: Measure, number: float, used: int | None) -> Iterator[float]:
    """The value, and what else it may rightly be: a share of 1, or of a population."""
    yield number
    if measure.statistic in _SHARES:
        yield from (number / 100, number * 100)
    if measure.statistic in _SPREADS and used is not None and used > 1:
        share = (used - 1) / used
        factor = math.sqrt(share) if measure.statistic == "std" else share
        yield from (number * factor, number / factor)


def _equal(theirs: float, ours: float, *, decimals: int | None) -> bool:
    """At the digits that they show."""
    if not (math.isfinite(theirs) and math.isfinite(ours)):
        return math.isnan(theirs) and math.isnan(ours)
    if math.isclose(theirs, ours, rel_tol=_EXACT, abs_tol=1e-12):
        return True
    shown_decimals = decimals_of(theirs)
    if shown_decimals > _MOST_DECIMALS:
        return False
    asked_places = frozenset() if decimals is None else frozenset({decimals})
    places = asked_places | {shown_decimals}
    if shown_decimals == 0 and decimals != 0 and abs(theirs) < _ROUGHLY_WHOLE:
        # 35 is no rounding of 34.65 that anybody asked for; 1.0 of 0.998 to two places is
        places = asked_places or _COMMON_PLACES
    return any(_within(theirs, ours, one) for one in places)


def _within(theirs: float, ours: float, decimals: int) -> bool:
    return abs(theirs - ours) <= 0.5 * 10.0**-decimals * (1 + 1e-6)


# Values of groups


def _groups_agree(query: Query, computed: Computed, outcome: Outcome) -> AnalysisCheckData | None:
    measures = [one for one in query.measures if one.name in computed.columns]
    if not measures:
        return None
    places = [computed.columns.index(one.name) for one in measures]
    ours = {
        _key(cell for at, cell in enumerate(row) if at not in places): row for row in computed.rows
    }
    first, place = measures[0], places[0]
    theirs = _by_key(outcome, set(ours))
    if not theirs:
        return _single_group(first, place, computed, outcome)
    for key, values in theirs.items():
        ours_of_key = ours[key][place]
        if not any(_same(first, ours_of_key, value, None) for value in values):
            if len(values) > 1 or first.statistic in _DISPUTED | _SPREADS:
                return None
            return _disagree(first, ours_of_key, Named(" ".join(map(str, key)), values[0]))
    return _agree(f"{first.name.replace('_', ' ')} by group", len(theirs))


def _by_key(outcome: Outcome, keys: set[Cells]) -> dict[Cells, list[Scalar]]:
    """Their values by our keys; the first cells of a row that are one of them are its key."""
    size = len(next(iter(keys)))
    found: dict[Cells, list[Scalar]] = {}
    for cells in _their_rows(outcome):
        chosen = cells[:_MOST_CELLS]
        for places in permutations(range(len(chosen)), size):
            key = tuple(_comparable(chosen[at]) for at in places)
            left = [cell for at, cell in enumerate(chosen) if at not in places]
            values = [cell for cell in left if _as_number(cell) is not None]
            if key in keys and values:
                found.setdefault(key, values)
                break
    return found


def _their_rows(outcome: Outcome) -> Iterator[list[Scalar]]:
    if outcome.frame is not None:
        yield from map(_plain_cells, outcome.frame.rows)
    elif isinstance(outcome.result, dict):
        yield from ([name, *_plain_cells([value])] for name, value in outcome.result.items())
    elif isinstance(outcome.result, list):
        for one in outcome.result:
            if isinstance(one, list | dict):
                yield _plain_cells(list(one.values()) if isinstance(one, dict) else one)


def _plain_cells(row: Sequence[Plain]) -> list[Scalar]:
    return [cell for cell in row if not isinstance(cell, list | dict) and cell is not None]


def _single_group(
    measure: Measure, place: int, computed: Computed, outcome: Outcome
) -> AnalysisCheckData | None:
    """One group was asked for: they may give its name, or its value."""
    theirs = [one for one in named_values(outcome) if one.value is not None]
    if len(computed.rows) != 1 or len(theirs) != 1:
        return None
    row = computed.rows[0]
    keys = [cell for at, cell in enumerate(row) if at != place]
    held = theirs[0].value
    if _comparable(held) in {_comparable(one) for one in keys}:
        return _agree(f"{_written(held)}", 1)
    if _same(measure, row[place], held, None):
        return _agree(f"{measure.name.replace('_', ' ')} {_written(held)}", 1)
    if measure.statistic in _DISPUTED or computed.total_rows != 1:
        return None
    said = f"{' '.join(map(str, keys))} ({_written(row[place])})"
    return _check(f"Our own computation gives {said}, the code {_written(held)}.", passed=False)


# Rows of the table


def _rows_agree(query: Query, computed: Computed, outcome: Outcome) -> AnalysisCheckData | None:
    if len(computed.columns) != 1 or computed.total_rows > len(computed.rows):
        return None
    theirs = _their_list(outcome, computed.columns[0])
    if theirs is None:
        return None
    ours = Counter(_comparable(row[0]) for row in computed.rows)
    given = Counter(map(_comparable, theirs))
    alike = ours.keys() == given.keys() if query.distinct else ours == given
    if alike or ours.keys() == given.keys():
        return _agree(_listed(computed.rows), len(computed.rows))
    said = f"Our own computation gives {_listed(computed.rows)}, the code"
    few = ", ".join(map(_written, theirs[:3]))
    return _check(f"{said} {few or 'nothing'}.", passed=False)


def _their_list(outcome: Outcome, column: str) -> list[Scalar] | None:
    if outcome.frame is not None:
        return _of_column(outcome.frame, column)
    result = outcome.result
    if isinstance(result, dict):
        result = next(iter(result.values())) if len(result) == 1 else None
    if isinstance(result, list):
        cells = _plain_cells(result)
        return cells if len(cells) == len(result) else None
    return None if isinstance(result, dict) or result is None else [result]


def _of_column(frame: Frame, column: str) -> list[Scalar] | None:
    if frame.total_rows > len(frame.rows):
        return None
    names = [name.casefold() for name in frame.columns]
    if column.casefold() not in names and len(names) > 1:
        return None
    at = names.index(column.casefold()) if column.casefold() in names else 0
    return _plain_cells([row[at] for row in frame.rows])


# Words and numbers


def _key(cells: Iterator[Scalar]) -> Cells:
    return tuple(map(_comparable, cells))


def _comparable(value: Plain | Scalar) -> float | str:
    number = _as_number(value)
    return _text(value) if number is None else round(number, 9)


def _as_number(value: Plain | Scalar) -> float | None:
    """Also of a text that is one."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    try:
        number = float(
            value.replace(",", "").strip().rstrip("%") if isinstance(value, str) else value
        )
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) or not isinstance(value, str) else None


def _text(value: object) -> str:
    """Midnight is the date alone."""
    return str(value).strip().casefold().removesuffix("t00:00:00").removesuffix(" 00:00:00")


def _written(value: Scalar) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return repr(str(value)[:60])
    return shown(float(value))


def _listed(rows: Sequence[Sequence[Scalar]]) -> str:
    few = ", ".join(_written(row[0]) for row in rows[:3])
    return f"{few} and {len(rows) - 3} more" if len(rows) > 3 else few  # noqa: PLR2004


def _agree(what: str, count: int) -> AnalysisCheckData:
    more = f" ({count} values)" if count > 1 else ""
    return _check(f"Our own computation comes to the same: {what}{more}.", passed=True)


def _disagree(measure: Measure, ours: Scalar, theirs: Named) -> AnalysisCheckData:
    of = f" of {theirs.name!r}" if theirs.name else ""
    said = f"Our own computation of {measure.name.replace('_', ' ')!r} gives {_written(ours)}"
    return _check(f"{said}, the code{of} {_written(theirs.value)}.", passed=False)


def _check(said: str, *, passed: bool) -> AnalysisCheckData:
    return {"name": AGREEMENT, "passed": passed, "said": said}


# Whether two runs of the same code came to the same.

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_SMALLEST = 1e-12
_MOST_PAIRED = 1_000
"""Items of a list that are paired one by one where their order differs."""
_COMPARING_MOST_DECIMALS = 6
"""A number with more was not rounded by the code."""
_DEEPEST = 14


def same(one: Outcome, other: Outcome, *, tolerance: float, ties: bool) -> bool | None:
    """In any order of rows; None where it cannot be told. `ties`: numbers that were rounded may
    differ by one in their last place."""
    compare = _Compare(tolerance, ties=ties)
    if (one.frame is None) != (other.frame is None) or one.frames.keys() != other.frames.keys():
        return False
    found = [compare.plain(one.result, other.result)]
    pairs = [(one.frames[name], other.frames[name]) for name in one.frames]
    pairs += [(one.frame, other.frame)] if one.frame and other.frame else []
    verdicts = [*found, *(compare.frames(first, second) for first, second in pairs)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


class _Compare:
    def __init__(self, tolerance: float, *, ties: bool) -> None:
        self._tolerance = tolerance
        self._ties = ties

    def frames(self, one: Frame, other: Frame) -> bool | None:
        if one.columns != other.columns or one.total_rows != other.total_rows:
            return False
        if one.total_rows > len(one.rows):
            return None  # other rows may have come back
        return self._lists(_without_labels(one), _without_labels(other), 0)

    def plain(self, one: Plain, other: Plain, depth: int = 0) -> bool:
        if depth > _DEEPEST:
            return True
        if isinstance(one, list) and isinstance(other, list):
            return self._lists(one, other, depth + 1)
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(
                self.plain(one[key], other[key], depth + 1) for key in one
            )
        if isinstance(one, str) and isinstance(other, str):
            return one == other or self._texts(one, other)
        if _is_number(one) and _is_number(other):
            return self._numbers(float(one), float(other))  # type: ignore[arg-type]
        return type(one) is type(other) and one == other

    def _numbers(self, one: float, other: float) -> bool:
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if math.isclose(one, other, rel_tol=self._tolerance, abs_tol=_SMALLEST):
            return True
        decimals = max(decimals_of(one), decimals_of(other))
        rounded = 0 < decimals <= _COMPARING_MOST_DECIMALS
        return self._ties and rounded and abs(one - other) <= 1.01 * 10.0**-decimals

    def _texts(self, one: str, other: str) -> bool:
        """The same words around numbers that are the same."""
        if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
            return False
        pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
        return all(self._numbers(float(first), float(second)) for first, second in pairs)

    def _lists(self, one: Sequence[Plain], other: Sequence[Plain], depth: int) -> bool:
        if len(one) != len(other):
            return False
        if all(self.plain(a, b, depth + 1) for a, b in zip(one, other, strict=True)):
            return True
        return self._in_any_order(one, other, depth)

    def _in_any_order(self, one: Sequence[Plain], other: Sequence[Plain], depth: int) -> bool:
        if Counter(map(repr, one)) == Counter(map(repr, other)):
            return True
        if len(one) > _MOST_PAIRED:
            return False
        left = sorted(other, key=_sort_key)
        for item in sorted(one, key=_sort_key):
            at = next((at for at, its in enumerate(left) if self.plain(item, its, depth + 1)), None)
            if at is None:
                return False
            del left[at]
        return True


def decimals_of(value: float) -> int:
    """Digits after the point, as it is written shortest."""
    shown = repr(float(value))
    if "e" in shown:
        return 0 if float(value).is_integer() else _COMPARING_MOST_DECIMALS + 1
    return 0 if shown.endswith(".0") else len(shown.partition(".")[2])


def _is_number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sort_key(value: Plain) -> str:
    """Near enough alike for nearly equal numbers to come to lie side by side."""
    if isinstance(value, list):
        return "|".join(map(_sort_key, value))
    return f"{float(value):.5g}" if _is_number(value) else str(value)  # type: ignore[arg-type]


def _without_labels(frame: Frame) -> list[Plain]:
    """Rows without their numbers in the table, which another order changes."""
    numbered = {
        at
        for at, name in enumerate(frame.columns)
        if name == "index" and all(isinstance(row[at], int) for row in frame.rows)
    }
    return [[cell for at, cell in enumerate(row) if at not in numbered] for row in frame.rows]
