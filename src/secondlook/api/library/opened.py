"""The library that a path names, and the names of what is in it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Path

from secondlook.api.problems import Problem
from secondlook.api.state import Served, served

if TYPE_CHECKING:
    from secondlook.api.library.jobs import Jobs
    from secondlook.library import Library

HEADING_SEPARATOR = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


@dataclass(frozen=True, slots=True)
class Opened:
    name: str
    library: Library
    jobs: Jobs


async def opened(
    library: Annotated[
        str, Path(description="Name of a library; `default` is the server's own.", max_length=64)
    ],
    state: Annotated[Served, Depends(served)],
) -> Opened:
    engine = await state.libraries.aengine(library)
    if not state.jobs.has_taken_up(library):
        await asyncio.to_thread(state.jobs.take_up, library)
    return Opened(library, engine.library, state.jobs)


OpenedLibrary = Annotated[Opened, Depends(opened)]
DocumentId = Annotated[str, Path(description="Id of a document, or `failed:...`.", max_length=80)]


def missing(what: str, name: str) -> Problem:
    return Problem(
        404,
        f"{what}_missing",
        f"the library holds no {what} {name!r}",
        hint="it may have been deleted; the list of documents says what there is",
    )


def joined(heading: tuple[str, ...]) -> str | None:
    return HEADING_SEPARATOR.join(heading) or None
