"""The five MCP tools: what each takes, what it promises, and what it answers with."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context  # noqa: TC002
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from secondlook.errors import LimitExceeded, SecondlookError, UsageError
from secondlook.events import NodeFinished, NodeStarted
from secondlook.library.uploads import new_staging, safe_name
from secondlook.server import mcp_results
from secondlook.server.asking import leave
from secondlook.server.events import Queued
from secondlook.server.jobs import Placed, Uploaded
from secondlook.server.library import hit_forms
from secondlook.server.mcp_results import AddResult, AnswerResult, SearchResult, SourceText
from secondlook.server.runs import Ask
from secondlook.server.uploads import allowed_places
from secondlook.settings.sections import DEFAULT_LIBRARY

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from secondlook.library.uploads import Staging
    from secondlook.server.events import SeenEvent
    from secondlook.server.runs import Runs
    from secondlook.server.state import Served

MOST_BYTES = 16 << 20  # of one document that comes as text or base64 in a message
_SAFE: Any = {"destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
_READS = ToolAnnotations(read_only_hint=True, **_SAFE)
_ADDS = ToolAnnotations(read_only_hint=False, **_SAFE)
WorkflowName = Literal["auto", "linear", "adaptive", "corrective", "research", "analyst", "summary"]
Workflow = Annotated[WorkflowName | None, Field(description="Left out: the engine decides.")]
LibraryName = Annotated[str, Field(description="Leave it out for the usual one.")]
Documents = Annotated[list[str] | None, Field(description="Only these: ids, names or titles.")]
Filters = Annotated[dict[str, str] | None, Field(description="Such as kind=pdf or year=2024.")]
Question = Annotated[str, Field(min_length=1, description="One that stands by itself.")]
Choices = Annotated[list[str] | None, Field(description="Answers to choose from, from A on.")]


def register(server: MCPServer[None], service: Served) -> None:
    _register_asking(server, service)
    _register_reading(server, service)
    _register_adding(server, service)


def _register_asking(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Ask the documents", annotations=_READS)
    async def ask(
        *,
        question: Question,
        context: Context,
        workflow: Workflow = None,
        documents: Documents = None,
        filters: Filters = None,
        choices: Choices = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, AnswerResult]:
        """Answer a question over the user's documents and tables, with citations.

        The answer is checked against its evidence. Status `abstained` means that the library does
        not hold it: tell the user so instead of guessing. Cite sources by their numbers.
        """
        scope: dict[str, Any] = {"documents": tuple(documents or ()), "filters": filters or {}}
        asked = Ask(question, library, workflow, choices=choices or None, **scope)
        return await _answered(service.runs, asked, context)

    @server.tool(title="Compute over tables", annotations=_READS)
    async def analyse(
        *,
        question: Question,
        context: Context,
        documents: Documents = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, AnswerResult]:
        """Compute an answer over the tables of the library (CSV, Excel, Parquet, ...).

        The result comes with the code that made it and the checks that it passed. Where the
        tables do not answer the question it says so: do not guess then.
        """
        asked = Ask(question, library, "analyst", documents=tuple(documents or ()))
        return await _answered(service.runs, asked, context)


async def _answered(runs: Runs, ask: Ask, context: Context) -> CallToolResult:
    """Cancelling the call cancels the run; each step until then is reported."""
    with mcp_results.as_tool_errors():
        live = runs.start(ask)
        count = 0
        try:
            async with aclosing(live.log.follow()) as entries:
                async for entry in entries:
                    if entry is not None and (message := _step(entry.event)):
                        count += 1
                        await context.report_progress(count, message=message)
            result = mcp_results.answer_result(await live.answered())
        finally:
            leave(runs, live)
    return _result(mcp_results.answer_text(result), result)


def _step(event: SeenEvent) -> str | None:
    if isinstance(event, Queued):
        return f"Waiting for others: place {event.position} in the queue"
    if isinstance(event, NodeStarted):
        return f"{event.node.replace('_', ' ').capitalize()} ..."
    return event.said if isinstance(event, NodeFinished) else None


def _register_reading(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Search the documents", annotations=_READS)
    async def search(
        *,
        query: Annotated[str, Field(min_length=1, max_length=4000, description="In words.")],
        k: Annotated[int, Field(ge=1, le=50, description="How many passages to return.")] = 5,
        documents: Documents = None,
        filters: Filters = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, SearchResult]:
        """Find the passages that fit a query best. They are not answers: `ask` checks."""

        def find() -> SearchResult:
            held = service.libraries.engine(library).library
            hits = held.search(query, k=k, documents=documents or None, filters=filters or None)
            return SearchResult.model_validate({"hits": hit_forms(hits)})

        with mcp_results.as_tool_errors():
            result = await asyncio.to_thread(find)
        return _result(mcp_results.search_text(result), result)

    @server.tool(title="Read a source", annotations=_READS)
    async def read_source(
        *,
        document: Annotated[str | None, Field(description="Id, file name or title.")] = None,
        page: Annotated[int | None, Field(ge=1, description="A whole page, from 1.")] = None,
        start: Annotated[int | None, Field(ge=0, description="As in a citation.")] = None,
        end: Annotated[int | None, Field(ge=0, description="None: read on.")] = None,
        passage: Annotated[str | None, Field(description="Instead of a document.")] = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, SourceText]:
        """Read what stands behind a citation: a document with page, or with start and end, or a
        passage. Without a place it reads from the beginning, 8,000 characters at once."""

        def read() -> SourceText:
            held = service.libraries.engine(library).library
            name, first, last = document or "", start, end
            if (document is None) == (passage is None):
                raise UsageError("give a document or a passage", hint="a citation names both")
            if passage is not None:
                found = held.shelf().passages([passage]).get(passage)
                if found is None:
                    raise UsageError(f"the library holds no passage {passage!r}", hint="search")
                name, first, last = found.document, found.start, found.end
            return mcp_results.source_text(held, name, page=page, start=first, end=last)

        with mcp_results.as_tool_errors():
            result = await asyncio.to_thread(read)
        return _result(mcp_results.source_as_text(result), result)


def _register_adding(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Add a document", annotations=_ADDS)
    async def add(
        *,
        context: Context,
        name: Annotated[str | None, Field(description="With its suffix: notes.md.")] = None,
        text: Annotated[str | None, Field(description="The document as plain text.")] = None,
        base64: Annotated[str | None, Field(description="Such as a PDF, in base64.")] = None,
        paths: Annotated[list[str] | None, Field(description="Files on the server.")] = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, AddResult]:
        """Add a document to the user's library: name with text or base64; or paths, which only
        work under folders that the owner has allowed (serve.roots)."""
        with mcp_results.as_tool_errors():
            if paths and (name or text or base64):
                raise UsageError("give paths, or a name with text or base64, not both")
            if paths:
                roots = service.settings.serve.root_paths
                places = await asyncio.to_thread(allowed_places, paths, roots)
                work: Placed | Uploaded = Placed(places, within=roots)
            else:
                data, place = _content(text, base64), service.libraries.path(library)
                work = Uploaded(await asyncio.to_thread(_staged, place, data, name or ""))
            job = await asyncio.to_thread(service.jobs.start, library, work)
            count = 0
            try:
                async with aclosing(job.changes()) as changes:
                    async for form in changes:
                        count += 1
                        message = f"{form.stage}: {form.share:.0%}"
                        await context.report_progress(count, message=message)
            finally:
                if not job.ended:
                    service.jobs.stop(library, job.id)
            result = AddResult(files=form.files)
            failed = [f"{one.name}: {one.reason}" for one in form.files if one.status == "failed"]
            if form.status == "failed" or (failed and len(failed) == len(form.files)):
                why = form.error or "; ".join(failed[:5])
                raise SecondlookError(f"nothing could be added: {why}")
        await context.notify_resources_changed()
        return _result(mcp_results.add_text(result), result)


def _result(text: str, result: BaseModel) -> CallToolResult:
    told = result.model_dump(mode="json")
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=told)


def _content(text: str | None, data: str | None) -> bytes:
    """The document that came as text or as base64. Exactly one of them must be given."""
    if (text is None) == (data is None):
        raise UsageError("give text or base64, one of them", hint="or paths, where allowed")
    try:
        given = (text or "").encode("utf-8", "replace")
        found = given if data is None else b64decode(data, validate=True)
    except binascii.Error as error:
        raise UsageError(f"this is not base64: {error}", hint="plain text goes in text") from error
    if not 0 < len(found) <= MOST_BYTES:
        said = f"the document is empty or has more than {MOST_BYTES >> 20} MB"
        raise LimitExceeded(said, hint="add large ones with secondlook add, or on the page")
    return found


def _staged(library: Path, data: bytes, name: str) -> Staging:
    try:
        staging = new_staging(library)
        try:
            staging.begin(safe_name(name)).write(data)
            staging.seal()
        except BaseException:
            staging.discard()
            raise
    except OSError as error:
        said = f"the document cannot be stored: {error.strerror or error}"
        raise SecondlookError(said, hint="check the library's folder and its disk") from error
    return staging
