"""An answer on the screen: the text, where it stands, how sure it is, what it took."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.command import counted, one_line, output, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType
    from rich.text import Text

    from secondlook.answer import (
        Analysis,
        Answer,
        AnswerPart,
        Choice,
        ChoiceOption,
        ChoiceVerdict,
        Citation,
        Recalled,
        Research,
        ResearchStep,
        ResultTable,
        Screening,
        SeenPassage,
        Trouble,
        Usage,
    )
    from secondlook.cli.command import Call
    from secondlook.engine.secondlook import Secondlook

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


# What an answer tells of its own making: what was taken for granted, what it was put together
# from, what was tried, and what it must know to go on.

_ASIDE = "cyan"


def print_assumed(console: Console, answer: Answer) -> None:
    """First of all: read without it, the answer may be one to another question."""
    from rich.text import Text

    if answer.assumed:
        console.print(Text(f"Taken as: {one_line(answer.assumed)}", style=_ASIDE))


def print_made_of(console: Console, answer: Answer) -> None:
    """The arithmetic of computed claims, and the questions that the question was split into."""
    from rich.text import Text

    from secondlook.export import reckoned

    for claim in answer.claims:
        if claim.computation:
            console.print(Text(f"computed: {one_line(reckoned(claim.computation))}", style=_ASIDE))
    if answer.parts:
        console.print()
    for at, part in enumerate(answer.parts, 1):
        console.print(_part(at, part))


def _part(at: int, part: AnswerPart) -> RenderableType:
    from rich.text import Text

    found = (one_line(part.short), "bold") if part.short else ("no answer of its own", "dim")
    told = Text.assemble(f"{one_line(part.question)} ", found, _marks(part.citations))
    return _hanging(f"    {at}.", told)


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


def print_readings(console: Console, answer: Answer) -> None:
    """Each reading on a line of its own: they are alternatives, not one text."""
    from rich.text import Text

    for claim in answer.claims:
        console.print(_hanging("-", Text(f"{claim.text}{_marks(claim.citations)}")))


def print_tries(console: Console, answer: Answer) -> None:
    from rich.text import Text

    from secondlook.export import review_reason

    if reason := review_reason(answer):
        console.print(Text(f"needs review: {reason}", style="yellow"))
    if tried := _tries(answer):
        console.print(Text(" · ".join(tried), style="dim"))


def _tries(answer: Answer) -> list[str]:
    """`also searched for "..."`, `written anew 2 times`: nothing where the first try did it."""
    known = {one_line(answer.question), one_line(answer.asked)}
    others = [query for query in map(one_line, answer.queries) if query not in known]
    told = (
        [f"also searched for {', '.join(_corrections_quoted(query) for query in others)}"]
        if others
        else []
    )
    if answer.regenerations:
        told.append(f"written anew {counted(answer.regenerations, 'time')}")
    return told


def _corrections_quoted(query: str) -> str:
    return f'"{query}"'


def print_question_back(console: Console, answer: Answer) -> None:
    """Last of all: what is to be said next stands where it is typed."""
    from rich.text import Text

    if answer.asks_back:
        console.print()
        console.print(Text(one_line(answer.asks_back), style=f"bold {_ASIDE}"))


# What a research tells of itself on the screen: what it was taken up from, what was chosen and
# why, what its steps asked, and what was kept out.

_LONGEST = 200
"""Characters of a question that are shown: enough to know it by."""
_DATE = 10
"""Characters of an ISO time that are its date."""


def print_recalled(console: Console, answer: Answer) -> None:
    """First of all: the research was done for another question."""
    from rich.text import Text

    if answer.research and answer.research.recalled:
        console.print(Text(recalled_line(answer.research.recalled), style=_ASIDE))


def recalled_line(recalled: Recalled) -> str:
    asked = shortened(recalled.question, _LONGEST)
    return (
        f'From memory: "{asked}" ({recalled.similarity:.2f} alike, {recalled.created[:_DATE]}); '
        "--fresh asks afresh."
    )


def print_choice(console: Console, answer: Answer) -> None:
    """Every option with what speaks for and against it, the chosen one first."""
    from rich.text import Text

    choice = answer.choice
    if choice is None:
        return
    console.print()
    console.print(Text(choice_line(choice), style="bold" if choice.letter else "yellow"))
    for option in _chosen_first(choice):
        mark = "*" if option.letter == choice.letter else " "
        console.print(Text(f"  {mark} ({option.letter}) {one_line(option.text)}"))
        for line in _reasons(option, choice):
            console.print(Text(f"        {line}", style="dim"))


def choice_line(choice: Choice) -> str:
    """`Chosen: (C), confidence 0.64 (provisional): all that must hold is met for C alone`."""
    if choice.letter is None:
        return f"Nothing chosen: {one_line(choice.why)}"
    known = choice.confidence is not None
    sure = f", confidence {choice.confidence:.2f} (provisional)" if known else ""
    marked = "" if choice.grounded else ", ungrounded"
    order = {True: ", the same in another order", False: ", another one in another order"}
    agreed = order[choice.agreed] if choice.agreed is not None else ""
    return f"Chosen: ({choice.letter}){sure}{marked}{agreed}: {one_line(choice.why)}"


def _chosen_first(choice: Choice) -> list[ChoiceOption]:
    return sorted(choice.options, key=lambda option: option.letter != choice.letter)


def _reasons(option: ChoiceOption, choice: Choice) -> list[str]:
    judged = [_judged(one, choice) for one in option.verdicts]
    return [*judged, *([one_line(option.reason)] if option.reason else [])]


def _judged(verdict: ChoiceVerdict, choice: Choice) -> str:
    """`met: He must have called [1] ("without calling")`."""
    element = choice.elements[verdict.element - 1] if _is_known(verdict, choice) else None
    said = one_line(element.text) if element else f"element {verdict.element}"
    marks = "".join(f"[{number}]" for number in element.citations) if element else ""
    fact = f' ("{one_line(verdict.fact)}")' if verdict.fact else ""
    return f"{verdict.met}: {said}{f' {marks}' if marks else ''}{fact}"


def _is_known(verdict: ChoiceVerdict, choice: Choice) -> bool:
    return verdict.element <= len(choice.elements)


def print_research(console: Console, answer: Answer) -> None:
    """Its steps in the order of trying, and what was not let in."""
    from rich.text import Text

    research = answer.research
    if research is None:
        return
    for line in _kept_out(research, answer.passages):
        console.print(Text(line, style="yellow"))
    if not research.steps:
        return
    console.print(Text(_summary(research), style="dim"))
    for step in research.steps:
        console.print(Text(f"  {step_line(step)}", style="dim"))


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


def _summary(research: Research) -> str:
    """`research, multi hop: 2 completed, 1 failed; the model says it is complete`."""
    kinds = ("completed", "weak", "failed", "pending")
    counts = {kind: getattr(research, kind) for kind in kinds}
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    grown = ", after one step failed" if research.escalated else ""
    why = f"; {one_line(research.stopped)}" if research.stopped else ""
    return f"research, {research.query_type.replace('_', ' ')}{grown}: {listed}{why}"


def _kept_out(research: Research, passages: Sequence[SeenPassage]) -> list[str]:
    lines = []
    if research.screen.verdict in {"refused", "unclear"}:
        lines.append(_screened(research.screen))
    if research.quarantined:
        lines.append(_quarantined(research.quarantined, passages))
    return lines


def _quarantined(number: int, passages: Sequence[SeenPassage]) -> str:
    """Which documents give a model orders: their owner may want to know."""
    out = [one for one in passages if one.why.startswith("quarantined:")]
    named = ", ".join(dict.fromkeys(f'"{shortened(one.title, _LONGEST)}"' for one in out))
    give = "passage that gives" if number == 1 else "passages that give"
    kept = f"quarantined: {number:,} {give} a model orders, left out"
    return f"{kept}: {named}" if named else kept


def _screened(screen: Screening) -> str:
    """`refused: in option C, by rules: it gives a model orders`."""
    where = "" if screen.where is None else " in the question"
    if screen.where not in {None, "question"}:
        where = f" in option {screen.where}"
    by = f", by {screen.by}" if screen.by else ""
    reasons = "; ".join(map(one_line, screen.reasons))
    told = "refused" if screen.verdict == "refused" else "let in though nobody could tell"
    return f"screen: {told}{where}{by}{f': {reasons}' if reasons else ''}"


# An analysis on the screen: its table, how columns were taken, its checks, code and charts.

_MOST_ROWS = 20
_MOST_COLUMNS = 12
_WIDEST = 40

ChartOption = Annotated[
    Path | None,
    typer.Option(
        "--chart", metavar="FILE", help="Save the chart of an analysis: .html, .json or .png."
    ),
]
ExportTableOption = Annotated[
    Path | None,
    typer.Option(
        "--export-table",
        metavar="FILE",
        help="Save the result of an analysis: .csv, .parquet or .json.",
    ),
]
ShowCodeOption = Annotated[
    bool, typer.Option("--show-code", help="Show the SQL or the code that computed the answer.")
]


def print_analysis(
    console: Console, answer: Answer, *, quiet: bool = False, code: bool = False
) -> None:
    analysis = answer.analysis
    if analysis is None:
        return
    if analysis.table is not None:
        _print_table(console, analysis.table)
    if code:
        _print_code(console, analysis)
    if not quiet:
        _analysis_print_making(console, analysis)


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
    more = [
        counted(table.total_rows - _MOST_ROWS, "more row") if table.total_rows > _MOST_ROWS else "",
        counted(len(table.columns) - len(shown), "more column")
        if len(table.columns) > len(shown)
        else "",
    ]
    if any(more):
        console.print(Text(f"... {' and '.join(filter(None, more))}", style="dim"))


def cell_shown(cell: object) -> str:
    from secondlook.nodes.desk import value_shown

    text = "" if cell is None else one_line(value_shown(cell))  # type: ignore[arg-type]
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _print_code(console: Console, analysis: Analysis) -> None:
    from rich.text import Text

    if ran := analysis.sql or analysis.code:
        console.print()
        console.print(Text(indent(ran.strip(), "    ")), soft_wrap=True)


def _analysis_print_making(console: Console, analysis: Analysis) -> None:
    from rich.text import Text

    lines = [_taken(analysis), _checked(analysis), _from(analysis), _charts(analysis)]
    lines += [f"remedy {at}: {one.cause}" for at, one in enumerate(analysis.remedies, 1)]
    if any(lines):
        console.print()
    for line in filter(None, lines):
        console.print(Text(one_line(line), style="dim"))


def _taken(analysis: Analysis) -> str:
    """`columns: price as 'price (EUR)' (0.80)`; nothing about names that are the columns' own."""
    taken = [
        f"{one.asked} as {one.column!r} ({one.score:.2f})"
        if one.asked.casefold() != one.column.casefold()
        else f"{one.column} ({one.score:.2f})"
        for one in analysis.columns
    ]
    return f"columns: {', '.join(dict.fromkeys(taken))}" if taken else ""


