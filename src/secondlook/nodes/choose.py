"""Chooses among the options of a multiple-choice question, by what the research found."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply
from secondlook.models.chat import Message, approximate_tokens
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import evidence_budget
from secondlook.nodes.options import (
    NODE,
    Choosing,
    Derived,
    Task,
    Weighing,
    alike,
    cited_by,
    confidence,
    derived,
    read_full,
    read_lines,
    settled,
    shared_words,
    task_of,
)
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
    from collections.abc import Callable, Sequence

    from secondlook.answer import Met
    from secondlook.nodes.state import DraftData


class ToChoose(Question, Choices, Draft, Plan):
    """The question, its options, and what the research found."""


class ChosenUpdate(Chosen, Draft, Trace):
    pass


async def choose(state: ToChoose, runtime: Runtime[Context]) -> ChosenUpdate:
    options = state.get("choices", {})
    if not options:
        told = step(NODE, "The question has no options.", options=0)
        return {"choice": None, "draft": state["draft"], "steps": [told], "warnings": []}
    draft = _to_choose_on(state)
    task = task_of(state["question"], options, draft, state.get("plan", []))
    made = await chosen(runtime.context, task)
    if made.choice["letter"] is None:
        draft = state["draft"]
    told = step(
        NODE,
        _said(made.choice),
        made.numbers,
        options=len(options),
        letter=made.choice["letter"],
        agreed=made.choice["agreed"],
        grounded=made.choice["grounded"],
        confidence=made.choice["confidence"],
    )
    return {"choice": made.choice, "draft": draft, "steps": [told], "warnings": made.warnings}


def _to_choose_on(state: ToChoose) -> DraftData:
    """The answer; or the findings of the steps where no answer could be read out of them: they may
    speak for an option all the same."""
    done = standing(state.get("plan", []))
    if state["draft"]["sentences"] or not findings(done):
        return state["draft"]
    return together(done)


def _said(choice: ChoiceData) -> str:
    letter, why = choice["letter"], choice["why"]
    return f"No option was chosen: {why}." if letter is None else f"Chosen: ({letter}), for {why}."


# Chooses among the options of a question by what the research found.


async def chosen(context: Context, task: Task) -> Choosing:
    serves = context.models.serves("choose")
    if not task.research:
        guessing = serves and context.settings.research.guess
        return await guessed(context, task) if guessing else nothing_chosen(task)
    if not serves:
        return await chosen_by_reader(context, task)
    made = await chosen_by_model(context, task)
    return made if isinstance(made, Choosing) else await chosen_by_reader(context, task, made)


# The choice by a model's verdicts: in the full form, or in lines where the model is small or
# did not manage the full one. What contradicts itself is asked again once; two calls at most,
# and one more with the options in another order.

Form = Literal["full", "lines"]
_PROMPTS: Final[dict[Form, str]] = {"full": "choose", "lines": "choose_short"}
_READ: Final[dict[Form, Callable[[str, Task], Weighing | None]]] = {
    "full": read_full,
    "lines": read_lines,
}
_MOST_CALLS: Final = 2
_MARK_TOKENS: Final = 16
_LONGEST_REPLY: Final = 4000
"""Characters of a reply that are shown to the model again."""
_AGAIN: Final = "{problem} Weigh the options once more and reply in the same form."


@dataclass(frozen=True, slots=True)
class _Said:
    """A reply that could be read."""

    form: Form
    weighing: Weighing


@dataclass(slots=True)
class _Desk:
    """The calls of one choice."""

    context: Context
    calls: int = 0
    unusable: int = 0
    again: bool = False
    warnings: list[dict[str, Any]] = field(default_factory=list)
    closed: bool = False
    """The model is away, or not paid for."""
    sent: tuple[Message, ...] = ()
    heard: str = ""

    async def ask(self, task: Task, form: Form) -> _Said | None:
        prompt = load(_PROMPTS[form])
        holes = {"question": task.stem, "options": listed(task)}
        bare = prompt.render(**holes, evidence="")
        budget = await evidence_budget(
            self.context, prompt.role, bare, max_tokens=prompt.max_tokens
        )
        blocks: list[str] = []
        for sentence in task.research:
            budget -= approximate_tokens(sentence["text"]) + _MARK_TOKENS
            if blocks and budget < 0:
                break
            blocks.append(" ".join(sentence["text"].split()))
        return await self._said(
            task,
            form,
            prompt.render(**holes, evidence=evidence_marks(self.context.run).wrap(blocks)),
        )

    async def ask_again(self, task: Task, form: Form, problem: str) -> _Said | None:
        """With the last reply and what is wrong with it: the same words would bring the same."""
        self.again = True
        remark = Message("user", _AGAIN.format(problem=problem))
        reply = Message("assistant", self.heard[:_LONGEST_REPLY])
        return await self._said(task, form, (*self.sent, reply, remark))

    async def _said(self, task: Task, form: Form, messages: tuple[Message, ...]) -> _Said | None:
        prompt = load(_PROMPTS[form])
        try:
            reply = await self.context.models.ask(
                prompt.role, messages, node=NODE, max_tokens=prompt.max_tokens, final=True
            )
        except (ModelError, BudgetExceeded) as error:
            # A reply that says nothing was asked for twice; one that has no room was not sent.
            self.calls += 0 if isinstance(error, ContextOverflow) else _MOST_CALLS
            self.closed = not isinstance(error, UnusableReply | ContextOverflow)
            self.warnings.append(trouble(NODE, error, "what else is known has to do"))
            return None
        self.calls += reply.usage.calls
        self.sent, self.heard = messages, reply.text
        weighing = _READ[form](reply.text, task)
        self.unusable += weighing is None
        return _Said(form, weighing) if weighing else None

    @property
    def may_ask(self) -> bool:
        return not self.closed and self.calls < _MOST_CALLS


async def chosen_by_model(context: Context, task: Task) -> Choosing | list[dict[str, Any]]:
    """The choice; where no reply could be used, the warnings that say why."""
    desk = _Desk(context)
    said = await _weighed(desk, task)
    if said is None:
        return desk.warnings or [trouble(NODE, _unusable(context), "the reader chose instead")]
    found = derived(said.weighing)
    letter, why = await _decided(desk, task, found, said.weighing)
    other = await _reader_prefers(desk, task, letter)
    doubts = (bool(found.contradiction), other is not None)
    if letter is not None and found.contradiction:
        why += f". {found.contradiction}"
    if other is not None:
        why += f". The reader would choose {other}"
    choice = ChoiceData(
        letter=letter,
        options=said.weighing.options,
        elements=said.weighing.elements,
        model=context.models.name("choose"),
        grounded=True,
        agreed=None,
        confidence=confidence(task.confidence, found.decisive, *doubts) if letter else None,
        why=why,
    )
    return Choosing(choice, _numbers(desk, said), desk.warnings)


async def _weighed(desk: _Desk, task: Task) -> _Said | None:
    """A reply that can be used; once more where the first cannot, or contradicts itself."""
    form: Form = "lines" if desk.context.models.local("choose") else "full"
    said = await desk.ask(task, form)
    if said is None:
        return await _in_lines(desk, task, form) if desk.may_ask else None
    problem = derived(said.weighing).contradiction
    if problem and desk.may_ask:
        said = await desk.ask_again(task, form, problem) or said
    return said


async def _in_lines(desk: _Desk, task: Task, form: Form) -> _Said | None:
    if form == "full" or not desk.heard:
        return await desk.ask(task, "lines")
    return await desk.ask_again(task, "lines", "That reply judged no option.")


async def _decided(
    desk: _Desk, task: Task, found: Derived, weighing: Weighing
) -> tuple[str | None, str]:
    """The letter, and why. Where the verdicts leave several alike, the reader is asked after a
    hosted model's own word, and before that of a small one: which letter those name hangs on where
    the option stands more than on what it says."""
    letter, why = settled(found, weighing)
    if len(found.letters) == 1 or (letter is not None and not desk.context.models.local("choose")):
        return letter, why
    options = {one: task.options[one] for one in found.letters or tuple(task.options)}
    made = await chosen_by_reader(desk.context, replace(task, options=options))
    desk.warnings += made.warnings
    preferred = made.choice["letter"]
    if preferred is None:
        return letter, why
    return preferred, f"{alike(found, weighing)}; the reader prefers {preferred}"


async def _reader_prefers(desk: _Desk, task: Task, letter: str | None) -> str | None:
    """Another option than the chosen one, where the reader is sure of it: it costs no call."""
    made = await chosen_by_reader(desk.context, task)
    other = made.choice["letter"]
    return other if letter is not None and other != letter else None


def listed(task: Task) -> str:
    """`A: its words`, an option a line."""
    return "\n".join(f"{letter}: {' '.join(text.split())}" for letter, text in task.options.items())


def _unusable(context: Context) -> UnusableReply:
    name = context.models.name("choose")
    return UnusableReply(f"{name} judged none of the options in a form that can be read")


def _numbers(desk: _Desk, said: _Said) -> dict[str, Any]:
    return {
        "form": said.form,
        "calls": desk.calls,
        "unusable": desk.unusable,
        "asked_again": desk.again,
        "elements": len(said.weighing.elements),
        "facts_dropped": said.weighing.facts_dropped,
        "sources_dropped": said.weighing.sources_dropped,
    }


# The choice without a model: how far the research supports each option as the answer, and how
# much of it stands in what the reader would answer. Close ones are not told apart.

LEAST_MARGIN: Final = 0.1
"""By so much the best option must be ahead of the next: docs/answers.md."""
_CARRIED: Final = 0.5
"""Support, or share of the reader's answer, from which on an option counts as met."""


