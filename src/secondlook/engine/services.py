"""The web, the sandbox and the record as one run is given them. What the web and the sandbox gave
before is in the journal, under the visit to the node; failures are not kept."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.models.journal import Calls, JournalEntry
from secondlook.sandbox.port import Limits, Outcome, Sandbox, Supplied, outcome_from
from secondlook.store.answers import AnswerMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.engine.record import Recorder
    from secondlook.library.library import Library
    from secondlook.retrieval.web.port import WebPassage, WebResult, WebSearch
    from secondlook.sandbox import Choice
    from secondlook.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class JournaledWeb:
    web: WebSearch
    calls: Calls

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        return await self.web.search(query, results=results)

    async def find(self, query: str) -> list[WebPassage]:
        from secondlook.retrieval.web.port import WebPassage

        key = self.calls.key("web", query)
        if (known := self.calls.journal.get(key)) is not None:
            return [WebPassage.from_dict(item) for item in json.loads(known.text)]
        found = await self.web.find(query)
        text = json.dumps([passage.as_dict() for passage in found])
        self.calls.journal.put(key, JournalEntry.free(text, kind="web", node="search_web"))
        return found

    async def aclose(self) -> None:
        """Nothing of its own is open."""


@dataclass(frozen=True, slots=True)
class JournaledSandbox:
    """`Sandbox` for one run; the one behind it is opened when code must really run."""

    opened: Callable[[], Sandbox]
    calls: Calls

    def __call__(self) -> Sandbox:
        return self

    @property
    def name(self) -> str:
        return self.opened().name

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        bounds = None if limits is None else asdict(limits)
        # Tables of a run do not change while it lasts; their folder may, after it was resumed.
        named = [[table.name, table.file.name] for table in tables]
        # The last two keep the keys of earlier versions, which ran code on varied rows as well.
        key = self.calls.key("sandbox", code, named, bounds, None, 0)
        if (known := self.calls.journal.get(key)) is not None:
            return outcome_from(json.loads(known.text))
        outcome = self.opened().run(code, tables, limits=limits)
        text = json.dumps(asdict(outcome))
        self.calls.journal.put(key, JournalEntry.free(text, kind="sandbox", node="code"))
        return outcome

    def close(self) -> None:
        """The engine closes the one behind it."""


@dataclass(frozen=True, slots=True)
class RunKept:
    run: str
    recorder: Recorder

    def put(self, name: str, text: str) -> None:
        self.recorder.put_passages(self.run, [{"id": name, "text": text}])

    def get(self, name: str) -> str | None:
        held = self.recorder.passages(self.run, [name]).get(name)
        return None if held is None else str(held["text"])


@dataclass(frozen=True, slots=True)
class RunPages:
    run: str
    recorder: Recorder

    def put(self, passages: Sequence[WebPassage]) -> None:
        self.recorder.put_passages(self.run, [passage.as_dict() for passage in passages])

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:
        wanted = [name for name in ids if name.startswith("web-")]
        if not wanted:
            return {}
        from secondlook.retrieval.web.port import WebPassage

        held = self.recorder.passages(self.run, wanted)
        return {name: WebPassage.from_dict(item) for name, item in held.items()}


def own_memory(library: Library, settings: Settings) -> AnswerMemory | None:
    """The one beside the record of runs; None where nothing may be stored (`runs.keep = 0`)."""
    if not settings.runs.keep:
        return None
    place = Path(library.place)
    return AnswerMemory.own(settings.runs, place, embedder=lambda: library.embedder().name)


@dataclass(slots=True)
class OneSandbox:
    backend: Choice
    opened: Sandbox | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> Sandbox:
        with self._lock:
            if self.opened is None:
                from secondlook.sandbox import open_sandbox

                self.opened = open_sandbox(self.backend)
            return self.opened


def current_visit() -> str:
    """The visit under which calls are journaled: nodes and step, the same when the step is done
    again; "" outside of a graph."""
    from langgraph.config import get_config

    try:
        told = get_config().get("metadata", {})
    except RuntimeError:  # no graph runs here
        return ""
    within = str(told.get("langgraph_checkpoint_ns", "")).split("|")
    # What stands behind the names is of one checkpoint, and a run may have lost them all.
    nodes = ".".join(name.partition(":")[0] for name in within)
    return f"{nodes} {told['langgraph_step']}" if "langgraph_step" in told else ""
