"""Keeps passages that give a model orders out of prompts, and lets the next best take their place.

`research` has it as a node; the others call `kept_clean` wherever they rank passages, and a summary
`without_orders`. It asks no model and changes nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.answer import Trouble
from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.nodes.screening import is_stopped, look
from secondlook.state import Evidence, Found, Trace, step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.nodes.screening import Channel, Signals
    from secondlook.passage import Passage

QUARANTINED = "quarantined: "
"""How `why` of a passage begins that was taken out."""
NEXT_BEST = "others fit better"
"""What `ranking` says of a passage that only its rank kept out."""
GONE = "it could not be read when it was screened"
PROMOTED = "in place of a quarantined passage"


class Cleaned(Evidence, Trace):
    pass


@dataclass(slots=True)
class _Desk:
    """The passages as they stand, and what was found in those that were looked at."""

    found: dict[str, Found]
    signals: dict[str, Signals] = field(default_factory=dict)
    promoted: list[str] = field(default_factory=list)

    def marked(self, name: str, *, kept: bool, why: str) -> None:
        self.found[name] = {**self.found[name], "kept": kept, "why": why}

    def is_clean(self, name: str, held: Mapping[str, Passage]) -> bool:
        if name not in self.signals and name in held:
            self.signals[name] = look(_shown(held[name]), channel=self._channel(name))
        return name not in held or not self._is_stopped(name)

    def _channel(self, name: str) -> Channel:
        return "web" if self.found[name]["origin"] == "web" else "passage"

    def _is_stopped(self, name: str) -> bool:
        return is_stopped(self.signals[name], channel=self._channel(name))

    @property
    def quarantined(self) -> list[Found]:
        return [self.found[name] for name in self.signals if self._is_stopped(name)]


async def quarantine(state: Evidence, runtime: Runtime[Context]) -> Cleaned:
    desk = await _cleaned(runtime.context, state["found"])
    return {"found": list(desk.found.values()), "steps": [_told(desk)], "warnings": []}


async def kept_clean(
    context: Context, found: Sequence[Found]
) -> tuple[list[Found], list[dict[str, Any]]]:
    """The passages as every workflow that ranks them keeps them, and a step where one was kept
    out. Nearly always there is nothing to tell, and then nothing is told."""
    if not context.settings.answer.enable_quarantine:
        return list(found), []
    desk = await _cleaned(context, found)
    return list(desk.found.values()), [_told(desk)] if desk.quarantined else []


def without_orders(
    context: Context, passages: Sequence[Passage]
) -> tuple[list[Passage], list[dict[str, Any]]]:
    """Passages that are read whole, and a warning for each that was kept out."""
    if not context.settings.answer.enable_quarantine:
        return list(passages), []
    looked = [(one, look(_shown(one), channel="passage")) for one in passages]
    stopped = [pair for pair in looked if is_stopped(pair[1], channel="passage")]
    clean = [pair[0] for pair in looked if pair not in stopped]
    return clean, [_trouble(*pair) for pair in stopped]


async def _cleaned(context: Context, found: Sequence[Found]) -> _Desk:
    desk = _Desk({item["id"]: item for item in found})
    held = await ranking.texts(context, [item["id"] for item in ranking.kept(found)])
    for item in _unread(ranking.kept(found), held):
        desk.marked(item["id"], kept=False, why=GONE)
    vacant = [item for item in ranking.kept(found) if not desk.is_clean(item["id"], held)]
    for item in vacant:
        _take_out(desk, item["id"])
    if vacant:
        waiting = [item for item in found if _waits(item)]
        held |= await ranking.texts(context, [item["id"] for item in waiting])
        for item in vacant:
            _fill(desk, item["search"], waiting, held)
    return desk


def _unread(kept: Sequence[Found], held: Mapping[str, Passage]) -> list[Found]:
    """What the last search found and nobody can read now: unscreened, it is shown to nobody. What
    earlier searches found was screened then."""
    last = max((item["search"] for item in kept), default=0)
    return [item for item in kept if item["id"] not in held and item["search"] == last]


def is_quarantined(item: Found) -> bool:
    return item["why"].startswith(QUARANTINED)


def _shown(passage: Passage) -> str:
    """All of it that a prompt may hold."""
    return "\n".join([passage.title, *passage.heading, passage.text])


def _waits(item: Found) -> bool:
    return not item["kept"] and item["why"] == NEXT_BEST


def _take_out(desk: _Desk, name: str) -> None:
    reasons = ", ".join(desk.signals[name].reasons)
    desk.marked(name, kept=False, why=QUARANTINED + reasons)


def _fill(desk: _Desk, search: int, waiting: Sequence[Found], held: Mapping[str, Passage]) -> None:
    """The best that waits of the same search, if it is clean itself; else the one after it."""
    for item in waiting:
        name = item["id"]
        if item["search"] != search or not _waits(desk.found[name]) or name not in held:
            continue
        if desk.is_clean(name, held):
            desk.marked(name, kept=True, why=PROMOTED)
            desk.promoted.append(name)
            return
        _take_out(desk, name)


def _told(desk: _Desk) -> dict[str, Any]:
    out = desk.quarantined
    named = "; ".join(
        f"{item['title']!r} ({item['id']}) {item['why'].removeprefix(QUARANTINED)}" for item in out
    )
    said = f"Kept out of prompts: {named}." if out else "No passage gives a model orders."
    return step(
        "quarantine",
        said,
        looked_at=len(desk.signals),
        quarantined=len(out),
        unclear=sum(one.verdict == "unclear" for one in desk.signals.values()),
        promoted=len(desk.promoted),
        passages=", ".join(item["id"] for item in out),
    )


def _trouble(passage: Passage, signals: Signals) -> dict[str, Any]:
    reasons = ", ".join(signals.reasons)
    return Trouble(
        node="quarantine",
        error="Quarantined",
        message=f"{passage.title!r} ({passage.id}) gives a model orders: {reasons}",
        consequence="it was kept out of prompts",
    ).model_dump()
