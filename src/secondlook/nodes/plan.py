"""Plans the first step of a research: by a model, or by the form of the question. One step, however
many a model would like: what comes after it depends on what it finds."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.models.chat import approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.choices import Issues
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.queries import (
    Aim,
    Checked,
    checked,
    first_proposed,
    is_merged,
    next_proposed,
    tidy_phase,
    validated,
)
from secondlook.nodes.research import PART, failed, of_step, standing
from secondlook.nodes.retrieve import leads, where
from secondlook.nodes.state import (
    Choices,
    Cycles,
    Kind,
    Plan,
    Question,
    Researched,
    StepData,
    Trace,
    pending,
    step,
    trouble,
)
from secondlook.roles.ambiguity import unresolved
from secondlook.roles.rewrite import word_count
from secondlook.roles.route import Verdict, classified
from secondlook.roles.split import split_by_form

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.answer import QueryType, Scalar
    from secondlook.nodes.queries import Proposal, Reason
    from secondlook.nodes.state import Scope
    from secondlook.passage import Passage

# Tells a question that one step answers from one that needs several. In doubt it needs several.

RULES = "rules"
"""In `classified_by`, beside names of models."""
_SAID: dict[QueryType, str] = {
    "simple": "One concept: one step should do.",
    "multi_hop": "Several facts are needed: one step at a time.",
}


class Offered(Question, Choices):
    """What is asked. Of the choices only their number goes on from here."""


class Classified(Kind, Trace):
    pass


async def classify(state: Offered, runtime: Runtime[Context]) -> Classified:
    context, choices = runtime.context, len(state.get("choices", {}))
    found, by, warnings = await _classified(context, state["question"], choices=choices)
    told = step(
        "classify", _SAID[found.kind], query_type=found.kind, by=by, why=found.why, choices=choices
    )
    return {
        "query_type": found.kind,
        "classified_by": by,
        "escalated": False,
        "steps": [told],
        "warnings": warnings,
    }


async def _classified(
    context: Context, question: str, *, choices: int
) -> tuple[Verdict, str, list[dict[str, Any]]]:
    by_rules = classified(question, choices=choices)
    if context.settings.models.servers.classify == "rules" or not context.models.serves("plan"):
        return by_rules, RULES, []
    from secondlook.roles.route import asked_model

    try:
        kind = await asked_model(context.models, question, choices=choices)
    except (ModelError, BudgetExceeded) as error:
        return by_rules, RULES, [trouble("classify", error, "rules told the kind of the question")]
    return Verdict(kind, "a model says so"), context.models.name("plan"), []


_NODE: Final = "plan"
_PLAIN: Final = 25
"""Words up to which a simple question is its own step: nobody says better what it asks."""


class ToPlan(Question, Kind, Issues):
    """A question, how it was classified, and matters that may bear on it where there are some."""


class Planning(Plan, Cycles, Trace):
    pass


async def plan(state: ToPlan, runtime: Runtime[Context]) -> Planning:
    context = runtime.context
    empty = context.models.serves("plan") and await asyncio.to_thread(_is_empty, context)
    made = await _by_model(context, state) if _asks(context, state) and not empty else None
    planned = (made.planned if made else None) or _by_code(state)
    if empty:  # nor is a model asked for words to search with where there is nothing
        planned = replace(planned, queries=(planned.question,))
    first = pending(1, planned.question, phase=planned.phase, queries=planned.queries)
    by = "a model" if made and made.planned and made.refused is None else "code"
    told = step(
        _NODE,
        f"First: {planned.question}",
        made.numbers if made else {},
        step=1,
        phase=planned.phase,
        question=planned.question,
        by=by,
        refused=made.refused if made else None,
    )
    warnings = list(made.warnings) if made else []
    return {"plan": [first], "cycles": 0, "stopped": "", "steps": [told], "warnings": warnings}


def _is_plain(state: ToPlan) -> bool:
    return state.get("query_type") == "simple" and word_count(state["question"]) <= _PLAIN


def _asks(context: Context, state: ToPlan) -> bool:
    """Whether a model has something to say: a plain question only lacks its searches, and those
    have a call of their own where calls are separate. Questions that are only joined need none."""
    if not context.models.serves("plan"):
        return False
    return (
        not (state.get("query_type") != "simple" and bool(joined_parts(state["question"])))
        if is_merged(context)
        else not _is_plain(state)
    )


def _is_empty(context: Context) -> bool:
    """Whether there is nothing to search: then no call is spent on how."""
    try:
        return not any(context.shelf.size())
    except Exception:  # noqa: BLE001 - the search will say what is wrong with the library
        return False


def _by_code(state: ToPlan) -> StepPlanned:
    # The first of two questions in one, else the question itself.
    question = state["question"]
    parts = joined_parts(question) if state.get("query_type", "multi_hop") == "multi_hop" else ()
    return StepPlanned(parts[0], PART) if parts else StepPlanned(question, FIRST)


async def _by_model(context: Context, state: ToPlan) -> Adopted:
    aim = Aim(state["question"], tuple(state.get("issues") or ()))
    try:
        proposal = await first_proposed(context, aim)
    except (ModelError, BudgetExceeded) as error:
        told = trouble(_NODE, error, "the first step was planned by code")
        made = Adopted(_by_code(state), "no reply", warnings=(told,))
        return await with_searches(context, made, None, aim, scope=state["scope"])
    if _is_plain(state):
        phase = tidy_phase(proposal.phase, otherwise=UNNAMED)
        made = Adopted(StepPlanned(state["question"], phase))
    else:
        made = await _adopted(context, state, proposal, aim)
    return await with_searches(context, made, proposal, aim, scope=state["scope"])


async def _adopted(context: Context, state: ToPlan, proposal: Proposal, aim: Aim) -> Adopted:
    made = await adopted(context, proposal, aim)
    return made if made.planned else replace(made, planned=_by_code(state))


# Decides what a research looks into next: a next step, a failed one in other words, or nothing.

_REPLAN_NODE: Final = "replan"
Way = Literal["search_step", "aggregate"]


class ToReplan(Researched, Issues):
    """A research as it stands, and matters that may bear on it where there are some."""


class Replanning(Plan, Trace):
    route: str
    stopped: str


@dataclass(frozen=True, slots=True)
class _Decision:
    """The step to make next; without one, `why` the research ends here."""

    planned: StepPlanned | None
    why: str
    by: str = "code"
    retry_of: StepData | None = None
    refused: str | None = None
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: tuple[dict[str, Any], ...] = ()


async def replan(state: ToReplan, runtime: Runtime[Context]) -> Replanning:
    made = await _decided(runtime.context, state)
    way: Way = "search_step" if made.planned else "aggregate"
    new = [_pending(state, made.planned, made.retry_of)] if made.planned else []
    return {
        "plan": [*state["plan"], *new],
        "route": way,
        "stopped": "" if new else made.why,
        "steps": [_told(made, new, way)],
        "warnings": list(made.warnings),
    }


async def _decided(context: Context, state: ToReplan) -> _Decision:
    if why := _used_up(context, state):
        return _Decision(None, why)
    over = context.ledger.must_end(_REPLAN_NODE)
    if over and (standing(state["plan"]) or context.ledger.remaining_seconds(final=False) == 0):
        return _Decision(None, "the budget or the time ran out")
    # Where nothing stands yet, what is set aside still pays for one more try.
    if over or not context.models.serves("plan") or is_in_parts(state["plan"]):
        return await _replan_by_code(context, state)
    aim = Aim(state["question"], tuple(state.get("issues") or ()))
    told = records(state["plan"], {item["id"]: item["title"] for item in state["found"]})
    try:
        proposal = await next_proposed(context, aim, told)
    except (ModelError, BudgetExceeded) as error:
        trouble_of = trouble(_REPLAN_NODE, error, "the research ended with what there was")
        return _Decision(None, "no model could say what is missing", warnings=(trouble_of,))
    if proposal.action == "complete":
        itself = unasked(state) if len(state["plan"]) == 1 else None
        why = "a model finds nothing missing" + (", the question itself is tried" if itself else "")
        return _Decision(itself, why, by="code" if itself else "a model")
    return await _replan_adopted(context, state, proposal, aim, " ".join(told))


def _used_up(context: Context, state: ToReplan) -> str | None:
    """`evaluate` sees to the caps; nothing may get past them here either."""
    chosen = context.settings.research
    if len(standing(state["plan"])) >= chosen.max_steps:
        return f"{chosen.max_steps} steps are done, as many as may be"
    if max(len(state["plan"]), state.get("cycles", 0)) >= chosen.max_cycles:
        return f"{chosen.max_cycles} steps were tried, as many as may be"
    return None


async def _replan_by_code(context: Context, state: ToReplan) -> _Decision:
    try:
        planned = await next_step(context, state)
    except Exception as error:  # noqa: BLE001 - a library that is gone costs this step, no more
        told = trouble(_REPLAN_NODE, error, "the research ended with what there was")
        return _Decision(None, "nothing could be looked up", warnings=(told,))
    return _Decision(planned, "what was found leads on" if planned else "nothing is left to ask")


async def _replan_adopted(
    context: Context, state: ToReplan, proposal: Proposal, aim: Aim, told: str
) -> _Decision:
    """What a model proposes, or else what code knows to ask next."""
    made = await adopted(context, proposal, aim, earlier=state["plan"], known=told)
    again = _retried(state, proposal, made)
    if made.planned is None:
        return await _instead(context, state, made, aim)
    made = await with_searches(context, made, proposal, aim, scope=state["scope"], known=told)
    why = "a failed step in other words" if again else "something is still missing"
    return _Decision(made.planned, why, "a model", again, None, made.numbers, made.warnings)


async def _instead(context: Context, state: ToReplan, made: Adopted, aim: Aim) -> _Decision:
    """What code asks, where a model's question is refused: its searches belong to that one."""
    other = await _replan_by_code(context, state)
    new = Adopted(other.planned, warnings=(*made.warnings, *other.warnings))
    new = await with_searches(context, new, None, aim, scope=state["scope"])
    why = f"{other.why}; the model's question was refused ({made.refused})"
    return _Decision(new.planned, why, "code", None, made.refused, new.numbers, new.warnings)


