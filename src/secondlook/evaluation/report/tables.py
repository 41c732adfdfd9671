"""A table as text in cells, and how a cell is written."""

from __future__ import annotations

from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.report import numbers
from secondlook.evaluation.report.numbers import DASH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.evaluation.records import Difference, Estimate, Results, Row

PARTS = {"all": "all", "fallback": "fallback", "no_fallback": "no fallback"}


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1
    """How many columns at the left are words; the others are figures and stand at the right."""
    note: str = ""
    words: frozenset[int] = frozenset()
    """Further columns that are words."""

    def is_text(self, column: int) -> bool:
        return column < self.texts or column in self.words


def short_difference(item: Difference | None) -> tuple[str, str, str, str]:
    """Difference, interval, p, and p corrected for how many comparisons were made together."""
    if item is None:
        return DASH, DASH, DASH, DASH
    return (
        numbers.figure(item.difference, item.metric, signed=True),
        numbers.between(item.low, item.high, item.metric, signed=True) or DASH,
        numbers.p_value(item.p),
        numbers.p_value(item.p_holm),
    )


def estimate(figures: Mapping[str, Estimate], metric: str) -> str:
    return numbers.estimate(figures.get(metric), metric, form="{} ({})")


def value(figures: Mapping[str, Estimate], metric: str) -> str:
    item = figures.get(metric)
    return numbers.figure(item.value if item else None, metric)


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) or DASH
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or DASH
    return numbers.scalar(value)


# What each configuration amounts to.

if TYPE_CHECKING:
    Groups = Mapping[str, Mapping[str, Estimate]]

_VALUES = "values_accuracy"
_BY_TYPE = {
    "accuracy": ("Multiple choice by type", "Right letters"),
    _VALUES: ("Questions over tables by type", "Questions with all values right"),
}
"""Title, and what is counted."""


def summary(results: Results) -> Table:
    """Metrics as lines, configurations as columns."""
    rows = tuple(
        (
            f"{metric} {numbers.arrow(metric)}".rstrip(),
            METRICS[metric].about if metric in METRICS else "",
            _sizes(results, metric),
            *(estimate(item.metrics, metric) for item in results.summaries.values()),
        )
        for metric in numbers.metric_names(results)
    )
    return Table(
        "Summary",
        ("metric", "what it is", "n", *results.summaries),
        rows,
        texts=2,
        note="Mean and 95 % interval over n questions. ↑ higher is better, ↓ lower is better.",
    )


def _sizes(results: Results, metric: str) -> str:
    """How many questions, or from how few to how many where configurations differ."""
    sizes = {
        item.metrics[metric].n for item in results.summaries.values() if metric in item.metrics
    }
    return DASH.join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))


def by_type(results: Results) -> list[Table]:
    """One table per configuration: types as lines, the main metrics as columns; then subjects."""
    named = results.summaries.items()
    types = [_broken_down(name, "type", item.by_type) for name, item in named if item.by_type]
    subjects = [
        _broken_down(name, "subject", item.by_subject) for name, item in named if item.by_subject
    ]
    return [*types, *subjects]


def _broken_down(name: str, by: str, groups: Groups) -> Table:
    there = {metric for figures in groups.values() for metric in figures}
    shown = [metric for metric in (*numbers.HEADLINES, "latency_p50") if metric in there]
    rows = tuple(
        (
            kind,
            numbers.count(max((figure.n for figure in figures.values()), default=0)),
            *(estimate(figures, metric) for metric in shown),
        )
        for kind, figures in sorted(groups.items())
    )
    return Table(f"By {by}: {name}", (by, "n", *shown), rows)


