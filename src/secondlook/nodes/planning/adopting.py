"""A model's proposal made into a step: its question checked, its searches checked, and code in the
place of whatever fails."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from secondlook.nodes.planning.by_code import StepPlanned
from secondlook.nodes.planning.by_model import is_merged
from secondlook.nodes.planning.queries import validated
from secondlook.nodes.planning.questions import Checked, checked, tidy_phase
from secondlook.nodes.retrieve import where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.nodes.planning.by_model import Aim, Proposal
    from secondlook.nodes.planning.questions import Reason
    from secondlook.state import Scope, StepData

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
