"""What was run: data, settings, time, and what failed."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.report import numbers
from secondlook.evaluation.report.numbers import DASH
from secondlook.evaluation.report.tables.cells import Table, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.evaluation.records import Results


def data(results: Results) -> Table:
    known = {key: value for key, value in results.data.items() if key != "problems"}
    rows = [("command", results.command)] if results.command else []
    rows += [(key, plain(value)) for key, value in known.items()]
    rows += [(f"version of {key}", value) for key, value in results.versions.items()]
    return Table("Data and versions", ("", ""), tuple(rows), texts=2)


def problems(results: Results) -> Table:
    """Rows of the set that could not be used."""
    found = results.data.get("problems")
    listed = [_problem(item) for item in found] if isinstance(found, list | tuple) else []
    return Table(
        "Problems in the data",
        ("file", "line", "reason"),
        tuple(
            (plain(item.get("file")), plain(item.get("line")), plain(item.get("reason")))
            for item in listed
        ),
        words=frozenset({2}),
        note="These rows were left out. Everything else was used.",
    )


def _problem(item: Any) -> Mapping[str, Any]:
    """Of a run just ended they are objects, of one read back from its file they are not."""
    if is_dataclass(item) and not isinstance(item, type):
        return asdict(item)
    return item if isinstance(item, dict) else {"reason": item}


def settings(results: Results) -> Table:
    """What is set differently in each configuration."""
    rows = tuple(
        (
            name,
            item.workflow,
            ", ".join(f"{key} = {numbers.scalar(to)}" for key, to in sorted(item.changes.items()))
            or DASH,
            item.about or DASH,
        )
        for name, item in results.summaries.items()
    )
    return Table(
        "Configurations",
        ("configuration", "workflow", "what is set differently", "about"),
        rows,
        texts=4,
    )


def shared_settings(results: Results) -> Table:
    flat = _flat(results.settings)
    return Table("Settings of the run", ("setting", "value"), tuple(flat), texts=2)


def stop_reasons(results: Results) -> Table:
    counted = {name: item.stop_reasons for name, item in results.summaries.items()}
    return _crossed("Why runs ended", "stop reason", counted)


def _crossed(title: str, first: str, counted: Mapping[str, Mapping[str, int]]) -> Table:
    keys = sorted({key for counts in counted.values() for key in counts})
    rows = tuple(
        (key, *(numbers.count(counts.get(key, 0)) for counts in counted.values())) for key in keys
    )
    return Table(title, (first, *counted), rows)


def node_latencies(results: Results) -> Table:
    timed = {name: item.seconds_by_node for name, item in results.summaries.items()}
    nodes = list(dict.fromkeys(node for times in timed.values() for node in times))
    rows = tuple(
        (node, *(_p50_p95(times.get(node, {})) for times in timed.values())) for node in nodes
    )
    return Table(
        "Time per step", ("step", *timed), rows, note="Median and 95th percentile per question."
    )


def calls_by_node(results: Results) -> Table:
    made = {name: item.calls_by_node for name, item in results.summaries.items()}
    nodes = list(dict.fromkeys(node for calls in made.values() for node in calls))
    rows = tuple(
        (node, *(numbers.number(calls.get(node, 0.0)) for calls in made.values())) for node in nodes
    )
    return Table("Model calls per step", ("step", *made), rows, note="Mean per question.")


def passes(results: Results) -> Table:
    spent = results.passes
    rows = (
        ("indexing", DASH, DASH, numbers.seconds(spent.indexing_seconds)),
        (
            "reader, pairs",
            *_counted(spent.reader_pairs, spent.reader_remembered, spent.reader_seconds),
        ),
        (
            "embedder, texts",
            *_counted(spent.embedder_texts, spent.embedder_remembered, spent.embedder_seconds),
        ),
        (
            "model, calls",
            numbers.count(spent.model_calls),
            numbers.count(spent.model_remembered),
            DASH,
        ),
        ("all", DASH, DASH, numbers.seconds(spent.total_seconds)),
    )
    ratio = "" if spent.ratio is None else f"All to reader and embedder: {spent.ratio:.2f}."
    return Table("What the run spent", ("", "made", "remembered", "time"), rows, note=ratio)


def failed(results: Results) -> Table:
    rows = tuple(
        (row.configuration, row.case, row.question or DASH, row.error or row.stop_reason)
        for row in results.rows
        if row.status == "failed" or row.error
    )
    return Table(
        "Failed questions",
        ("configuration", "question", "asked", "why"),
        rows,
        texts=4,
        note="A failed question counts as wrong.",
    )


def review(results: Results) -> Table:
    """Answers that a person should look at."""
    rows = tuple(
        (row.configuration, row.case, row.question or DASH, row.status, row.stop_reason)
        for row in results.rows
        if row.needs_review
    )
    return Table(
        "To be reviewed",
        ("configuration", "question", "asked", "status", "why it ended"),
        rows,
        texts=5,
        note="Every try was used up. review.csv has the queries, grades and best passages of each.",
    )


def _p50_p95(times: Mapping[str, float]) -> str:
    if not times:
        return DASH
    return f"{numbers.seconds(times.get('p50'))}, {numbers.seconds(times.get('p95'))}"


def _counted(made: int, remembered: int, spent: float) -> tuple[str, str, str]:
    return numbers.count(made), numbers.count(remembered), numbers.seconds(spent)


def _flat(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as dotted names."""
    flat = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            flat += _flat(item, f"{prefix}{key}.")
        else:
            flat.append((f"{prefix}{key}", plain(item)))
    return flat
