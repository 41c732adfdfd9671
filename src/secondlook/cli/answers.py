"""An answer on the screen: the text, where it stands, how sure it is, what it took."""

from __future__ import annotations

import re
import shlex
import sys
from textwrap import indent
from typing import TYPE_CHECKING

from secondlook.cli.command import Call, counted, one_line, output, print_table, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.text import Text

    from secondlook.answer import (
        Analysis,
        Answer,
        Choice,
        Citation,
        Research,
        ResearchStep,
        ResultTable,
        SeenPassage,
        Trouble,
    )
    from secondlook.engine.secondlook import Secondlook

_LONGEST_QUOTE = 400
_LONGEST = 200  # characters of a question that are shown: enough to know it by
_LEAST_COST = 0.0001
_ASIDE = "cyan"
_WRITING = frozenset({"answer", "summarise", "synthesise"})  # steps in which a model writes it
_METHODS = {
    "extractive": "word for word from a passage",
    "computed": "computed from what the passages say",
    "outline": "an outline: headings and lead sentences, no model",
    "summary": "a summary, part by part",
    "survey": "every document of the set was asked",
    "catalogue": "from the list of your documents; nothing was searched",
}


def print_answer(
    answer: Answer,
    *,
    quiet: bool = False,
    search: str | None = "secondlook search",
    code: bool = False,
) -> None:
    """`search` shows the passages of a withheld answer; `code` shows that of an analysis."""
    console = output()
    _print_text(console, answer)
    if answer.parts:
        console.print()
    for at, part in enumerate(answer.parts, 1):
        found = (one_line(part.short), "bold") if part.short else ("no answer of its own", "dim")
        _hang(console, f"    {at}.", f"{one_line(part.question)} ", found, _marks(part.citations))
    print_analysis(console, answer, quiet=quiet, code=code)
    _print_citations(console, answer)
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
        console.print(one_line(answer.asks_back), style=f"bold {_ASIDE}")


def _print_text(console: Console, answer: Answer) -> None:
    """What must be known to read the text, the answer in short, the text and its arithmetic."""
    from secondlook.export import reckoned

    if answer.research and (recalled := answer.research.recalled):
        asked = shortened(recalled.question, _LONGEST)
        like = f"{recalled.similarity:.2f} alike, {recalled.created[:10]}"
        console.print(f'From memory: "{asked}" ({like}); --fresh asks again.', style=_ASIDE)
    if answer.assumed:  # without it, the answer may be one to another question
        console.print(f"Taken as: {one_line(answer.assumed)}", style=_ASIDE)
    # The letter of a choice ends the text, with its words.
    is_letter = answer.choice is not None and answer.choice.letter == answer.short
    if answer.short and not is_letter and answer.short != answer.text.strip():
        console.print(answer.short, style="bold")
    if answer.asks_back and answer.claims:  # readings are alternatives, not one text
        for claim in answer.claims:
            _hang(console, "-", f"{claim.text}{_marks(claim.citations)}")
    else:
        console.print(answer.text)
    for claim in answer.claims:
        if claim.computation:
            console.print(f"computed: {one_line(reckoned(claim.computation))}", style=_ASIDE)


def _marks(citations: Sequence[int]) -> str:
    return f" {''.join(f'[{number}]' for number in citations)}" if citations else ""


