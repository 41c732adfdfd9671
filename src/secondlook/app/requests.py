"""What a person asks for, before a workflow is chosen: the question made stand-alone, and whether
it asks for a summary of something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.stand_alone import StandAlone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.library import Library
    from secondlook.models import Models
    from secondlook.nodes.stand_alone import Turn
    from secondlook.settings import Settings
    from secondlook.state import Scope

SUMMARY = "summary"
_LEFT_FOR_THE_ANSWER = (1024, 256)
"""Tokens in and out that making a question stand-alone must not take from the answer."""


def usual_workflow(settings: Settings) -> str:
    """Where none is named. The web is part of one workflow: who allows it means that one."""
    configured = settings.answer.workflow
    return "adaptive" if settings.web.enable_web_search and configured == "linear" else configured


async def made_stand_alone(
    models: Models, settings: Settings, question: str, earlier: Sequence[Turn]
) -> StandAlone:
    """The question as it reads without the turns before it. What that takes counts as the run's."""
    if not earlier:
        return StandAlone(question)
    from secondlook.memory.journal import MemoryJournal
    from secondlook.memory.ledger import Caps, Ledger
    from secondlook.nodes.condense import condense

    asker = models.asker(
        run="",
        workflow=settings.answer.workflow,
        ledger=Ledger(Caps.of(settings.budget), set_aside=_LEFT_FOR_THE_ANSWER),
        journal=MemoryJournal(),
    )
    return await condense(asker, question, earlier)


def summary_scope(
    library: Library,
    question: str,
    scope: Scope,
    filters: Mapping[str, object] | None,
    *,
    certain: bool = False,
) -> Scope | None:
    """Where to look for what is to be summarised; None where nobody asks for a summary. `certain`
    is who chose the workflow by its name."""
    from secondlook.nodes.intent import summary_request

    target = summary_request(question)
    if target is None and not certain:
        return None
    from secondlook.nodes.summarise_choose import fits

    there = scope["documents"]
    held = [
        document
        for document in library.documents(filters=filters)
        if there is None or document.id in there
    ]
    if target == "":
        return {**scope, "documents": [document.id for document in held]}
    name = target or question
    named = [document.id for document in held if fits(name, document.title, document.paths)]
    if not named and not certain and question.lstrip().casefold().startswith("what"):
        return (
            None  # "what is the Domesday Book about" asks for a fact, if no document is called so
        )
    return {**scope, "documents": named or there}