def _checked(analysis: Analysis) -> str:
    failed = [one.said for one in analysis.checks if not one.passed]
    passed = len(analysis.checks) - len(failed)
    said = [f"{counted(passed, 'check')} passed"] if passed else []
    return " · ".join([*said, *(f"failed: {one}" for one in failed)])


def _from(analysis: Analysis) -> str:
    listed = [f"{one.title} ({counted(one.rows, 'row')})" for one in analysis.inputs]
    return f"from {', '.join(listed)}" if listed else ""


def _charts(analysis: Analysis) -> str:
    if not analysis.figures:
        return ""
    names = [one.title for one in analysis.figures if one.title]
    about = f" ({'; '.join(names)})" if names else ""
    return f"{counted(len(analysis.figures), 'chart')}{about}: --chart FILE.html saves it"


def save_parts(call: Call, answer: Answer, *, chart: Path | None, table: Path | None) -> None:
    """What was asked to be saved; that there is nothing to save is said."""
    from secondlook.export.charts import write_charts, write_table

    for path, there, write in (
        (chart, bool(answer.analysis and answer.analysis.figures), write_charts),
        (table, bool(answer.analysis), write_table),
    ):
        if path is None:
            continue
        if not there:
            what = "chart" if path == chart else "table"
            call.say(f"hint: the answer has no {what}: nothing was saved to {str(path)!r}")
            continue
        for written in write(answer, path):
            call.say(f"saved {written}")


