"""Plans a research one step at a time: what comes after a step depends on what it finds. A model
proposes and code checks; without a model the form of the question decides."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.models.chat import approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.queries import checked, is_merged, proposed, tidy_phase, validated
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
from secondlook.roles.prompts import load
from secondlook.roles.rewrite import word_count
from secondlook.roles.wants import wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import QueryType, Scalar
    from secondlook.nodes.queries import Proposal, Reason

# Tells a question that one step answers from one that needs several. In doubt it needs several.

EMBEDDED = "understander"  # In `classified_by`, beside names of models
_SAID: dict[QueryType, str] = {
    "simple": "One concept: one step should do.",
    "multi_hop": "Several facts are needed: one step at a time.",
}
_CASE: Final = 30  # Words from which on a question tells of more than one matter
_WANTS = {"one": "one fact", "parts": "several facts", "several": "several facts"}


class Offered(Question, Choices):
    pass


class Classified(Kind, Trace):
    pass


_KIND = re.compile(r"\b(?P<simple>simple)\b|\bmulti[ _-]?(?:hop|step)?\b", re.IGNORECASE)


async def classify(state: Offered, runtime: Runtime[Context]) -> Classified:
    context, choices = runtime.context, len(state.get("choices", {}))
    want = await asyncio.to_thread(wanted, state["question"])
    case = word_count(state["question"]) > _CASE
    kind: QueryType = "simple" if want.kind == "one" and not case else "multi_hop"
    why = "it tells a case" if case else f"it wants {_WANTS.get(want.kind, want.kind)}"
    by = EMBEDDED
    warnings: list[dict[str, Any]] = []
    if context.settings.models.servers.classify == "llm" and context.models.serves("plan"):
        prompt = load("classify")
        question = " ".join(state["question"].split())
        # It is told that there are choices, and how many: not what they say.
        messages = prompt.render(question=question, choices=str(choices) if choices else "none")
        name = context.models.name("plan")
        try:
            reply = await context.models.ask(
                "plan", messages, node="classify", max_tokens=prompt.max_tokens, temperature=0.0
            )
            said = {bool(found["simple"]) for found in _KIND.finditer(reply.text)}
            if len(said) != 1:
                raise UnusableReply(f"{name} named no kind of question: {reply.text[:60]!r}")
            kind, why, by = "simple" if said.pop() else "multi_hop", "a model says so", name
        except (ModelError, BudgetExceeded) as error:
            consequence = "the understander told the kind of the question"
            warnings = [trouble("classify", error, consequence)]
    told = step("classify", _SAID[kind], query_type=kind, by=by, why=why, choices=choices)
    return {
        "query_type": kind,
        "classified_by": by,
        "escalated": False,
        "steps": [told],
        "warnings": warnings,
    }


_PLAIN: Final = 25
"""Words up to which a simple question is its own step: nobody says better what it asks."""


class ToPlan(Question, Kind):
    pass


class Planning(Plan, Cycles, Trace):
    pass


@dataclass(frozen=True, slots=True)
class Decision:
    """The step to make next, and how it came about; without a question the research ends."""

    question: str = ""
    phase: str = ""
    queries: tuple[str, ...] = ()  # Where it is known already what to search for
    why: str = ""
    by: str = "code"
    refused: Reason | None = None  # Why what a model proposed may not become a step
    retry_of: StepData | None = None
    numbers: Mapping[str, Scalar] = field(default_factory=dict)
    warnings: tuple[dict[str, Any], ...] = ()


async def plan(state: ToPlan, runtime: Runtime[Context]) -> Planning:
    context, question = runtime.context, state["question"]
    simple = state.get("query_type") == "simple"
    plain = simple and word_count(question) <= _PLAIN
    # A plain question only lacks its searches, which may have a call of their own. Questions that
    # are only joined need no model.
    parts = () if simple else joined_parts(question)
    asks = context.models.serves("plan") and not (parts if is_merged(context) else plain)
    made = Decision(parts[0], PART) if parts else Decision(question, FIRST)
    empty = False
    with suppress(Exception):  # the search will say what is wrong with the library
        empty = context.models.serves("plan") and not any(
            await asyncio.to_thread(context.shelf.size)
        )
    if empty:
        made = replace(made, queries=(made.question,))  # no call is spent on how to search nothing
    elif asks:
        made = await _by_model(context, state, made, plain=plain)
    numbers = dict(made.numbers)
    told = step("plan", f"First: {made.question}", numbers, by=made.by, refused=made.refused)
    return {
        "plan": [pending(1, made.question, phase=made.phase, queries=made.queries)],
        "cycles": 0,
        "stopped": "",
        "steps": [told],
        "warnings": list(made.warnings),
    }


async def _by_model(context: Context, state: ToPlan, by_code: Decision, *, plain: bool) -> Decision:
    question = state["question"]
    proposal: Proposal | None = None
    made = by_code
    try:
        proposal = await proposed(context, question)
    except (ModelError, BudgetExceeded) as error:
        told = trouble("plan", error, "the first step was planned by code")
        made = replace(by_code, refused="no reply", warnings=(told,))
    else:
        phase = tidy_phase(proposal.phase)
        if plain:
            made = Decision(question, phase, by="a model")
        else:
            may = await checked(context, proposal, asked=question, known="", earlier=())
            made = replace(by_code, refused=may.reason, warnings=may.warnings)
            if may.question is not None:
                made = Decision(may.question, phase, by="a model", warnings=may.warnings)
    return await _with_searches(context, made, proposal, state)


async def _with_searches(
    context: Context, made: Decision, proposal: Proposal | None, asked: Question, *, known: str = ""
) -> Decision:
    """The step with what it searches for, where one call tells all."""
    if not made.question or made.queries or not is_merged(context):
        return made
    worded = await validated(
        context,
        made.question,
        proposal.queries if proposal else (),
        known=f"{asked['question']} {known}",
        allowed=where(asked["scope"]),
        prompt=proposal.prompt if proposal else "queries",
    )
    return replace(
        made,
        queries=tuple(worded.queries),
        numbers=worded.numbers,
        warnings=(*made.warnings, *worded.warnings),
    )


# Decides what a research looks into next: a next step, a failed one in other words, or nothing.

_ENDED: Final = "the research ended with what there was"


class Replanning(Plan, Trace):
    route: str
    stopped: str


async def replan(state: Researched, runtime: Runtime[Context]) -> Replanning:
    made = await _decided(runtime.context, state)
    again, new = made.retry_of, []
    numbers: dict[str, Scalar] = {"action": "complete", "by": made.by, "refused": made.refused}
    said, way = f"The research is complete: {made.why}.", "aggregate"
    if made.question:
        one = pending(
            len(state["plan"]) + 1,
            made.question,
            phase=made.phase,
            queries=made.queries,
            retry_of=again["id"] if again else None,
            attempt=again["attempt"] + 1 if again else 1,
        )
        new, way = [one], "search_step"
        said = f"{'Again' if again else 'Next'}: {made.question}"
        numbers |= {"action": "retry" if again else "next_step", "step": one["id"]}
        numbers |= {"retry_of": one["retry_of"]}
    return {
        "plan": [*state["plan"], *new],
        "route": way,
        "stopped": "" if new else made.why,
        "steps": [step("replan", said, {**numbers, **made.numbers}, route=(way, made.why))],
        "warnings": list(made.warnings),
    }


async def _decided(context: Context, state: Researched) -> Decision:
    plan, chosen, done = state["plan"], context.settings.research, standing(state["plan"])
    # `evaluate` sees to the caps; nothing may get past them here either.
    why, over = "", False
    if len(done) >= chosen.max_steps:
        why = f"{chosen.max_steps} steps are done, as many as may be"
    elif max(len(plan), state.get("cycles", 0)) >= chosen.max_cycles:
        why = f"{chosen.max_cycles} steps were tried, as many as may be"
    elif (over := context.ledger.must_end("replan")) and (
        done or context.ledger.remaining_seconds(final=False) == 0
    ):
        why = "the budget or the time ran out"
    if why:
        return Decision(why=why)
    # Where nothing stands yet, what is set aside still pays for one more try.
    if over or not context.models.serves("plan") or _is_in_parts(plan):
        return await _next_by_code(context, state)
    told = records(plan, {item["id"]: item["title"] for item in state["found"]})
    try:
        proposal = await proposed(context, state["question"], told)
    except (ModelError, BudgetExceeded) as error:
        lost = trouble("replan", error, _ENDED)
        return Decision(why="no model could say what is missing", warnings=(lost,))
    if proposal.action != "complete":
        return await _adopted(context, state, proposal, " ".join(told))
    why = "a model finds nothing missing"
    if len(plan) == 1 and (itself := _unasked(state)):
        return replace(itself, why=f"{why}, the question itself is tried")
    return Decision(why=why, by="a model")


async def _adopted(context: Context, state: Researched, proposal: Proposal, told: str) -> Decision:
    """What a model proposes; where its question is refused, what code knows to ask next."""
    plan, question = state["plan"], state["question"]
    may = await checked(context, proposal, asked=question, known=told, earlier=plan)
    if may.question is None:
        other = await _next_by_code(context, state)
        made = replace(
            other,
            why=f"{other.why}; the model's question was refused ({may.reason})",
            refused=may.reason,
            warnings=(*may.warnings, *other.warnings),
        )
        return await _with_searches(context, made, None, state)
    # The failed step that is asked anew, whatever the model called it.
    lost = failed(plan)
    again = lost[-1] if lost and proposal.action == "retry" else None
    if may.repeats is not None:
        again = next(one for one in plan if one["id"] == may.repeats)
    made = Decision(
        may.question,
        tidy_phase(proposal.phase),
        why="a failed step in other words" if again else "something is still missing",
        by="a model",
        retry_of=again,
        warnings=may.warnings,
    )
    return await _with_searches(context, made, proposal, state, known=told)


# Steps of a research that need no model: the question's own parts, or the question itself and
# then what its best passages name and do not tell of.

FIRST: Final = "The question"  # Phase of a step that asks what was asked
FOLLOWED: Final = "What it leads to"
_BEST = 2  # Passages whose names are followed
_LONG: Final = 60  # Words of a question that also tells a story
_ENOUGH: Final = 12
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+")


async def _next_by_code(context: Context, state: Researched) -> Decision:
    plan, question = state["plan"], state["question"]
    nothing = Decision(why="nothing is left to ask")
    why = "what was found leads on"
    if _is_in_parts(plan):
        asked = {one["question"] for one in plan}
        left = [part for part in joined_parts(question) if part not in asked]
        return Decision(left[0], PART, why=why) if left else nothing
    if itself := _unasked(state):
        return replace(itself, why=why)
    if any(one["phase"] == FOLLOWED for one in plan):
        return nothing
    kept = ranking.kept(of_step(state["found"], plan[-1]))[:_BEST]
    try:
        held = await ranking.texts(context, [item["id"] for item in kept])
    except Exception as error:  # noqa: BLE001 - a library that is gone costs this step, no more
        lost = trouble("replan", error, _ENDED)
        return Decision(why="nothing could be looked up", warnings=(lost,))
    best = [held[item["id"]] for item in kept if item["id"] in held]
    titles = [passage.title for passage in best]
    named = [name for passage in best for name in leads(question, passage, titles)]
    names = {name.casefold(): name for name in reversed(named)}
    if not names:
        return nothing
    # The title says what "it" is in a passage that the question does not name.
    queries = (question, *reversed(names.values()))
    return Decision(f"{question} ({best[0].title})", FOLLOWED, queries, why=why)


def _is_in_parts(plan: Sequence[StepData]) -> bool:
    return any(one["phase"] == PART for one in plan)


def _unasked(state: Researched) -> Decision | None:
    """The question itself, where all that a model asked in its place failed. Of a long question
    only its end: its facts would lead the search astray."""
    question = state["question"]
    if len(question.split()) > _LONG:
        *before, question = _SENTENCE.split(question.strip())
        while before and len(question.split()) < _ENOUGH:
            question = f"{before.pop()} {question}"
    asked = {one["question"].casefold() for one in state["plan"]}
    if standing(state["plan"]) or question.casefold() in asked:
        return None
    # Searched for as it is: whoever could word it otherwise has had a say.
    return Decision(question, FIRST, (question,))


def joined_parts(question: str) -> tuple[str, ...]:
    """Questions that are only joined: none needs the answer of another."""
    made = wanted(question).split
    return made.parts if made is not None and made.combining in {"each", "both"} else ()


# What a planner is told of the steps so far.

TOKENS: Final = 600  # Of findings, over all steps
_MOST_TITLES: Final = 3
_LONGEST_TITLE: Final = 120


def records(plan: Sequence[StepData], titles: Mapping[str, str]) -> list[str]:
    """One text for each step that was tried, in order; `titles` are those of passages, by id."""
    done = [step for step in plan if step["status"] != "pending"]
    made = []
    for one in done:
        sure = "" if one["confidence"] is None else f" ({one['confidence']:.2f})"
        what = _findings(one, TOKENS // len(done))
        if one["status"] == "failed" or not what:
            ranked = sorted(one["evidence"], key=lambda item: item["rank"])
            named = (" ".join(titles.get(item["passage"], "").split()) for item in ranked)
            shown = dict.fromkeys(name[:_LONGEST_TITLE] for name in named if name)
            listed = "; ".join(list(shown)[:_MOST_TITLES])
            what = f"found no answer, best passages: {listed}" if listed else "found no answer"
        heading = " ".join(f"{one['phase']}: {one['question']}".split())
        made.append(f"{heading}\n{one['status']}{sure}: {what}")
    return made


def _findings(one: StepData, left: int) -> str:
    """Whole sentences, the best supported first, while there is room: at least one."""
    sentences = one["draft"]["sentences"] if one["draft"] else ()
    carried = [each for each in sentences if each["supported"] is not False]
    told: list[str] = []
    for each in sorted(carried, key=lambda sentence: -(sentence["support"] or 0.0)):
        text = " ".join(each["text"].split())
        left -= approximate_tokens(text)
        if told and left < 0:
            break
        told += [text] if text else []
    return " ".join(told)
