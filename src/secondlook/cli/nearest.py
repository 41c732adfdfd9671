"""The passages nearest to a question whose answer was withheld: a person may judge for himself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.cli.terminal import one_line, output

if TYPE_CHECKING:
    from rich.console import Console

    from secondlook.answer import Answer, SeenPassage
    from secondlook.app import Secondlook

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

    from secondlook.cli.snippet import snippet

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
