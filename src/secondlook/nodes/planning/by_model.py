"""What a model proposes to look into: the forms of its replies, and how it is asked for them.

In one call it may word the searches as well (`research.calls = "merged"`). Nothing of it is used
before `questions` and `queries` have looked at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict  # noqa: TC002  # pydantic reads annotations

from secondlook.prompts import evidence_marks, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context

PLAN = "plan"
REPLAN = "replan"
QUERIES = "queries"
_SHORT: JsonDict = {"maxLength": 240}
_THREE: JsonDict = {"maxItems": 3, "items": {"type": "string", **_SHORT}}
"""Told to a model, and not demanded. Servers that hold a model to a schema end its loops by it; of
a small model three queries are not forced, for it fills up with the examples it was shown."""
Action = Literal["next_step", "retry", "complete"]


class Queries(BaseModel):
    """What a model is asked for; what else it says does not matter."""

    model_config = ConfigDict(extra="ignore")

    queries: list[str] = Field(
        description="Three search queries, the nearest first.", json_schema_extra=_THREE
    )


class Planned(BaseModel):
    model_config = ConfigDict(extra="ignore")

    phase: str = Field(
        description="What is looked up, in one to four words.", json_schema_extra={"maxLength": 40}
    )
    question: str = Field(
        description="One question that is understood by itself.", json_schema_extra=_SHORT
    )


class PlannedSearch(Planned, Queries):
    pass


class Replanned(BaseModel):
    model_config = ConfigDict(extra="ignore")

    action: Action = Field(description="What to do next.")
    phase: str = Field(
        default="",
        description="What is looked up, in one to four words.",
        json_schema_extra={"maxLength": 40},
    )
    question: str = Field(
        default="",
        description="One question that is understood by itself.",
        json_schema_extra=_SHORT,
    )


class ReplannedSearch(Replanned):
    queries: list[str] = Field(
        default=[], description="Three search queries, the nearest first.", json_schema_extra=_THREE
    )


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to do next, as a model said it."""

    action: Action
    phase: str
    question: str
    queries: tuple[str, ...] = ()
    prompt: str = PLAN
    """What it was told: examples in it are no proposals."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What is asked for as a whole, without the choices."""

    question: str
    issues: Sequence[str] = ()
    """Neutral matters that may bear on it."""

    def holes(self, context: Context) -> dict[str, str]:
        listed = "; ".join(map(_flat, self.issues))
        return {
            "field": field_of(context),
            "question": _flat(self.question),
            "issues": f"\nMay matter: {listed}" if listed else "",
        }


async def first_proposed(context: Context, aim: Aim) -> Proposal:
    """Raises ModelError or BudgetExceeded, as the two below do."""
    form: type[Planned] = PlannedSearch if is_merged(context) else Planned
    prompt = load("plan_search" if is_merged(context) else PLAN)
    reply = await context.models.ask(
        prompt.role,
        prompt.render(**aim.holes(context)),
        form,
        node=PLAN,
        max_tokens=prompt.max_tokens,
    )
    said = reply.value or Planned(phase="", question="")
    return Proposal("next_step", said.phase, said.question, _queries(said), prompt.name)


async def next_proposed(context: Context, aim: Aim, steps: Sequence[str]) -> Proposal:
    """`steps` tell what was looked into so far, and what came of it."""
    form: type[Replanned] = ReplannedSearch if is_merged(context) else Replanned
    prompt = load("replan_search" if is_merged(context) else REPLAN)
    told = evidence_marks(context.run).wrap(steps)
    reply = await context.models.ask(
        prompt.role,
        prompt.render(**aim.holes(context), evidence=told),
        form,
        node=REPLAN,
        max_tokens=prompt.max_tokens,
    )
    said = reply.value or Replanned(action="complete")
    return Proposal(said.action, said.phase, said.question, _queries(said), prompt.name)


async def queries_said(context: Context, question: str) -> list[str]:
    prompt = load(QUERIES)
    reply = await context.models.ask(
        prompt.role,
        prompt.render(field=field_of(context), question=_flat(question)),
        Queries,
        node=QUERIES,
        max_tokens=prompt.max_tokens,
    )
    return reply.value.queries if reply.value else []


def is_merged(context: Context) -> bool:
    """Whether the call that plans a step words its searches too."""
    return context.settings.research.calls == "merged"


def field_of(context: Context) -> str:
    """What the profile says about the words of its field."""
    vocabulary = _flat(context.settings.research.vocabulary)
    return f"Field: {vocabulary}\n" if vocabulary else ""


def _queries(said: Planned | Replanned) -> tuple[str, ...]:
    return tuple(getattr(said, "queries", ()))


def _flat(text: str) -> str:
    return " ".join(text.split())
