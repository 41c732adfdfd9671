"""The web and the sandbox as one run is given them: what they gave before, they are not asked
again.

A reply is in the journal before the node that asked sees it, under the visit to that node. Failures
are not kept: a run that is taken up may find the web back again, or a sandbox that works.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from secondlook.memory.journal import JournalEntry
from secondlook.sandbox import outcome_from

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.memory.calls import Calls
    from secondlook.retrieval.web import WebPassage, WebResult, WebSearch
    from secondlook.sandbox import Limits, Outcome, Sandbox, Supplied, Variation


@dataclass(frozen=True, slots=True)
class JournaledWeb:
    """`WebSearch` for one run; closing it is left to who opened the web."""

    web: WebSearch
    calls: Calls

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        return await self.web.search(query, results=results)

    async def find(self, query: str) -> list[WebPassage]:
        from secondlook.retrieval.web import WebPassage

        key = self.calls.key("web", query)
        if (known := self.calls.reply(key)) is not None:
            return [WebPassage.from_dict(item) for item in json.loads(known.text)]
        found = await self.web.find(query)
        text = json.dumps([passage.as_dict() for passage in found])
        self.calls.keep(key, JournalEntry.free(text, kind="web", node="search_web"))
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
        self,
        code: str,
        tables: Sequence[Supplied] = (),
        *,
        limits: Limits | None = None,
        vary: Variation | None = None,
        seed: int = 0,
    ) -> Outcome:
        bounds = None if limits is None else asdict(limits)
        key = self.calls.key("sandbox", code, _named(tables), bounds, vary, seed)
        if (known := self.calls.reply(key)) is not None:
            return outcome_from(json.loads(known.text))
        outcome = self.opened().run(code, tables, limits=limits, vary=vary, seed=seed)
        text = json.dumps(asdict(outcome))
        self.calls.keep(key, JournalEntry.free(text, kind="sandbox", node="code"))
        return outcome

    def close(self) -> None:
        """Left to who opened it."""


def _named(tables: Sequence[Supplied]) -> list[list[Any]]:
    """Tables of a run do not change while it lasts; their folder may be another one after it was
    taken up."""
    return [[table.name, table.file.name] for table in tables]
