"""The five MCP tools: what each takes, what it promises, and what it answers with."""

from __future__ import annotations

import asyncio
import base64
import binascii
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Context  # noqa: TC002
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from secondlook.errors import LimitExceeded, SecondlookError, UsageError
from secondlook.events import NodeFinished, NodeStarted, Routed
from secondlook.library.uploads import new_staging, safe_name
from secondlook.server import mcp_results
from secondlook.server.asking import leave
from secondlook.server.events import Queued
from secondlook.server.jobs import Placed, Uploaded
from secondlook.server.library import hit_forms
from secondlook.server.mcp_results import (
    AddResult,
    AnalyseResult,
    AskResult,
    SearchResult,
    SourceText,
    as_tool_errors,
)
from secondlook.server.runs import Ask
from secondlook.server.uploads import allowed_places
from secondlook.settings.sections import DEFAULT_LIBRARY

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer

    from secondlook.answer import Answer
    from secondlook.library.uploads import Staging
    from secondlook.server.events import SeenEvent
    from secondlook.server.runs import Runs
    from secondlook.server.state import Served

MOST_BYTES = 16 << 20
"""Of one document that comes as text or base64 in a message."""
_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WorkflowName = Literal["auto", "linear", "adaptive", "corrective", "research", "analyst", "summary"]
LibraryName = Annotated[
    str, Field(description="Which library to use; leave it out for the usual one.")
]
Documents = Annotated[
    list[str] | None, Field(description="Only in these documents: ids, file names or titles.")
]
Filters = Annotated[
    dict[str, str] | None,
    Field(description="Only documents with this metadata, such as kind=pdf or year=2024."),
]


def register(server: MCPServer[None], service: Served) -> None:
    """The five tools."""
    for tool in (_ask, _analyse, _search, _read_source, _add):
        tool(server, service)