@dataclass(frozen=True, slots=True)
class OptionScore:
    support: float
    """That the research carries the question with this answer."""
    overlap: float
    """With the words that the reader would answer."""

    @property
    def total(self) -> float:
        return self.support + self.overlap

    @property
    def is_carried(self) -> bool:
        return max(self.support, self.overlap) >= _CARRIED


async def chosen_by_reader(
    context: Context, task: Task, warnings: Sequence[dict[str, Any]] = ()
) -> Choosing:
    told = list(warnings)
    scores: dict[str, OptionScore] = {}
    try:
        scores = await asyncio.to_thread(option_scores, context, task)
    except Exception as error:  # noqa: BLE001 - whatever a reader does, there is an answer
        told.append(trouble(NODE, error, "no option was chosen"))
    totals = sorted((one.total for one in scores.values()), reverse=True)
    margin = totals[0] - totals[1] if len(totals) > 1 else 0.0
    letter = _best(scores) if margin >= LEAST_MARGIN else None
    elements, options = _by_reader_weighed(task, scores)
    choice = ChoiceData(
        letter=letter,
        options=options,
        elements=elements,
        model=None,
        grounded=True,
        agreed=None,
        confidence=confidence(task.confidence, 0.5 + margin / 4) if letter else None,
        why=_why(letter, scores),
    )
    return Choosing(choice, {"form": "reader", "calls": 0, "margin": margin}, told)


