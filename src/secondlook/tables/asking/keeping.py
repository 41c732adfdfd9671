"""Readings as plain JSON data and back: they outlive a restart of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from secondlook.tables.asking.port import Bound, Case, Output, Reading, Resolved
from secondlook.tables.query import Query


def reading_data(reading: Reading) -> dict[str, Any]:
    return {
        "query": reading.query.model_dump(mode="json"),
        "said": reading.said,
        "doubt": reading.doubt,
        "resolved": [asdict(one) for one in reading.resolved],
        "family": reading.family,
        "answer": reading.answer,
        "outputs": [_as_lists(asdict(one)) for one in reading.outputs],
        "more": [one.model_dump(mode="json") for one in reading.more],
        "operation": reading.operation,
        "rows": reading.rows,
        "choices": list(reading.choices),
    }


def _as_lists(value: Any) -> Any:
    """As JSON has it: no tuples."""
    if isinstance(value, dict):
        return {name: _as_lists(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_lists(one) for one in value]
    return value


def reading_from(data: dict[str, Any]) -> Reading:
    return Reading(
        query=Query.model_validate(data["query"]),
        said=data["said"],
        doubt=data["doubt"],
        resolved=tuple(Resolved(**one) for one in data["resolved"]),
        family=data["family"],
        answer=data["answer"],
        outputs=tuple(_output(one) for one in data["outputs"]),
        more=tuple(Query.model_validate(one) for one in data["more"]),
        operation=data["operation"],
        rows=data["rows"],
        choices=tuple(data["choices"]),
    )


def _output(data: dict[str, Any]) -> Output:
    cases = tuple(
        Case(one["word"], tuple(Bound(**bound) for bound in one["bounds"])) for one in data["cases"]
    )
    over = tuple((measure, label) for measure, label in data["over"])
    return Output(**{**data, "cases": cases, "group": tuple(data["group"]), "over": over})
