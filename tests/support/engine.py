"""A run without a library: a shelf that really searches its passages, and contexts over it."""

from __future__ import annotations

import json
import math
import re
import zlib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from secondlook.models.budget import Ledger
from secondlook.models.calls import Models
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.nodes.context import Context
from secondlook.passage import Hit, Passage
from secondlook.reading.port import Choose, Reading, glimpse
from secondlook.reading.support import load_support
from secondlook.retrieval.chunk import with_context
from secondlook.settings.sections import Settings
from tests.support.function_model import FunctionModel, models_of, no_pause, of_all_roles

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secondlook.retrieval.index.port import Filter
    from secondlook.retrieval.search import SearchOptions
    from secondlook.retrieval.web.port import WebPassage, WebSearch

CALIBRATED: str = json.loads(
    files("secondlook.reading").joinpath("calibration.json").read_text("utf-8")
)["reader"]
"""The reader that the shipped calibration belongs to."""
QUESTION = "how deep is the deepest berth 4"
_WORD = re.compile(r"\w+")
HARBOUR = (
    ("survey", "Berth 4 remains the deepest berth, at 7.8 metres. It has lost 60 centimetres."),
    ("survey", "Berth 2 is 5.1 metres deep. Small boats lie there in winter."),
    ("minutes", "The council voted 7 to 2 for dredging. Ms Orr voted against the money."),
    ("log", "The mains failed at 20:52. The diesel started and the light never went out."),
    ("handbook", "The harbour office listens on channel 12. Call before you enter."),
)


def words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text) if len(word) > 2 or word.isdigit()}


def alike(question: str, text: str) -> float:
    """The share of the question's words that the text has."""
    asked = words(question)
    return len(asked & words(text)) / max(1, len(asked))


def passages_of(pieces: Sequence[tuple[str, str]] = HARBOUR) -> list[Passage]:
    """Pieces of documents, each document's text its pieces joined by blank lines."""
    made: list[Passage] = []
    ends: dict[str, int] = {}
    for document, text in pieces:
        start = ends.get(document, 0)
        ends[document] = start + len(text) + 2
        made.append(
            Passage(
                id=f"{document}.{sum(item.document == document for item in made)}",
                document=document,
                sha256=f"{document:0<64}",
                title=document.capitalize(),
                text=text,
                start=start,
                end=start + len(text),
            )
        )
    return made


@dataclass(slots=True)
class WordShelf:
    """Searches and reads by shared words, so that what it finds depends on what is asked."""

    held: list[Passage] = field(default_factory=passages_of)
    reader_name: str = CALIBRATED
    reader_languages: tuple[str, ...] = ("english",)
    finds: list[tuple[str, SearchOptions]] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    glances: bool = False
    """Whether it can tell passages apart before it looks at them."""
    looks: list[int] = field(default_factory=list)

    def find(self, query: str, options: SearchOptions, where: Filter) -> list[Hit]:
        self.finds.append((query, options))
        allowed = [
            item
            for item in self.held
            if where.documents is None or item.document in where.documents
        ]
        scored = sorted(
            ((alike(query, item.text), item) for item in allowed),
            key=lambda pair: (-pair[0], pair[1].id),
        )
        depth = max(2 * options.k, options.candidates)
        return [
            Hit(item, score=like, fusion_score=like, dense_rank=rank, lexical_rank=rank)
            for rank, (like, item) in enumerate(scored[:depth], 1)
        ]

    def read(
        self, query: str, passages: Sequence[Passage], *, choose: Choose | None = None
    ) -> list[Reading]:
        self.reads.append(len(passages))
        readings = [self.read_text(query, passage.text) for passage in passages]
        if choose is None or not self.glances:
            return readings
        first = [reading.relevance - 0.5 for reading in readings]
        chosen = set(choose(first))
        self.looks.append(len(chosen))
        return [
            reading if at in chosen else glimpse(first[at]) for at, reading in enumerate(readings)
        ]

    def in_context(self, query: str, passage: Passage) -> str:
        return with_context(passage.title, passage.heading, passage.text)

    def read_text(self, query: str, text: str) -> Reading:
        """The longest run of words that the query does not have, in the sentence most like it."""
        asked = words(query)
        spans = [found.span() for found in re.finditer(r"[\d.:]+\s\w+|[A-Z]\w+", text)]
        start, end = next(
            ((a, b) for a, b in spans if not words(text[a:b]) & asked), (0, min(8, len(text)))
        )
        score = 36 * alike(query, text) - 14
        return Reading(score, score, start, end, span_score=score, null_score=0.0)

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine of the two texts' words."""
        counted = [(words(one), words(other)) for one, other in pairs]
        return [
            len(one & other) / max(1.0, math.sqrt(len(one) * len(other))) for one, other in counted
        ]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """The words of a text, each on an axis of its own as far as 64 axes go."""
        made = []
        for text in texts:
            vector = [0.0] * 64
            for word in words(text):
                vector[zlib.crc32(word.encode()) % 64] = 1.0
            length = math.sqrt(sum(vector)) or 1.0
            made.append([value / length for value in vector])
        return made

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        return {item.id: item for item in self.held if item.id in set(ids)}

    def paths(self, documents: Collection[str]) -> dict[str, tuple[str, ...]]:
        return {name: (f"/papers/{name}.txt",) for name in documents}

    def page(self, document: str, at: int) -> int | None:
        return None

    def size(self) -> tuple[int, int]:
        return len({item.document for item in self.held}), len(self.held)