def option_scores(context: Context, task: Task) -> dict[str, OptionScore]:
    asked = _last_sentence(task.stem)
    text = " ".join(one["text"] for one in task.research)
    reading = context.shelf.read_text(asked, text)
    span = text[reading.start : reading.end]
    claims = [(f"{asked} {option}", text) for option in task.options.values()]
    supports = context.support.support(claims)
    return {
        letter: OptionScore(
            (support if math.isfinite(support) else 0.0), shared_words(span, option)
        )
        for (letter, option), support in zip(task.options.items(), supports, strict=True)
    }


def _best(scores: dict[str, OptionScore]) -> str | None:
    """None where the best of them is no good either: the right one may not be among them."""
    best = max(scores, key=lambda one: scores[one].total)
    return best if scores[best].is_carried else None


def _why(letter: str | None, scores: dict[str, OptionScore]) -> str:
    if not scores:
        return "nobody could weigh the options"
    if letter is None and not any(one.is_carried for one in scores.values()):
        return "no model weighed the options, and to the reader the research speaks for none"
    if letter is None:
        return "no model weighed the options, and the reader cannot tell the best two apart"
    return f"no model weighed the options; to the reader the research speaks for {letter}"


def _by_reader_weighed(
    task: Task, scores: dict[str, OptionScore]
) -> tuple[list[ElementData], list[OptionData]]:
    """The sentence of the research that speaks most for each option is what must hold for it."""
    elements: dict[int, int] = {}
    options: list[OptionData] = []
    for letter, text in task.options.items():
        score = scores.get(letter)
        verdicts: list[VerdictData] = []
        if score is not None:
            # Which sentence of the research has most of the option's words.
            claim = f"{_last_sentence(task.stem)} {text}"
            values = CoverageSupport().support([(claim, one["text"]) for one in task.research])
            at = elements.setdefault(
                max(range(len(values)), key=values.__getitem__), len(elements) + 1
            )
            met: Met = "met" if score.is_carried else "unknown"
            verdicts = [VerdictData(element=at, met=met, fact=None)]
        options.append(
            OptionData(letter=letter, text=text, verdicts=verdicts, reason=_reason(score))
        )
    made = [
        ElementData(text=task.research[at]["text"], cited=cited_by([at + 1], task))
        for at in elements
    ]
    return made, options


