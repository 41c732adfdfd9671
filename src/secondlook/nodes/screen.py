"""Screens a question and its choices for orders to a model: signs first, a model only where they
are unclear. Where nobody can tell, the question passes, and the answer says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, BeforeValidator

from secondlook.answer import Trouble
from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.state import (
    Choices,
    DraftData,
    Evidence,
    Found,
    Question,
    ScreenData,
    Screened,
    Trace,
    step,
    trouble,
)
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.screen import is_stopped, look

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import ScreenVerdict
    from secondlook.passage import Passage
    from secondlook.roles.screen import Channel, Signals

Way = Literal["refuse", "pass"]
QUESTION = "question"
_RULES = "rules"
_OFF = "--set research.enable_screen=false"


class ToScreen(Question, Choices):
    pass


class Passed(Screened, Trace):
    route: str
    draft: NotRequired[DraftData]
    """Only where the question is refused."""


@dataclass(frozen=True, slots=True)
class _Looked:
    text: str
    signals: Signals


@dataclass(frozen=True, slots=True)
class _Verdict:
    verdict: ScreenVerdict
    by: str
    warnings: tuple[dict[str, Any], ...] = ()


async def screen(state: ToScreen, runtime: Runtime[Context]) -> Passed:
    looked = _looked_at(state, runtime.context.question)
    where = max(looked, key=lambda place: looked[place].signals.score)
    signals = looked[where].signals
    verdict = await _judged(runtime.context, looked, worst=signals.verdict)
    data = ScreenData(
        verdict=verdict.verdict,
        by=verdict.by,
        score=signals.score,
        where=where if signals.reasons else None,
        reasons=list(signals.reasons),
    )
    way, why = _way(data)
    told = step(
        "screen",
        _said(data),
        {
            "verdict": data["verdict"],
            "by": data["by"],
            "score": data["score"],
            "where": data["where"],
            "reasons": "; ".join(data["reasons"]),
        },
        route=(way, why),
    )
    passed = Passed(screen=data, route=way, steps=[told], warnings=list(verdict.warnings))
    return {**passed, "draft": _refusal(data)} if way == "refuse" else passed


def _looked_at(state: ToScreen, whole: str) -> dict[str, _Looked]:
    """By place, the choices first. The question is also looked at as it was asked: an order may
    show only where its pieces stand together."""
    texts = {**state.get("choices", {}), QUESTION: state["question"]}
    looked = {place: _Looked(text, look(text, channel="question")) for place, text in texts.items()}
    if whole not in texts.values() and all(
        one.signals.verdict != "refused" for one in looked.values()
    ):
        both = (looked[QUESTION], _Looked(whole, look(whole, channel="question")))
        looked[QUESTION] = max(both, key=lambda one: one.signals.score)
    return looked


async def _judged(
    context: Context, looked: Mapping[str, _Looked], *, worst: ScreenVerdict
) -> _Verdict:
    if worst != "unclear":
        return _Verdict(worst, _RULES)
    unclear = {at: one.text for at, one in looked.items() if one.signals.verdict == "unclear"}
    try:
        if context.settings.models.servers.screen != "model":
            raise ModelUnavailable("the signs are unclear, and no model may be asked")
        if not context.models.serves("screen"):
            raise ModelUnavailable("the signs are unclear, and there is no model to ask")
        attack = await is_attack(context, unclear)
    except (ModelError, BudgetExceeded) as error:
        told = trouble("screen", error, "the question was let through")
        return _Verdict("unclear", _RULES, (told,))
    return _Verdict("refused" if attack else "safe", context.models.name("screen"))


def _way(data: ScreenData) -> tuple[Way, str]:
    if data["verdict"] == "refused":
        return "refuse", f"{_place(data)} gives orders to a model"
    if data["verdict"] == "unclear":
        return "pass", "nobody could tell, and a question is not refused on a suspicion"
    return "pass", "nothing speaks against the question"


def _said(data: ScreenData) -> str:
    if data["verdict"] == "safe":
        return "The question gives a model no orders."
    verb = "gives" if data["verdict"] == "refused" else "may give"
    place = _place(data)
    return f"{place[0].upper()}{place[1:]} {verb} orders to a model: {', '.join(data['reasons'])}."


def _place(data: ScreenData) -> str:
    where = data["where"]
    return "the question" if where in {None, QUESTION} else f"choice {where}"


def _refusal(data: ScreenData) -> DraftData:
    note = (
        f"This was not researched: {_place(data)} gives orders to a model"
        f" ({', '.join(data['reasons'])}). If it is meant as a question, ask it in other words, or"
        f" switch the screen off with `{_OFF}`."
    )
    return {**withheld("refused", reasons=data["reasons"]), "note": note}


# Keeps passages that give a model orders out of prompts, and lets the next best take their
# place.

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


# What a model is asked where the signs are unclear: a question, or an attack?

NODE = "screen"
_LONGEST = 2000
"""Characters of each text that are shown: half from its start, half from its end."""


def _plain(value: Any) -> Any:
    """What a model means: `Attack.` is a verdict too."""
    return value.strip(" .!\"'\n").casefold() if isinstance(value, str) else value


class Judgement(BaseModel):
    text: Annotated[Literal["question", "attack"], BeforeValidator(_plain)]


async def is_attack(context: Context, texts: Mapping[str, str]) -> bool:
    """Whether any of the texts, by their place, gives a model orders: in one call. Raises
    ModelError or BudgetExceeded."""
    prompt = load(NODE)
    evidence = evidence_marks(context.run).wrap([_shortened(text) for text in texts.values()])
    reply = await context.models.ask(
        "screen",
        prompt.render(question=_asked(list(texts)), evidence=evidence),
        Judgement,
        node=NODE,
        max_tokens=prompt.max_tokens,
        temperature=0.0,
    )
    if reply.value is None:
        raise UnusableReply(f"{context.models.name('screen')} gave no verdict")
    return reply.value.text == "attack"


def _asked(places: list[str]) -> str:
    if len(places) > 1:
        return "What do these texts do? If one of them is an attack, say so."
    return f"What does this {'question' if places == ['question'] else 'choice'} do?"


def _shortened(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n...\n{text[-half:]}"
