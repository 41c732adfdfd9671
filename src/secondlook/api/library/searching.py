"""Passages, by search and by id."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path

from secondlook.api.library.forms import HitForm, Hits, PassageForm, Search
from secondlook.api.library.opened import OpenedLibrary, joined, missing
from secondlook.api.problems import responses

if TYPE_CHECKING:
    from secondlook.library import Library
    from secondlook.passage import Hit, Passage

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])


@router.post("/search", summary="Find passages", responses=responses(404, 422))
async def search(opened: OpenedLibrary, asked: Search) -> Hits:
    """The passages that fit best, without an answer."""
    return await asyncio.to_thread(_searched, opened.library, asked)


@router.get("/passages/{passage}", summary="One passage", responses=responses(404))
async def show_passage(
    opened: OpenedLibrary, passage: Annotated[str, Path(max_length=80)]
) -> PassageForm:
    """By the id that an answer's citation or a search gives."""
    found = await asyncio.to_thread(opened.library.shelf().passages, [passage])
    if passage not in found:
        raise missing("passage", passage)
    return _passage_form(found[passage])


def _searched(library: Library, asked: Search) -> Hits:
    hits = library.search(
        asked.query, k=asked.k, filters=asked.filters, documents=asked.documents or None
    )
    return Hits(hits=[_hit_form(hit) for hit in hits])


def _hit_form(hit: Hit) -> HitForm:
    said = _passage_form(hit.passage).model_dump(exclude={"id"})
    return HitForm(**said, passage=hit.passage.id, score=hit.score)


def _passage_form(passage: Passage) -> PassageForm:
    return PassageForm(
        id=passage.id,
        document=passage.document,
        title=passage.title,
        page=passage.page,
        start=passage.start,
        end=passage.end,
        text=passage.text,
        heading=joined(passage.heading),
    )