def accuracy_by_type(results: Results) -> Table:
    """Of multiple choice, or over tables: types, or subjects, as lines and configurations as
    columns."""
    broken = {name: item.by_subject or item.by_type for name, item in results.summaries.items()}
    kinds = sorted({kind for groups in broken.values() for kind in groups})
    there = {name for groups in broken.values() for found in groups.values() for name in found}
    metric = _VALUES if _VALUES in there else "accuracy"
    rows = tuple(
        (
            kind,
            _most(broken, kind, metric),
            *(_accuracy(groups, kind, metric) for groups in broken.values()),
        )
        for kind in kinds
        if any(metric in groups.get(kind, {}) for groups in broken.values())
    )
    title, counted = _BY_TYPE[metric]
    note = f"{counted} and 95 % interval."
    return Table(title, ("type", "n", *broken), rows, note=note)


def _most(broken: Mapping[str, Groups], kind: str, metric: str) -> str:
    found = (groups.get(kind, {}).get(metric) for groups in broken.values())
    return numbers.count(max(item.n for item in found if item))


def _accuracy(groups: Groups, kind: str, metric: str) -> str:
    return numbers.estimate(groups.get(kind, {}).get(metric), metric)


def rerank_scores(results: Results) -> Table:
    rows = tuple(
        (
            name,
            PARTS.get(part, part),
            numbers.count(spread.n),
            *(
                numbers.number(value)
                for value in (spread.mean, spread.median, spread.std, spread.min, spread.max)
            ),
        )
        for name, item in results.summaries.items()
        for part, spread in item.rerank_scores.items()
        if spread.n
    )
    return Table(
        "Reranker's scores",
        ("configuration", "questions", "n", "mean", "median", "std", "lowest", "highest"),
        rows,
        texts=2,
        note="Of each question: the lowest score among the best five passages.",
    )


# What was run: data, settings, time, and what failed.


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


# What follows from comparing: differences, ablation, sweep, hypotheses.

MOST_CHANGED = 50


def comparisons(results: Results) -> Table:
    """Every pair of configurations, every metric that was compared."""
    rows = tuple(
        (comparison.base, comparison.other, *_difference(item, decides=comparison.metric))
        for comparison in results.comparisons
        for item in comparison.differences
    )
    return Table(
        "Comparisons",
        (
            "base",
            "other",
            "metric",
            "base is",
            "other is",
            "difference",
            "95 % interval",
            "p",
            "p (Holm)",
            "improved / same / degraded",
            "n",
            "test",
        ),
        rows,
        texts=3,
        words=frozenset({11}),
        note="Other minus base, on the same questions. * The metric that decides. "
        "p (Holm): corrected for the number of comparisons made together.",
    )


def prices(results: Results) -> Table:
    """What a comparison costs."""
    rows = tuple(
        (
            item.base,
            item.other,
            numbers.dollars(item.cost_difference, signed=True),
            numbers.number(item.calls_difference, signed=True),
            numbers.number(item.tokens_difference, signed=True),
            numbers.seconds(item.latency_difference, signed=True),
            DASH if item.latency_ratio is None else f"{item.latency_ratio:.2f}x",
            numbers.dollars(item.cost_per_point),
            numbers.seconds(item.seconds_per_point),
            numbers.count(item.right_withheld),
            numbers.count(item.wrong_withheld),
        )
        for item in results.comparisons
    )
    return Table(
        "What the difference costs",
        (
            "base",
            "other",
            "dollars",
            "model calls",
            "tokens",
            "median time",
            "ratio",
            "dollars per point",
            "time per point",
            "right, withheld",
            "wrong, withheld",
        ),
        rows,
        texts=2,
        note="Per question, other minus base. A point is 0.01 of the metric that decides. "
        "Withheld: answered by base (right or wrong), not answered by other.",
    )


def splits(results: Results) -> Table:
    rows = tuple(
        (
            item.base,
            item.other,
            PARTS[split.part],
            numbers.count(split.n),
            f"{split.improved} / {split.same} / {split.degraded}",
            numbers.number(split.f1, signed=True),
            numbers.number(split.faithfulness, signed=True),
        )
        for item in results.comparisons
        for split in item.splits
    )
    return Table(
        "Change by whether the fallback fired",
        ("base", "other", "questions", "n", "improved / same / degraded", "F1", "faithfulness"),
        rows,
        texts=3,
        note="Mean change per question, other minus base.",
    )


