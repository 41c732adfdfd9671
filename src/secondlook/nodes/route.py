"""Looks at the question and at what the library holds, and decides who answers. Asks no model."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import Answer
from secondlook.errors import SecondlookError, TableError, UsageError
from secondlook.nodes.choices import parsed
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import asked_tables, resolver, tables_of
from secondlook.nodes.extract import extract
from secondlook.nodes.judge.result import shipped, signals
from secondlook.nodes.ranking import texts
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.state import (
    Asked,
    CallData,
    Calls,
    Evidence,
    Question,
    Trace,
    next_call,
    step,
    trouble,
)
from secondlook.nodes.understand import asks_for_concept, asks_for_data, entry_for, term_of
from secondlook.reading.languages import foreign
from secondlook.roles.route import apart, from_documents, shared_head, summary_request
from secondlook.tables.understand.interpreter import understand
from secondlook.tables.understand.readings import reading_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import EvidenceKind, StopReason
    from secondlook.nodes.context import Titled
    from secondlook.nodes.state import Scope
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.table import Table
    from secondlook.tables.understand.readings import Reading


class Considered(Calls, Trace):
    pass


async def consider(state: Question, runtime: Runtime[Context]) -> Considered:
    decision = await decided(state, runtime)
    return {
        "calls": list(decision.calls),
        "answers": [],
        "both": decision.both,
        "steps": [_told(decision)],
        "warnings": _about_risk(runtime.context, decision),
    }


def _told(decision: Decision) -> dict[str, Any]:
    first = decision.calls[0]
    numbers = {
        name: value
        for name, value in (
            ("likely_documents", decision.likely_documents),
            ("likely_tables", decision.likely_tables),
        )
        if value is not None
    }
    why = _why(decision)
    return step("consider", why, numbers, calls=len(decision.calls), route=(first["workflow"], why))


def _why(decision: Decision) -> str:
    if decision.both:
        return "It needs documents and a table: each was asked for its part."
    return f"{decision.calls[0]['why']}."


def _about_risk(context: Context, decision: Decision) -> list[dict[str, Any]]:
    """A summary is no answer that is right or wrong: what was asked for does not apply to it."""
    if context.settings.answer.max_risk is None or decision.calls[0]["workflow"] != SUMMARY:
        return []
    return [summed_up_without_risk()]


def summed_up_without_risk() -> dict[str, Any]:
    return trouble(
        "summarise",
        UsageError("max_risk is about answers to questions"),
        "the summary comes without a bound on its risk",
    )


# Puts a question, or a part of it, to another workflow.


class ToCall(Asked, Calls, Trace):
    pass


class Returned(Evidence, Trace):
    answers: list[dict[str, Any]]


async def call(state: ToCall, runtime: Runtime[Context]) -> Returned:
    """The workflow that is next runs as part of this step: its own steps are seen and kept one by
    one, and it goes on where it was stopped."""
    asked = next_call(state)
    assert asked is not None  # noqa: S101 - the router has looked
    name = asked["workflow"]
    context = within(runtime.context, name)
    if state["answers"] and state["both"]:
        runtime.stream_writer({"token": "\n\n"})
    elif state["answers"]:
        runtime.stream_writer({"redraft": "the first try brought no answer"})
    ended = await context.workflows[name].ainvoke(_first_state(asked), context=context)
    answer = Answer.model_validate(ended["answer"])
    inner = [{**told, "workflow": name} for told in ended["steps"]]
    told = step(name, _said(answer), {"status": answer.status, "sure": answer.confidence.value})
    return {
        "answers": [*state["answers"], ended["answer"]],
        "found": ended["found"],
        "steps": [*inner, told],
        "warnings": ended["warnings"],
    }


def within(context: Context, workflow: str) -> Context:
    """The services of the run as another workflow is given them."""
    return replace(context, workflow=workflow, models=replace(context.models, workflow=workflow))


def _first_state(asked: CallData) -> dict[str, Any]:
    return {
        "question": asked["question"],
        "scope": asked["scope"],
        "queries": [asked["question"]],
        "found": [],
        "steps": [],
        "warnings": [],
    }


def _said(answer: Answer) -> str:
    said = {
        "answered": "It gave an answer.",
        "partial": "It gave part of an answer.",
        "abstained": "It found no answer.",
        "refused": "It refused.",
        "failed": "It could not go on.",
    }
    return said[answer.status]


# Looks at what came back. Where one kind of evidence holds no answer and the other may, that
# one is tried, once.

MOST_CALLS: Final = 2
PLAIN: Final = "linear"
"""The workflow that grades nothing."""
_NOT_THERE: Final[frozenset[StopReason]] = frozenset(
    {"no_evidence", "low_confidence", "attempts_exhausted", "no_progress", "cannot_proceed"}
)
"""Ends that say something about the evidence. What was unclear or ran out of time stays so."""


class ToLookAgain(Question, Calls):
    pass


class LookedAgain(Trace):
    calls: list[CallData]


def after_call(state: Calls) -> Literal["look_again", "finish"]:
    """Another look where a part is left or no answer was found; else to the end."""
    answer = state["answers"][-1]
    withheld = answer["status"] == "abstained" and answer["stop_reason"] in _NOT_THERE
    left = next_call(state) is not None
    return "look_again" if left or (withheld and not state["both"]) else "finish"


async def look_again(state: ToLookAgain, runtime: Runtime[Context]) -> LookedAgain:
    if (pending := next_call(state)) is not None:
        return _to(state, pending, "On to the other part.", "a part is left")
    if not _worth_another(state, runtime.context):
        return _done(state)
    first = state["calls"][0]
    why = "no document answers" if first["kind"] == "documents" else "no table answers"
    if first["kind"] == "documents" and (language := await _other_language(runtime.context, state)):
        # Whoever grades passages was not trained for it; one pass takes them as they are.
        other: CallData | None = _call(first, PLAIN)
        why = f"no grader here knows {language}"
    else:
        other = await _other(runtime.context, state, first)
    if other is None:
        return _done(state)
    said = f"{why[:1].upper()}{why[1:]}, so Secondlook tried {other['workflow']}."
    return _to({**state, "calls": [*state["calls"], other]}, other, said, why)


def _worth_another(state: ToLookAgain, context: Context) -> bool:
    first = state["calls"][0]
    if len(state["calls"]) >= MOST_CALLS or first["workflow"] == SUMMARY or context.tables_given:
        return False
    return not parsed(state["question"]).choices and not context.ledger.must_end("look_again")


async def _other(context: Context, state: ToLookAgain, first: CallData) -> CallData | None:
    """The call of the other kind; None where there is nothing of that kind to ask."""
    question = state["question"]
    if first["kind"] == "documents":
        return (
            _call(first, ANALYST)
            if (await signs_of(context, question, thorough=True)).named
            else None
        )
    if not context.shelf.size()[1]:
        return None
    return _call(first, from_documents(question, context.settings.auto)[0])


async def _other_language(context: Context, state: ToLookAgain) -> str | None:
    """The language of question or best passage, where the reader was not trained for it."""
    seen = [one["id"] for one in state["answers"][-1]["passages"] if one["origin"] == "library"]
    if state["calls"][0]["workflow"] == PLAIN or not seen:
        return None
    try:
        held = await texts(context, seen[:1])
    except Exception:  # noqa: BLE001 - the answer that is there matters more than another try
        return None
    languages = context.shelf.reader_languages
    found = [foreign(state["question"], one.text, languages) for one in held.values()]
    return next((one.language for one in found if one is not None), None)


def _call(first: CallData, workflow: str) -> CallData:
    why = "the first try found no answer"
    return {**first, "workflow": workflow, "kind": kind_of(workflow), "why": why}


def _to(state: ToLookAgain, following: CallData, said: str, why: str) -> LookedAgain:
    told = step("look_again", said, route=(following["workflow"], why))
    return {"calls": state["calls"], "steps": [told], "warnings": []}


def _done(state: ToLookAgain) -> LookedAgain:
    told = step(
        "look_again", "There is nothing else to try.", route=("finish", "nothing is left to try")
    )
    return {"calls": state["calls"], "steps": [told], "warnings": []}


# Decides which workflows a question is put to, and says why in a sentence.

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
    if context.desk is not None:
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
    # A close call: whoever is more likely right.
    context = runtime.context
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
            calls.append(_deciding_call(ANALYST, question, scope, "this part is about a table"))
        else:
            name, _ = from_documents(question, context.settings.auto)
            calls.append(_deciding_call(name, question, scope, "this part is about documents"))
    return tuple(calls)


def _joined(parts: Sequence[str]) -> str:
    first, *rest = parts
    asked = [first.rstrip("?"), *(f"{part[:1].lower()}{part[1:]}".rstrip("?") for part in rest)]
    return f"{', and '.join(asked)}?"


def _from_documents(context: Context, question: str, scope: Scope) -> Decision:
    name, why = from_documents(question, context.settings.auto)
    return _one(name, question, scope, why)


def _one(workflow: str, question: str, scope: Scope, why: str) -> Decision:
    return Decision((_deciding_call(workflow, question, scope, why),))


def _deciding_call(workflow: str, question: str, scope: Scope, why: str) -> CallData:
    return CallData(
        workflow=workflow, question=question, scope=scope, kind=kind_of(workflow), why=why
    )


def kind_of(workflow: str) -> EvidenceKind:
    """What the answers of a workflow rest on."""
    return "tables" if workflow == ANALYST else "documents"


# What speaks for the tables: data only.


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for the tables."""

    likely: float = 0.0
    """How likely the tables give the right answer; 0 where they give none."""
    certain: bool = False
    """Nobody else need be asked."""
    named: bool = False
    """It names what the tables hold, whether or not anybody can compute what it asks."""
    why: str = ""