@dataclass(slots=True)
class MemoryPages:
    held: dict[str, WebPassage] = field(default_factory=dict)

    def put(self, passages: Sequence[WebPassage]) -> None:
        self.held.update((item.id, item) for item in passages)

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:
        return {name: self.held[name] for name in ids if name in self.held}


_SERVERS: dict[str, str | tuple[str, dict[Any, str]]] = {
    "answer.judge": "support",
    "corrective.grader": "grade",
    "corrective.grounded_judge": "grounded",
    "corrective.useful_judge": "useful",
    "research.enable_screen_model": ("screen", {True: "model", False: "signs"}),
    "research.classifier": "classify",
    "research.synthesis": "synthesise",
    "analyst.requirements": "require",
    "analyst.remedies": "remedy",
    "analyst.explain": "explain",
    "analyst.enable_grammar": ("query", {True: "grammar", False: "model"}),
    "analyst.enable_judgement": ("judge", {True: "model", False: "checks"}),
}
_ELSEWHERE = {
    "corrective.enable_grounded_check": "answer",
    "research.enable_grounded_check": "answer",
    "research.enable_quarantine": "answer",
}


def settings_of(**sections: dict[str, Any]) -> Settings:
    """Settings from dicts. What serves a role may be given with its workflow: `grader="auto"`."""
    made: dict[str, dict[str, Any]] = {name: {} for name in sections}
    servers: dict[str, str] = {}
    given = [(section, *pair) for section, named in sections.items() for pair in named.items()]
    for section, name, value in given:
        key = f"{section}.{name}"
        if key in _SERVERS:
            role = _SERVERS[key]
            servers |= {role: value} if isinstance(role, str) else {role[0]: role[1][value]}
        else:
            made.setdefault(_ELSEWHERE.get(key, section), {})[name] = value
    if "models" in made:
        made["models"] = of_all_roles(made["models"])
    if servers:
        models = made.setdefault("models", {})
        models["servers"] = {**models.get("servers", {}), **servers}
    return Settings.model_validate(made)


def context_of(
    *,
    shelf: Any = None,
    model: FunctionModel | None = None,
    settings: Settings | None = None,
    web: WebSearch | None = None,
    caps: Caps | None = None,
    question: str = QUESTION,
    workflow: str = "linear",
) -> Context:
    chosen = settings or Settings()
    ledger = Ledger(caps or Caps())
    models = models_of(model) if model else Models(chosen, pause=no_pause)
    asker = models.asker(run="test-run", workflow=workflow, ledger=ledger, journal=MemoryJournal())
    return Context(
        run="test-run",
        created="2026-01-02T03:04:05+00:00",
        workflow=workflow,
        question=question,
        settings=chosen,
        shelf=shelf or WordShelf(),
        models=asker,
        ledger=ledger,
        support=load_support(),
        pages=MemoryPages(),
        web=web,
    )


def state_of(question: str = QUESTION, **more: Any) -> dict[str, Any]:
    return {
        "question": question,
        "scope": {"documents": None, "labels": []},
        "queries": [question],
        "found": [],
        "steps": [],
        "warnings": [],
        **more,
    }


def reached(start: str, ways: dict[str, set[str]]) -> set[str]:
    """The nodes that a way leads to, the first one among them."""
    seen, todo = {start}, [start]
    while todo:
        for node in ways.get(todo.pop(), set()) - seen:
            seen.add(node)
            todo.append(node)
    return seen