def _retried(state: ToReplan, proposal: Proposal, made: Adopted) -> StepData | None:
    """The failed step that is asked anew, whatever the model called it."""
    if made.planned is None:
        return None
    if made.repeats is not None:
        return next(one for one in state["plan"] if one["id"] == made.repeats)
    lost = failed(state["plan"])
    return lost[-1] if lost and proposal.action == "retry" else None


def _pending(state: ToReplan, planned: StepPlanned, again: StepData | None) -> StepData:
    return pending(
        len(state["plan"]) + 1,
        planned.question,
        phase=planned.phase,
        queries=planned.queries,
        retry_of=again["id"] if again else None,
        attempt=again["attempt"] + 1 if again else 1,
    )


def _told(made: _Decision, new: list[StepData], way: Way) -> dict[str, Any]:
    action = "complete" if not new else "retry" if new[0]["retry_of"] else "next_step"
    numbers: dict[str, Scalar] = {"action": action, "by": made.by, "refused": made.refused}
    if new:
        one = new[0]
        numbers |= {"step": one["id"], "phase": one["phase"], "question": one["question"]}
        numbers |= {"attempt": one["attempt"], "retry_of": one["retry_of"]}
        said = f"{'Again' if action == 'retry' else 'Next'}: {one['question']}"
    else:
        said = f"The research is complete: {made.why}."
    return step(_REPLAN_NODE, said, {**numbers, **made.numbers}, route=(way, made.why))


