"""One screen for everything that others wrote: the question, passages, web pages, tables.

Each channel has its own ways of writing and its own price of a mistake. A question that is refused
is lost, so it takes a strong sign; a passage has others behind it that can take its place; a cell
or a name that is withheld from a prompt is still computed with, so a suspicion is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from secondlook.nodes.screening.score import screened

if TYPE_CHECKING:
    from secondlook.nodes.screening.score import Signals

Channel = Literal["question", "passage", "web", "table"]
_LONGEST_CELL = 4_000


def look(text: str, *, channel: Channel) -> Signals:
    """What the signs say of a text that came this way."""
    if channel == "question":
        return screened(text, kind="question")
    if channel == "table":  # names are written with underscores: an order may be, too
        return screened(text[:_LONGEST_CELL].replace("_", " "), kind="passage")
    return screened(text, kind="passage")


def is_stopped(signals: Signals, *, channel: Channel) -> bool:
    """Whether no model is shown it."""
    if channel == "table":
        return signals.verdict != "safe"
    return signals.verdict == "refused"


def stops(text: str, *, channel: Channel) -> bool:
    return is_stopped(look(text, channel=channel), channel=channel)