def verdicts(results: Results) -> Table:
    """What each step buys, and what taking the configuration instead would mean."""
    ablation = results.ablation
    if ablation is None:
        return Table("Ablation", (), ())
    deciding = {item.other: item.deciding for item in ablation.comparisons}
    rows = tuple(
        (
            f"{item.configuration} *"
            if item.configuration == ablation.cheapest
            else item.configuration,
            item.verdict,
            *short_difference(deciding.get(item.configuration)),
            numbers.dollars(item.price[0]),
            numbers.number(item.price[1]),
            numbers.seconds(item.price[2]),
            _more(item.more_questions, item.why),
        )
        for item in ablation.verdicts
    )
    return Table(
        "Ablation",
        (
            "configuration",
            "verdict",
            f"{ablation.metric} vs {ablation.reference}",
            "95 % interval",
            "p",
            "p (Holm)",
            "dollars",
            "calls",
            "time",
            "why",
        ),
        rows,
        texts=2,
        words=frozenset({9}),
        note=f"Margin {numbers.number(ablation.margin)}. * {cheapest(results)}",
    )


def cheapest(results: Results) -> str:
    ablation = results.ablation
    if ablation is None:
        return ""
    return (
        f"Cheapest that is not inferior to {ablation.reference} "
        f"(by {ablation.metric}, margin {numbers.number(ablation.margin)}): {ablation.cheapest}."
    )


def left_out(results: Results) -> Table:
    items = results.ablation.left_out if results.ablation else {}
    return Table("Not tried", ("setting", "why"), tuple(items.items()), texts=2)


def sweep(results: Results) -> Table:
    swept = results.sweep
    if swept is None:
        return Table("Sweep", (), ())
    rows = tuple(
        (
            numbers.scalar(point.value),
            numbers.percent(point.fallback_rate),
            estimate(point.metrics, swept.metric),
            *short_difference(point.difference),
            _effect(point.on_fallback),
        )
        for point in swept.points
    )
    return Table(
        f"Sweep of {swept.param}",
        (
            "value",
            "fallback rate",
            swept.metric,
            "difference",
            "95 % interval",
            "p",
            "p (Holm)",
            "where fallback fired",
        ),
        rows,
        note=f"Difference of {swept.metric} from {swept.reference}, on the same questions.",
    )


def hypotheses(results: Results) -> Table:
    rows = tuple(
        (
            item.name,
            item.claim,
            item.verdict,
            item.why,
            item.test,
            ", ".join(f"{key} {numbers.scalar(value)}" for key, value in item.numbers.items())
            or DASH,
        )
        for item in results.hypotheses
    )
    return Table("Hypotheses", ("", "claim", "verdict", "why", "test", "figures"), rows, texts=6)


def criteria(results: Results) -> Table:
    """The bars that were set beforehand, each met or not."""
    rows = tuple(
        (
            item.name,
            item.bar,
            _MET[item.met],
            DASH if item.value is None else numbers.number(item.value),
            DASH if item.low is None else f"{item.low:.3f} to {item.high:.3f}",
            numbers.count(item.n),
            item.why,
        )
        for item in results.criteria
    )
    return Table(
        "Criteria",
        ("", "bar", "verdict", "is", "95 % interval", "n", "why"),
        rows,
        texts=3,
        words=frozenset({6}),
        note="Success: right, or withheld where there is no answer. A bar is met by the figure "
        "itself; the interval says how sure that is.",
    )


_MET = {True: "met", False: "not met", None: "not measured"}