# A model's proposal made into a step: its question checked, its searches checked, and code in
# the place of whatever fails.

UNNAMED = "Research"
"""Phase of a step whose model gave none."""


@dataclass(frozen=True, slots=True)
class Adopted:
    planned: StepPlanned | None
    """None where the proposal may not become a step."""
    refused: Reason | None = None
    repeats: int | None = None
    """The step that asks the same; where there is a new one, the failed one that it retries."""
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: tuple[dict[str, Any], ...] = ()


async def adopted(
    context: Context,
    proposal: Proposal,
    aim: Aim,
    *,
    earlier: Sequence[StepData] = (),
    known: str = "",
) -> Adopted:
    """`earlier` are the steps so far, `known` is what the model was told of them."""
    told = " ".join([known, *aim.issues])
    may: Checked = await checked(
        context,
        proposal.question,
        asked=aim.question,
        known=told,
        earlier=earlier,
        prompt=proposal.prompt,
    )
    if may.question is None:
        return Adopted(None, may.reason, may.repeats, warnings=may.warnings)
    phase = tidy_phase(proposal.phase, otherwise=UNNAMED)
    planned = StepPlanned(may.question, phase)
    return Adopted(planned, repeats=may.repeats, warnings=may.warnings)


async def with_searches(
    context: Context,
    made: Adopted,
    proposal: Proposal | None,
    aim: Aim,
    *,
    scope: Scope,
    known: str = "",
) -> Adopted:
    """The step with what it searches for, where one call has told all; else that has a call of its
    own. Without a proposal, or where it says nothing usable, code words the searches."""
    planned = made.planned
    if planned is None or planned.queries or not is_merged(context):
        return made
    worded = await validated(
        context,
        planned.question,
        proposal.queries if proposal else (),
        known=" ".join([aim.question, known, *aim.issues]),
        allowed=where(scope),
        prompt=proposal.prompt if proposal else "queries",
    )
    return replace(
        made,
        planned=replace(planned, queries=tuple(worded.queries)),
        numbers={**made.numbers, **worded.numbers},
        warnings=(*made.warnings, *worded.warnings),
    )


