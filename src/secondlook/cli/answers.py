"""An answer on the screen: the text, where it stands, how sure it is, what it took."""

from __future__ import annotations

import re
import shlex
import sys
from textwrap import indent
from typing import TYPE_CHECKING

from secondlook.cli.command import counted, one_line, output, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console, RenderableType
    from rich.text import Text

    from secondlook.answer import (
        Analysis,
        Answer,
        Choice,
        ChoiceVerdict,
        Citation,
        Research,
        ResearchStep,
        ResultTable,
        SeenPassage,
        Trouble,
    )
    from secondlook.cli.command import Call
    from secondlook.engine.secondlook import Secondlook

_LONGEST_QUOTE = 400
_LONGEST = 200
"""Characters of a question that are shown: enough to know it by."""
_LEAST_COST = 0.0001
_ASIDE = "cyan"
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
    _print_before(console, answer)
    if answer.asks_back and answer.claims:  # readings are alternatives, not one text
        for claim in answer.claims:
            console.print(_hanging("-", Text(f"{claim.text}{_marks(claim.citations)}")))
    else:
        console.print(Text(answer.text))
    _print_made_of(console, answer)
    print_analysis(console, answer, quiet=quiet, code=code)
    if answer.method == "outline":  # its lines are the quotes
        _print_sources(console, answer)
    else:
        for citation in answer.citations:
            _print_citation(console, citation)
    if quiet:
        # An answer that was made without the model asked for says so all the same.
        failed = [warning for warning in answer.warnings if warning.node in _WRITING]
        if failed and answer.method not in {"generative", "summary"}:
            sys.stderr.write(f"{_warned(failed[-1])}\n")
    else:
        if answer.choice is not None:
            _print_choice(console, answer.choice)
        _print_making(console, answer, search)
    if answer.asks_back:
        console.print()
        console.print(Text(one_line(answer.asks_back), style=f"bold {_ASIDE}"))


def _print_before(console: Console, answer: Answer) -> None:
    """What must be known to read the text, and the answer in short."""
    from rich.text import Text

    if answer.research and (recalled := answer.research.recalled):
        asked = shortened(recalled.question, _LONGEST)
        like = f"{recalled.similarity:.2f} alike, {recalled.created[:10]}"
        line = f'From memory: "{asked}" ({like}); --fresh asks again.'
        console.print(Text(line, style=_ASIDE))
    if answer.assumed:  # without it, the answer may be one to another question
        console.print(Text(f"Taken as: {one_line(answer.assumed)}", style=_ASIDE))
    # The letter of a choice ends the text, with its words.
    is_letter = answer.choice is not None and answer.choice.letter == answer.short
    if answer.short and not is_letter and answer.short != answer.text.strip():
        console.print(Text(answer.short, style="bold"))


def _print_made_of(console: Console, answer: Answer) -> None:
    """The arithmetic of computed claims, and the questions that the question was split into."""
    from rich.text import Text

    from secondlook.export import reckoned

    for claim in answer.claims:
        if claim.computation:
            console.print(Text(f"computed: {one_line(reckoned(claim.computation))}", style=_ASIDE))
    if answer.parts:
        console.print()
    for at, part in enumerate(answer.parts, 1):
        found = (one_line(part.short), "bold") if part.short else ("no answer of its own", "dim")
        told = Text.assemble(f"{one_line(part.question)} ", found, _marks(part.citations))
        console.print(_hanging(f"    {at}.", told))


def _marks(citations: Sequence[int]) -> str:
    return f" {''.join(f'[{number}]' for number in citations)}" if citations else ""