def _hang(console: Console, mark: str, *told: str | tuple[str, str]) -> None:
    """What does not fit on one line goes on under its first word, not under its mark."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_row(mark, Text.assemble(*told))
    console.print(grid)


def _print_citations(console: Console, answer: Answer) -> None:
    """Of an outline, whose lines are the quotes, each document once with its quoted pages."""
    from rich.padding import Padding
    from rich.text import Text

    def put(text: Text) -> None:
        console.print(Padding(text, (0, 0, 0, 4), expand=False))

    groups: dict[object, list[Citation]] = {}
    outline = answer.method == "outline"
    for one in answer.citations:
        groups.setdefault(one.document if outline else one.number, []).append(one)
    for cited in groups.values():
        first = cited[0]
        pages = sorted({one.page for one in cited if one.page is not None})
        listed = f", p. {', '.join(map(str, pages))}" if pages else ""
        web = f" (web, read {first.fetched})" if first.origin == "web" else ""
        number = "" if outline else f"[{first.number}] "
        console.print()
        console.print(Text.assemble(number, (first.title, "bold"), listed, web))
        if place := first.url or first.path:
            put(Text(place, style="dim"))
        if not outline:
            put(Text(f'"{shortened(first.quote, _LONGEST_QUOTE)}"'))


def _print_making(console: Console, answer: Answer, search: str | None) -> None:
    """How sure it is, what went wrong, what was tried and what it took."""
    from secondlook.export import review_reason

    console.print()
    for warning in answer.warnings:
        console.print(_warned(warning), style="yellow")
    if answer.research is not None:
        _print_research(console, answer.research, answer.passages)
    if reason := review_reason(answer):
        console.print(f"needs review: {reason}", style="yellow")
    tries = []
    known = {one_line(answer.question), one_line(answer.asked)}
    others = [query for query in map(one_line, answer.queries) if query not in known]
    if others and not answer.research:  # the steps of research say what was searched for
        quoted = ", ".join(f'"{query}"' for query in others)
        tries.append(f"also searched for {quoted}")
    if answer.regenerations:
        tries.append(f"written again {counted(answer.regenerations, 'time')}")
    for line in (" · ".join(tries), _confidence(answer), footer(answer)):
        if line:
            console.print(line, style="dim")
    if any(seen.why.startswith("quarantined:") for seen in answer.passages):
        sys.stderr.write("hint: --trust DOCUMENT reads it although it gives a model orders\n")
    if search is not None and answer.status == "abstained" and answer.passages:
        flat = one_line(answer.asked)
        words = shlex.quote(flat) if re.search(r'["$`\\!%]', flat) else f'"{flat}"'
        sys.stderr.write(f"hint: {search} {words} shows the nearest passages\n")


def _warned(warning: Trouble) -> str:
    return f"warning: {warning.node}: {one_line(warning.message)}; {warning.consequence}"


def _confidence(answer: Answer) -> str:
    confidence = answer.confidence
    # Nothing is 0, from whichever side it came.
    reasons = [reason.replace("(-0.0)", "(0.0)") for reason in confidence.reasons[:1]]
    failed = answer.research is not None and not answer.claims and confidence.value is None
    if answer.asks_back or failed:  # the question back, or the text, says it better
        reasons = []
    known = confidence.value is not None
    sure = f"confidence {confidence.value:.2f} ({confidence.label})" if known else ""
    how = _METHODS.get(answer.method, answer.model or "")
    if answer.method == "extractive" and answer.grounded.value == "yes":
        how += ", and verified"
    from_tables = _computed_how(answer)
    if from_tables is not None:  # an answer of two kinds says both
        cited = how if answer.citations and answer.parts else ""
        how = "; ".join(filter(None, (cited, from_tables)))
    return " · ".join(part for part in (sure, how, *reasons) if part)


def _computed_how(answer: Answer) -> str | None:
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
    chosen = (one for one in answer.steps if one.node == "consider" and one.workflow is None)
    return next((one.said for one in chosen), None)


# Multiple choice and research.


def _print_choice(console: Console, choice: Choice) -> None:
    head = f"Nothing chosen: {one_line(choice.why)}"
    if choice.letter is not None:
        known = choice.confidence is not None
        sure = f", confidence {choice.confidence:.2f} (provisional)" if known else ""
        marked = "" if choice.grounded else ", ungrounded"
        order = {None: "", True: ", the same in another order", False: ", another in another order"}
        agreed = order[choice.agreed]
        head = f"Chosen: ({choice.letter}){sure}{marked}{agreed}: {one_line(choice.why)}"
    console.print()
    console.print(head, style="bold" if choice.letter else "yellow")
    for option in sorted(choice.options, key=lambda option: option.letter != choice.letter):
        mark = "*" if option.letter == choice.letter else " "
        console.print(f"  {mark} ({option.letter}) {one_line(option.text)}")
        for verdict in option.verdicts:
            known = verdict.element <= len(choice.elements)
            element = choice.elements[verdict.element - 1] if known else None
            said = one_line(element.text) if element else f"element {verdict.element}"
            fact = f' ("{one_line(verdict.fact)}")' if verdict.fact else ""
            cited = _marks(element.citations if element else ())
            console.print(f"        {verdict.met}: {said}{cited}{fact}", style="dim")
        if option.reason:
            console.print(f"        {one_line(option.reason)}", style="dim")


def _print_research(console: Console, research: Research, passages: Sequence[SeenPassage]) -> None:
    """What was not let in, and the steps in the order of trying."""
    for line in _kept_out(research, passages):
        console.print(line, style="yellow")
    if not research.steps:
        return
    kinds = ("completed", "weak", "failed", "pending")
    counts = {kind: getattr(research, kind) for kind in kinds}
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    grown = ", after one step failed" if research.escalated else ""
    why = f"; {one_line(research.stopped)}" if research.stopped else ""
    kind = research.query_type.replace("_", " ")
    console.print(f"research, {kind}{grown}: {listed}{why}", style="dim")
    for step in research.steps:
        console.print(f"  {_step_line(step)}", style="dim")


def _step_line(step: ResearchStep) -> str:
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
_TWO = 2  # Columns: the document, and what it says


def print_analysis(
    console: Console, answer: Answer, *, quiet: bool = False, code: bool = False
) -> None:
    from rich.text import Text

    analysis = answer.analysis
    if analysis is None:
        return
    # What a survey asked of one field stands in its text.
    if analysis.table is not None and (
        analysis.kind != "survey" or len(analysis.table.columns) > _TWO
    ):
        _print_table(console, analysis.table)
    ran = analysis.sql or analysis.code
    if code and ran:
        console.print()
        console.print(Text(indent(ran.strip(), "    ")), soft_wrap=True)
    lines = [] if quiet else list(_about_analysis(analysis))
    if lines:
        console.print()
    for line in lines:
        console.print(one_line(line), style="dim")


def _print_table(console: Console, table: ResultTable) -> None:
    from secondlook.nodes.desk import value_shown

    def shown(cell: object) -> str:
        text = "" if cell is None else one_line(value_shown(cell))  # type: ignore[arg-type]
        return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."

    names = table.columns[:_MOST_COLUMNS]
    numbers = [
        name
        for at, name in enumerate(names)
        if all(isinstance(row[at], int | float | None) for row in table.rows)
    ]
    rows = ([shown(cell) for cell in row[: len(names)]] for row in table.rows[:_MOST_ROWS])
    console.print()
    print_table(names, rows, right=numbers, console=console)
    left = {"row": table.total_rows - _MOST_ROWS, "column": len(table.columns) - len(names)}
    more = [counted(number, f"more {noun}") for noun, number in left.items() if number > 0]
    if more:
        console.print(f"... {' and '.join(more)}", style="dim")


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
        print_quote(console, place, text, answer.asked, engine.library.language)