async def signs_of(context: Context, question: str, *, thorough: bool = False) -> Signs:
    """Where there are no tables nothing speaks for them, and no grammar need be loaded."""
    if context.desk is None or not context.desk.tables():
        return Signs()

    # `thorough` also reads a question that shares no word with any table: what it names may
    # stand in the cells.
    tables = tables_of(context)
    if asks_for_concept(question) and entry_for(term_of(question)) is not None:
        return Signs(1.0, certain=True, why="It asks what a term of statistics means")
    named = named_column(question, tables)
    measured = asks_for_data(question)
    if not (thorough or named or measured or _shares_words(question, tables)):
        return Signs()
    reading, values = await _read(context, question)
    if reading is not None:
        certain = measured and named is not None and reading.doubt <= SURE_DOUBT
        why = f"It names {named}" if named else f"The tables tell it ({reading.said})"
        if measured and named:
            why = f"It asks for a measure and names {named}"
        # That the reading is right, as fitted on questions over tables whose answers are
        # known.
        kind, seen = signals(
            query=reading_data(reading),
            scores=[one.score for one in reading.resolved],
        )
        fitted = shipped().get(kind)
        return Signs(
            (1.0 - reading.doubt if fitted is None else fitted.probability(seen)),
            certain=certain,
            named=True,
            why=why,
        )
    if named is None or not (measured or values):
        return Signs()
    likely = BY_CODE if (context.models.serves("code") and context.sandbox is not None) else 0.0
    return Signs(likely, named=True, why=f"It asks for a measure and names {named}")