# Steps of a research that need no model: the question's own parts, or the question itself and
# then what its best passages name and do not tell of.

FIRST: Final = "The question"
"""Phase of a step that asks what was asked."""
FOLLOWED: Final = "What it leads to"
_BEST = 2
"""Passages whose names are followed."""
_SHORTEST: Final = 3
"""Words of a question that can stand by itself."""
_LONG: Final = 60
"""Words of a question that also tells a story."""
_ENOUGH: Final = 12
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+")
_ASKS = r"(?:who|whom|whose|what|when|where|why|which|how)\b"
_JOINT: Final = re.compile(rf"[,;?]?\s+and\s+(?={_ASKS})|\?\s+(?={_ASKS})", re.IGNORECASE)
_LEANS: Final = re.compile(
    r"\b(?:it|its|he|she|him|her|his|they|them|their|this|that|these|those|there|then|so|such)\b",
    re.IGNORECASE,
)
_SEVERAL: Final = "both"
"""How the answers of parts combine that were only joined by "and"."""


@dataclass(frozen=True, slots=True)
class StepPlanned:
    question: str
    phase: str
    queries: tuple[str, ...] = ()
    """Where it is known already what to search for."""


async def next_step(context: Context, state: Researched) -> StepPlanned | None:
    """What to look into after the steps so far; None where nothing is left to ask."""
    plan, question = state["plan"], state["question"]
    if is_in_parts(plan):
        return next_part(state)
    if itself := unasked(state):
        return itself
    if any(one["phase"] == FOLLOWED for one in plan):
        return None
    kept = ranking.kept(of_step(state["found"], state["plan"][-1]))[:_BEST]
    held = await ranking.texts(context, [item["id"] for item in kept])
    best = [held[item["id"]] for item in kept if item["id"] in held]
    names = _names(question, best)
    if not names:
        return None
    # The title says what "it" is in a passage that the question does not name.
    return StepPlanned(f"{question} ({best[0].title})", FOLLOWED, (question, *names))


def is_in_parts(plan: Sequence[StepData]) -> bool:
    return any(one["phase"] == PART for one in plan)


def next_part(state: Researched) -> StepPlanned | None:
    """The first part of the question that no step has asked."""
    asked = {one["question"] for one in state["plan"]}
    left = [part for part in joined_parts(state["question"]) if part not in asked]
    return StepPlanned(left[0], PART) if left else None