def check_names(chart: Path | None, table: Path | None) -> None:
    """Told before the work begins."""
    from secondlook.export.charts import check_chart_name, check_table_name

    if chart is not None:
        check_chart_name(chart)
    if table is not None:
        check_table_name(table)


# The passages nearest to a question whose answer was withheld: a person may judge for himself.

_MOST = 3
_WIDTH = 300


def held_back(engine: Secondlook, answer: Answer) -> bool:
    """Whether it was withheld for the risk that was named, and there are passages to show."""
    risky = engine.settings.answer.max_risk is not None
    return risky and answer.status == "abstained" and any(seen.kept for seen in answer.passages)


def show_nearest(engine: Secondlook, answer: Answer) -> None:
    best = [seen for seen in answer.passages if seen.kept][:_MOST]
    shelf = engine.library.shelf()
    held = shelf.passages([seen.id for seen in best if seen.text is None])
    paths = shelf.paths({seen.document for seen in best if seen.origin == "library"})
    console = output()
    console.print()
    console.print("The nearest passages:", style="dim")
    for seen in best:
        text = held[seen.id].text if seen.id in held else seen.text or ""
        place = seen.url or next(iter(paths.get(seen.document, ())), None)
        _print_passage(console, seen, text, place, answer.asked, engine.library.language)


def _print_passage(  # noqa: PLR0917
    console: Console, seen: SeenPassage, text: str, place: str | None, asked: str, language: str
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from secondlook.cli.forms import snippet

    page = f", p. {seen.page}" if seen.page is not None else ""
    cut = snippet(text, asked, width=_WIDTH, language=language)
    quote = Text(cut.text)
    for start, end in cut.matches:
        quote.stylize("bold yellow", start, end)
    console.print()
    console.print(Text.assemble((one_line(seen.title), "bold"), page))
    if place:
        console.print(Padding(Text(place, style="dim"), (0, 0, 0, 4), expand=False))
    console.print(Padding(quote, (0, 0, 0, 4), expand=False))