# Signs that a question is meant for the tables at hand.

_SHORTEST = 3
"""Letters of a word that can name a column by itself."""
SURE_DOUBT = 0.05
"""A reading that leaves out less of the question needs no second opinion."""
BY_CODE = 0.5
"""How likely code of a model is right about a question that our own grammar does not read: the
half that nobody knows."""


def named_column(question: str, tables: Sequence[Table]) -> str | None:
    """`'price' of sales.csv` where the question names a column, word for word."""
    said = _words(question)
    for table in tables:
        for column in table.columns:
            name = _words(column.name)
            if name and name <= said and any(len(word) >= _SHORTEST for word in name):
                return f"{column.name!r} of {table.title}"
    return None


async def _read(context: Context, question: str) -> tuple[Reading | None, bool]:
    """Our own reading of the question, and whether it names what stands in a cell; none where a
    table cannot be read: the workflow that computes tells what is wrong with it."""
    try:
        tables = await asked_tables(context, question)
        return await asyncio.to_thread(_understood, context, question, tables)
    except TableError:
        return None, False


def _understood(
    context: Context, question: str, tables: Sequence[AskedTable]
) -> tuple[Reading | None, bool]:
    found = resolver(context, tables)
    values = bool(found.values(question))
    if not values and not found.mentions(question):
        return None, False
    if context.settings.models.servers.query == "model":
        return None, values
    return understand(question, tables).best, values


def _shares_words(question: str, tables: Sequence[Table]) -> bool:
    said = {word for word in _words(question) if len(word) >= _SHORTEST}
    return any(said & _words(f"{one.name} {one.title} {_columns(one)}") for one in tables)


def _columns(table: Table) -> str:
    return " ".join(column.name for column in table.columns)


def _words(text: str) -> frozenset[str]:
    """Without what stands in brackets, which is a unit in the name of a column."""
    plain = re.sub(r"[(\[].*?[)\]]", " ", text)
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", plain)
    return frozenset(word.casefold().rstrip("s") for word in re.findall(r"\w+", apart))


# How likely the documents answer a question: one search, and the reader's own answer to it.


@dataclass(frozen=True, slots=True)
class Look:
    """What a first look at the documents came to."""

    likely: float
    document: str | None = None
    """That the best passage is of."""


async def looked(runtime: Runtime[Context], question: str, scope: Scope) -> Look:
    """Nothing is likely where nothing can be searched: the workflow that searches tells why."""
    try:
        found = (
            await retrieve({"question": question, "scope": scope, "queries": [question]}, runtime)
        )["found"]
        read = await rerank(
            {"question": question, "scope": scope, "queries": [question], "found": found}, runtime
        )
        draft = await extract(runtime.context, question, read["found"])
    except (SecondlookError, OSError, RuntimeError):
        return Look(0.0)
    best = read["found"][0]["document"] if read["found"] else None
    return Look(draft["confidence"] or 0.0, best)


# Where to look for what is to be summarised.


def summary_scope(
    question: str,
    scope: Scope,
    titles: Callable[[Scope], Sequence[Titled]],
    *,
    certain: bool = False,
) -> Scope | None:
    """The documents that are meant; None where nobody asks for a summary. `certain` is who chose
    the workflow by its name."""
    target = summary_request(question)
    if target is None and not certain:
        return None
    from secondlook.nodes.outline import fits

    held = titles(scope)
    if target == "":
        return {**scope, "documents": [document.id for document in held]}
    name = target or question
    named = [document.id for document in held if fits(name, document.title, document.paths)]
    if not named and not certain and question.lstrip().casefold().startswith("what"):
        # "what is the Domesday Book about" asks for a fact, if no document is called so
        return None
    return {**scope, "documents": named or scope["documents"]}
