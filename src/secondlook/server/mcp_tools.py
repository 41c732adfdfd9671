"""The tools `ask` and `analyse`: one run of the engine each, watched and stoppable."""

from __future__ import annotations

import asyncio
import base64
import binascii
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Context  # noqa: TC002
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from secondlook.errors import LimitExceeded, SecondlookError, UsageError
from secondlook.events import NodeFinished, NodeStarted, Routed
from secondlook.library.uploads import new_staging, safe_name
from secondlook.server import mcp_results
from secondlook.server.events import Queued
from secondlook.server.jobs import Placed, Uploaded
from secondlook.server.mcp_results import (
    AddedFile,
    AddResult,
    AnalyseResult,
    AskResult,
    CheckOut,
    SearchResult,
    Source,
    SourceText,
    TableOut,
    document_uri,
    told,
)
from secondlook.server.runs import CLIENT_LEFT, Ask
from secondlook.server.state import DEFAULT_LIBRARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.mcpserver import MCPServer

    from secondlook.answer import Answer, Citation
    from secondlook.library.uploads import Staging
    from secondlook.server.events import SeenEvent
    from secondlook.server.jobs import Job, RunningJob, Work
    from secondlook.server.runs import LiveRun, Runs
    from secondlook.server.state import Service

_MOST_ROWS = 200


async def watched_run(runs: Runs, ask: Ask, context: Context) -> Answer:
    """The answer. Whoever cancels the call cancels the run, and hears of each step till then."""
    with told():
        live = runs.start(ask)
        try:
            await _watched(live, context)
            return await live.answered()
        finally:
            if not live.ended:
                runs.cancel(live.id, CLIENT_LEFT)


async def _watched(live: LiveRun, context: Context) -> None:
    count = 0
    async with aclosing(live.log.follow()) as entries:
        async for entry in entries:
            if entry is not None and (message := _step(entry.event)):
                count += 1
                await context.report_progress(count, message=message)


def _step(event: SeenEvent) -> str | None:
    if isinstance(event, Queued):
        return f"Waiting for others: place {event.position} in the queue"
    if isinstance(event, NodeStarted):
        return f"{event.node.replace('_', ' ').capitalize()} ..."
    if isinstance(event, NodeFinished):
        return event.said
    return f"{event.source} -> {event.to}: {event.why}" if isinstance(event, Routed) else None


def asked(answer: Answer) -> AskResult:
    return AskResult(
        status=answer.status,
        stop_reason=answer.stop_reason,
        text=answer.text,
        short=answer.short,
        confidence=answer.confidence.value,
        choice=answer.choice.letter if answer.choice else None,
        asks_back=answer.asks_back,
        citations=sources(answer),
        table=_table(answer),
        code=_code(answer),
        unsupported=sum(claim.supported is False for claim in answer.claims),
        warnings=warnings(answer),
        workflow=answer.workflow,
        run=answer.run,
    )


def analysed(answer: Answer) -> AnalyseResult:
    analysis = answer.analysis
    return AnalyseResult(
        status=answer.status,
        stop_reason=answer.stop_reason,
        text=answer.text,
        short=answer.short,
        values=answer.values,
        table=_table(answer),
        reading=analysis.reading if analysis else "",
        code=_code(answer),
        checks=[
            CheckOut(name=one.name, passed=one.passed, said=one.said)
            for one in (analysis.checks if analysis else ())
        ],
        figures=len(analysis.figures) if analysis else 0,
        inputs=[one.title for one in analysis.inputs] if analysis else [],
        asks_back=answer.asks_back,
        citations=sources(answer),
        warnings=warnings(answer),
        run=answer.run,
    )


def _code(answer: Answer) -> str | None:
    return (answer.analysis.sql or answer.analysis.code) if answer.analysis else None


def _table(answer: Answer) -> TableOut | None:
    table = answer.analysis.table if answer.analysis else None
    if table is None:
        return None
    return TableOut(
        columns=list(table.columns),
        rows=[list(row) for row in table.rows[:_MOST_ROWS]],
        total_rows=table.total_rows,
    )


def sources(answer: Answer) -> list[Source]:
    return [_source(citation) for citation in answer.citations]


def _source(citation: Citation) -> Source:
    return Source(
        number=citation.number,
        title=citation.title,
        document=citation.document,
        page=citation.page,
        start=citation.start,
        end=citation.end,
        quote=citation.quote,
        uri=citation.url or document_uri(citation.document),
    )


def warnings(answer: Answer) -> list[str]:
    told = [f"{one.node}: {one.message}; {one.consequence}" for one in answer.warnings]
    kept_out = answer.research.quarantined if answer.research else 0
    if kept_out:  # without a title: that is the document's word, and stands in no data here
        told.append(f"quarantine: {kept_out} of the passages give a model orders; kept out")
    return told


# The tool `add`: documents that are handed over, and paths where the owner allows them.

MOST_BYTES = 16 << 20
"""Of one document that comes as text or base64 in a message."""


def content(text: str | None, data: str | None) -> bytes:
    """What was handed over. Exactly one of them must be given."""
    if (text is None) == (data is None):
        raise UsageError(
            "give text or base64, one of them", hint="or paths, where they are allowed"
        )
    if len(text or data or "") > MOST_BYTES * 4 // 3 + 4:
        raise _too_large()
    found = text.encode("utf-8", "replace") if text is not None else _decoded(data or "")
    if len(found) > MOST_BYTES:
        raise _too_large()
    if not found:
        raise UsageError("the document is empty", hint="there is nothing to add")
    return found


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise UsageError(
            f"this is not base64: {error}", hint="plain text goes into text"
        ) from error


