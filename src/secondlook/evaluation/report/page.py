"""`report.html`: one file that needs nothing else, no network and no script."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from secondlook.evaluation.report import numbers, tables
from secondlook.evaluation.report.canvas import inline
from secondlook.evaluation.report.numbers import one_line
from secondlook.evaluation.report.plots import INSTALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.evaluation.records import Ablation, Comparison, Results
    from secondlook.evaluation.report.canvas import Plot
    from secondlook.evaluation.report.tables import Table

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
<title>{html_text(title)}</title>
<style>{CSS}</style>
</head>
<body>
<header>
<h1>{html_text(title)}</h1>
<p>{html_text(_extent(results))}</p>
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
    table, section = html_table, html_section
    return [
        section("In short", "short", [html_list(findings(results))]),
        section(
            "Figures by configuration",
            "summary",
            [
                table(tables.summary(results), titled=False),
                drawn.get("metrics", ""),
                table(tables.accuracy_by_type(results)),
                html_folded("By type", "\n".join(map(table, tables.by_type(results)))),
            ],
        ),
        section(
            "Comparisons",
            "comparisons",
            [
                table(tables.comparisons(results), titled=False),
                table(tables.prices(results)),
                table(tables.asked_again(results)),
            ],
        ),
        section(
            "The second search",
            "fallback",
            [
                table(tables.splits(results)),
                drawn.get("f1_changes", ""),
                drawn.get("fallback_impact", ""),
                table(tables.rerank_scores(results)),
                drawn.get("rerank_scores", ""),
            ],
        ),
        section(
            "Ablation",
            "ablation",
            [
                table(tables.verdicts(results), titled=False),
                drawn.get("ablation", ""),
                table(tables.left_out(results)),
            ],
        ),
        section("Sweep", "sweep", [table(tables.sweep(results)), drawn.get("sweep", "")]),
        section(
            "Hypotheses",
            "hypotheses",
            [
                table(tables.hypotheses(results), titled=False),
                table(tables.criteria(results)),
                table(tables.caps(results)),
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
                table(tables.node_latencies(results)),
                table(tables.calls_by_node(results)),
                table(tables.stop_reasons(results)),
                drawn.get("success_by_retry", ""),
                table(tables.attempts(results)),
                table(tables.passes(results)),
            ],
        ),
        section(
            "Questions",
            "questions",
            [
                table(_shortened(tables.failed(results), "results.csv")),
                table(_shortened(tables.review(results), "review.csv")),
                table(tables.most_changed(results)),
            ],
        ),
        section(
            "Data and settings",
            "data",
            [
                table(tables.settings(results)),
                table(tables.data(results)),
                table(tables.problems(results)),
                html_folded("All settings", table(tables.shared_settings(results), titled=False)),
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
    said = [tables.cheapest(results)] if results.ablation else []
    said += [_verdicts(results.ablation)] if results.ablation else []
    said += [_compared(item) for item in results.comparisons[:_MOST_SENTENCES]]
    more = len(results.comparisons) - _MOST_SENTENCES
    said += [f"{_counted(more, 'more comparison')} below."] if more > 0 else []
    said += [f"{item.name}: {item.claim}: {item.verdict}." for item in results.hypotheses]
    said += [f"{item.name} {item.bar}: {_met(item.met)}." for item in results.criteria]
    reviewed = len(tables.review(results).rows)
    said += [f"{_counted(reviewed, 'answer')} should be reviewed."] if reviewed else []
    failed = len(tables.failed(results).rows)
    said += [f"{_counted(failed, 'answer')} failed and counted as wrong."] if failed else []
    known = results.data.get("problem_count")
    problems = known if isinstance(known, int) else len(tables.problems(results).rows)
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
    return html_figure(inline(plot.svg, name=plot.name), title=plot.title, caption=plot.caption)


def _missing(plots: Sequence[Plot]) -> str:
    if not plots:
        return (
            "<p>Plots need matplotlib, which is not installed. Get it with "
            f"<code>{html_text(INSTALL)}</code>, then draw this report again with "
            "<code>secondlook eval report DIR</code>: no question is asked again.</p>"
        )
    return html_list(f"{plot.title}: {plot.missing}." for plot in plots if plot.missing)


# Pieces of HTML. Every text goes through `text`: questions and answers are others' words.

_SHORT = 18
_LONGEST = 400
"""Characters of a cell: results.csv and results.json hold the whole text."""


def html_text(words: str) -> str:
    shown = one_line(words)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")


def html_section(title: str, name: str, parts: Iterable[str]) -> str:
    """Empty where all its parts are: a heading alone tells nothing."""
    inside = "\n".join(part for part in parts if part)
    if not inside:
        return ""
    return f'<section id="{name}">\n<h2>{html_text(title)}</h2>\n{inside}\n</section>'


def html_folded(title: str, inside: str) -> str:
    """Opened by a click, and on paper."""
    if not inside:
        return ""
    return f"<details>\n<summary>{html_text(title)}</summary>\n{inside}\n</details>"


def html_table(item: Table, *, titled: bool = True) -> str:
    """A table that scrolls in its own frame where the window is narrow."""
    if not item.rows:
        return ""
    head = "".join(
        f'<th scope="col"{_kind(item, number)}>{html_text(name)}</th>'
        for number, name in enumerate(item.columns)
    )
    rows = "\n".join(_row(item, cells) for cells in item.rows)
    title = f"<h3>{html_text(item.title)}</h3>\n" if titled else ""
    note = f'\n<p class="note">{html_text(item.note)}</p>' if item.note else ""
    frame = f'<div class="frame" role="region" tabindex="0" aria-label="{html_text(item.title)}">'
    return (
        f"{title}{frame}<table>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table></div>{note}"
    )


def _row(item: Table, cells: tuple[str, ...]) -> str:
    first, *rest = cells
    others = "".join(
        f"<td{_kind(item, number, cell)}>{html_text(cell)}</td>"
        for number, cell in enumerate(rest, start=1)
    )
    return f'<tr><th scope="row">{html_text(first)}</th>{others}</tr>'


def _kind(item: Table, number: int, cell: str = "") -> str:
    """A figure, a word or two that stay on one line, or text."""
    if not item.is_text(number):
        return ' class="n"'
    return ' class="w"' if cell and len(cell) <= _SHORT else ""


def html_list(lines: Iterable[str]) -> str:
    inside = "\n".join(f"<li>{html_text(line)}</li>" for line in lines)
    return f"<ul>\n{inside}\n</ul>" if inside else ""


def html_figure(svg: str, *, title: str, caption: str) -> str:
    """A plot on a white card, so that it reads the same on a dark page."""
    drawn = svg.replace("<svg ", f'<svg role="img" aria-label="{html_text(title)}" ', 1)
    return (
        f'<figure>\n<div class="card">{drawn}</div>\n'
        f"<figcaption>{html_text(title)}. {html_text(caption)}</figcaption>\n</figure>"
    )


# How the page looks: light and dark, on a phone, on paper. No font or image comes from outside.

CSS = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --page: #fff; --line: #d9dee4;
  --band: #f5f7f9; --link: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --dim: #a3adb8; --page: #14181d; --line: #333b44; --band: #1c2229;
    --link: #7db7f0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
a { color: var(--link); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0; font-size: .9rem; }
p, li { max-width: 50rem; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
.note, figcaption, header p { color: var(--dim); font-size: .875rem; margin: .4rem 0 0; }
.frame { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
.frame:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { background: var(--band); vertical-align: bottom; }
tbody th { font-weight: 500; min-width: 7rem; }
th:first-child { position: sticky; left: 0; background: var(--page); }
thead th:first-child { background: var(--band); }
td:not(.n) { min-width: 6rem; max-width: 26rem; }
.n { text-align: right; white-space: nowrap; }
.w { white-space: nowrap; }
thead .n { white-space: normal; }
figure { margin: 1.25rem 0; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .75rem;
  overflow-x: auto; max-width: 54rem; }
.card svg { display: block; width: 100%; height: auto; min-width: 32rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) {
  body { padding: 1rem .75rem 3rem; }
  h1 { font-size: 1.35rem; }
  tbody th { min-width: 9.5rem; max-width: 11rem; overflow-wrap: anywhere; }
  #summary > .frame :is(td, th):nth-child(2) { display: none; }
}
@media print {
  :root { --ink: #000; --dim: #444; --page: #fff; --line: #bbb; --band: #f2f2f2; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .frame, .card { overflow: visible; border: 0; padding: 0; }
  .card svg { min-width: 0; max-height: 22cm; }
  table { font-size: 7.5pt; }
  .n, .w { white-space: normal; }
  td:not(.n), tbody th { min-width: 0; }
  th:first-child { position: static; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
