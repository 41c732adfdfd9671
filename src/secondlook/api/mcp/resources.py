"""Documents as resources: a list of all, each whole text, each page."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.types import Resource

from secondlook.api.mcp.delimiting import as_data
from secondlook.api.mcp.failing import said
from secondlook.api.mcp.places import document_uri, source_text
from secondlook.errors import SecondlookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import MCPServer

    from secondlook.api.mcp.service import Service
    from secondlook.library import Library
    from secondlook.library.report import DocumentInfo

MOST_CHARACTERS = 200_000
"""Of one resource; `read_source` reads on from anywhere."""


def register(server: MCPServer[None], service: Service) -> None:
    @server.resource(
        "secondlook://documents",
        name="documents",
        title="Documents",
        description="Every document that the library holds, with its id, title and size.",
        mime_type="application/json",
    )
    async def documents() -> str:
        return await _read(service, _list)

    @server.resource(
        "secondlook://documents/{document}",
        name="document",
        title="A document",
        description="The text of a document, named by its id.",
        mime_type="text/plain",
    )
    async def document(document: str) -> str:
        return await _read(service, lambda library: _whole(library, document))

    @server.resource(
        "secondlook://documents/{document}/pages/{page}",
        name="page",
        title="A page of a document",
        description="The text of one page, counted from 1.",
        mime_type="text/plain",
    )
    async def page(document: str, page: int) -> str:
        return await _read(service, lambda library: _page(library, document, page))


def listed(service: Service, most: int) -> list[Resource]:
    try:
        held = service.library().documents()
    except SecondlookError as error:
        raise ResourceError(said(error)) from error
    return [_resource(one) for one in held[:most]]


def _resource(document: DocumentInfo) -> Resource:
    pages = f", {document.pages} pages" if document.pages else ""
    return Resource(
        uri=document_uri(document.id),
        name=document.id,
        title=document.title,
        description=f"{document.kind}{pages}, {document.characters:,} characters",
        mime_type="text/plain",
    )


async def _read(service: Service, read: Callable[[Library], str]) -> str:
    try:
        return await asyncio.to_thread(lambda: read(service.library()))
    except UsageError as error:  # no such document, or no such page
        raise ResourceNotFoundError(said(error)) from error
    except SecondlookError as error:
        raise ResourceError(said(error)) from error


def _list(library: Library) -> str:
    held: list[dict[str, Any]] = [
        {
            "id": one.id,
            "title": one.title,
            "kind": one.kind,
            "pages": one.pages,
            "characters": one.characters,
            "tables": list(one.tables),
            "uri": document_uri(one.id),
        }
        for one in library.documents()
    ]
    return json.dumps({"documents": held}, ensure_ascii=False, indent=1)


def _whole(library: Library, name: str) -> str:
    document = library.document(name)
    text = library.text(document.id).text
    left = len(text) - MOST_CHARACTERS
    cut = f"\n(read_source reads on with start={MOST_CHARACTERS}: {left:,} characters)"
    return as_data([f"{document.title}\n\n{text[:MOST_CHARACTERS]}"]) + (cut if left > 0 else "")


def _page(library: Library, name: str, page: int) -> str:
    found = source_text(library, name, page=page)
    return as_data([f"{found.title}, p. {page}\n\n{found.text}"])
