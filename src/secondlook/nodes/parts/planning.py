"""The parts of a question by a model: asked only where code suspects several facts and knows no
form for them. What it replies is checked; nothing that fails a check is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, get_args

from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import UnusableReply
from secondlook.nodes.parts.filling import HOLE, value_parts
from secondlook.nodes.parts.splitting import Combining, Split
from secondlook.prompts import CONTROL_MARK, EVIDENCE_MARK, load
from secondlook.retrieval.analyse import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context

NODE: Final = "split"
_BRACE = re.compile(r"[{}]")
_LONGEST: Final = 300
_NEW: Final = 3
"""Words that a part may add of its own, such as "when" said otherwise."""
_COMPUTED: Final = frozenset(get_args(Combining)) - {"last"}
_OF_TWO: Final = frozenset({"years", "difference"})


class Plan(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")

    questions: list[str] = Field(description="In the order they are to be asked; one: no split.")
    combine: Combining = Field(description="How their answers give the answer.")


async def planned(context: Context, question: str) -> Split | None:
    """The parts; None where the model says that there is one question. Raises ModelError or
    BudgetExceeded, also where its plan cannot be used."""
    prompt = load(NODE)
    most = _most(context)
    reply = await context.models.ask(
        "plan",
        prompt.render(question=" ".join(question.split()), most=str(most)),
        Plan,
        node=NODE,
        max_tokens=prompt.max_tokens,
    )
    plan = reply.value
    if plan is None or len(plan.questions) <= 1:
        return None
    made = checked(plan, question, most=most)
    if isinstance(made, str):
        raise UnusableReply(f"{context.models.name('plan')} made no usable plan: {made}")
    return made


def _most(context: Context) -> int:
    """Every part rests on a passage of its own."""
    return min(context.settings.corrective.max_parts, context.settings.answer.k)


def checked(plan: Plan, question: str, *, most: int) -> Split | str:
    """The plan as parts, or what is wrong with it."""
    parts = tuple(_tidy(part) for part in plan.questions)
    wrong = (
        _wrong_number(parts, most)
        or next(filter(None, (_wrong_text(part) for part in parts)), None)
        or _wrong_holes(parts)
        or _wrong_words(parts, question)
        or _wrong_combining(parts, plan.combine)
    )
    return wrong or Split(parts, plan.combine)


def _tidy(part: str) -> str:
    text = part.strip().strip("\"'").strip()
    return text if not text or text.endswith("?") else f"{text.rstrip('.')}?"


def _wrong_number(parts: Sequence[str], most: int) -> str | None:
    if not 1 < len(parts) <= most:
        return f"{len(parts)} questions, not from 2 to {most}"
    said = [frozenset(_words(part)) for part in parts]
    return "a question is repeated" if len(set(said)) < len(said) else None


def _words(part: str) -> list[str]:
    """With the holes, which make one question another."""
    return [*terms(part), *(f"hole {number}" for number in HOLE.findall(part))]


def _wrong_text(part: str) -> str | None:
    if not part or len(part) > _LONGEST or "\n" in part:
        return "a question is empty or too long"
    if CONTROL_MARK.search(part) or EVIDENCE_MARK.search(part):
        return "a question carries marks"
    return None


def _wrong_holes(parts: Sequence[str]) -> str | None:
    for at, part in enumerate(parts):
        if any(not 0 < int(number) <= at for number in HOLE.findall(part)):
            return "a question needs an answer that does not come before it"
        if _BRACE.search(HOLE.sub("", part)):
            return "a question has a brace that is no hole"
    return None


def _wrong_words(parts: Sequence[str], question: str) -> str | None:
    """Each part is of the question's own words, and together they keep most of them."""
    asked = set(query_terms(question))
    known = asked | set(terms(question))
    together: set[str] = set()
    for part in parts:
        own = set(query_terms(HOLE.sub(" ", part)))
        if not own & asked or len(own - known) > _NEW:
            return "a question is about something else"
        together |= own
    return "the questions lose what was asked" if 2 * len(together & asked) < len(asked) else None


def _wrong_combining(parts: Sequence[str], combining: Combining) -> str | None:
    if combining == "last" and not HOLE.search(parts[-1]):
        return "the last question needs no answer before it"
    if combining in _OF_TWO and _of_values(parts) != 2:  # noqa: PLR2004
        return f"{combining} is of two values"
    if combining in _COMPUTED and _of_values(parts) < 2:  # noqa: PLR2004
        return f"{combining} needs several values"
    return None


def _of_values(parts: Sequence[str]) -> int:
    return len(value_parts(parts))