def caps(results: Results) -> Table:
    """What each further rewrite brings."""
    rows = tuple(
        (
            numbers.count(item.rewrites),
            numbers.estimate(item.success, "success"),
            numbers.estimate(item.recall, "recall@5"),
            numbers.percent(item.retry_rate),
            numbers.seconds(item.seconds),
            _effect(item.success_lost),
            _effect(item.recall_lost),
        )
        for item in results.caps
    )
    best = results.recommended_rewrites
    advice = "" if best is None else f" The fewest shown to lose nothing: max_rewrites = {best}."
    return Table(
        "Rewrites allowed",
        ("at most", "success", "recall@5", "asked again", "seconds", "success lost", "recall lost"),
        rows,
        texts=0,
        note=f"Lost: against the most that were allowed, on the same questions.{advice}",
    )


def attempts(results: Results) -> Table:
    """How queries fare, by how many came before them."""
    rows = tuple(
        (
            name,
            numbers.count(item.number),
            numbers.count(item.runs),
            numbers.number(item.recall),
            numbers.number(item.recall_first),
            numbers.number(item.relevant),
            numbers.number(item.new),
            numbers.number(item.words_kept),
        )
        for name, summary in results.summaries.items()
        for item in summary.attempts
    )
    return Table(
        "Queries by number",
        (
            "configuration",
            "rewrite",
            "runs",
            "gold in the best 5",
            "after the first",
            "about it",
            "of those new",
            "words kept",
        ),
        rows,
        note="Over the runs that came to ask it; 0 is the question itself. After the first: the "
        "same runs after their first search. Words kept: share of the question's own words.",
    )


def asked_again(results: Results) -> Table:
    """Retries on questions that the base gets right anyway."""
    rows = tuple(
        (
            item.base,
            item.other,
            numbers.count(item.right_in_base),
            numbers.count(item.asked_again),
            numbers.percent(item.asked_again / item.right_in_base),
        )
        for item in results.comparisons
        if item.right_in_base and item.asked_again
    )
    return Table(
        "Asked again though the base is right",
        ("base", "other", "right in base", "asked again", "share"),
        rows,
        texts=2,
    )


def most_changed(results: Results) -> Table:
    """Questions whose answer changed most in the first comparison that has any."""
    rows = by_configuration(results.rows)
    for item in results.comparisons:
        found = numbers.changes(rows.get(item.base, ()), rows.get(item.other, ()), item.metric)
        moved = [change for change in found if change.difference]
        if moved:
            return _changed(moved, item.base, item.other, item.metric)
    return Table("Most changed questions", (), ())


def _changed(moved: Sequence[numbers.Change], base: str, other: str, metric: str) -> Table:
    rows = tuple(
        (
            change.base.case,
            change.base.question or DASH,
            "; ".join(change.base.expected) or DASH,
            _said(change.base),
            _said(change.other),
            "yes" if change.other.fallback else "no",
            numbers.figure(change.difference, metric, signed=True),
        )
        for change in moved[:MOST_CHANGED]
    )
    shown = f"{len(rows)} of {len(moved):,} questions whose {metric} changed, the largest first."
    return Table(
        "Most changed questions",
        ("question", "asked", "expected", base, other, "fallback", f"{metric} changed"),
        rows,
        texts=6,
        note=shown,
    )


def _said(row: Row) -> str:
    return (row.short or row.text) if row.answered else f"({row.status}: {row.stop_reason})"


def _difference(item: Difference, *, decides: str) -> tuple[str, ...]:
    return (
        f"{item.metric} *" if item.metric == decides else item.metric,
        numbers.figure(item.base, item.metric),
        numbers.figure(item.other, item.metric),
        numbers.figure(item.difference, item.metric, signed=True),
        numbers.between(item.low, item.high, item.metric, signed=True),
        numbers.p_value(item.p),
        numbers.p_value(item.p_holm),
        f"{item.improved} / {item.same} / {item.degraded}",
        numbers.count(item.n),
        item.test,
    )


def _effect(item: Difference | None) -> str:
    if item is None:
        return DASH
    return f"{numbers.figure(item.difference, item.metric, signed=True)} (n {item.n:,})"


def _more(questions: int | None, why: str) -> str:
    return why if questions is None else f"{why}; about {questions:,} more questions needed"