def _too_large() -> LimitExceeded:
    return LimitExceeded(
        f"the document has more than {MOST_BYTES >> 20} MB",
        hint="add it with secondlook add, or on the page",
    )


def allowed(paths: Sequence[str], roots: Sequence[Path]) -> list[Path]:
    """The paths, if every one lies under a folder that the owner has opened; links are followed
    first, so that none leads out of it."""
    if not roots:
        raise UsageError(
            "paths of this machine are not taken",
            hint="hand the document over as text or base64; its owner can allow folders with "
            "the setting serve.roots",
        )
    opened = [root.expanduser().resolve() for root in roots]
    return [_allowed(path, opened) for path in paths]


def _allowed(given: str, roots: Sequence[Path]) -> Path:
    try:
        path = Path(given).expanduser().resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{given!r} is no path: {error}") from error
    # What lies outside is not even said to exist.
    if not any(path.is_relative_to(root) for root in roots):
        raise UsageError(
            f"{given!r} lies in no folder that is allowed",
            hint=f"allowed: {', '.join(map(str, roots))}",
        )
    if not path.exists():
        raise UsageError(f"there is no {given!r}", hint="check the spelling")
    return path


async def add_content(
    service: Service, library: str, data: bytes, name: str, context: Context
) -> AddResult:
    staging = await asyncio.to_thread(_staged, service.libraries.path(library), data, name)
    return await _carried_out(service, library, Uploaded(staging), context)


async def add_paths(
    service: Service, library: str, paths: Sequence[Path], context: Context
) -> AddResult:
    roots = service.settings.serve.root_paths
    return await _carried_out(service, library, Placed(paths, within=roots), context)


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


async def _carried_out(service: Service, library: str, work: Work, context: Context) -> AddResult:
    job = await asyncio.to_thread(service.jobs.start, library, work)
    try:
        return _result(await _ended(job, context))
    finally:
        if not job.ended:
            service.jobs.stop(library, job.id)


async def _ended(job: RunningJob, context: Context) -> Job:
    """Its end. The client is told how far it is; what it has not been told when there is news
    again is left out."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    count = 0

    def changed() -> None:
        loop.call_soon_threadsafe(news.set)

    with job.listening(changed):
        while not job.ended:
            count += 1
            form = job.form()
            await context.report_progress(count, message=f"{form.stage}: {form.share:.0%}")
            await news.wait()
            news.clear()
    return job.form()


def _result(job: Job) -> AddResult:
    files = [
        AddedFile(name=one.name, status=one.status, document=one.document, reason=one.reason)
        for one in job.files
    ]
    if job.status == "failed":
        raise SecondlookError(job.error or "nothing could be added")
    if files and all(one.status == "failed" for one in files):
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in files[:5])
        raise SecondlookError(f"nothing could be added: {reasons}")
    return AddResult(files=files)


# The five tools: what each takes, what it promises, and what it answers with.

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
    list[str] | None,
    Field(description="Only in these documents: ids, file names or titles."),
]
Filters = Annotated[
    dict[str, str] | None,
    Field(description="Only documents with this metadata, such as kind=pdf or year=2024."),
]


def register(server: MCPServer[None], service: Service) -> None:
    """All of them, each closed over the service."""
    _register_ask(server, service)
    _register_analyse(server, service)
    _register_search(server, service)
    _register_read_source(server, service)
    _register_add(server, service)


def _register_ask(server: MCPServer[None], service: Service) -> None:
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
        result = asked(answer)
        return _tools_result(mcp_results.ask_text(result), result)


def _register_analyse(server: MCPServer[None], service: Service) -> None:
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
        result = analysed(answer)
        return _tools_result(mcp_results.analyse_text(result), result)


def _register_search(server: MCPServer[None], service: Service) -> None:
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
            held = service.library(library)
            return mcp_results.found(held, query, k=k, documents=documents, filters=filters)

        with told():
            result = await asyncio.to_thread(find)
        return _tools_result(mcp_results.search_text(result), result)


def _register_read_source(server: MCPServer[None], service: Service) -> None:
    @server.tool(title="Read a source", annotations=_READS)
    async def read_source(
        *,
        document: Annotated[
            str | None,
            Field(description="Id (from a citation or a search), file name or title."),
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
            held = service.library(library)
            if (document is None) == (passage is None):
                raise UsageError("give a document or a passage", hint="a citation names both")
            if passage is not None:
                return mcp_results.source_of_passage(held, passage)
            return mcp_results.source_text(held, document or "", page=page, start=start, end=end)

        with told():
            result = await asyncio.to_thread(read)
        return _tools_result(mcp_results.source_as_text(result), result)


def _register_add(server: MCPServer[None], service: Service) -> None:
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
        with told():
            if paths and (name or text or base64):
                raise UsageError("give paths, or a name with text or base64, not both")
            if paths:
                meant = allowed(paths, service.settings.serve.root_paths)
                result = await add_paths(service, library, meant, context)
            else:
                data = content(text, base64)
                result = await add_content(service, library, data, name or "", context)
        await context.notify_resources_changed()
        return _tools_result(mcp_results.add_text(result), result)


def _tools_result(text: str, result: BaseModel) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=result.model_dump(mode="json"),
    )
