"""What an answer tells of its own making: what was taken for granted, what it was put together
from, what was tried, and what it must know to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.cli.terminal import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType
    from rich.text import Text

    from secondlook.answer import Answer, AnswerPart

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
    told = [f"also searched for {', '.join(_quoted(query) for query in others)}"] if others else []
    if answer.regenerations:
        told.append(f"written anew {counted(answer.regenerations, 'time')}")
    return told


def _quoted(query: str) -> str:
    return f'"{query}"'


def print_question_back(console: Console, answer: Answer) -> None:
    """Last of all: what is to be said next stands where it is typed."""
    from rich.text import Text

    if answer.asks_back:
        console.print()
        console.print(Text(one_line(answer.asks_back), style=f"bold {_ASIDE}"))
