"""Looks whether the question was researched before, and takes up what was found.

Used only where both questions ask the same (`remembering.same_question`) and every passage that the
earlier answer cites still says what it said. An entry with one that does not is forgotten.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

from langgraph.runtime import Runtime  # noqa: TC002
from typing_extensions import TypedDict

from secondlook.answer import QueryType  # noqa: TC001
from secondlook.errors import BudgetExceeded, SecondlookError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.research import Scale, standing
from secondlook.nodes.state import (
    Choices,
    Chosen,
    Draft,
    DraftData,
    Found,
    Question,
    Recall,
    RecalledData,
    Researched,
    Screened,
    StepData,
    Trace,
    step,
    trouble,
)
from secondlook.roles.same_question import same_question
from secondlook.store.answers import Asking, CitedText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.models.chat import Role
    from secondlook.nodes.state import Scope
    from secondlook.store.answers import Alike, AnswerMemory, Entry

Way = Literal["hit", "miss"]
AFRESH = "--fresh asks afresh"
_MOST_QUOTED = 200


class ToRecall(Question, Choices):
    """A question; its choices tell whether they shaped the research, and go no further."""


class Recollection(Trace):
    recalled: RecalledData | None
    route: str
    plan: NotRequired[list[StepData]]
    found: NotRequired[list[Found]]
    draft: NotRequired[DraftData]
    query_type: NotRequired[QueryType]
    classified_by: NotRequired[str]
    escalated: NotRequired[bool]
    cycles: NotRequired[int]
    stopped: NotRequired[str]


@dataclass(slots=True)
class _Search:
    """What looking into the memory came to."""

    looked_at: int = 0
    nearest: float | None = None
    forgotten: int = 0
    why: str = "nothing like it is remembered"
    hit: Alike | None = None


async def recall(state: ToRecall, runtime: Runtime[Context]) -> Recollection:
    context = runtime.context
    research = context.settings.research
    if context.memory is None or not (research.enable_memory and research.enable_recall):
        return _missed(_Search(why="nothing is recalled, as the settings have it"), [])
    try:
        found = await asyncio.to_thread(_searched, context, context.memory, state)
    except (SecondlookError, OSError) as error:
        told = trouble("recall", error, "the question is researched afresh")
        return _missed(_Search(why="the memory could not be read"), [told])
    return _missed(found, []) if found.hit is None else _taken_up(found, found.hit)


def _searched(context: Context, memory: AnswerMemory, state: ToRecall) -> _Search:
    question = state["question"]
    vector = context.shelf.vectors([question])[0]
    asking = asking_of(context, state["scope"])
    found = _Search()
    for alike in memory.find(vector, asking=asking):
        if alike.entry.run == context.run:  # taken up again, a run does not recall itself
            continue
        found.looked_at += 1
        found.nearest = found.nearest or alike.similarity
        verdict = same_question(question, alike.entry.question, alike.similarity, context.settings)
        if found.looked_at == 1 or verdict.same:
            found.why = verdict.why
        if not verdict.same:
            continue
        if _still_holds(context, alike.entry):
            found.hit = alike
            return found
        memory.forget([alike.entry.id])
        found.forgotten += 1
        found.why = "what it rested on has changed since"
    return found


def _still_holds(context: Context, entry: Entry) -> bool:
    """Whether all that it cites is there and says the same."""
    if not (bool(entry.cited) and {"plan", "found", "draft"} <= entry.research.keys()):
        return False
    now = as_they_are(context, [item.passage for item in entry.cited])
    return now == list(entry.cited)


def _taken_up(found: _Search, alike: Alike) -> Recollection:
    entry = alike.entry
    kept: dict[str, Any] = {name: entry.research[name] for name in KEPT if name in entry.research}
    said = (
        f"From memory: researched on {entry.created[:10]} for "
        f"{_shortened(entry.question)!r} (similarity {alike.similarity:.3f}). {AFRESH}."
    )
    told = _told(found, said, "hit", entry=entry.id, run=entry.run)
    recalled = RecalledData(
        entry=entry.id,
        question=entry.question,
        similarity=round(alike.similarity, 4),
        created=entry.created,
        run=entry.run,
    )
    taken: Recollection = {"recalled": recalled, "route": "hit", "steps": [told], "warnings": []}
    return cast("Recollection", {**taken, **kept})


def _missed(found: _Search, warnings: list[dict[str, Any]]) -> Recollection:
    said = "Nothing remembered answers this question."
    if found.forgotten:
        said = "What was remembered no longer holds and is forgotten."
    told = _told(found, said, "miss")
    return {"recalled": None, "route": "miss", "steps": [told], "warnings": warnings}


def _told(found: _Search, said: str, way: Way, **more: int | str) -> dict[str, Any]:
    return step(
        "recall",
        said,
        dict(more),
        route=(way, found.why),
        looked_at=found.looked_at,
        similarity=found.nearest,
        forgotten=found.forgotten,
    )


def _shortened(question: str) -> str:
    return question if len(question) <= _MOST_QUOTED else f"{question[: _MOST_QUOTED - 3]}..."


# Keeps research for the next time that the question is asked. Only what was found, was checked
# and is sure: never a choice, a guess, or what a budget cut short.


class ToRemember(Researched, Choices, Draft, Recall, Chosen, Screened, Trace):
    """A finished research, and what is known against it."""


class Remembered(TypedDict):
    remembered: bool


class Kept(Remembered, Trace):
    pass


async def remember(state: ToRemember, runtime: Runtime[Context]) -> Kept:
    context = runtime.context
    reason = why_not(state, context)
    if reason is not None or context.memory is None:
        return _remember_told(kept=False, why=reason or "nothing is stored")
    try:
        lost = await asyncio.to_thread(_put, context, context.memory, state)
    except (SecondlookError, OSError) as error:
        told = _remember_told(kept=False, why="the memory could not be written")
        told["warnings"].append(trouble("remember", error, "the research is not remembered"))
        return told
    return _remember_told(kept=not lost, why=lost or "the same question is answered from memory")


def _put(context: Context, memory: AnswerMemory, state: ToRemember) -> str | None:
    """Why it was not done; None where it was."""
    # The passages that the answer, or the findings of a step, cite; each once.
    plan = state["plan"]
    drafts = [state["draft"], *(step["draft"] for step in plan if step["draft"] is not None)]
    wanted = list(
        dict.fromkeys(
            place["passage"]
            for one in drafts
            for sentence in one["sentences"]
            for place in sentence["cited"]
        )
    )
    cited = as_they_are(context, wanted)
    if len(cited) < len(wanted):
        return "a passage that it cites is gone by now, or is not of the library"
    memory.put(
        state["question"],
        context.shelf.vectors([state["question"]])[0],
        asking=asking_of(context, state["scope"]),
        run=context.run,
        created=context.created,
        cited=cited,
        research=remembered(state, wanted),
    )
    return None


def _remember_told(*, kept: bool, why: str) -> Kept:
    said = f"The research is {'remembered' if kept else 'not remembered'}: {why}."
    told: dict[str, Any] = step("remember", said, remembered=kept, why=why)
    return {"remembered": kept, "steps": [told], "warnings": []}


# Research as it is remembered, and as it is taken up again.

FORMAT = 1
"""Raised when what is remembered changes its form: what an older version wrote is then not used."""
KEPT = (
    "plan",
    "found",
    "draft",
    "query_type",
    "classified_by",
    "escalated",
    "cycles",
    "stopped",
)
"""Of the state; never what was chosen, which is done anew for the choices at hand."""
_SHAPING_NOTHING = frozenset(
    {
        "enable_memory",
        "enable_recall",
        "memory_similarity",
        "enable_screen",
        "enable_choosing",
        "guess",
    }
)
"""Settings of research that leave its findings as they are."""
_ROLES: tuple[Role, ...] = ("plan", "rewrite", "answer")


def asking_of(context: Context, scope: Scope) -> Asking:
    """What research must share with this question's to be used for it."""
    settings, servers = context.settings, context.settings.models.servers
    shaping = settings.research.model_dump(mode="json", exclude=set(_SHAPING_NOTHING))
    manner = {
        "format": FORMAT,
        "workflow": context.workflow,
        "research": shaping,
        "servers": [servers.classify, servers.synthesise, servers.grounded],
        "checks": [
            settings.answer.enable_quarantine,
            settings.answer.enable_revalidation,
            settings.answer.enable_grounded_check,
        ],
        "web": settings.web.enable_web_search,
        "models": [context.models.name(role) for role in _ROLES],
    }
    return Asking(scope=_digest(scope), manner=_digest(manner))