def unasked(state: Researched) -> StepPlanned | None:
    """The question itself, where all that a model asked in its place failed."""
    question = asking(state["question"])
    asked = {one["question"].casefold() for one in state["plan"]}
    if standing(state["plan"]) or question.casefold() in asked:
        return None
    # Searched for as it is: whoever could word it otherwise has had a say.
    return StepPlanned(question, FIRST, (question,))


def asking(question: str) -> str:
    """What a long question ends with: its facts would only lead the search astray."""
    if len(question.split()) <= _LONG:
        return question
    sentences = _SENTENCE.split(question.strip())
    asked = sentences[-1]
    for sentence in reversed(sentences[:-1]):
        if len(asked.split()) >= _ENOUGH:
            break
        asked = f"{sentence} {asked}"
    return asked


def joined_parts(question: str) -> tuple[str, ...]:
    """Questions that are only joined; a later one that leans on the first ("and when was it")
    stays with it."""
    made = split_by_form(question)
    if made is not None:
        return tuple(made.parts) if made.combining == _SEVERAL else ()
    parts = [part.strip(" ,;?") for part in _JOINT.split(question.strip())]
    whole = len(parts) > 1 and all(len(part.split()) >= _SHORTEST for part in parts)
    if not whole or any(unresolved(part) or _LEANS.search(part) for part in parts[1:]):
        return ()
    return tuple(f"{part[:1].upper()}{part[1:]}?" for part in parts)


def _names(question: str, best: list[Passage]) -> list[str]:
    titles = [passage.title for passage in best]
    named = [name for passage in best for name in leads(question, passage, titles)]
    return list({name.casefold(): name for name in reversed(named)}.values())[::-1]


# What a planner is told of the steps so far, taken from their records.

TOKENS: Final = 600
"""Of findings, over all steps."""
_MOST_TITLES: Final = 3
_LONGEST_TITLE: Final = 120


def told(plan: Sequence[StepData], titles: Mapping[str, str] | None = None) -> str:
    """All of them as one text; `titles` are those of passages, by id."""
    return "\n".join(
        f"{step['id']}. {record}"
        for step, record in zip(_done(plan), records(plan, titles), strict=True)
    )


def records(
    plan: Sequence[StepData], titles: Mapping[str, str] | None = None, *, tokens: int = TOKENS
) -> list[str]:
    """One text for each step that was tried, in order."""
    done = _done(plan)
    each = tokens // max(1, len(done))
    return [_record(step, titles or {}, each) for step in done]


def _done(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] != "pending"]


def _record(step: StepData, titles: Mapping[str, str], tokens: int) -> str:
    sure = step["confidence"]
    confidence = "" if sure is None else f" ({sure:.2f})"
    what = _flat(" ".join(_findings(step, tokens)))
    if step["status"] == "failed" or not what:
        ranked = sorted(step["evidence"], key=lambda item: item["rank"])
        named = (_flat(titles.get(item["passage"], ""))[:_LONGEST_TITLE] for item in ranked)
        listed = "; ".join(list(dict.fromkeys(filter(None, named)))[:_MOST_TITLES])
        what = f"found no answer, best passages: {listed}" if listed else "found no answer"
    heading = f"{_flat(step['phase'])}: {_flat(step['question'])}"
    return f"{heading}\n{step['status']}{confidence}: {what}"


def _findings(step: StepData, tokens: int) -> Iterator[str]:
    """Whole sentences, while there is room. A first one that is too long alone is told all the
    same: a step without its findings would look as if it had none."""
    draft = step["draft"]
    left = tokens
    sentences = draft["sentences"] if draft else ()
    carried = [one for one in sentences if one["supported"] is not False and one["text"].strip()]
    for at, sentence in enumerate(sorted(carried, key=lambda one: -(one["support"] or 0.0))):
        text = _flat(sentence["text"])
        left -= approximate_tokens(text)
        if at and left < 0:
            return
        yield text


def _flat(text: str) -> str:
    return " ".join(text.split())
