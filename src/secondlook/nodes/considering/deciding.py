"""Decides which workflows a question is put to, and says why in a sentence."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.nodes.considering.apart import apart, shared_head
from secondlook.nodes.considering.documents import from_documents
from secondlook.nodes.considering.signs import Signs, signs_of
from secondlook.nodes.considering.summing import summary_scope
from secondlook.nodes.multiple_choice import parsed
from secondlook.state import CallData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.runtime import Runtime

    from secondlook.answer import EvidenceKind
    from secondlook.context import Context
    from secondlook.state import Question, Scope

ANALYST: Final = "analyst"
SUMMARY: Final = "summary"
CHOOSING: Final = "research"


@dataclass(frozen=True, slots=True)
class Decision:
    calls: tuple[CallData, ...]
    both: bool = False
    likely_tables: float | None = None
    likely_documents: float | None = None
    """Where it was a close call: how likely each of them answers."""


async def decided(state: Question, runtime: Runtime[Context]) -> Decision:
    context, question, scope = runtime.context, state["question"], state["scope"]
    if parsed(question).choices:
        return _one(CHOOSING, question, scope, "The question has choices")
    if (summed := await _summed(context, question, scope)) is not None:
        return _one(SUMMARY, question, summed, "It asks for a summary")
    if context.settings.auto.enable_parts and context.desk is not None:
        parts = await _of_both_kinds(runtime, question, scope)
        if parts is not None:
            return parts
    if context.tables_given:
        return _one(ANALYST, question, scope, "Tables came with the question")
    return await _decided_as_a_whole(runtime, question, scope)


async def _summed(context: Context, question: str, scope: Scope) -> Scope | None:
    if context.titles is None:
        return None
    return await asyncio.to_thread(summary_scope, question, scope, context.titles)


async def _decided_as_a_whole(runtime: Runtime[Context], question: str, scope: Scope) -> Decision:
    signs = await signs_of(runtime.context, question)
    if signs.certain:
        return _one(ANALYST, question, scope, signs.why)
    if not signs.likely:
        return _from_documents(runtime.context, question, scope)
    return await _surer(runtime, question, scope, signs)


async def _surer(runtime: Runtime[Context], question: str, scope: Scope, signs: Signs) -> Decision:
    """A close call: whoever is more likely right."""
    context = runtime.context
    if not context.settings.auto.enable_comparison:
        return _one(ANALYST, question, scope, signs.why)
    from secondlook.nodes.considering.in_documents import looked  # few questions are close calls

    look = await looked(runtime, question, scope)
    if signs.likely >= look.likely or _is_of_a_table(context, look.document):
        chosen = _one(ANALYST, question, scope, signs.why)
    else:
        chosen = _from_documents(context, question, scope)
    return Decision(chosen.calls, likely_tables=signs.likely, likely_documents=look.likely)


def _is_of_a_table(context: Context, document: str | None) -> bool:
    """What a passage of such a document tells, its table tells better. A document's id is the
    start of its SHA-256."""
    tables = () if context.desk is None else context.desk.tables()
    return document is not None and any(table.sha256.startswith(document) for table in tables)


async def _of_both_kinds(runtime: Runtime[Context], question: str, scope: Scope) -> Decision | None:
    """The parts of a question that needs a document and a table; None where it does not."""
    context = runtime.context
    for parts in (apart(question), shared_head(question)):
        if len(parts) == 1:
            continue
        over = [(await signs_of(context, part)).named for part in parts]
        if any(over) and not all(over):
            return Decision(_by_kind(context, parts, over, scope), both=True)
    return None


def _by_kind(
    context: Context, parts: Sequence[str], over: Sequence[bool], scope: Scope
) -> tuple[CallData, ...]:
    """One call for each kind, in the order of the question."""
    calls = []
    for tables in dict.fromkeys(over):
        question = _joined(
            [part for part, is_table in zip(parts, over, strict=True) if is_table == tables]
        )
        if tables:
            calls.append(_call(ANALYST, question, scope, "this part is about a table"))
        else:
            name, _ = from_documents(question, context.settings.auto)
            calls.append(_call(name, question, scope, "this part is about documents"))
    return tuple(calls)


def _joined(parts: Sequence[str]) -> str:
    first, *rest = parts
    asked = [first.rstrip("?"), *(f"{part[:1].lower()}{part[1:]}".rstrip("?") for part in rest)]
    return f"{', and '.join(asked)}?"


def _from_documents(context: Context, question: str, scope: Scope) -> Decision:
    name, why = from_documents(question, context.settings.auto)
    return _one(name, question, scope, why)


def _one(workflow: str, question: str, scope: Scope, why: str) -> Decision:
    return Decision((_call(workflow, question, scope, why),))


def _call(workflow: str, question: str, scope: Scope, why: str) -> CallData:
    return CallData(
        workflow=workflow, question=question, scope=scope, kind=kind_of(workflow), why=why
    )


def kind_of(workflow: str) -> EvidenceKind:
    """What the answers of a workflow rest on."""
    return "tables" if workflow == ANALYST else "documents"