def remembered(state: Mapping[str, Any], cited: Sequence[str]) -> dict[str, Any]:
    """What is kept of a research that rests on these passages."""
    kept = {name: state[name] for name in KEPT if name in state}
    kept["found"] = [item for item in state.get("found", []) if item["id"] in set(cited)]
    return kept


def as_they_are(context: Context, passages: Sequence[str]) -> list[CitedText]:
    """These passages by what they say now; those that are gone are left out."""
    held = context.shelf.passages(list(passages))
    return [CitedText.of(name, held[name].text) for name in passages if name in held]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


# Whether a research is worth remembering: answered, checked, sure, and whole.

_CUT_SHORT = frozenset({BudgetExceeded.__name__, "ModelTimeout", "ModelUnavailable"})
"""Troubles after which a research is not what it would have been."""


def why_not(state: Mapping[str, Any], context: Context) -> str | None:
    """The first reason against remembering a research; None where there is none."""
    if context.memory is None or not context.settings.research.enable_memory:
        return "nothing is stored, as the settings have it"
    return next((reason for check in _CHECKS if (reason := check(state, context))), None)


def _from_memory(state: Mapping[str, Any], _: Context) -> str | None:
    return "it comes from memory itself" if state.get("recalled") else None


def _unanswered(state: Mapping[str, Any], _: Context) -> str | None:
    draft = state["draft"]
    if draft["stop"] != "answered" or not draft["sentences"]:
        return f"there is no answer ({draft['stop']})"
    return f"the answer has a caveat: {draft['note']}" if draft["note"] else None


