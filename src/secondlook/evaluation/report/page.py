"""`report.html`: one file that needs nothing else, no network and no script."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.evaluation.report import markup, numbers
from secondlook.evaluation.report.plots import INSTALL
from secondlook.evaluation.report.plots.canvas import inline
from secondlook.evaluation.report.style import CSS
from secondlook.evaluation.report.tables import figures, run, studies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Ablation, Comparison, Results
    from secondlook.evaluation.report.plots.canvas import Plot
    from secondlook.evaluation.report.tables.cells import Table

# Nothing of the page may load or run anything, whatever a question or an answer holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLEAR = 0.05
_MOST_SENTENCES = 3
_MOST_FAILED = 500


def as_html(results: Results, plots: Sequence[Plot]) -> bytes:
    """`plots` is empty where they cannot be drawn; the page then says how to get them."""
    drawn = {plot.name: _figure(plot) for plot in plots if plot.svg}
    sections = [item for item in _sections(results, drawn, plots) if item]
    title = f"Evaluation of {results.data.get('name') or 'a set of questions'}"
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup.text(title)}</title>
<style>{CSS}</style>
</head>
<body>
<header>
<h1>{markup.text(title)}</h1>
<p>{markup.text(_extent(results))}</p>
{_nav(sections)}
</header>
<main>
{chr(10).join(sections)}
</main>
</body>
</html>
"""
    return page.encode("utf-8", "replace")


def _sections(results: Results, drawn: dict[str, str], plots: Sequence[Plot]) -> list[str]:
    table, section = markup.table, markup.section
    return [
        section("In short", "short", [markup.listed(findings(results))]),
        section(
            "Figures by configuration",
            "summary",
            [
                table(figures.summary(results), titled=False),
                drawn.get("metrics", ""),
                table(figures.accuracy_by_type(results)),
                markup.folded("By type", "\n".join(map(table, figures.by_type(results)))),
            ],
        ),
        section(
            "Comparisons",
            "comparisons",
            [
                table(studies.comparisons(results), titled=False),
                table(studies.prices(results)),
                table(studies.asked_again(results)),
            ],
        ),
        section(
            "The second search",
            "fallback",
            [
                table(studies.splits(results)),
                drawn.get("f1_changes", ""),
                drawn.get("fallback_impact", ""),
                table(figures.rerank_scores(results)),
                drawn.get("rerank_scores", ""),
            ],
        ),
        section(
            "Ablation",
            "ablation",
            [
                table(studies.verdicts(results), titled=False),
                drawn.get("ablation", ""),
                table(studies.left_out(results)),
            ],
        ),
        section("Sweep", "sweep", [table(studies.sweep(results)), drawn.get("sweep", "")]),
        section(
            "Hypotheses",
            "hypotheses",
            [
                table(studies.hypotheses(results), titled=False),
                table(studies.criteria(results)),
                table(studies.caps(results)),
            ],
        ),
        section(
            "Confidence",
            "confidence",
            [drawn.get("risk_coverage", ""), drawn.get("reliability", "")],
        ),
        section(
            "Time and behaviour",
            "behaviour",
            [
                drawn.get("latency", ""),
                table(run.node_latencies(results)),
                table(run.calls_by_node(results)),
                table(run.stop_reasons(results)),
                drawn.get("success_by_retry", ""),
                table(studies.attempts(results)),
                table(run.passes(results)),
            ],
        ),
        section(
            "Questions",
            "questions",
            [
                table(_shortened(run.failed(results), "results.csv")),
                table(_shortened(run.review(results), "review.csv")),
                table(studies.most_changed(results)),
            ],
        ),
        section(
            "Data and settings",
            "data",
            [
                table(run.settings(results)),
                table(run.data(results)),
                table(run.problems(results)),
                markup.folded("All settings", table(run.shared_settings(results), titled=False)),
            ],
        ),
        section("Plots that are not here", "missing", [_missing(plots)]),
    ]


def _shortened(found: Table, file: str) -> Table:
    more = len(found.rows) - _MOST_FAILED
    note = f"{found.note} {more:,} more are in {file}." if more > 0 else found.note
    return replace(found, rows=found.rows[:_MOST_FAILED], note=note)


def _extent(results: Results) -> str:
    """How much was asked."""
    questions = len({row.case for row in results.rows})
    names = len(results.summaries)
    answers = len(results.rows)
    made = f" with Secondlook {known}" if (known := results.versions.get("secondlook")) else ""
    return (
        f"{_counted(questions, 'question')}, {_counted(names, 'configuration')}, "
        f"{_counted(answers, 'answer')}{made}."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def findings(results: Results) -> list[str]:
    """The few sentences that someone in a hurry reads."""
    said = [studies.cheapest(results)] if results.ablation else []
    said += [_verdicts(results.ablation)] if results.ablation else []
    said += [_compared(item) for item in results.comparisons[:_MOST_SENTENCES]]
    more = len(results.comparisons) - _MOST_SENTENCES
    said += [f"{_counted(more, 'more comparison')} below."] if more > 0 else []
    said += [f"{item.name}: {item.claim}: {item.verdict}." for item in results.hypotheses]
    said += [f"{item.name} {item.bar}: {_met(item.met)}." for item in results.criteria]
    reviewed = len(run.review(results).rows)
    said += [f"{_counted(reviewed, 'answer')} should be reviewed."] if reviewed else []
    failed = len(run.failed(results).rows)
    said += [f"{_counted(failed, 'answer')} failed and counted as wrong."] if failed else []
    known = results.data.get("problem_count")
    problems = known if isinstance(known, int) else len(run.problems(results).rows)
    said += [f"{_counted(problems, 'row')} of the data could not be used."] if problems else []
    return said


def _met(met: bool | None) -> str:  # noqa: FBT001 - a finding, not an option
    return "not measured" if met is None else "met" if met else "not met"


def _verdicts(ablation: Ablation) -> str:
    """How the changes that were tried came out, as numbers."""
    found = Counter(item.verdict for item in ablation.verdicts if item.verdict != "reference")
    parts = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(found.items()))
    return f"{_counted(found.total(), 'change')} against {ablation.reference}: {parts or 'none'}."


def _compared(item: Comparison) -> str:
    found = item.deciding
    p = found.p if found.p_holm is None else found.p_holm
    change = numbers.figure(found.difference, found.metric, signed=True)
    interval = numbers.between(found.low, found.high, found.metric, signed=True)
    sure = "" if p < _CLEAR else "no clear difference: "
    return (
        f"{item.other} against {item.base}: {sure}{found.metric} {change} "
        f"(95 % interval {interval}, p {numbers.p_value(p)}, n = {found.n:,})."
    )


def _nav(sections: Sequence[str]) -> str:
    links = []
    for item in sections:
        name = item.partition('id="')[2].partition('"')[0]
        title = item.partition("<h2>")[2].partition("</h2>")[0]
        links.append(f'<a href="#{name}">{title}</a>')
    return f'<nav aria-label="Sections">{" ".join(links)}</nav>'


def _figure(plot: Plot) -> str:
    return markup.figure(inline(plot.svg, name=plot.name), title=plot.title, caption=plot.caption)


def _missing(plots: Sequence[Plot]) -> str:
    if not plots:
        return (
            "<p>Plots need matplotlib, which is not installed. Get it with "
            f"<code>{markup.text(INSTALL)}</code>, then draw this report again with "
            "<code>secondlook eval report DIR</code>: no question is asked again.</p>"
        )
    return markup.listed(f"{plot.title}: {plot.missing}." for plot in plots if plot.missing)
