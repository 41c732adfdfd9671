"""One question, one answer: doors that open the library, ask and close again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from secondlook.app.requests import chosen_settings
from secondlook.app.secondlook import Secondlook, last_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.app.affording import Budget
    from secondlook.events import Event


def ask(
    question: str,
    *,
    library: str | Path | None = None,
    tables: Mapping[str, object] | None = None,
    choices: Mapping[str, str] | Sequence[str] | None = None,
    workflow: str | None = None,
    model: str | None = None,
    filters: Mapping[str, object] | None = None,
    documents: Collection[str] | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> Answer:
    """Answer a question over a library (default: the configured one).

    `tables` are what a question is about, by name: data frames, pyarrow tables, rows as dicts, or
    paths of files. The workflow `analyst` computes with them, and no library is needed for it.
    `choices` are answers to choose from, by letter or in their order: the workflow `research`
    chooses one. `budget` caps what the question may take: any of `calls`, `tokens`, `money` (US
    dollars) and `seconds`. Further options are those of `Secondlook.open`: `web`, `k`, `timeout`,
    `max_risk`, `settings`.
    Works in plain scripts and in notebooks.
    """
    with _opened(library, over_tables=tables is not None, model=model, **options) as engine, engine:
        return engine.ask(
            question,
            tables=tables,
            choices=choices,
            workflow=workflow,
            filters=filters,
            documents=documents,
            budget=budget,
        )


async def aask(question: str, **options: Any) -> Answer:
    """`ask` for async code."""
    return await last_answer(astream(question, **options))


async def astream(
    question: str,
    *,
    library: str | Path | None = None,
    tables: Mapping[str, object] | None = None,
    choices: Mapping[str, str] | Sequence[str] | None = None,
    workflow: str | None = None,
    model: str | None = None,
    filters: Mapping[str, object] | None = None,
    documents: Collection[str] | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> AsyncIterator[Event]:
    """What happens on the way to the answer, which comes last. Options as of `ask`."""
    with _opened(library, over_tables=tables is not None, model=model, **options) as engine:
        try:
            async for event in engine.astream(
                question,
                tables=tables,
                choices=choices,
                workflow=workflow,
                filters=filters,
                documents=documents,
                budget=budget,
            ):
                yield event
        finally:
            await engine.aclose()


@contextmanager
def _opened(
    library: str | Path | None, *, over_tables: bool, **options: Any
) -> Iterator[Secondlook]:
    """An engine; who asks over tables of their own and has no library gets a passing one."""
    from secondlook.library.passing import library_or_passing

    settings = chosen_settings(library, **options)
    may_pass = over_tables and library is None
    with library_or_passing(settings, library, may_pass=may_pass) as opened:
        yield Secondlook(opened, settings=opened.settings)
