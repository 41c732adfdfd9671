"""`secondlook verify` for an answer of this server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from secondlook.verify import Kind  # noqa: TC001  # pydantic reads it

if TYPE_CHECKING:
    from secondlook.api.state import Served
    from secondlook.library import Library
    from secondlook.verify import Problem as Found


class Finding(BaseModel):
    kind: Kind
    where: str = Field(examples=["citation [1]"])
    message: str = Field(examples=["the quote is not in the document"])


class Checked(BaseModel):
    claims: int
    citations: int
    tables: int


class Verified(BaseModel):
    ok: bool = Field(description="Whether all of it stands.")
    problems: list[Finding]
    notes: list[Finding] = Field(description="What could not be checked, or is worth knowing.")
    checked: Checked


def checked(state: Served, run: str) -> Verified:
    """Takes its time: call it in a thread."""
    from secondlook.reading.support import load_support
    from secondlook.verify import examine

    answer = state.runs.answer(run)
    library, settings = _library_of(state, run), state.settings
    report = examine(
        answer,
        library,
        min_support=settings.answer.min_support,
        support=load_support(settings.answer.judge),
        settings=library.settings if library is not None else settings,
    )
    return Verified(
        ok=not report.problems,
        problems=[_finding(one) for one in report.problems],
        notes=[_finding(one) for one in report.notes],
        checked=Checked(
            claims=len(answer.claims),
            citations=len(answer.citations),
            tables=len(answer.analysis.inputs) if answer.analysis else 0,
        ),
    )


def _library_of(state: Served, run: str) -> Library | None:
    """None where it is not served here: the check then says what it could not look at."""
    live = state.runs.live(run)
    if live is not None:
        name: str | None = live.ask.library
    else:
        name = state.runs.library_of(state.runs.record.get(run).request)
    return state.libraries.engine(name).library if name is not None else None


def _finding(found: Found) -> Finding:
    return Finding(kind=found.kind, where=found.where, message=found.message)