def _ask(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Ask the documents", annotations=_READS)
    async def ask(
        *,
        question: Annotated[
            str, Field(min_length=1, description="A question that can be understood by itself.")
        ],
        context: Context,
        workflow: Annotated[
            WorkflowName | None,
            Field(description="How to work on it; leave it out and the engine decides."),
        ] = None,
        documents: Documents = None,
        filters: Filters = None,
        choices: Annotated[
            list[str] | None, Field(description="Answers to choose from, in order from A.")
        ] = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, AskResult]:
        """Answer a question over the user's documents and tables, with citations.

        The answer is checked against its evidence. Status `abstained` means that the library does
        not hold it: tell the user so instead of guessing. Cite sources by their numbers.
        """
        answer = await watched_run(
            service.runs,
            Ask(
                question,
                library=library,
                workflow=workflow,
                documents=tuple(documents or ()),
                filters=filters or {},
                choices=choices or None,
            ),
            context,
        )
        result = mcp_results.asked(answer)
        return _result(mcp_results.ask_text(result), result)


def _analyse(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Compute over tables", annotations=_READS)
    async def analyse(
        *,
        question: Annotated[
            str, Field(min_length=1, description='Such as "mean price by region in 2024".')
        ],
        context: Context,
        documents: Annotated[
            list[str] | None,
            Field(description="Only tables of these documents: ids, file names or titles."),
        ] = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, AnalyseResult]:
        """Compute an answer over the tables of the library (CSV, Excel, Parquet, ...).

        The result comes with the code that made it and the checks that it passed. Where the
        tables do not answer the question it says so: do not guess then.
        """
        answer = await watched_run(
            service.runs,
            Ask(question, library=library, workflow="analyst", documents=tuple(documents or ())),
            context,
        )
        result = mcp_results.analysed(answer)
        return _result(mcp_results.analyse_text(result), result)


def _search(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Search the documents", annotations=_READS)
    async def search(
        *,
        query: Annotated[
            str, Field(min_length=1, max_length=4000, description="Words or a question.")
        ],
        k: Annotated[int, Field(ge=1, le=50, description="How many passages to return.")] = 5,
        documents: Documents = None,
        filters: Filters = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, SearchResult]:
        """Find the passages that fit a query best, by meaning and by words.

        Passages are not answers: nothing is checked here. `ask` answers.
        """

        def find() -> SearchResult:
            held = service.libraries.engine(library).library
            hits = held.search(query, k=k, documents=documents or None, filters=filters or None)
            return SearchResult.model_validate({"hits": hit_forms(hits)})

        with as_tool_errors():
            result = await asyncio.to_thread(find)
        return _result(mcp_results.search_text(result), result)


def _read_source(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Read a source", annotations=_READS)
    async def read_source(
        *,
        document: Annotated[
            str | None, Field(description="Id (from a citation or a search), file name or title.")
        ] = None,
        page: Annotated[int | None, Field(ge=1, description="A whole page, from 1.")] = None,
        start: Annotated[
            int | None, Field(ge=0, description="First character, as in a citation.")
        ] = None,
        end: Annotated[
            int | None, Field(ge=0, description="One behind the last; leave it out to read on.")
        ] = None,
        passage: Annotated[
            str | None, Field(description="Id of a passage, in place of a document.")
        ] = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, SourceText]:
        """Read what stands behind a citation: a page, a span of characters or a passage.

        Give a document with page, or with start and end; or a passage. Without a place it reads
        from the beginning. At most 8,000 characters come at once.
        """

        def read() -> SourceText:
            held = service.libraries.engine(library).library
            if (document is None) == (passage is None):
                raise UsageError("give a document or a passage", hint="a citation names both")
            if passage is not None:
                return mcp_results.source_of_passage(held, passage)
            return mcp_results.source_text(held, document or "", page=page, start=start, end=end)

        with as_tool_errors():
            result = await asyncio.to_thread(read)
        return _result(mcp_results.source_as_text(result), result)


def _add(server: MCPServer[None], service: Served) -> None:
    @server.tool(title="Add a document", annotations=_ADDS)
    async def add(
        *,
        context: Context,
        name: Annotated[
            str | None,
            Field(description="File name with its suffix, such as notes.md. Same name: replaced."),
        ] = None,
        text: Annotated[str | None, Field(description="The document as plain text.")] = None,
        base64: Annotated[
            str | None, Field(description="The file in base64, for PDF, Excel and the like.")
        ] = None,
        paths: Annotated[
            list[str] | None,
            Field(description="Files or folders on the server, where its owner allows them."),
        ] = None,
        library: LibraryName = DEFAULT_LIBRARY,
    ) -> Annotated[CallToolResult, AddResult]:
        """Add a document to the user's library, so that it can be asked about.

        Give name with text or base64; or paths, which only work under folders that the owner has
        allowed (setting serve.roots).
        """
        with as_tool_errors():
            if paths and (name or text or base64):
                raise UsageError("give paths, or a name with text or base64, not both")
            if paths:
                roots = service.settings.serve.root_paths
                places = await asyncio.to_thread(allowed_places, paths, roots)
                work: Placed | Uploaded = Placed(places, within=roots)
            else:
                data, place = content(text, base64), service.libraries.path(library)
                work = Uploaded(await asyncio.to_thread(_staged, place, data, name or ""))
            result = await _added(service, library, work, context)
        await context.notify_resources_changed()
        return _result(mcp_results.add_text(result), result)


def _result(text: str, result: BaseModel) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=result.model_dump(mode="json"),
    )


async def watched_run(runs: Runs, ask: Ask, context: Context) -> Answer:
    """The answer. Cancelling the call cancels the run; each step until then is reported."""
    with as_tool_errors():
        live = runs.start(ask)
        count = 0
        try:
            async with aclosing(live.log.follow()) as entries:
                async for entry in entries:
                    if entry is not None and (message := _step(entry.event)):
                        count += 1
                        await context.report_progress(count, message=message)
            return await live.answered()
        finally:
            leave(runs, live)


def _step(event: SeenEvent) -> str | None:
    if isinstance(event, Queued):
        return f"Waiting for others: place {event.position} in the queue"
    if isinstance(event, NodeStarted):
        return f"{event.node.replace('_', ' ').capitalize()} ..."
    if isinstance(event, NodeFinished):
        return event.said
    return f"{event.source} -> {event.to}: {event.why}" if isinstance(event, Routed) else None


def content(text: str | None, data: str | None) -> bytes:
    """The document that came as text or as base64. Exactly one of them must be given."""
    if (text is None) == (data is None):
        raise UsageError(
            "give text or base64, one of them", hint="or paths, where they are allowed"
        )
    too_large = LimitExceeded(
        f"the document has more than {MOST_BYTES >> 20} MB",
        hint="add it with secondlook add, or on the page",
    )
    if len(text or data or "") > MOST_BYTES * 4 // 3 + 4:
        raise too_large
    try:
        found = text.encode("utf-8", "replace") if text is not None else _decoded(data or "")
    except binascii.Error as error:
        said = f"this is not base64: {error}"
        raise UsageError(said, hint="plain text goes into text") from error
    if len(found) > MOST_BYTES:
        raise too_large
    if not found:
        raise UsageError("the document is empty", hint="there is nothing to add")
    return found


def _decoded(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


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
        raise SecondlookError(
            f"the document cannot be stored: {error.strerror or error}",
            hint="check that there is room and that the library's folder can be written to",
        ) from error
    return staging


async def _added(
    service: Served, library: str, work: Placed | Uploaded, context: Context
) -> AddResult:
    job = await asyncio.to_thread(service.jobs.start, library, work)
    count = 0
    try:
        async with aclosing(job.changes()) as changes:
            async for form in changes:
                count += 1
                await context.report_progress(count, message=f"{form.stage}: {form.share:.0%}")
    finally:
        if not job.ended:
            service.jobs.stop(library, job.id)
    if form.status == "failed":
        raise SecondlookError(form.error or "nothing could be added")
    files = form.files
    if files and all(one.status == "failed" for one in files):
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in files[:5])
        raise SecondlookError(f"nothing could be added: {reasons}")
    return AddResult(files=files)
