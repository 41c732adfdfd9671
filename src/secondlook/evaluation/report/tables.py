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

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Comparison, Difference, Estimate, Results

_MOST_SENTENCES = 3
_CLEAR = 0.05
_DIFFERENCE = ("change", "95 % interval", "p", "p (Holm)")


DASH = "\N{EN DASH}"
_SECONDS = frozenset({"latency_p50", "latency_p95"})


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


def count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def seconds(value: float | None, *, signed: bool = False) -> str:
    """`3.2 ms`, `312 ms`, `1.25 s`, `75 s`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign, size = ("+" if signed else ""), abs(value)
    if size >= 1:
        return f"{value:{sign},.{0 if size >= 60 else 2}f} s"  # noqa: PLR2004
    return f"{value * 1000:{sign}.{0 if size >= 0.01 or not size else 1}f} ms"  # noqa: PLR2004


def dollars(value: float | None, *, signed: bool = False) -> str:
    """As many decimals as a price per question needs: `$0`, `$0.0004`, `$1.20`."""
    if value is None or not math.isfinite(value):
        return DASH
    sign, size = "-" if value < 0 else "+" if signed else "", abs(value)
    return f"{sign}${size:.{max(2, 1 - math.floor(math.log10(size)))}f}" if size else f"{sign}$0"


def p_value(p: float | None) -> str:
    if p is None or not math.isfinite(p):
        return DASH
    return "<.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004


def scalar(value: Scalar) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def figure(value: float | None, metric: str, *, signed: bool = False) -> str:
    form = seconds if metric in _SECONDS else dollars if metric == "cost" else number
    return form(value, signed=signed)


def between(low: float | None, high: float | None, metric: str, *, signed: bool = False) -> str:
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return ""
    first, last = figure(low, metric, signed=signed), figure(high, metric, signed=signed)
    return f"{first}{' to ' if signed or first.startswith('-') else DASH}{last}"


def estimate(item: Estimate | None, metric: str, *, form: str = "{} {}") -> str:
    if item is None:
        return DASH
    value, interval = figure(item.value, metric), between(item.low, item.high, metric)
    if value == DASH or not interval or figure(item.low, metric) == figure(item.high, metric):
        return value
    return form.format(value, interval)


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
    rows: tuple[tuple[str, ...], ...] = ()
    texts: int = 1  # columns of words at the left; the others are figures
    note: str = ""
    words: frozenset[int] = frozenset()  # further columns that are words
    narrow: tuple[int, ...] = ()  # the columns that a terminal has room for; empty: all

    def is_text(self, column: int) -> bool:
        return column < self.texts or column in self.words


def differences(item: Difference | None) -> tuple[str, str, str, str]:
    if item is None:
        return DASH, DASH, DASH, DASH
    return (
        figure(item.difference, item.metric, signed=True),
        between(item.low, item.high, item.metric, signed=True) or DASH,
        p_value(item.p),
        p_value(item.p_holm),
    )


def deciding(results: Results) -> str:
    studies = (results.ablation, results.sweep, *results.comparisons)
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
        said += [cheapest(results), f"{changes} against {ablation.reference}: {parts or 'none'}."]
    for item in results.comparisons[:_MOST_SENTENCES]:
        one = item.deciding
        p = one.p if one.p_holm is None else one.p_holm
        change, interval, *_ = differences(one)
        sure = "" if p < _CLEAR else "no clear difference: "
        said.append(
            f"{item.other} against {item.base}: {sure}{one.metric} {change} "
            f"(95 % interval {interval}, p {p_value(p)}, n = {one.n:,})."
        )
    if (more := len(results.comparisons) - _MOST_SENTENCES) > 0:
        said.append(f"{counted(more, 'more comparison')} below.")
    if reviewed := sum(row.needs_review for row in results.rows):
        said.append(f"{counted(reviewed, 'answer')} should be reviewed (results.csv marks them).")
    return said


# What each configuration amounts to.


def summary(results: Results) -> Table:
    def sizes(metric: str) -> str:
        found = [item.metrics.get(metric) for item in results.summaries.values()]
        known = {item.n for item in found if item}
        return DASH.join(f"{size:,}" for size in sorted({min(known), max(known)}))

    rows = tuple(
        (
            f"{metric} {arrow(metric)}".rstrip(),
            METRICS[metric].about if metric in METRICS else "",
            sizes(metric),
            *(
                estimate(item.metrics.get(metric), metric, form="{} ({})")
                for item in results.summaries.values()
            ),
        )
        for metric in metric_names(results)
    )
    note = "Mean and 95 % interval over n questions. ↑ higher is better, ↓ lower is better."
    head = ("metric", "what it is", "n", *results.summaries)
    return Table("Summary", head, rows, texts=2, note=note)


def by_type(results: Results) -> Table:
    metric = deciding(results)
    rows = []
    for kind in sorted({kind for item in results.summaries.values() for kind in item.by_type}):
        items = [one.by_type.get(kind, {}).get(metric) for one in results.summaries.values()]
        if any(items):
            most = max(item.n for item in items if item)
            rows.append((kind, count(most), *(estimate(item, metric) for item in items)))
    return Table(f"{metric} by type", ("type", "n", *results.summaries), tuple(rows))


def judged(results: Results) -> list[Table]:
    """Of an exam: how many of each kind, then shares of kinds together."""
    found = []
    head = [told.replace("_", " ") for told in (*get_args(Outcome), SEALED)]
    note = f"{TOGETHER[0]}: {', '.join(sorted(PLAIN))}."
    for name, item in results.summaries.items():
        lines = item.judged.items()
        counts = [(line, count(one.n), *map(count, one.counts.values())) for line, one in lines]
        shares = [
            (line, *map(_percent, one.shares.values())) for line, one in lines if line in TOGETHER
        ]
        title = f"{name}: percent, with 95 % interval"
        found.append(
            Table(f"{name}: answers by kind", ("kind", "n", *head), tuple(counts), note=note)
        )
        found.append(Table(title, ("", *head), tuple(shares)))
    return [table for table in found if table.rows]


def _percent(item: Estimate) -> str:
    value, low, high = (100 * (one or 0.0) for one in (item.value, item.low, item.high))
    return f"{value:.0f} ({low:.0f}{DASH}{high:.0f})"


# What was run: data, settings, time, and what failed.


def data(results: Results) -> Table:
    rows = [("command", results.command)] if results.command else []
    rows += [(key, _plain(value)) for key, value in results.data.items() if key != "problems"]
    rows += [(f"version of {key}", value) for key, value in results.versions.items()]
    return Table("Data and versions", ("", ""), tuple(rows), texts=2)


def problems(results: Results) -> Table:
    rows = tuple(
        (_plain(item["file"]), _plain(item["line"]), _plain(item["reason"]))
        for item in results.data.get("problems", ())
    )
    note = "These rows were left out. Everything else was used."
    return Table("Problems in the data", ("file", "line", "reason"), rows, texts=3, note=note)


def settings(results: Results) -> Table:
    rows = tuple(
        (name, item.workflow, _plain(dict(sorted(item.changes.items()))), item.about or DASH)
        for name, item in results.summaries.items()
    )
    head = ("configuration", "workflow", "what is set differently", "about")
    return Table("Configurations", head, rows, texts=4)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items()) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or DASH
    return scalar(value)


def steps(results: Results) -> list[Table]:
    def crossed(
        title: str, head: str, field: str, cell: Callable[[Any], str], note: str = ""
    ) -> Table:
        found = {name: getattr(item, field) for name, item in results.summaries.items()}
        keys = dict.fromkeys(key for held in found.values() for key in held)
        rows = tuple((key, *(cell(held.get(key)) for held in found.values())) for key in keys)
        return Table(title, (head, *found), rows, note=note)

    def times(item: Mapping[str, float] | None) -> str:
        return f"{seconds(item.get('p50'))}, {seconds(item.get('p95'))}" if item else DASH

    per_question = "Median and 95th percentile per question."
    return [
        crossed("Time per step", "step", "seconds_by_node", times, per_question),
        crossed("Model calls per step", "step", "calls_by_node", number, "Mean per question."),
        crossed("Why runs ended", "stop reason", "stop_reasons", lambda many: count(many or 0)),
    ]


def failed(results: Results) -> Table:
    rows = tuple(
        (row.configuration, row.case, row.question or DASH, row.error or row.stop_reason)
        for row in results.rows
        if row.status == "failed" or row.error
    )
    head, note = ("configuration", "question", "asked", "why"), "A failed question counts as wrong."
    return Table("Failed questions", head, rows, texts=4, note=note, narrow=(0, 1, 3))


# What follows from comparing: differences, ablation, sweep.


def comparisons(pairs: Iterable[Comparison]) -> list[Table]:
    return [
        Table(
            f"{pair.other} against {pair.base}, on the same questions",
            ("metric", "base", "other", *_DIFFERENCE, "up/same/down", "n", "test"),
            tuple(
                (
                    f"{item.metric} *" if item.metric == pair.metric else item.metric,
                    figure(item.base, item.metric),
                    figure(item.other, item.metric),
                    *differences(item),
                    f"{item.improved}/{item.same}/{item.degraded}",
                    count(item.n),
                    item.test,
                )
                for item in pair.differences
            ),
            words=frozenset({9}),
            note="* The metric that decides.",
            narrow=(0, 3, 4, 5, 6, 7),
        )
        for pair in pairs
    ]


def overview(pairs: Sequence[Comparison]) -> Table:
    rows = tuple((f"{pair.other} vs {pair.base}", *differences(pair.deciding)) for pair in pairs)
    metric = next((pair.metric for pair in pairs), "")
    return Table(f"Comparisons by {metric}, on the same questions", ("", *_DIFFERENCE), rows)


def prices(results: Results) -> Table:
    rows = tuple(
        (
            item.base,
            item.other,
            dollars(item.cost_difference, signed=True),
            number(item.calls_difference, signed=True),
            number(item.tokens_difference, signed=True),
            seconds(item.latency_difference, signed=True),
            DASH if item.latency_ratio is None else f"{item.latency_ratio:.2f}x",
            dollars(item.cost_per_point),
            seconds(item.seconds_per_point),
            count(item.right_withheld),
            count(item.wrong_withheld),
        )
        for item in results.comparisons
    )
    head = (
        *("base", "other", "dollars", "model calls", "tokens", "median time", "ratio"),
        *("dollars per point", "time per point", "right, withheld", "wrong, withheld"),
    )
    note = (
        "Per question, other minus base. A point is 0.01 of the metric that decides. "
        "Withheld: answered by base (right or wrong), not answered by other."
    )
    return Table("What the difference costs", head, rows, texts=2, note=note)


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
                dollars(item.price[0]),
                number(item.price[1]),
                seconds(item.price[2]),
                item.why,
            )
        )
    return Table(
        f"Ablation: {ablation.metric} against {ablation.reference}",
        ("configuration", "verdict", *_DIFFERENCE, "dollars", "calls", "time", "why"),
        tuple(rows),
        texts=2,
        words=frozenset({9}),
        note="\n".join([*notes, f"* {cheapest(results)}"]),
        narrow=(0, 1, 2, 3, 5, 7, 8),
    )


def cheapest(results: Results) -> str:
    if (ablation := results.ablation) is None:
        return ""
    return (
        f"Cheapest that is not inferior to {ablation.reference} "
        f"(by {ablation.metric}, margin {number(ablation.margin)}): {ablation.cheapest}."
    )


def left_out(results: Results) -> Table:
    items = results.ablation.left_out if results.ablation else {}
    return Table("Not tried", ("setting", "why"), tuple(items.items()), texts=2)


def sweep(results: Results) -> Table:
    swept = results.sweep
    if swept is None:
        return Table("Sweep")
    rows = []
    for point in swept.points:
        fired, rate = point.on_fallback, point.fallback_rate
        rows.append(
            (
                scalar(point.value),
                DASH if rate is None else f"{100 * rate:.1f} %",
                estimate(point.metrics.get(swept.metric), swept.metric, form="{} ({})"),
                *differences(point.difference),
                DASH if fired is None else f"{differences(fired)[0]} (n {fired.n:,})",
            )
        )
    return Table(
        f"{swept.param}: {swept.metric} against {swept.reference}",
        ("value", "fallback", swept.metric, *_DIFFERENCE, "where it fired"),
        tuple(rows),
        note=f"Difference of {swept.metric} from {swept.reference}, on the same questions.",
        narrow=(0, 1, 3, 4, 6, 7),
    )


# What the terminal shows: tables that fit 80 columns and need no colours.

_SIDE_BY_SIDE = 3  # configurations, or pairs, that fit beside each other in full
_FIGURE = 17  # characters of a figure with its interval, so that three stand in 80 columns
_SHORT = 14
_FAILED = 5
_OVERVIEW = (
    *("accuracy", "values_accuracy", "faithfulness", "answered", "wrong_among_answered"),
    *("llm_calls", "latency_p50"),
)


def render(results: Results) -> list[RenderableType]:
    """Everything, the most important last: that is what stays on the screen."""
    lost = failed(results)
    more = len(lost.rows) - _FAILED
    parts = [
        _narrow_summary(results),
        *(judged(results) or [by_type(results)] if len(results.summaries) <= _SIDE_BY_SIDE else []),
        *([] if results.ablation else compared(results.comparisons)),
        sweep(results),
        replace(
            lost,
            rows=tuple(
                (*rest, shorten(one_line(why), 60, placeholder=" ..."))
                for *rest, why in lost.rows[:_FAILED]
            ),
            note=f"{lost.note} {more:,} more are in report.html." if more > 0 else lost.note,
        ),
        verdicts(results),
    ]
    return [item for part in parts if part.rows for item in drawn(part)]


def compared(pairs: Sequence[Comparison]) -> list[Table]:
    """Few pairs with all their differences, of many the one that decides."""
    return comparisons(pairs) if len(pairs) <= _SIDE_BY_SIDE else [overview(pairs)]


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
    silent = {
        name
        for name in metric_names(results)
        if name in METRICS
        and METRICS[name].group in {"behaviour", "cost", "graders"}
        and METRICS[name].better != "higher"
        and not any(one.metrics[name].value for one in summaries.values() if name in one.metrics)
    }
    there = [name for name in metric_names(results) if name not in silent]
    if len(summaries) > _SIDE_BY_SIDE:
        wanted = dict.fromkeys((deciding(results), *_OVERVIEW))
        names = [name for name in wanted if name in there]
        rows = []
        for name, one in summaries.items():
            items = [(metric, one.metrics.get(metric)) for metric in names]
            cells = (figure(item.value if item else None, of) for of, item in items)
            rows.append((name, *cells))
        heads = [name.replace("_", "\n") for name in names]
        note = "report.html has all metrics."
        return Table(title, ("configuration", *heads), tuple(rows), note=note)

    def cell(name: str, metric: str) -> str:
        item = summaries[name].metrics.get(metric)
        written = estimate(item, metric)
        fits = item is None or len(written) <= _FIGURE
        return written if fits else figure(item.value if item else None, metric)

    lower = ", ".join(name for name in there if arrow(name) == "↓")
    return Table(
        title,
        ("metric", *summaries),
        tuple((metric, *(cell(name, metric) for name in summaries)) for metric in there),
        note=f"Mean and 95 % interval. Lower is better: {lower}." if lower else "",
    )
