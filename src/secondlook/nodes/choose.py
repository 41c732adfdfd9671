"""Chooses among the options of a multiple-choice question, by what the research found."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.models.chat import Message, approximate_tokens
from secondlook.nodes.cite import standing as claims_standing
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import evidence_budget
from secondlook.nodes.options import Task, Weighing, cited_by, derived, letter_of, read_reply
from secondlook.nodes.research import findings, standing, together
from secondlook.nodes.state import (
    ChoiceData,
    Choices,
    Chosen,
    Draft,
    ElementData,
    OptionData,
    Plan,
    Question,
    Trace,
    VerdictData,
    step,
    trouble,
)
from secondlook.reading.support import CoverageSupport
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.sentences import sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Met, Scalar

NODE: Final = "choose"
NOTHING: Final = "the research found nothing to choose on"
_DOUBTED: Final = 0.5
"""Left of a confidence where verdicts contradict themselves, or the reader would choose another."""


class ToChoose(Question, Choices, Draft, Plan):
    """The question, its options, and what the research found."""


class ChosenUpdate(Chosen, Draft, Trace):
    pass


_Choosing: TypeAlias = "tuple[ChoiceData, dict[str, Scalar], list[dict[str, Any]]]"
"""A choice, what is told of how it came about, and warnings."""


async def choose(state: ToChoose, runtime: Runtime[Context]) -> ChosenUpdate:
    context, options = runtime.context, state.get("choices", {})
    if not options:
        told = step(NODE, "The question has no options.", options=0)
        return {"choice": None, "draft": state["draft"], "steps": [told], "warnings": []}
    plan, draft = state.get("plan", []), state["draft"]
    done = standing(plan)
    if not draft["sentences"] and findings(done):
        draft = together(done)  # what no answer could be read out of may speak for an option
    known = [one["confidence"] for one in done if one["confidence"] is not None]
    mean = sum(known) / len(known) if known else None
    task = Task(
        stem=state["question"],
        options=options,
        # Where every step failed there is nothing to choose on, whatever a draft says.
        research=claims_standing(draft["sentences"]) if done or not plan else (),
        confidence=mean if done else draft["confidence"],
    )
    serves = context.models.serves("choose")
    if not task.research:
        asks = serves and context.settings.research.guess
        choice, numbers, warnings = await _guessed(context, task, asks=asks)
    else:
        choice, numbers, warnings = await (_by_model if serves else _by_reader)(context, task)
    letter, why = choice["letter"], choice["why"]
    told = step(
        NODE,
        f"Chosen: ({letter}), for {why}." if letter else f"No option was chosen: {why}.",
        numbers,
        options=len(options),
        letter=letter,
        grounded=choice["grounded"],
        confidence=choice["confidence"],
    )
    return {
        "choice": choice,
        "draft": draft if letter else state["draft"],
        "steps": [told],
        "warnings": warnings,
    }


# The choice by a model's verdicts. What cannot be read, or contradicts itself, is asked again once.

_MOST_CALLS: Final = 2
_MARK_TOKENS: Final = 16
_LONGEST_REPLY: Final = 4000  # Characters of a reply that are shown to the model again
_UNREAD: Final = "That reply judged no option."


async def _by_model(context: Context, task: Task) -> _Choosing:
    weighing: Weighing | None = None
    warnings: list[dict[str, Any]] = []
    numbers: dict[str, Scalar] = {"form": "full", "asked_again": False}
    prompt, calls, unusable = load("choose"), 0, 0
    messages = await _prompt(context, task)
    while calls < _MOST_CALLS:
        try:
            reply = await context.models.ask(
                prompt.role, messages, node=NODE, max_tokens=prompt.max_tokens, final=True
            )
        except (ModelError, BudgetExceeded) as error:
            warnings.append(trouble(NODE, error, "what else is known has to do"))
            break
        calls += reply.usage.calls
        read = read_reply(reply.text, task)
        unusable += read is None
        weighing = read or weighing
        problem = derived(read).contradiction if read else _UNREAD
        if not problem:
            break
        # With the reply and what is wrong with it: the same words would bring the same.
        remark = f"{problem} Weigh the options once more and reply in the same form."
        heard = Message("assistant", reply.text[:_LONGEST_REPLY])
        numbers["asked_again"] = numbers["asked_again"] or calls < _MOST_CALLS
        messages = (*messages, heard, Message("user", remark))
    if weighing is None:
        name = context.models.name("choose")
        unread = UnusableReply(f"{name} judged none of the options in a form that can be read")
        lost = warnings or [trouble(NODE, unread, "the reader chose instead")]
        return await _by_reader(context, task, lost)
    numbers |= {"calls": calls, "unusable": unusable, "facts_dropped": weighing.facts_dropped}
    numbers |= {"sources_dropped": weighing.sources_dropped}
    return await _decided(context, task, weighing, warnings), numbers, warnings


async def _prompt(context: Context, task: Task) -> tuple[Message, ...]:
    prompt = load("choose")
    holes = {"question": task.stem, "options": _listed(task)}
    bare = prompt.render(**holes, evidence="")
    budget = await evidence_budget(context, prompt.role, bare, max_tokens=prompt.max_tokens)
    blocks: list[str] = []
    for sentence in task.research:
        budget -= approximate_tokens(sentence["text"]) + _MARK_TOKENS
        if blocks and budget < 0:
            break
        blocks.append(" ".join(sentence["text"].split()))
    return prompt.render(**holes, evidence=evidence_marks(context.run).wrap(blocks))


def _listed(task: Task) -> str:
    return "\n".join(f"{letter}: {' '.join(text.split())}" for letter, text in task.options.items())


async def _decided(
    context: Context, task: Task, weighing: Weighing, warnings: list[dict[str, Any]]
) -> ChoiceData:
    """The letter that follows from the verdicts, else the model's own word, else the reader's."""
    found = derived(weighing)
    rivals = found.letters or tuple(task.options)
    alike = f"{', '.join(rivals)} are alike by what is met"
    letter: str | None
    if len(found.letters) == 1:
        letter = found.letters[0]
        whole = f"all that must hold is met for {letter} alone"
        most = f"most is met, and least is not met, for {letter}"
        why = whole if letter in found.complete else most
    elif weighing.named in rivals:
        letter, why = weighing.named, f"{alike}; {weighing.named} was named"
    else:
        options = {one: task.options[one] for one in rivals}
        preferred, _, more = await _by_reader(context, replace(task, options=options))
        warnings += more
        letter = preferred["letter"]
        why = f"{alike}; the reader prefers {letter}" if letter else f"{alike}, and none was named"
    other = (await _by_reader(context, task))[0]["letter"]
    doubts = bool(letter and other and other != letter)
    if letter and found.contradiction:
        why += f". {found.contradiction}"
    if doubts:
        why += f". The reader would choose {other}"
    sure = found.decisive * _DOUBTED ** (bool(found.contradiction) + doubts)
    return ChoiceData(
        letter=letter,
        options=weighing.options,
        elements=weighing.elements,
        model=context.models.name("choose"),
        grounded=True,
        confidence=_confidence(task, sure) if letter else None,
        why=why,
    )


def _confidence(task: Task, decisive: float) -> float | None:
    """Of the research, times how decisive the choice was. It was not fitted: provisional."""
    if task.confidence is None:
        return None
    return round(max(0.0, min(1.0, task.confidence)) * decisive, 4)


# The choice without a model: how far the research supports each option as the answer, and how
# much of it stands in what the reader would answer. Close ones are not told apart.

LEAST_MARGIN: Final = 0.1  # By so much the best option must be ahead of the next: docs/answers.md
_CARRIED: Final = 0.5
"""Support, or share of the reader's answer, from which on an option counts as met."""


