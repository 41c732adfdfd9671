"""`/api/threads`: questions that follow each other. A thread goes by the run it began with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from secondlook.server.asking import RunId, RunPath, RunRow, RunView, Strict, run_rows, run_view
from secondlook.server.problems import json_response
from secondlook.server.runs import missing
from secondlook.server.state import FromServer, Served  # noqa: TC001
from secondlook.store.database import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable

router = APIRouter(prefix="/api/threads", tags=["threads"])


class _Thread(BaseModel):
    id: RunId = Field(description="Of the first run that is still there.")
    title: str = Field(description="As it was named, else its first question.")
    library: str | None


class ThreadRow(_Thread):
    runs: list[RunRow] = Field(description="Newest first.")


class ThreadList(BaseModel):
    threads: list[ThreadRow]
    total: int = Field(description="How many there are in all.")


class Thread(_Thread):
    runs: list[RunView] = Field(description="Oldest first, each with its answer.")


class ThreadTitle(Strict):
    title: str = Field(max_length=200, description="Empty: its first question again.")


def threads_of(rows: Iterable[RunRow]) -> list[ThreadRow]:
    """Rows newest first; the thread that was gone on with last comes first."""
    known = {row.id: row for row in rows}
    gathered: dict[str, list[RunRow]] = {}
    for row in known.values():
        first, seen = row, {row.id}
        while (before := known.get(first.after or "")) and before.id not in seen:
            first = before
            seen.add(first.id)
        gathered.setdefault(first.id, []).append(row)
    return [
        ThreadRow(
            id=first,
            title=known[first].title or known[first].question,
            library=known[first].library,
            runs=runs,
        )
        for first, runs in gathered.items()
    ]


def thread_with(served: Served, run: str) -> ThreadRow:
    for thread in threads_of(run_rows(served.runs, ALL, short=False)):
        if any(row.id == run for row in thread.runs):
            return thread
    raise missing(run)


@router.get("")
async def list_threads(
    served: FromServer,
    library: Annotated[str | None, Query(max_length=100)] = None,
    search: Annotated[str, Query(max_length=1000, description="Words of it, any case.")] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> ThreadList:
    """Those gone on with last come first."""
    words = search.casefold().split()

    def listed() -> ThreadList:
        threads = threads_of(run_rows(served.runs, ALL, short=bool(words)))
        found = [one for one in threads if library in {None, one.library} and _holds(one, words)]
        return ThreadList(threads=found[offset : offset + limit], total=len(found))

    return await asyncio.to_thread(listed)


def _holds(thread: ThreadRow, words: list[str]) -> bool:
    said = " ".join([thread.title, *(f"{row.question} {row.short}" for row in thread.runs)])
    return all(word in said.casefold() for word in words)


@router.get("/{run}")
async def show_thread(run: RunPath, served: FromServer) -> Thread:
    """The thread that the run is of: what led to it, and what followed it last."""

    def shown() -> Thread:
        thread = thread_with(served, run)
        runs = [run_view(served.runs, one) for one in line_through(run, thread.runs)]
        return Thread(id=thread.id, title=thread.title, library=thread.library, runs=runs)

    return json_response(await asyncio.to_thread(shown))  # type: ignore[return-value]  # valid JSON


def line_through(run: str, rows: list[RunRow]) -> list[str]:
    """Where a question was followed by several, the thread forks: the newest goes on."""
    before = {row.id: row.after for row in rows}
    next_of = {row.after: row.id for row in reversed(rows)}  # the newest is written last
    line = [run]
    while (earlier := before.get(line[0])) in before and earlier not in line:
        line.insert(0, str(earlier))
    while (later := next_of.get(line[-1])) is not None and later not in line:
        line.append(later)
    return line


@router.put("/{run}", status_code=204)
async def name_thread(run: RunPath, body: ThreadTitle, served: FromServer) -> None:
    def named() -> None:
        first = thread_with(served, run).id
        served.runs.record.store(first).note(first, title=" ".join(body.title.split()) or None)

    await asyncio.to_thread(named)


@router.delete("/{run}", status_code=204)
async def delete_thread(run: RunPath, served: FromServer) -> None:
    """Every run of it, with every trace: 409 while one of them goes on."""

    def deleted() -> None:
        for row in thread_with(served, run).runs:  # newest first: what is left begins as before
            served.runs.forget(row.id)

    await asyncio.to_thread(deleted)


@router.get(
    "/{run}/export", response_class=Response, responses={200: {"content": {"text/markdown": {}}}}
)
async def export_thread(run: RunPath, served: FromServer) -> Response:
    """Markdown: each question with its answer and its sources."""
    from secondlook.export import to_markdown

    def exported() -> str:
        line = line_through(run, thread_with(served, run).runs)
        answers = [run_view(served.runs, one).answer for one in line]
        return "\n".join(to_markdown(answer) for answer in answers if answer)

    content = (await asyncio.to_thread(exported)).encode("utf-8", "replace")
    headers = {"Content-Disposition": f'attachment; filename="thread-{run}.md"'}
    return Response(content, media_type="text/markdown; charset=utf-8", headers=headers)
