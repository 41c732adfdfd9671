"""An answer on the screen: the text, where it stands, how sure it is, what it took."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

from secondlook.cli.analysis import made_how, print_analysis
from secondlook.cli.corrections import (
    print_assumed,
    print_made_of,
    print_question_back,
    print_readings,
    print_tries,
)
from secondlook.cli.research import print_choice, print_recalled, print_research
from secondlook.cli.terminal import counted, one_line, output

if TYPE_CHECKING:
    from rich.console import Console

    from secondlook.answer import Answer, Citation, Trouble, Usage

_LONGEST_QUOTE = 400
_LEAST_COST = 0.0001
_WRITING = frozenset({"answer", "summarise", "synthesise"})
"""Steps in which a model writes the answer."""
_METHODS = {
    "extractive": "word for word from a passage",
    "computed": "computed from what the passages say",
    "outline": "an outline: headings and lead sentences, no model",
    "summary": "a summary, part by part",
}


def print_answer(
    answer: Answer,
    *,
    quiet: bool = False,
    search: str | None = "secondlook search",
    code: bool = False,
) -> None:
    """`search` is the command that shows the passages of a withheld answer, if there is one.
    `code` shows that of an analysis."""
    from rich.text import Text

    console = output()
    print_recalled(console, answer)
    print_assumed(console, answer)
    if _has_a_short_form(answer):
        console.print(Text(answer.short or "", style="bold"))
    if answer.asks_back and answer.claims:
        print_readings(console, answer)
    else:
        console.print(Text(answer.text))
    print_made_of(console, answer)
    print_analysis(console, answer, quiet=quiet, code=code)
    if answer.method == "outline":  # its lines are the quotes
        _print_sources(console, answer)
    else:
        for citation in answer.citations:
            _print_citation(console, citation)
    if quiet:
        _tell_other_method(answer)
    else:
        print_choice(console, answer)
        _print_making(console, answer, search)
    print_question_back(console, answer)


def _has_a_short_form(answer: Answer) -> bool:
    """One that the text is not already; the letter of a choice ends the text, with its words."""
    if answer.choice is not None and answer.choice.letter == answer.short:
        return False
    return bool(answer.short) and answer.short not in {answer.text, answer.text.strip()}


def _print_making(console: Console, answer: Answer, search: str | None) -> None:
    """How sure it is, what went wrong, what was tried and what it took."""
    from rich.text import Text

    console.print()
    for warning in answer.warnings:
        console.print(Text(_warned(warning), style="yellow"))
    print_research(console, answer)
    # The steps tell what was searched for.
    print_tries(console, answer.model_copy(update={"queries": ()}) if answer.research else answer)
    if sure := _confidence(answer):
        console.print(Text(sure, style="dim"))
    console.print(Text(footer(answer), style="dim"))
    if search is not None and answer.status == "abstained" and answer.passages:
        sys.stderr.write(f"hint: {search} {_quoted(answer.asked)} shows the nearest passages\n")


def _tell_other_method(answer: Answer) -> None:
    """An answer that another than the model asked for has made is not passed off as its own."""
    if answer.method in {"generative", "summary"}:
        return
    failed = [warning for warning in answer.warnings if warning.node in _WRITING]
    if failed:
        sys.stderr.write(f"{_warned(failed[-1])}\n")


def _warned(warning: Trouble) -> str:
    return f"warning: {warning.node}: {one_line(warning.message)}; {warning.consequence}"


def _quoted(question: str) -> str:
    """As one word of a command, in the quotes that every shell knows where they suffice."""
    flat = one_line(question)
    return shlex.quote(flat) if re.search(r'["$`\\!%]', flat) else f'"{flat}"'


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
    how = _made_how(answer)
    # Nothing is 0, from whichever side it came.
    reasons = [reason.replace("(-0.0)", "(0.0)") for reason in confidence.reasons[:1]]
    failed = answer.research is not None and not answer.claims and confidence.value is None
    if answer.asks_back or failed:  # the question back, or the text, says it better
        reasons = []
    if confidence.value is None:
        return " · ".join(part for part in (how, *reasons) if part)
    sure = f"confidence {confidence.value:.2f} ({confidence.label})"
    return " · ".join(part for part in (sure, how, *reasons) if part)


def _made_how(answer: Answer) -> str:
    """What the words come from: of an answer of two kinds, both."""
    from_documents = _METHODS.get(answer.method, answer.model or "")
    from_tables = made_how(answer)
    if from_tables is None:
        return from_documents
    cited = from_documents if answer.citations and answer.parts else ""
    return "; ".join(filter(None, (cited, from_tables)))


def footer(answer: Answer) -> str:
    """`0.9 s · 1 call · 812 tokens · $0.0004 · run 20260102-ab12`."""
    usage = answer.usage
    parts = [f"{usage.seconds:.1f} s", counted(usage.calls, "model call")]
    if usage.calls:
        parts += [f"{usage.tokens_in + usage.tokens_out:,} tokens", *_cost(usage)]
    return " · ".join([*parts, _workflow(answer), f"run {answer.run}"])


def choice_of(answer: Answer) -> str | None:
    """Why `auto` chose the workflow that it chose; None where a person did."""
    chosen = (one for one in answer.steps if one.node == "consider" and one.workflow is None)
    return next((one.said for one in chosen), None)


def _workflow(answer: Answer) -> str:
    """`auto: corrective` where `auto` chose it."""
    by_auto = answer.workflow != "auto" and choice_of(answer) is not None
    return f"auto: {answer.workflow}" if by_auto else answer.workflow


def _cost(usage: Usage) -> list[str]:
    """Nothing about what costs nothing, such as a model on this machine."""
    if usage.cost is None:
        return ["cost unknown"]
    if usage.cost == 0:
        return []
    return [f"${usage.cost:.4f}" if usage.cost >= _LEAST_COST else f"under ${_LEAST_COST}"]
