"""Memory of research: what was found well is kept, and used again where the question is the same
(the 0.92 rule of `roles.same_question`) and every passage that it cites still says what it said."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002
from typing_extensions import TypedDict

from secondlook.errors import BudgetExceeded, SecondlookError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.research import standing
from secondlook.nodes.state import (
    Chosen,
    Draft,
    Question,
    Recall,
    RecalledData,
    Researched,
    Scope,
    Screened,
    Trace,
    step,
    trouble,
)
from secondlook.roles.same_question import same_question
from secondlook.store.answers import Alike, AnswerMemory, Asking, CitedText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.models.chat import Role

FORMAT = 1
"""Raised when what is remembered changes its form: what an older version wrote is then not used."""
KEPT = ("plan", "found", "draft", "query_type", "classified_by", "escalated", "cycles", "stopped")
"""Of the state; never the choice, which is made again for the choices at hand."""
_MEMORY = {"enable_memory", "enable_recall", "memory_similarity"}
_SHAPING_NOTHING = {*_MEMORY, "enable_screen", "enable_choosing", "guess"}
"""Settings of research that leave its findings as they are."""
_ROLES: tuple[Role, ...] = ("plan", "rewrite", "answer")
_MOST_QUOTED = 200
_OFF = "the settings switch the memory off"


@dataclass(slots=True)
class _Search:
    """What looking into the memory came to."""

    why: str
    looked_at: int = 0
    nearest: float | None = None
    forgotten: int = 0
    hit: Alike | None = None


async def recall(state: Question, runtime: Runtime[Context]) -> dict[str, Any]:
    """What is remembered becomes the state, as if it had been researched now."""
    context = runtime.context
    research = context.settings.research
    found, warnings = _Search(_OFF), []
    if context.memory is not None and research.enable_memory and research.enable_recall:
        try:
            found = await asyncio.to_thread(_searched, context, context.memory, state)
        except (SecondlookError, OSError) as error:
            found = _Search("the memory could not be read")
            warnings = [trouble("recall", error, "the question is researched again")]
    said, way = "No remembered research answers this question.", "miss"
    if found.forgotten:
        said = "The remembered research is out of date and was forgotten."
    kept: dict[str, Any] = {}
    more: dict[str, int | str] = {}
    recalled: RecalledData | None = None
    if found.hit is not None:
        entry, like, way = found.hit.entry, found.hit.similarity, "hit"
        asked = shorten(entry.question, _MOST_QUOTED, placeholder="...")
        said = (
            f"From memory: researched on {entry.created[:10]} for {asked!r} "
            f"(similarity {like:.3f}). Use --fresh to research it again."
        )
        more = {"entry": entry.id, "run": entry.run}
        kept = {name: entry.research[name] for name in KEPT if name in entry.research}
        recalled = RecalledData(
            entry=entry.id,
            question=entry.question,
            similarity=round(like, 4),
            created=entry.created,
            run=entry.run,
        )
    told = step(
        "recall",
        said,
        more,
        route=(way, found.why),
        looked_at=found.looked_at,
        similarity=found.nearest,
        forgotten=found.forgotten,
    )
    return {**kept, "recalled": recalled, "route": way, "steps": [told], "warnings": warnings}


def _searched(context: Context, memory: AnswerMemory, state: Question) -> _Search:
    question = state["question"]
    vector = context.shelf.vectors([question])[0]
    found = _Search("nothing like it is remembered")
    for alike in memory.find(vector, asking=_asking(context, state["scope"])):
        entry = alike.entry
        if entry.run == context.run:  # a run that is resumed does not recall itself
            continue
        found.looked_at += 1
        found.nearest = found.nearest or alike.similarity
        verdict = same_question(question, entry.question, alike.similarity, context.settings)
        if found.looked_at == 1 or verdict.same:
            found.why = verdict.why
        if not verdict.same:
            continue
        whole = bool(entry.cited) and {"plan", "found", "draft"} <= entry.research.keys()
        now = _cited_now(context, [item.passage for item in entry.cited])
        if whole and now == list(entry.cited):
            found.hit = alike
            return found
        memory.forget([entry.id])
        found.forgotten += 1
        found.why = "a passage that it cites has changed"
    return found


def _asking(context: Context, scope: Scope) -> Asking:
    """What research must share with this question's to be used for it."""
    settings, servers = context.settings, context.settings.models.servers
    manner = {
        "format": FORMAT,
        "workflow": context.workflow,
        "research": settings.research.model_dump(mode="json", exclude=_SHAPING_NOTHING),
        "servers": [servers.classify, servers.synthesise, servers.grounded],
        "checks": [
            settings.answer.enable_quarantine,
            settings.answer.enable_revalidation,
            settings.answer.enable_grounded_check,
        ],
        "web": settings.web.enable_web_search,
        "models": [context.models.name(role) for role in _ROLES],
    }
    scope_of, manner_of = (
        hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
        for value in (scope, manner)
    )
    return Asking(scope=scope_of, manner=manner_of)