async def _by_reader(
    context: Context, task: Task, warnings: Sequence[dict[str, Any]] = ()
) -> _Choosing:
    told = list(warnings)
    bounds = sentence_bounds(task.stem)
    # The last sentence is what is asked: facts come before it.
    asked = task.stem[bounds[-1][0] : bounds[-1][1]].strip() if bounds else task.stem
    scores: dict[str, tuple[float, float]] = {}
    try:
        scores = await asyncio.to_thread(_scores, context, task, asked)
    except Exception as error:  # noqa: BLE001 - whatever a reader does, there is an answer
        told.append(trouble(NODE, error, "no option was chosen"))
    totals = sorted(map(sum, scores.values()), reverse=True)
    margin = totals[0] - totals[1] if len(totals) > 1 else 0.0
    best = max(scores, key=lambda one: sum(scores[one]), default="")
    carried = {letter for letter, score in scores.items() if max(score) >= _CARRIED}
    # Where the best of them is no good either, the right one may not be among them.
    letter = best if margin >= LEAST_MARGIN and best in carried else None
    if not scores:
        why = "nobody could weigh the options"
    elif letter is not None:
        why = f"no model weighed the options; to the reader the research speaks for {letter}"
    elif carried:
        why = "no model weighed the options, and the reader cannot tell the best two apart"
    else:
        why = "no model weighed the options, and to the reader the research speaks for none"
    # The sentence of the research that has most of an option's words is what must hold for it.
    elements: dict[int, int] = {}
    options: list[OptionData] = []
    for one, text in task.options.items():
        verdicts: list[VerdictData] = []
        reason = ""
        if score := scores.get(one):
            claims = [(f"{asked} {text}", found["text"]) for found in task.research]
            values = CoverageSupport().support(claims)
            at = max(range(len(values)), key=values.__getitem__)
            element = elements.setdefault(at, len(elements) + 1)
            met: Met = "met" if one in carried else "unknown"
            verdicts = [VerdictData(element=element, met=met, fact=None)]
            reason = (
                f"Like what the reader would answer: {score[1]:.2f}; "
                f"carried by the research: {score[0]:.2f}."
            )
        options.append(OptionData(letter=one, text=text, verdicts=verdicts, reason=reason))
    choice = ChoiceData(
        letter=letter,
        options=options,
        elements=[
            ElementData(text=task.research[at]["text"], cited=cited_by([at + 1], task))
            for at in elements
        ],
        model=None,
        grounded=True,
        confidence=_confidence(task, 0.5 + margin / 4) if letter else None,
        why=why,
    )
    return choice, {"form": "reader", "calls": 0, "margin": margin}, told


