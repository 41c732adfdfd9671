"""What a model proposes to look into: the forms of its replies, and how it is asked for them.

In one call it may word the searches as well (`research.calls = "merged"`). Nothing of it is used
before `questions` and `queries` have looked at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from secondlook.prompts import evidence_marks, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context

PLAN = "plan"
REPLAN = "replan"
QUERIES = "queries"
Action = Literal["next_step", "retry", "complete"]


# How long, and how many, is told and not demanded. Servers that hold a model to a schema end its
# loops by it. Three queries are not forced: a small model fills up with the examples it was shown.
_Phase = Annotated[
    str, Field(description="What it is, in few words.", json_schema_extra={"maxLength": 40})
]
_Asked = Annotated[
    str, Field(description="One plain question.", json_schema_extra={"maxLength": 240})
]
_Searches = Annotated[
    list[str],
    Field(
        description="Three search queries.",
        json_schema_extra={"maxItems": 3, "items": {"type": "string", "maxLength": 240}},
    ),
]


def _all_required(schema: dict[str, Any]) -> None:
    schema["required"] = list(schema["properties"])


class _Reply(BaseModel):
    """What a model is asked for in full. What it leaves out is empty: no reason to ask again."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_all_required)


class Queries(_Reply):
    queries: _Searches = []


class Planned(_Reply):
    phase: _Phase = ""
    question: _Asked = ""


class PlannedSearch(Planned):
    queries: _Searches = []


class Replanned(_Reply):
    action: Action = Field(description="What to do next.")
    phase: _Phase = ""
    question: _Asked = ""


class ReplannedSearch(Replanned):
    queries: _Searches = []


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
    said = reply.value or Planned()
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
