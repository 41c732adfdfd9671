"""The choice by a model's verdicts: in the full form, or in lines where the model is small or did
not manage the full one. What contradicts itself is asked again once; two calls at most, and one
more with the options in another order."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply
from secondlook.models.counting import approximate_tokens
from secondlook.models.port import Message
from secondlook.nodes.choosing.by_reader import chosen_by_reader
from secondlook.nodes.choosing.full_form import read_full
from secondlook.nodes.choosing.lines_form import read_lines
from secondlook.nodes.choosing.task import NODE, Choosing, Task
from secondlook.nodes.choosing.weighing import (
    Derived,
    Weighing,
    alike,
    confidence,
    derived,
    settled,
)
from secondlook.nodes.showing import evidence_budget
from secondlook.prompts import evidence_marks, load
from secondlook.state import ChoiceData, trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.context import Context

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
        return await self._said(task, form, await _messages(self.context, task, form))

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
    agreed = await _shuffled(desk, task, said, letter)
    other = await _reader_prefers(desk, task, letter)
    doubts = (bool(found.contradiction), agreed is False, other is not None)
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
        agreed=agreed,
        confidence=confidence(task.confidence, found.decisive, *doubts) if letter else None,
        why=why if agreed is not False else f"{why}. In another order it was another option.",
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


async def _shuffled(desk: _Desk, task: Task, said: _Said, letter: str | None) -> bool | None:
    """Whether the options in another order lead to the same one; None where that is not known."""
    wanted = desk.context.settings.research.enable_shuffled_choice
    if not wanted or letter is None or desk.closed or len(task.options) < 2:  # noqa: PLR2004
        return None
    order = shuffled(list(task.options), desk.context.run)
    original = dict(zip(task.options, order, strict=True))
    other = replace(task, options={shown: task.options[real] for shown, real in original.items()})
    second = await desk.ask(other, said.form)
    if second is None:
        return None
    again, _ = settled(derived(second.weighing), second.weighing)
    return original[again] == letter if again is not None else False


def shuffled(letters: list[str], run: str) -> list[str]:
    """Another order than the given one, the same for the same run. Every option moves: a model
    that prefers a place is found out wherever the right one stood."""
    by = random.Random(run).randrange(1, len(letters))  # noqa: S311  # nothing secret
    return [*letters[by:], *letters[:by]]


async def _messages(context: Context, task: Task, form: Form) -> tuple[Message, ...]:
    prompt = load(_PROMPTS[form])
    holes = {"question": task.stem, "options": listed(task)}
    bare = prompt.render(**holes, evidence="")
    budget = await evidence_budget(context, prompt.role, bare, max_tokens=prompt.max_tokens)
    blocks: list[str] = []
    for sentence in task.research:
        budget -= approximate_tokens(sentence["text"]) + _MARK_TOKENS
        if blocks and budget < 0:
            break
        blocks.append(" ".join(sentence["text"].split()))
    return prompt.render(**holes, evidence=evidence_marks(context.run).wrap(blocks))


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