def _scores(context: Context, task: Task, asked: str) -> dict[str, tuple[float, float]]:
    """For each option: that the research carries the question with this answer, and its overlap
    with the words that the reader would answer (F1)."""
    text = " ".join(one["text"] for one in task.research)
    reading = context.shelf.read_text(asked, text)
    span = set(re.findall(r"\w+", text[reading.start : reading.end].casefold()))
    supports = context.support.support([(f"{asked} {one}", text) for one in task.options.values()])
    scores: dict[str, tuple[float, float]] = {}
    for (letter, option), support in zip(task.options.items(), supports, strict=True):
        words = set(re.findall(r"\w+", option.casefold()))
        shared = 2 * len(span & words) / (len(span) + len(words)) if span and words else 0.0
        scores[letter] = (support if math.isfinite(support) else 0.0, shared)
    return scores


async def _guessed(context: Context, task: Task, *, asks: bool) -> _Choosing:
    """A choice from the model's own knowledge where somebody asked for it: marked, never sure."""
    letter: str | None = None
    warnings: list[dict[str, Any]] = []
    calls = 0
    if asks:
        prompt = load("choose_guess")
        messages = prompt.render(question=task.stem, options=_listed(task))
        try:
            reply = await context.models.ask(
                prompt.role, messages, node=NODE, max_tokens=prompt.max_tokens, final=True
            )
            calls = reply.usage.calls
            letter = letter_of(reply.text.strip().rpartition("\n")[2], task.options)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble(NODE, error, "no option was chosen")]
    guess = f"{NOTHING}; {letter} is the model's own guess, without a source"
    choice = ChoiceData(
        letter=letter,
        options=[
            OptionData(letter=one, text=text, verdicts=[], reason="")
            for one, text in task.options.items()
        ],
        elements=[],
        model=context.models.name("choose") if letter else None,
        grounded=letter is None,
        confidence=None,
        why=guess if letter else NOTHING,
    )
    return choice, {"form": "guess" if letter else "none", "calls": calls}, warnings