def _unfounded(state: Mapping[str, Any], _: Context) -> str | None:
    sentences = state["draft"]["sentences"]
    if not all(one["cited"] for one in sentences):
        return "a sentence cites nothing"
    if not all(one["supported"] for one in sentences):
        return "a sentence was not found to be supported by what it cites"
    return None


def _cut(state: Mapping[str, Any], _: Context) -> str | None:
    """Sentences of a step that stands were cut: the answer is partial."""
    cut = any(step["complaints"] for step in standing(state["plan"]))
    return "sentences were cut" if cut else None


def _unsure(state: Mapping[str, Any], context: Context) -> str | None:
    done = [step["confidence"] for step in state["plan"] if step["status"] == "completed"]
    if not done:
        return "no step was completed"
    if any(value is None for value in done):
        return "nobody could tell how sure a step is"
    mean, threshold = math.fsum(done) / len(done), Scale.of(context).threshold
    if mean < threshold:
        return f"its steps are not sure enough ({mean:.2f}, below {threshold:.2f})"
    return None


def _badly_chosen(state: Mapping[str, Any], _: Context) -> str | None:
    choice = state.get("choice")
    if choice and choice["letter"] is None:
        return "no option could be chosen on it"
    return "the choice is a guess" if choice and not choice["grounded"] else None


def _doubtful(state: Mapping[str, Any], _: Context) -> str | None:
    screen = state.get("screen")
    if screen and screen["verdict"] not in {"safe", "not screened"}:
        return "the question could not be screened"
    return None


def _broken_off(state: Mapping[str, Any], _: Context) -> str | None:
    for warning in state.get("warnings", []):
        if warning["error"] in _CUT_SHORT:
            return f"the run was cut short ({warning['error']} in {warning['node']})"
    return None


_CHECKS: tuple[Callable[[Mapping[str, Any], Context], str | None], ...] = (
    _from_memory,
    _unanswered,
    _broken_off,
    _unfounded,
    _cut,
    _unsure,
    _badly_chosen,
    _doubtful,
)
