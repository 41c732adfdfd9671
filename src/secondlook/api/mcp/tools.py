"""The five tools: what each takes, what it promises, and what it answers with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Context  # noqa: TC002  # the SDK reads it
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from secondlook.api.asking.live import Ask
from secondlook.api.mcp import adding, asking, places, sources, telling
from secondlook.api.mcp.failing import told
from secondlook.api.mcp.forms import (
    AddResult,
    AnalyseResult,
    AskResult,
    SearchResult,
    SourceText,
)
from secondlook.api.mcp.service import DEFAULT_LIBRARY
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from secondlook.api.mcp.service import Service

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
        answer = await asking.run(
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
        result = asking.asked(answer)
        return _result(telling.ask_text(result), result)


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
        answer = await asking.run(
            service.runs,
            Ask(question, library=library, workflow="analyst", documents=tuple(documents or ())),
            context,
        )
        result = asking.analysed(answer)
        return _result(telling.analyse_text(result), result)


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
            return sources.found(held, query, k=k, documents=documents, filters=filters)

        with told():
            result = await asyncio.to_thread(find)
        return _result(telling.search_text(result), result)


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
                return places.source_of_passage(held, passage)
            return places.source_text(held, document or "", page=page, start=start, end=end)

        with told():
            result = await asyncio.to_thread(read)
        return _result(telling.source_text(result), result)


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
                meant = adding.allowed(paths, service.settings.serve.root_paths)
                result = await adding.add_paths(service, library, meant, context)
            else:
                data = adding.content(text, base64)
                result = await adding.add_content(service, library, data, name or "", context)
        await context.notify_resources_changed()
        return _result(telling.add_text(result), result)


def _result(text: str, result: BaseModel) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=result.model_dump(mode="json"),
    )
