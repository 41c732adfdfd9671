"""What follows from comparing: differences, ablation, sweep, hypotheses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.report import numbers, picking
from secondlook.evaluation.report.numbers import DASH
from secondlook.evaluation.report.tables.cells import PARTS, Table, estimate, short_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Difference, Results, Row

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
        found = picking.changes(rows.get(item.base, ()), rows.get(item.other, ()), item.metric)
        moved = [change for change in found if change.difference]
        if moved:
            return _changed(moved, item.base, item.other, item.metric)
    return Table("Most changed questions", (), ())


def _changed(moved: Sequence[picking.Change], base: str, other: str, metric: str) -> Table:
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
