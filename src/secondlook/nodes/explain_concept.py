"""Explains a concept that no document of the library explains: in a model's words, with an example
from the person's own columns, or from our glossary. Marked as general knowledge, without a
confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, TableError
from secondlook.nodes.analysing.at_hand import asked_tables, measures
from secondlook.nodes.analysing.showing import shared
from secondlook.nodes.concepts import entries_in, term_of
from secondlook.nodes.explain_result import Explained  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.sentences import review
from secondlook.prompts import load
from secondlook.state import DraftData, Question, Sentence, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

GENERAL = "(General knowledge: no document of the library explains this.)"
_GLOSSARY = "the glossary"
_MOST_TERMS = 2


async def explain_concept(state: Question, runtime: Runtime[Context]) -> Explained:
    context, question = runtime.context, state["question"]
    draft, warnings = await _explained(context, question)
    for sentence in draft["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    by = draft["model"] or (_GLOSSARY if draft["sentences"] else "nobody")
    told = step("explain_concept", f"Explained by {by}.", sentences=len(draft["sentences"]))
    return {
        "draft": draft,
        "assumed": None,
        "asks_back": None,
        "steps": [told],
        "warnings": warnings,
    }


async def _explained(context: Context, question: str) -> tuple[DraftData, list[dict[str, Any]]]:
    warnings: list[dict[str, Any]] = []
    if context.models.serves("explain"):
        try:
            said = await _said(context, question)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("explain_concept", error, "the glossary was looked up instead")]
        else:
            if said:
                return _drafted(said, context.models.name("explain")), warnings
    named = entries_in(question)[:_MOST_TERMS]
    if named:
        said = [sentence for entry in named for sentence in entry.sentences]
        example = await _example(context, named[0].example, question)
        return _drafted([*said, *example], None), warnings
    note = f"Neither the library nor the glossary explains {term_of(question)!r}."
    return {**withheld("no_evidence"), "note": note}, warnings


async def _said(context: Context, question: str) -> list[str]:
    prompt = load("analyst_concept")
    tables = await asked_tables(context, question)
    shown = await shared(context, question) if tables else {"tables": "", "question": question}
    reply = await context.models.ask(
        prompt.role,
        prompt.render(tables=shown["tables"], question=shown["question"]),
        node="explain_concept",
        max_tokens=prompt.max_tokens,
        final=True,
    )
    reviewed = review(reply.text, 0, own_words=prompt.own_words, question=question)
    return [sentence.text for sentence in reviewed.sentences]


async def _example(context: Context, example: str, question: str) -> list[str]:
    """With a column of the person's own where the example has room for one."""
    if "{column}" not in example:
        return [example] if example else []
    try:
        tables = await asked_tables(context, question)
    except TableError:
        return []
    numbers = measures(tables)
    return [example.replace("{column}", numbers[0])] if numbers else []


def _drafted(said: Sequence[str], model: str | None) -> DraftData:
    return DraftData(
        method="generative" if model else "none",
        model=model,
        sentences=[Sentence(text=text, cited=[], support=None, supported=None) for text in said],
        short=None,
        stop="answered",
        confidence=None,
        reasons=["general knowledge, without a source"],
        note=None,
    )
