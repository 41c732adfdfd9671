"""Screens a question and its choices for orders to a model: signs first, a model only where they
are unclear. Where nobody can tell, the question passes, and the answer says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable
from secondlook.nodes.extract import withheld
from secondlook.nodes.screening import look
from secondlook.nodes.screening.asking import is_attack
from secondlook.state import (
    Choices,
    DraftData,
    Question,
    ScreenData,
    Screened,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.answer import ScreenVerdict
    from secondlook.nodes.screening import Signals

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
    told = step("screen", _said(data), _numbers(data), route=(way, why))
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
        _refuse_without_model(context)
        attack = await is_attack(context, unclear)
    except (ModelError, BudgetExceeded) as error:
        told = trouble("screen", error, "the question was let through")
        return _Verdict("unclear", _RULES, (told,))
    return _Verdict("refused" if attack else "safe", context.models.name("screen"))


def _refuse_without_model(context: Context) -> None:
    if not context.settings.research.enable_screen_model:
        raise ModelUnavailable("the signs are unclear, and no model may be asked")
    if not context.models.serves("screen"):
        raise ModelUnavailable("the signs are unclear, and there is no model to ask")


def _way(data: ScreenData) -> tuple[Way, str]:
    if data["verdict"] == "refused":
        return "refuse", f"{_place(data)} gives orders to a model"
    if data["verdict"] == "unclear":
        return "pass", "nobody could tell, and a question is not refused on a suspicion"
    return "pass", "nothing speaks against the question"


def _numbers(data: ScreenData) -> dict[str, str | float | None]:
    return {
        "verdict": data["verdict"],
        "by": data["by"],
        "score": data["score"],
        "where": data["where"],
        "reasons": "; ".join(data["reasons"]),
    }


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
