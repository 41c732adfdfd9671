"""What a report says, as tables of text. The page prints them whole, the terminal those of their
columns that fit 80 characters. A missing figure is a dash."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any, get_args

from secondlook.evaluation.judging import PLAIN, SEALED, TOGETHER
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.records import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import RenderableType

    from secondlook.evaluation.records import Ablation, Comparison, Difference, Estimate, Results

_MOST_SENTENCES = 3
_CLEAR = 0.05
_DIFFERENCE = ("change", "95 % interval", "p", "p (Holm)")
DASH = "\N{EN DASH}"


def number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals, fewer for what is large: `0.812`, `845`, `12.3k`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign = "+" if signed else ""
    if abs(value) >= 10_000:  # noqa: PLR2004
        return f"{value / 1000:{sign},.1f}k"
    if abs(value) >= 100:  # noqa: PLR2004
        return f"{value:{sign},.0f}"
    written = f"{value:{sign}.3f}"
    return "0.000" if written == "-0.000" else written


def figure(value: float | None, metric: str, *, signed: bool = False) -> str:
    """As the metric is measured: seconds, dollars (`$0.0004`) or a plain number."""
    if value is None or not math.isfinite(value):
        return DASH
    if metric == "cost":
        return f"{'-' if value < 0 else '+' if signed else ''}${abs(value):.3g}"
    return number(value, signed=signed) + (" s" if metric.startswith("latency") else "")


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return DASH if value is None else str(value)


def between(low: float | None, high: float | None, metric: str, *, signed: bool = False) -> str:
    if low is None or high is None:
        return DASH
    first, last = figure(low, metric, signed=signed), figure(high, metric, signed=signed)
    return f"{first}{' to ' if signed or first.startswith('-') else DASH}{last}"


def estimate(item: Estimate | None, metric: str, *, form: str = "{} {}") -> str:
    if item is None or item.value is None:
        return DASH
    value, low, high = (figure(one, metric) for one in (item.value, item.low, item.high))
    return value if low == high else form.format(value, between(item.low, item.high, metric))


def one_line(text: str) -> str:
    """Text of others, without what could steer a terminal or break a file."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def arrow(metric: str) -> str:
    better = METRICS[metric].better if metric in METRICS else "neither"
    return {"higher": "↑", "lower": "↓", "neither": ""}[better]


def metric_names(results: Results) -> list[str]:
    found = (item.metrics.items() for item in results.summaries.values())
    return in_order({name for items in found for name, item in items if item.value is not None})


