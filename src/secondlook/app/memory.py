"""Where the research of a library is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.memory.answers import AnswerMemory

if TYPE_CHECKING:
    from secondlook.library import Library
    from secondlook.settings import Settings


def own_memory(library: Library, settings: Settings) -> AnswerMemory | None:
    """The one beside the record of runs; None where nothing may be stored (`runs.keep = 0`)."""
    if not settings.runs.keep:
        return None
    place = Path(library.place)
    return AnswerMemory.own(settings.runs, place, embedder=lambda: library.embedder().name)
