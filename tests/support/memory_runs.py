"""Runs as a workflow would leave them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.answer import (
    Answer,
    CallUsage,
    Check,
    Citation,
    Claim,
    Confidence,
    Route,
    SeenPassage,
    Step,
    Trouble,
    Usage,
)
from secondlook.models.journal import JournalEntry
from secondlook.store.database import SqliteDatabase

if TYPE_CHECKING:
    import sqlite3

    from secondlook.engine.record import RunStore

CREATED = "2026-11-15T09:30:00Z"


def full_answer(run: str, *, question: str = "Who lit the lamp?", created: str = CREATED) -> Answer:
    """An answer that has something in every field, some of it awkward."""
    citation = Citation(
        number=1,
        passage="p1",
        document="d1",
        sha256="ab" * 32,
        title="Harbour \N{EM DASH} log",
        page=3,
        start=10,
        end=31,
        quote='the keeper "lit" it\n\t\u2028',
        path="/books/harbour.pdf",
    )
    seen = SeenPassage(
        id="p1",
        document="d1",
        title="Harbour",
        start=0,
        end=90,
        score=0.1 + 0.2,
        fusion_score=1e-17,
        rerank_score=-3.25,
        kept=True,
        why="best of its kind",
        grade="relevant",
    )
    step = Step(
        node="retrieve",
        said="found 1 passage",
        numbers={"found": 1, "share": 1.0, "fired": False, "best": None, "mode": "dense"},
        route=Route(to="answer", why="enough"),
        seconds=1 / 3,
    )
    call = CallUsage(node="answer", role="answer", model="m", calls=2, tokens_in=5, cost=None)
    return Answer(
        run=run,
        question=question,
        asked=question,
        workflow="linear",
        method="generative",
        model="gguf:m",
        text="The keeper lit it [1]. \N{GRINNING FACE}",
        short="the keeper",
        status="answered",
        stop_reason="answered",
        claims=(Claim(text="The keeper lit it.", citations=(1,), support=0.9, supported=True),),
        citations=(citation,),
        confidence=Confidence(value=0.75, reasons=("one passage",)),
        grounded=Check(value="yes", score=0.9),
        queries=(question, "lamp keeper"),
        passages=(seen,),
        attempts=1,
        warnings=(Trouble(node="web", error="WebSearchError", message="m", consequence="c"),),
        steps=(step,),
        usage=Usage(calls=2, tokens_in=5, cost=None, seconds=0.7, by_node=(call,)),
        created=created,
        version="0.1.0",
    )


def entry(text: str = "yes", *, node: str = "grade", cost: float | None = 0.25) -> JournalEntry:
    return JournalEntry(
        text=text,
        finish="stop",
        node=node,
        role="grade",
        model="m",
        tokens_in=10,
        tokens_out=2,
        tokens_cached=1,
        seconds=0.5,
        cost=cost,
        retries=1,
    )


def connection_of(store: RunStore) -> sqlite3.Connection:
    """By which a test makes the file of a record misbehave."""
    database = store._database
    assert isinstance(database, SqliteDatabase)
    return database._db