def _reason(score: OptionScore | None) -> str:
    if score is None:
        return ""
    like, carried = f"{score.overlap:.2f}", f"{score.support:.2f}"
    return f"Like what the reader would answer: {like}; carried by the research: {carried}."


def _last_sentence(stem: str) -> str:
    """What is asked: facts come before it."""
    bounds = sentence_bounds(stem)
    return stem[bounds[-1][0] : bounds[-1][1]].strip() if bounds else stem


# A choice from the model's own knowledge, where nothing was found and somebody asked for it. It
# is marked as such and has no confidence.

NOTHING = "the research found nothing to choose on"


async def guessed(context: Context, task: Task) -> Choosing:
    prompt = load("choose_guess")
    try:
        reply = await context.models.ask(
            prompt.role,
            prompt.render(question=task.stem, options=listed(task)),
            node=NODE,
            max_tokens=prompt.max_tokens,
            final=True,
        )
    except (ModelError, BudgetExceeded) as error:
        return nothing_chosen(task, trouble(NODE, error, "no option was chosen"))
    weighing = read_lines(reply.text, task)
    letter = None
    if weighing is not None:
        letter = weighing.named or settled(derived(weighing), weighing)[0]
    if weighing is None or letter is None:
        return nothing_chosen(task)
    # Nothing was weighed: what the model holds of the option stays as its reason.
    choice = ChoiceData(
        letter=letter,
        options=[{**one, "verdicts": []} for one in weighing.options],
        elements=[],
        model=context.models.name("choose"),
        grounded=False,
        agreed=None,
        confidence=None,
        why=f"{NOTHING}; {letter} is the model's own guess, without a source",
    )
    return Choosing(choice, {"form": "guess", "calls": reply.usage.calls})


def nothing_chosen(task: Task, *warnings: dict[str, object]) -> Choosing:
    options = [
        OptionData(letter=letter, text=text, verdicts=[], reason="")
        for letter, text in task.options.items()
    ]
    choice = ChoiceData(
        letter=None,
        options=options,
        elements=[],
        model=None,
        grounded=True,
        agreed=None,
        confidence=None,
        why=NOTHING,
    )
    return Choosing(choice, {"form": "none", "calls": 0}, list(warnings))