def _cited_now(context: Context, passages: Sequence[str]) -> list[CitedText]:
    """These passages by what they say now; those that are gone are left out."""
    held = context.shelf.passages(list(passages))
    return [CitedText.of(name, held[name].text) for name in passages if name in held]


# Keeps research for the next time that the question is asked. Only what was found, was checked
# and is sure: never a choice, a guess, or what a budget cut short.

_CUT_SHORT = frozenset({BudgetExceeded.__name__, "ModelTimeout", "ModelUnavailable"})
"""Troubles after which a research is not what it would have been."""


class ToRemember(Researched, Draft, Recall, Chosen, Screened, Trace):
    pass


class Remembered(TypedDict):
    remembered: bool


class Kept(Remembered, Trace):
    pass


async def remember(state: ToRemember, runtime: Runtime[Context]) -> Kept:
    context, memory = runtime.context, runtime.context.memory
    warnings: list[dict[str, Any]] = []
    if memory is None or not context.settings.research.enable_memory:
        reason: str | None = _OFF
    elif (reason := _why_not(state)) is None:
        try:
            reason = await asyncio.to_thread(_put, context, memory, state)
        except (SecondlookError, OSError) as error:
            reason = "the memory could not be written"
            warnings = [trouble("remember", error, "the research is not remembered")]
    why = reason or "the same question is answered from memory"
    kept = reason is None
    said = f"The research is {'remembered' if kept else 'not remembered'}: {why}."
    told: dict[str, Any] = step("remember", said, remembered=kept, why=why)
    return {"remembered": kept, "steps": [told], "warnings": warnings}


def _put(context: Context, memory: AnswerMemory, state: ToRemember) -> str | None:
    """Why it was not kept; None where it was."""
    drafts = [state["draft"], *(one["draft"] for one in state["plan"] if one["draft"] is not None)]
    sentences = [sentence for draft in drafts for sentence in draft["sentences"]]
    wanted = list(dict.fromkeys(place["passage"] for one in sentences for place in one["cited"]))
    cited = _cited_now(context, wanted)
    if len(cited) < len(wanted):
        return "a passage that it cites is gone by now, or is not of the library"
    values: Mapping[str, Any] = state
    research = {name: values[name] for name in KEPT if name in values}
    research["found"] = [item for item in state.get("found", []) if item["id"] in set(wanted)]
    memory.put(
        state["question"],
        context.shelf.vectors([state["question"]])[0],
        asking=_asking(context, state["scope"]),
        run=context.run,
        created=context.created,
        cited=cited,
        research=research,
    )
    return None


def _why_not(state: ToRemember) -> str | None:
    """The first reason against remembering a research; None where there is none."""
    draft, plan = state["draft"], state["plan"]
    sentences, choice, screen = draft["sentences"], state.get("choice"), state.get("screen")
    broken = [one for one in state.get("warnings", []) if one["error"] in _CUT_SHORT]
    checks = (
        (bool(state.get("recalled")), "it comes from memory itself"),
        (draft["stop"] != "answered" or not sentences, f"there is no answer ({draft['stop']})"),
        (bool(draft["note"]), f"the answer has a caveat: {draft['note']}"),
        *((True, f"the run was cut short ({one['error']} in {one['node']})") for one in broken[:1]),
        (not all(one["cited"] for one in sentences), "a sentence cites nothing"),
        (
            not all(one["supported"] for one in sentences),
            "a sentence was not found to be supported by what it cites",
        ),
        (any(one["complaints"] for one in standing(plan)), "sentences were cut"),
        (all(one["status"] != "completed" for one in plan), "no step was completed"),
        (choice is not None and choice["letter"] is None, "no option could be chosen on it"),
        (choice is not None and not choice["grounded"], "the choice is a guess"),
        (
            bool(screen) and screen["verdict"] not in {"safe", "not screened"},
            "the question could not be screened",
        ),
    )
    return next((why for holds, why in checks if holds), None)
