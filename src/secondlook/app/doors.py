"""One question, one answer: doors that open the library, ask and close again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.app.secondlook import Secondlook, last_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping, Sequence
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.events import Event


def ask(
    question: str,
    *,
    library: str | Path | None = None,
    choices: Mapping[str, str] | Sequence[str] | None = None,
    workflow: str | None = None,
    model: str | None = None,
    filters: Mapping[str, object] | None = None,
    documents: Collection[str] | None = None,
    **options: Any,
) -> Answer:
    """Answer a question over a library (default: the configured one).

    `choices` are answers to choose from, by letter or in their order: the workflow `research`
    chooses one. Further options are those of `Secondlook.open`: `web`, `k`, `timeout`, `max_risk`,
    `settings`.
    Works in plain scripts and in notebooks.
    """
    with Secondlook.open(library, model=model, **options) as engine:
        return engine.ask(
            question, choices=choices, workflow=workflow, filters=filters, documents=documents
        )


async def aask(question: str, **options: Any) -> Answer:
    """`ask` for async code."""
    return await last_answer(astream(question, **options))


async def astream(
    question: str,
    *,
    library: str | Path | None = None,
    choices: Mapping[str, str] | Sequence[str] | None = None,
    workflow: str | None = None,
    model: str | None = None,
    filters: Mapping[str, object] | None = None,
    documents: Collection[str] | None = None,
    **options: Any,
) -> AsyncIterator[Event]:
    """What happens on the way to the answer, which comes last. Options as of `ask`."""
    engine = Secondlook.open(library, model=model, **options)
    try:
        async for event in engine.astream(
            question, choices=choices, workflow=workflow, filters=filters, documents=documents
        ):
            yield event
    finally:
        await engine.aclose()
