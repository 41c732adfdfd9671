"""An answer on the screen: the text, where it stands, how sure it is, what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.cli.terminal import counted, one_line, output

if TYPE_CHECKING:
    from rich.console import Console

    from secondlook.answer import Answer, Citation, Usage

_LONGEST_QUOTE = 400
_METHODS = {
    "extractive": "word for word from a passage",
    "outline": "an outline: headings and lead sentences, no model",
    "summary": "a summary, part by part",
}


def print_answer(answer: Answer, *, quiet: bool = False) -> None:
    from rich.text import Text

    console = output()
    if answer.short and answer.short not in {answer.text, answer.text.strip()}:
        console.print(Text(answer.short, style="bold"))
    console.print(Text(answer.text))
    if answer.method == "outline":  # its lines are the quotes
        _print_sources(console, answer)
    else:
        for citation in answer.citations:
            _print_citation(console, citation)
    if quiet:
        return
    console.print()
    for warning in answer.warnings:
        said = f"warning: {warning.node}: {one_line(warning.message)}; {warning.consequence}"
        console.print(Text(said, style="yellow"))
    console.print(Text(_confidence(answer), style="dim"))
    console.print(Text(footer(answer), style="dim"))


def _print_citation(console: Console, citation: Citation) -> None:
    from rich.padding import Padding
    from rich.text import Text

    page = f", p. {citation.page}" if citation.page is not None else ""
    web = f" (web, read {citation.fetched})" if citation.origin == "web" else ""
    head = Text.assemble(f"[{citation.number}] ", (citation.title, "bold"), page, web)
    console.print()
    console.print(head)
    if place := citation.url or citation.path:
        console.print(Padding(Text(place, style="dim"), (0, 0, 0, 4), expand=False))
    quote = one_line(citation.quote)
    shown = quote if len(quote) <= _LONGEST_QUOTE else f"{quote[:_LONGEST_QUOTE]}..."
    console.print(Padding(Text(f'"{shown}"'), (0, 0, 0, 4), expand=False))


def _print_sources(console: Console, answer: Answer) -> None:
    """Each document once, with the pages that are quoted."""
    from rich.text import Text

    console.print()
    for document in dict.fromkeys(citation.document for citation in answer.citations):
        quoted = [citation for citation in answer.citations if citation.document == document]
        pages = sorted({citation.page for citation in quoted if citation.page is not None})
        listed = f", p. {', '.join(map(str, pages))}" if pages else ""
        console.print(Text.assemble((quoted[0].title, "bold"), listed))
        if place := quoted[0].url or quoted[0].path:
            console.print(Text(f"    {place}", style="dim"))


def _confidence(answer: Answer) -> str:
    confidence = answer.confidence
    how = _METHODS.get(answer.method, answer.model or "")
    if confidence.value is None:
        return " · ".join(part for part in (how, *confidence.reasons[:1]) if part)
    sure = f"confidence {confidence.value:.2f} ({confidence.label})"
    return " · ".join(part for part in (sure, how, *confidence.reasons[:1]) if part)


def footer(answer: Answer) -> str:
    """`0.9 s · 1 call · 812 tokens · $0.0004 · run 20260102-ab12`."""
    usage = answer.usage
    parts = [f"{usage.seconds:.1f} s", counted(usage.calls, "model call")]
    if usage.calls:
        parts += [f"{usage.tokens_in + usage.tokens_out:,} tokens", _cost(usage)]
    return " · ".join([*parts, answer.workflow, f"run {answer.run}"])


def _cost(usage: Usage) -> str:
    return "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
