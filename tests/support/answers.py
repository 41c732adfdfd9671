"""Answers over a real library of the sample documents, made by code as the workflows make them."""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from secondlook.answer import Answer, Citation, Claim, SeenPassage
from secondlook.library.library import Library, samples_folder
from secondlook.retrieval.web.pages import document_id

if TYPE_CHECKING:
    from pathlib import Path


PAGE_URL = "https://example.org/tides"
PAGE_TEXT = (
    "Spring tides at Halvermouth reach 4.9 metres. Neap tides stay below 3.1 metres. "
    "The tables are made by the Hydrographic Office in Lessing."
)


def sample_library(folder: Path) -> Library:
    """The sample documents, copied so that a test may change them, in a library of their own."""
    shutil.copytree(samples_folder(), folder / "papers")
    library = Library.open(folder / "library")
    report = library.add([folder / "papers"])
    assert not report.failed
    return library


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def from_the_web() -> Answer:
    """An answer on a page that was read while answering."""
    sentence = PAGE_TEXT.split(". ", maxsplit=1)[0] + "."
    document = document_id(PAGE_URL)
    source: dict[str, Any] = {
        "document": document,
        "title": "Tides",
        "origin": "web",
        "url": PAGE_URL,
    }
    citation = Citation(
        number=1,
        passage=f"{document}.0",
        sha256=hashlib.sha256(PAGE_TEXT.encode()).hexdigest(),
        start=100,
        end=100 + len(sentence),
        quote=sentence,
        fetched=now(),
        **source,
    )
    passage = SeenPassage(
        id=f"{document}.0",
        start=100,
        end=100 + len(PAGE_TEXT),
        score=1.0,
        kept=True,
        why="from the web",
        text=PAGE_TEXT,
        **source,
    )
    return Answer(
        run="20260101-000000-fedcba",
        question="How high are spring tides?",
        asked="How high are spring tides?",
        workflow="adaptive",
        method="extractive",
        text=f"{sentence} [1]",
        short="4.9 metres",
        status="answered",
        stop_reason="answered",
        claims=(Claim(text=sentence, citations=(1,), support=1.0, supported=True),),
        citations=(citation,),
        passages=(passage,),
        web_used=True,
        created=now(),
        version="0.1.0",
    )
