"""What the claims of an answer rest on, which decides how they are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from secondlook.answer import Answer

RestsOn = Literal["sources", "tables", "nothing"]


def rests_on(answer: Answer) -> RestsOn:
    """Quoted sources; a result that can be computed again; or, marked as such, general
    knowledge."""
    analysis = answer.analysis
    if analysis is None or analysis.kind == "limitation":
        return "sources"
    if analysis.kind == "concept":
        return "sources" if analysis.grounded else "nothing"
    return "tables"
