"""From what a reading's queries came to, to the values that were asked for."""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import TYPE_CHECKING

from secondlook.tables.asking.port import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from secondlook.answer import Scalar
    from secondlook.tables.asking.port import Bound, Output, Reading
    from secondlook.tables.query import Computed, Query

SIGNS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def queries(reading: Reading) -> tuple[Query, ...]:
    return (reading.query, *reading.more)


def values_of(
    reading: Reading, computed: Sequence[Computed], wanted: Wanted | None = None
) -> dict[str, JsonValue]:
    """By the wanted names, where there are some; nothing where nothing follows."""
    wanted = wanted or Wanted()
    if len(computed) != 1 + len(reading.more):
        return {}
    if reading.operation is not None:
        return _named(wanted, {"answer": _operated(reading, computed)})
    if reading.outputs:
        values = {one.name: _output(one, computed) for one in reading.outputs}
        return {
            name: f'"{value}"' if name in wanted.quoted and isinstance(value, str) else value
            for name, value in values.items()
        }
    if reading.query.measures:
        return _named(wanted, _measured(reading.query, computed[0], wanted))
    return _named(wanted, {"answer": _of_rows(reading, computed[0])})


def _named(wanted: Wanted, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Under the wanted names where they are as many; a value alone needs no other."""
    names = wanted.names if len(wanted.names) == len(values) else tuple(values)
    known = {
        name: _rounded(value, wanted.each.get(name, wanted.decimals))
        for name, value in zip(names, values.values(), strict=True)
    }
    return {name: value for name, value in known.items() if value is not None}


def _rounded(value: JsonValue, decimals: int | None) -> JsonValue:
    if decimals is None or not isinstance(value, float):
        return value
    return round(value, decimals)


def _cell(computed: Computed, column: str, row: tuple[Scalar, ...] | None) -> Scalar:
    if row is None or column not in computed.columns:
        return None
    return row[computed.columns.index(column)]


def _output(one: Output, computed: Sequence[Computed]) -> JsonValue:
    if not 0 <= one.query < len(computed):
        return None
    result = computed[one.query]
    if one.every is not None:
        return _every(one, result)
    if one.combine is not None:
        return _combined(one, result)
    keys = len(one.group)
    row = next((row for row in result.rows if row[:keys] == one.group), None)
    if one.cases:
        return _word(one, result, row)
    return _rounded(_cell(result, one.measure, row), one.decimals)


def _every(one: Output, result: Computed) -> JsonValue:
    values = [_rounded(_cell(result, one.measure, row), one.decimals) for row in result.rows]
    if one.every == "list":
        return list(values)
    return {f"{one.prefix}{row[0]}": value for row, value in zip(result.rows, values, strict=True)}


def _combined(one: Output, result: Computed) -> JsonValue:
    row = result.rows[0] if result.rows else None
    cells = [(label, _cell(result, measure, row)) for measure, label in one.over]
    values = [(label, value) for label, value in cells if isinstance(value, int | float)]
    if not values:
        return None
    if one.combine == "sum":
        return _rounded(sum(value for _, value in values), one.decimals)
    if one.combine == "positive":
        return [label for label, value in values if value]
    best = (max if one.combine == "most" else min)(value for _, value in values)
    return ", ".join(label for label, value in values if value == best)


def formatted(value: JsonValue) -> str:
    """A value as text, as it stands between the brackets of `@name[...]`."""
    if isinstance(value, list):
        return ", ".join(formatted(one) for one in value)
    if isinstance(value, dict):
        return str(value)
    return "" if value is None else str(value)


def _word(one: Output, result: Computed, row: tuple[Scalar, ...] | None) -> JsonValue:
    for case in one.cases:
        verdicts = [_holds(bound, _cell(result, bound.measure, row)) for bound in case.bounds]
        if None in verdicts:
            return None
        if all(verdicts):
            return case.word
    return None


def _holds(bound: Bound, value: Scalar) -> bool | None:
    if not isinstance(value, int | float):
        return None
    return SIGNS[bound.sign](abs(value) if bound.absolute else value, bound.value)


def _measured(query: Query, computed: Computed, wanted: Wanted) -> dict[str, JsonValue]:
    keys = len(query.group_by)
    if not keys:
        row = computed.rows[0] if computed.rows else ()
        return dict(zip(computed.columns, row, strict=False))
    places = wanted.decimals
    return {
        one.name: {_group(row[:keys]): _rounded(row[keys + at], places) for row in computed.rows}
        for at, one in enumerate(query.measures)
    }


def _group(key: tuple[Scalar, ...]) -> str:
    return ", ".join("missing" if one is None else str(one) for one in key)


def _of_rows(reading: Reading, computed: Computed) -> JsonValue:
    if reading.answer == "boolean":
        return bool(computed.rows)
    if not computed.rows:
        return None
    if reading.answer == "value":
        return computed.rows[0][0]
    if len(computed.columns) == 1:
        return [row[0] for row in computed.rows]
    return [dict(zip(computed.columns, row, strict=True)) for row in computed.rows]


def _operated(reading: Reading, computed: Sequence[Computed]) -> JsonValue:
    operation = reading.operation
    if operation in {"exists", "none"}:
        return bool(computed[0].rows) == (operation == "exists")
    firsts = [one.rows[0][0] if one.rows and one.rows[0] else None for one in computed]
    if operation == "same" and None not in firsts:
        return all(one == firsts[0] for one in firsts)
    numbers = [one for one in firsts if isinstance(one, int | float)]
    if len(numbers) != len(firsts):
        return None
    if operation in {"most", "least"}:
        return _chosen(reading, numbers)
    return _arithmetic(operation, numbers)


def _chosen(reading: Reading, numbers: list[int | float]) -> JsonValue:
    if len(reading.choices) != len(numbers):
        return None
    best = max(numbers) if reading.operation == "most" else min(numbers)
    return ", ".join(
        choice for choice, number in zip(reading.choices, numbers, strict=True) if number == best
    )


def _arithmetic(operation: str | None, numbers: list[int | float]) -> JsonValue:
    first, *rest = numbers
    if operation == "sum":
        return sum(numbers)
    if not rest:
        return None
    if operation == "ratio":
        return first / rest[0] if rest[0] else None
    return {"difference": first - rest[0], "greater": first > rest[0]}.get(
        operation or "", first < rest[0]
    )
