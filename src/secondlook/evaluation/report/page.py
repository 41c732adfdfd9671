"""`report.html`: one file that needs nothing else, no network and no script."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from secondlook.evaluation.report import tables
from secondlook.evaluation.report.plots import INSTALL, Plot, can_draw
from secondlook.evaluation.report.tables import Table, counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.evaluation.records import Results

# Nothing of the page may load or run anything, whatever a question or an answer holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_MOST_FAILED = 500
_LONGEST = 400  # characters of a cell: results.csv and results.json hold the whole text


def as_html(results: Results, plots: Sequence[Plot]) -> bytes:
    parts = _sections(results, plots)
    sections = {title: "\n".join(filter(None, inside)) for title, inside in parts.items()}
    names = {title: title.lower().replace(" ", "-") for title, inside in sections.items() if inside}
    links = " ".join(f'<a href="#{name}">{title}</a>' for title, name in names.items())
    body = "\n".join(
        f'<section id="{name}">\n<h2>{title}</h2>\n{sections[title]}\n</section>'
        for title, name in names.items()
    )
    title = _text(f"Evaluation of {results.data.get('name') or 'a set of questions'}")
    made = f" with Secondlook {known}" if (known := results.versions.get("secondlook")) else ""
    extent = (
        f"{counted(len({row.case for row in results.rows}), 'question')}, "
        f"{counted(len(results.summaries), 'configuration')}, "
        f"{counted(len(results.rows), 'answer')}{made}."
    )
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_CSS}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{_text(extent)}</p>
<nav aria-label="Sections">{links}</nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""
    return page.encode("utf-8", "replace")


def _sections(results: Results, plots: Sequence[Plot]) -> dict[str, list[str]]:
    drawn = {plot.name: _figure(plot) for plot in plots}

    def plot(name: str) -> str:
        return drawn.get(name, "")

    def shown(*found: Table) -> list[str]:
        return [_table(one) for one in found]

    failed = tables.failed(results)
    more = len(failed.rows) - _MOST_FAILED
    note = f"{failed.note} {more:,} more are in results.csv." if more > 0 else failed.note
    failed = replace(failed, rows=failed.rows[:_MOST_FAILED], note=note)
    return {
        "In short": [_list(tables.findings(results))],
        "Figures by configuration": [
            *shown(tables.summary(results)),
            plot("metrics"),
            *shown(tables.by_type(results)),
        ],
        "Judgements": shown(*tables.judged(results)),
        "Comparisons": shown(*tables.comparisons(results.comparisons), tables.prices(results)),
        "The second search": [plot("f1_changes"), plot("fallback_impact"), plot("rerank_scores")],
        "Ablation": shown(tables.verdicts(results), tables.left_out(results)),
        "Time and behaviour": [plot("latency"), *shown(*tables.steps(results))],
        "Questions": shown(failed),
        "Data and settings": shown(
            tables.settings(results), tables.data(results), tables.problems(results)
        ),
        "Plots": []
        if can_draw()
        else [f"<p>{INSTALL} brings them; then run <code>secondlook eval report DIR</code>.</p>"],
    }


def _text(words: str) -> str:
    """Questions and answers are the words of others: nothing enters the page but through here."""
    shown = one_line(words)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")


def _table(item: Table) -> str:
    if not item.rows:
        return ""

    def kind(at: int) -> str:
        return "" if item.is_text(at) else ' class="n"'

    head = "".join(
        f'<th scope="col"{kind(at)}>{_text(name)}</th>' for at, name in enumerate(item.columns)
    )
    rows = []
    for first, *rest in item.rows:
        cells = (f"<td{kind(at)}>{_text(cell)}</td>" for at, cell in enumerate(rest, 1))
        rows.append(f'<tr><th scope="row">{_text(first)}</th>{"".join(cells)}</tr>')
    title = _text(item.title)
    note = f'\n<p class="note">{_text(item.note)}</p>' if item.note else ""
    return (
        f'<h3>{title}</h3>\n<div class="frame" role="region" tabindex="0" aria-label="{title}">'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody>\n"
        f"</table></div>{note}"
    )


def _list(lines: Iterable[str]) -> str:
    inside = "\n".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<ul>\n{inside}\n</ul>" if inside else ""


def _figure(plot: Plot) -> str:
    """On a white card, without prolog or fixed size, and with ids that no other plot has."""
    text = plot.svg.decode()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for side in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?) {side}="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{plot.name}-", text)
    labelled = f'<svg role="img" aria-label="{_text(plot.title)}" '
    return (
        f'<figure>\n<div class="card">{text.replace("<svg ", labelled, 1).strip()}</div>\n'
        f"<figcaption>{_text(plot.title)}. {_text(plot.caption)}</figcaption>\n</figure>"
    )


# Light and dark. No font or image comes from outside.
_CSS = """
:root { color-scheme: light dark; --line: #8886; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem;
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h2 { margin-top: 2.75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0; }
.note, figcaption, header p { opacity: .75; font-size: .875rem; }
.frame, .card { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .85rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td:not(.n) { min-width: 6rem; max-width: 26rem; }
.n { text-align: right; white-space: nowrap; }
.card { background: #fff; padding: .75rem; max-width: 54rem; }
.card svg { display: block; width: 100%; height: auto; }
@media print { nav { display: none; } .frame { overflow: visible; } }
"""