def in_order(names: Iterable[str]) -> list[str]:
    places = {name: place for place, name in enumerate(METRICS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()
    note: str = ""
    narrow: tuple[int, ...] = ()  # the columns that a terminal has room for; empty: all

    def is_text(self, column: int) -> bool:
        """Whether it holds words; columns of figures stand at the right."""
        return not column or any(row[column][:1].isalpha() for row in self.rows)


def differences(item: Difference | None) -> tuple[str, str, str, str]:
    if item is None:
        return DASH, DASH, DASH, DASH
    change = figure(item.difference, item.metric, signed=True)
    return (
        change,
        between(item.low, item.high, item.metric, signed=True),
        p_value(item.p),
        p_value(item.p_holm),
    )


def p_value(p: float | None) -> str:
    return number(p) if p is None or p >= 0.001 else "<.001"  # noqa: PLR2004


def deciding(results: Results) -> str:
    studies = (results.ablation, *results.comparisons)
    found = next((item.metric for item in studies if item is not None), None)
    usual = ("judged_right", "accuracy", "values_accuracy", "f1_overall", "f1", "ndcg@10")
    there = metric_names(results)
    return found or next((name for name in usual if name in there), "f1")


def findings(results: Results) -> list[str]:
    said = []
    if ablation := results.ablation:
        found = Counter(item.verdict for item in ablation.verdicts if item.verdict != "reference")
        parts = ", ".join(f"{many:,} {verdict}" for verdict, many in sorted(found.items()))
        changes = counted(found.total(), "change")
        said += [cheapest(ablation), f"{changes} against {ablation.reference}: {parts or 'none'}."]
    for item in results.comparisons[:_MOST_SENTENCES]:
        one = item.deciding
        change, interval, *_ = differences(one)
        p = one.p if one.p_holm is None else one.p_holm
        sure = "" if p < _CLEAR else "no clear difference: "
        said.append(
            f"{item.other} against {item.base}: {sure}{one.metric} {change} (95 % interval "
            f"{interval}, p {p_value(p)}, n = {one.n:,})."
        )
    if (more := len(results.comparisons) - _MOST_SENTENCES) > 0:
        said.append(f"{counted(more, 'more comparison')} below.")
    if reviewed := sum(row.needs_review for row in results.rows):
        said.append(f"{counted(reviewed, 'answer')} should be reviewed (results.csv marks them).")
    return said


# What each configuration amounts to.


def summary(results: Results) -> Table:
    rows = []
    for metric in metric_names(results):
        found = [item.metrics.get(metric) for item in results.summaries.values()]
        sizes = [item.n for item in found if item]
        rows.append(
            (
                f"{metric} {arrow(metric)}".rstrip(),
                METRICS[metric].about if metric in METRICS else "",
                DASH.join(f"{size:,}" for size in sorted({min(sizes), max(sizes)})),
                *(estimate(item, metric, form="{} ({})") for item in found),
            )
        )
    note = "Mean and 95 % interval over n questions. ↑ higher is better, ↓ lower is better."
    return Table("Summary", ("metric", "what it is", "n", *results.summaries), rows, note)


def by_type(results: Results) -> Table:
    metric = deciding(results)
    rows = []
    for kind in sorted({kind for item in results.summaries.values() for kind in item.by_type}):
        items = [one.by_type.get(kind, {}).get(metric) for one in results.summaries.values()]
        if sizes := [item.n for item in items if item]:
            figures = (estimate(item, metric) for item in items)
            rows.append((kind, f"{max(sizes):,}", *figures))
    return Table(f"{metric} by type", ("type", "n", *results.summaries), rows)


def judged(results: Results) -> list[Table]:
    """Of an exam: how many of each kind, then shares of kinds together."""
    found = []
    head = [told.replace("_", " ") for told in (*get_args(Outcome), SEALED)]
    note = f"{TOGETHER[0]}: {', '.join(sorted(PLAIN))}."
    for name, item in results.summaries.items():
        lines = item.judged.items()
        counts = [
            (line, f"{one.n:,}", *(f"{many:,}" for many in one.counts.values()))
            for line, one in lines
        ]
        shares = [
            (line, *map(_percent, one.shares.values())) for line, one in lines if line in TOGETHER
        ]
        found.append(Table(f"{name}: answers by kind", ("kind", "n", *head), counts, note))
        found.append(Table(f"{name}: percent, with 95 % interval", ("", *head), shares))
    return [table for table in found if table.rows]


def _percent(item: Estimate) -> str:
    value, low, high = (100 * (one or 0.0) for one in (item.value, item.low, item.high))
    return f"{value:.0f} ({low:.0f}{DASH}{high:.0f})"


# What was run: data, settings, time, and what failed.


def data(results: Results) -> Table:
    rows = [("command", results.command)] if results.command else []
    rows += [(key, plain(value)) for key, value in results.data.items() if key != "problems"]
    rows += [(f"version of {key}", value) for key, value in results.versions.items()]
    return Table("Data and versions", ("", ""), rows)


def problems(results: Results) -> Table:
    told = results.data.get("problems", ())
    rows = [(plain(one["file"]), plain(one["line"]), plain(one["reason"])) for one in told]
    note = "These rows were left out. Everything else was used."
    return Table("Problems in the data", ("file", "line", "reason"), rows, note)


def settings(results: Results) -> Table:
    rows = [
        (name, item.workflow, plain(dict(sorted(item.changes.items()))), item.about or DASH)
        for name, item in results.summaries.items()
    ]
    head = ("configuration", "workflow", "what is set differently", "about")
    return Table("Configurations", head, rows)


def steps(results: Results) -> list[Table]:
    def crossed(
        title: str, head: str, field: str, cell: Callable[[Any], str], note: str = ""
    ) -> Table:
        found = {name: getattr(item, field) for name, item in results.summaries.items()}
        keys = dict.fromkeys(key for held in found.values() for key in held)
        rows = [(key, *(cell(held.get(key)) for held in found.values())) for key in keys]
        return Table(title, (head, *found), rows, note)

    def times(item: Mapping[str, float] | None) -> str:
        return f"{number(item.get('p50'))}, {number(item.get('p95'))}" if item else DASH

    seconds = "Seconds, median and 95th percentile per question."
    return [
        crossed("Time per step", "step", "seconds_by_node", times, seconds),
        crossed("Model calls per step", "step", "calls_by_node", number, "Mean per question."),
        crossed("Why runs ended", "stop reason", "stop_reasons", lambda many: f"{many or 0:,}"),
    ]


def failed(results: Results) -> Table:
    rows = [
        (row.configuration, row.case, row.question or DASH, row.error or row.stop_reason)
        for row in results.rows
        if row.status == "failed" or row.error
    ]
    head, note = ("configuration", "question", "asked", "why"), "A failed question counts as wrong."
    return Table("Failed questions", head, rows, note, narrow=(0, 1, 3))


# What follows from comparing: differences, ablation.


def comparisons(pairs: Iterable[Comparison]) -> list[Table]:
    return [
        Table(
            f"{pair.other} against {pair.base}, on the same questions",
            ("metric", "base", "other", *_DIFFERENCE, "up/same/down", "n", "test"),
            [
                (
                    f"{item.metric} *" if item.metric == pair.metric else item.metric,
                    figure(item.base, item.metric),
                    figure(item.other, item.metric),
                    *differences(item),
                    f"{item.improved}/{item.same}/{item.degraded}",
                    f"{item.n:,}",
                    item.test,
                )
                for item in pair.differences
            ],
            note="* The metric that decides.",
            narrow=(0, 3, 4, 5, 6, 7),
        )
        for pair in pairs
    ]


def prices(results: Results) -> Table:
    rows = [
        (
            item.base,
            item.other,
            figure(item.cost_difference, "cost", signed=True),
            number(item.calls_difference, signed=True),
            number(item.tokens_difference, signed=True),
            figure(item.latency_difference, "latency", signed=True),
            number(item.latency_ratio),
            figure(item.cost_per_point, "cost"),
            figure(item.seconds_per_point, "latency"),
            f"{item.right_withheld:,}",
            f"{item.wrong_withheld:,}",
        )
        for item in results.comparisons
    ]
    head = (
        *("base", "other", "dollars", "model calls", "tokens", "median time", "ratio"),
        *("dollars per point", "time per point", "right, withheld", "wrong, withheld"),
    )
    note = (
        "Per question, other minus base. A point is 0.01 of the metric that decides. "
        "Withheld: answered by base (right or wrong), not answered by other."
    )
    return Table("What the difference costs", head, rows, note)


def verdicts(results: Results) -> Table:
    ablation = results.ablation
    if ablation is None:
        return Table("Ablation")
    found = {item.other: item.deciding for item in ablation.comparisons}
    rows, notes = [], []
    for item in ablation.verdicts:
        name = item.configuration
        if item.more_questions is not None:
            more = counted(item.more_questions, "more question")
            notes.append(f"{name}: {item.verdict}, about {more} needed.")
        rows.append(
            (
                f"{name} *" if name == ablation.cheapest else name,
                item.verdict,
                *differences(found.get(name)),
                figure(item.price[0], "cost"),
                number(item.price[1]),
                figure(item.price[2], "latency"),
                item.why,
            )
        )
    return Table(
        f"Ablation: {ablation.metric} against {ablation.reference}",
        ("configuration", "verdict", *_DIFFERENCE, "dollars", "calls", "time", "why"),
        rows,
        "\n".join([*notes, f"* {cheapest(ablation)}"]),
        narrow=(0, 1, 2, 3, 5, 7, 8),
    )


def cheapest(ablation: Ablation) -> str:
    return (
        f"Cheapest that is not inferior to {ablation.reference} "
        f"(by {ablation.metric}, margin {number(ablation.margin)}): {ablation.cheapest}."
    )


def left_out(results: Results) -> Table:
    items = results.ablation.left_out if results.ablation else {}
    return Table("Not tried", ("setting", "why"), list(items.items()))


# What the terminal shows: tables that fit 80 columns and need no colours.

_SIDE_BY_SIDE = 3  # configurations, or pairs, that fit beside each other in full
_FIGURE = 17  # characters of a figure with its interval, so that three stand in 80 columns
_SHORT = 14
_FAILED = 5
_OVERVIEW = (
    *("accuracy", "values_accuracy", "faithfulness", "answered", "wrong_among_answered"),
    *("fallback_rate", "llm_calls", "latency_p50"),
)


def render(results: Results) -> list[RenderableType]:
    """Everything, the most important last: that is what stays on the screen."""
    lost = failed(results)
    more = len(lost.rows) - _FAILED
    parts = [
        _narrow_summary(results),
        *(judged(results) or [by_type(results)] if len(results.summaries) <= _SIDE_BY_SIDE else []),
        *([] if results.ablation else compared(results.comparisons)),
        replace(
            lost,
            rows=[
                (*rest, shorten(one_line(why), 60, placeholder=" ..."))
                for *rest, why in lost.rows[:_FAILED]
            ],
            note=f"{lost.note} {more:,} more are in report.html." if more > 0 else lost.note,
        ),
        verdicts(results),
    ]
    return [item for part in parts if part.rows for item in drawn(part)]


def compared(pairs: Sequence[Comparison]) -> list[Table]:
    """Few pairs with all their differences, of many the one that decides."""
    if len(pairs) <= _SIDE_BY_SIDE:
        return comparisons(pairs)
    rows = [(f"{pair.other} vs {pair.base}", *differences(pair.deciding)) for pair in pairs]
    title = f"Comparisons by {pairs[0].metric}, on the same questions"
    return [Table(title, ("", *_DIFFERENCE), rows)]


def drawn(table: Table) -> list[RenderableType]:
    from rich.table import Table as RichTable
    from rich.text import Text

    # No lines around cells: they cost columns and are of no use in a log.
    shown = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    places = table.narrow or range(len(table.columns))
    for at in places:
        short = all(len(row[at]) <= _SHORT for row in table.rows)
        lines = table.columns[at].splitlines()
        head = [part for line in lines for part in wrap(one_line(line), _FIGURE)]
        shown.add_column(
            Text("\n".join(head)),
            justify="left" if table.is_text(at) else "right",
            overflow="fold",
            no_wrap=short or not table.is_text(at),
        )
    for row in table.rows:
        shown.add_row(*(Text(one_line(row[at])) for at in places))
    note = [Text(line, style="dim") for line in table.note.splitlines()]
    return [Text(one_line(table.title), style="bold"), shown, *note, Text("")]


def _narrow_summary(results: Results) -> Table:
    summaries, title = results.summaries, "Summary"
    if asked := results.data.get("asked"):
        title = f"Summary: {counted(asked, 'question')}"
    # What never happened in any configuration needs no line; no success at all does.
    there = [
        name
        for name in metric_names(results)
        if name not in METRICS
        or METRICS[name].group not in {"behaviour", "cost", "graders"}
        or METRICS[name].better == "higher"
        or any(one.metrics[name].value for one in summaries.values() if name in one.metrics)
    ]

    def value(name: str, metric: str) -> str:
        item = summaries[name].metrics.get(metric)
        return figure(item.value if item else None, metric)

    if len(summaries) > _SIDE_BY_SIDE:
        names = [name for name in dict.fromkeys((deciding(results), *_OVERVIEW)) if name in there]
        rows = [(name, *(value(name, metric) for metric in names)) for name in summaries]
        heads = [name.replace("_", "\n") for name in names]
        return Table(title, ("configuration", *heads), rows, "report.html has all metrics.")

    def cell(name: str, metric: str) -> str:
        written = estimate(summaries[name].metrics.get(metric), metric)
        return written if len(written) <= _FIGURE else value(name, metric)

    lower = ", ".join(name for name in there if arrow(name) == "↓")
    rows = [(metric, *(cell(name, metric) for name in summaries)) for metric in there]
    note = f"Mean and 95 % interval. Lower is better: {lower}." if lower else ""
    return Table(title, ("metric", *summaries), rows, note)
