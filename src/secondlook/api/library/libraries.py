"""Which libraries there are, and how much each holds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends

from secondlook.api.library.forms import LibraryForm
from secondlook.api.problems import responses
from secondlook.api.state import Served, served

if TYPE_CHECKING:
    from secondlook.library import Library

router = APIRouter(tags=["library"])


@router.get("/api/libraries", summary="The libraries of this server", responses=responses(500))
async def list_libraries(state: Annotated[Served, Depends(served)]) -> list[LibraryForm]:
    """How many documents, tables and passages each of them holds."""
    found = []
    for name in state.libraries.names():
        engine = await state.libraries.aengine(name)
        busy = bool(state.jobs.active(name))
        found.append(await asyncio.to_thread(_form, name, engine.library, busy=busy))
    return found


def _form(name: str, library: Library, *, busy: bool) -> LibraryForm:
    status = library.status()
    return LibraryForm(
        name=name,
        path=Path(status.path).name or None,
        documents=status.documents,
        tables=status.tables,
        passages=status.passages,
        failed=len(status.failed),
        bytes=status.bytes,
        writing=busy or status.writer is not None,
    )