def _hanging(mark: str, told: Text) -> RenderableType:
    """What does not fit on one line goes on under its first word, not under its mark."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column()
    grid.add_row(mark, told)
    return grid


def _print_citation(console: Console, citation: Citation) -> None:
    from rich.padding import Padding
    from rich.text import Text

    page = f", p. {citation.page}" if citation.page is not None else ""
    web = f" (web, read {citation.fetched})" if citation.origin == "web" else ""
    console.print()
    console.print(Text.assemble(f"[{citation.number}] ", (citation.title, "bold"), page, web))
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


def _print_making(console: Console, answer: Answer, search: str | None) -> None:
    """How sure it is, what went wrong, what was tried and what it took."""
    from rich.text import Text

    from secondlook.export import review_reason

    console.print()
    for warning in answer.warnings:
        console.print(Text(_warned(warning), style="yellow"))
    if answer.research is not None:
        _print_research(console, answer.research, answer.passages)
    if reason := review_reason(answer):
        console.print(Text(f"needs review: {reason}", style="yellow"))
    for line in (" · ".join(_tries(answer)), _confidence(answer), footer(answer)):
        if line:
            console.print(Text(line, style="dim"))
    if search is not None and answer.status == "abstained" and answer.passages:
        flat = one_line(answer.asked)
        quoted = shlex.quote(flat) if re.search(r'["$`\\!%]', flat) else f'"{flat}"'
        sys.stderr.write(f"hint: {search} {quoted} shows the nearest passages\n")


def _warned(warning: Trouble) -> str:
    return f"warning: {warning.node}: {one_line(warning.message)}; {warning.consequence}"


def _tries(answer: Answer) -> list[str]:
    """`also searched for "..."`, `written again 2 times`: nothing where the first try did it."""
    told = []
    known = {one_line(answer.question), one_line(answer.asked)}
    others = [query for query in map(one_line, answer.queries) if query not in known]
    if others and not answer.research:  # the steps of research say what was searched for
        quoted = ", ".join(f'"{query}"' for query in others)
        told.append(f"also searched for {quoted}")
    if answer.regenerations:
        told.append(f"written again {counted(answer.regenerations, 'time')}")
    return told


def _confidence(answer: Answer) -> str:
    confidence = answer.confidence
    # Nothing is 0, from whichever side it came.
    reasons = [reason.replace("(-0.0)", "(0.0)") for reason in confidence.reasons[:1]]
    failed = answer.research is not None and not answer.claims and confidence.value is None
    if answer.asks_back or failed:  # the question back, or the text, says it better
        reasons = []
    sure = ""
    if confidence.value is not None:
        sure = f"confidence {confidence.value:.2f} ({confidence.label})"
    how = _METHODS.get(answer.method, answer.model or "")
    from_tables = made_how(answer)
    if from_tables is not None:  # an answer of two kinds says both
        cited = how if answer.citations and answer.parts else ""
        how = "; ".join(filter(None, (cited, from_tables)))
    return " · ".join(part for part in (sure, how, *reasons) if part)


def footer(answer: Answer) -> str:
    """`0.9 s · 1 call · 812 tokens · $0.0004 · run 20260102-ab12`."""
    usage = answer.usage
    parts = [f"{usage.seconds:.1f} s", counted(usage.calls, "model call")]
    if usage.calls:
        parts.append(f"{usage.tokens_in + usage.tokens_out:,} tokens")
        if usage.cost is None:
            parts.append("cost unknown")
        elif usage.cost:  # a model on this machine costs nothing
            small = usage.cost < _LEAST_COST
            parts.append(f"under ${_LEAST_COST}" if small else f"${usage.cost:.4f}")
    by_auto = answer.workflow != "auto" and choice_of(answer) is not None
    workflow = f"auto: {answer.workflow}" if by_auto else answer.workflow
    return " · ".join([*parts, workflow, f"run {answer.run}"])


def choice_of(answer: Answer) -> str | None:
    """Why `auto` chose the workflow that it chose; None where a person did."""
    chosen = (one for one in answer.steps if one.node == "consider" and one.workflow is None)
    return next((one.said for one in chosen), None)


# Multiple choice and research.


def _print_choice(console: Console, choice: Choice) -> None:
    """Every option with what speaks for and against it, the chosen one first."""
    from rich.text import Text

    console.print()
    console.print(Text(choice_line(choice), style="bold" if choice.letter else "yellow"))
    for option in sorted(choice.options, key=lambda option: option.letter != choice.letter):
        mark = "*" if option.letter == choice.letter else " "
        console.print(Text(f"  {mark} ({option.letter}) {one_line(option.text)}"))
        for verdict in option.verdicts:
            console.print(Text(f"        {_judged(verdict, choice)}", style="dim"))
        if option.reason:
            console.print(Text(f"        {one_line(option.reason)}", style="dim"))


def choice_line(choice: Choice) -> str:
    """`Chosen: (C), confidence 0.64 (provisional): all that must hold is met for C alone`."""
    if choice.letter is None:
        return f"Nothing chosen: {one_line(choice.why)}"
    known = choice.confidence is not None
    sure = f", confidence {choice.confidence:.2f} (provisional)" if known else ""
    marked = "" if choice.grounded else ", ungrounded"
    order = {None: "", True: ", the same in another order", False: ", another in another order"}
    agreed = order[choice.agreed]
    return f"Chosen: ({choice.letter}){sure}{marked}{agreed}: {one_line(choice.why)}"


def _judged(verdict: ChoiceVerdict, choice: Choice) -> str:
    """`met: He must have called [1] ("without calling")`."""
    known = verdict.element <= len(choice.elements)
    element = choice.elements[verdict.element - 1] if known else None
    said = one_line(element.text) if element else f"element {verdict.element}"
    fact = f' ("{one_line(verdict.fact)}")' if verdict.fact else ""
    return f"{verdict.met}: {said}{_marks(element.citations if element else ())}{fact}"


def _print_research(console: Console, research: Research, passages: Sequence[SeenPassage]) -> None:
    """What was not let in, and the steps in the order of trying."""
    from rich.text import Text

    for line in _kept_out(research, passages):
        console.print(Text(line, style="yellow"))
    if not research.steps:
        return
    kinds = ("completed", "weak", "failed", "pending")
    counts = {kind: getattr(research, kind) for kind in kinds}
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    grown = ", after one step failed" if research.escalated else ""
    why = f"; {one_line(research.stopped)}" if research.stopped else ""
    kind = research.query_type.replace("_", " ")
    for line in (
        f"research, {kind}{grown}: {listed}{why}",
        *(f"  {step_line(step)}" for step in research.steps),
    ):
        console.print(Text(line, style="dim"))


def step_line(step: ResearchStep) -> str:
    """`2. Duty of care: What duty ...? completed, confidence 0.77`."""
    told: list[str] = [step.status]
    if step.confidence is not None:
        told.append(f"confidence {step.confidence:.2f}")
    if step.retry_of is not None:
        told.append(f"step {step.retry_of} in other words")
    if step.cut:
        told.append(f"{counted(step.cut, 'sentence')} cut")
    asked = shortened(step.question, _LONGEST)
    ended = asked if asked.endswith(("?", ".", "!", ")")) else f"{asked}:"
    return f"{step.id}. {one_line(step.phase)}: {ended} {', '.join(told)}"


def _kept_out(research: Research, passages: Sequence[SeenPassage]) -> Iterator[str]:
    screen = research.screen
    if screen.verdict in {"refused", "unclear"}:
        option = f" in option {screen.where}" if screen.where else ""
        where = " in the question" if screen.where == "question" else option
        by = f", by {screen.by}" if screen.by else ""
        reasons = "; ".join(map(one_line, screen.reasons))
        told = "refused" if screen.verdict == "refused" else "let in, as the screen was unsure"
        yield f"screen: {told}{where}{by}{f': {reasons}' if reasons else ''}"
    if number := research.quarantined:  # the owner of these documents may want to know
        out = [one for one in passages if one.why.startswith("quarantined:")]
        named = ", ".join(dict.fromkeys(f'"{shortened(one.title, _LONGEST)}"' for one in out))
        give = "passage that gives" if number == 1 else "passages that give"
        kept = f"quarantined: {number:,} {give} a model orders, left out"
        yield f"{kept}: {named}" if named else kept


# Analyses: the table, how columns were read, checks, code and charts.

_MOST_ROWS = 20
_MOST_COLUMNS = 12
_WIDEST = 40


def print_analysis(
    console: Console, answer: Answer, *, quiet: bool = False, code: bool = False
) -> None:
    from rich.text import Text

    analysis = answer.analysis
    if analysis is None:
        return
    if analysis.table is not None:
        _print_table(console, analysis.table)
    ran = analysis.sql or analysis.code
    if code and ran:
        console.print()
        console.print(Text(indent(ran.strip(), "    ")), soft_wrap=True)
    lines = [] if quiet else list(_about_analysis(analysis))
    if lines:
        console.print()
    for line in lines:
        console.print(Text(one_line(line), style="dim"))


def made_how(answer: Answer) -> str | None:
    """`computed by code`; None where it is no analysis."""
    analysis = answer.analysis
    if analysis is None:
        return None
    if analysis.kind == "generated":
        where = f", run in the sandbox ({analysis.sandbox})" if analysis.sandbox else ""
        return f"computed by code that {answer.model or 'a model'} wrote{where}"
    if analysis.kind == "concept" and not analysis.grounded:
        return answer.model or "from the glossary"
    return "computed from the table, no model" if analysis.kind == "computed" else ""


def _print_table(console: Console, table: ResultTable) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    console.print()
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    shown = table.columns[:_MOST_COLUMNS]
    for at, name in enumerate(shown):
        numbers = all(isinstance(row[at], int | float | None) for row in table.rows)
        grid.add_column(Text(one_line(name)), justify="right" if numbers else "left")
    for row in table.rows[:_MOST_ROWS]:
        grid.add_row(*(Text(cell_shown(cell)) for cell in row[: len(shown)]))
    console.print(grid)
    left = {"row": table.total_rows - _MOST_ROWS, "column": len(table.columns) - len(shown)}
    more = [counted(number, f"more {noun}") for noun, number in left.items() if number > 0]
    if more:
        console.print(Text(f"... {' and '.join(more)}", style="dim"))


def cell_shown(cell: object) -> str:
    from secondlook.nodes.desk import value_shown

    text = "" if cell is None else one_line(value_shown(cell))  # type: ignore[arg-type]
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _about_analysis(analysis: Analysis) -> Iterator[str]:
    taken = [
        f"{one.asked} as {one.column!r} ({one.score:.2f})"
        if one.asked.casefold() != one.column.casefold()
        else f"{one.column} ({one.score:.2f})"
        for one in analysis.columns
    ]
    if taken:
        yield f"columns: {', '.join(dict.fromkeys(taken))}"
    failed = [f"failed: {one.said}" for one in analysis.checks if not one.passed]
    passed = len(analysis.checks) - len(failed)
    if analysis.checks:
        yield " · ".join([*([f"{counted(passed, 'check')} passed"] if passed else []), *failed])
    if analysis.inputs:
        listed = [f"{one.title} ({counted(one.rows, 'row')})" for one in analysis.inputs]
        yield f"from {', '.join(listed)}"
    if analysis.figures:
        names = [one.title for one in analysis.figures if one.title]
        about = f" ({'; '.join(names)})" if names else ""
        yield f"{counted(len(analysis.figures), 'chart')}{about}: --chart FILE.html saves it"
    for at, one in enumerate(analysis.remedies, 1):
        yield f"remedy {at}: {one.cause}"


def save_parts(call: Call, answer: Answer, *, chart: Path | None, table: Path | None) -> None:
    """Save the chart and the table; say so where there is nothing to save."""
    from secondlook.export.charts import write_charts, write_table

    for what, path, there, write in (
        ("chart", chart, bool(answer.analysis and answer.analysis.figures), write_charts),
        ("table", table, bool(answer.analysis), write_table),
    ):
        if path is None:
            continue
        if not there:
            call.say(f"hint: the answer has no {what}: nothing was saved to {str(path)!r}")
        for written in write(answer, path) if there else ():
            call.say(f"saved {written}")


# The passages nearest to a question whose answer was withheld.


def held_back(engine: Secondlook, answer: Answer) -> bool:
    """Whether it was withheld because of --max-risk, and there are passages to show."""
    risky = engine.settings.answer.max_risk is not None
    return risky and answer.status == "abstained" and any(seen.kept for seen in answer.passages)


def show_nearest(engine: Secondlook, answer: Answer) -> None:
    from rich.text import Text

    from secondlook.cli.search import print_quote

    best = [seen for seen in answer.passages if seen.kept][:3]
    shelf = engine.library.shelf()
    held = shelf.passages([seen.id for seen in best if seen.text is None])
    paths = shelf.paths({seen.document for seen in best if seen.origin == "library"})
    console = output()
    console.print()
    console.print("The nearest passages:", style="dim")
    for seen in best:
        text = held[seen.id].text if seen.id in held else seen.text or ""
        place = seen.url or next(iter(paths.get(seen.document, ())), None)
        page = f", p. {seen.page}" if seen.page is not None else ""
        console.print()
        console.print(Text.assemble((one_line(seen.title), "bold"), page))
        print_quote(console, place, text, answer.asked, 300, engine.library.language)
