"""Puts a question to the workflow that suits it: looks at the question and at what the library
holds, calls the workflow, and looks at what came back. Asks no model."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
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
from secondlook.nodes.survey_set import members
from secondlook.nodes.understand import asks_for_concept, asks_for_data, entry_for, term_of
from secondlook.reading.languages import foreign
from secondlook.roles.ambiguity import unresolved
from secondlook.roles.surveys import SURE, planned
from secondlook.roles.wants import PRONOUN, TALK, summary_of, wanted
from secondlook.tables.understand.interpreter import understand
from secondlook.tables.understand.readings import reading_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import EvidenceKind, Status, StopReason
    from secondlook.nodes.context import Titled
    from secondlook.nodes.state import Query, Scope
    from secondlook.roles.wants import Want
    from secondlook.settings.workflows import AutoSettings
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.table import Table
    from secondlook.tables.understand.readings import Reading

ANALYST: Final = "analyst"
SUMMARY: Final = "summary"
SURVEY: Final = "survey"
CATALOGUE: Final = "catalogue"  # no workflow, but a node of `auto`
CHOOSING: Final = "research"
PLAIN: Final = "linear"  # The workflow that grades nothing
MOST_CALLS: Final = 2
_NOT_THERE: Final[frozenset[StopReason]] = frozenset(
    {"no_evidence", "low_confidence", "attempts_exhausted", "no_progress", "cannot_proceed"}
)
"""Ends that say something about the evidence. What was unclear or ran out of time stays so."""
_SAID: Final[dict[Status, str]] = {
    "answered": "It gave an answer.",
    "partial": "It gave part of an answer.",
    "abstained": "It found no answer.",
    "refused": "It refused.",
    "failed": "It could not go on.",
}


class Considered(Calls, Trace):
    pass


async def consider(state: Question, runtime: Runtime[Context]) -> Considered:
    calls, likely = await _decided(state, runtime)
    first, both = calls[0], len(calls) > 1
    why = "It needs documents and a table: each was asked for its part."
    if not both:
        why = f"{first['why']}."
    told = step("consider", why, likely, calls=len(calls), route=(first["workflow"], why))
    risky = runtime.context.settings.answer.max_risk is not None and first["workflow"] == SUMMARY
    return {
        "calls": calls,
        "answers": [],
        "both": both,
        "steps": [told],
        "warnings": [summed_up_without_risk()] if risky else [],
    }


def summed_up_without_risk() -> dict[str, Any]:
    """A summary is no answer that is right or wrong: a bound on risk does not apply to it."""
    error = UsageError("max_risk is about answers to questions")
    return trouble("summarise", error, "the summary comes without a bound on its risk")


async def _decided(
    state: Question, runtime: Runtime[Context]
) -> tuple[list[CallData], dict[str, float]]:
    """Whom to call; and where it was a close call, how likely tables and documents answer."""
    context, question, scope = runtime.context, state["question"], state["scope"]
    summed: Scope | None = None
    likely: dict[str, float] = {}
    want = await asyncio.to_thread(wanted, question)
    if parsed(question).choices:
        workflow, why = CHOOSING, "The question has choices"
    elif context.titles is not None and want.kind in TALK:
        workflow, why = CATALOGUE, "It is about the library itself"
    elif context.titles is not None and (
        summed := await asyncio.to_thread(summary_scope, question, scope, context.titles)
    ):
        workflow, why = SUMMARY, "It asks for a summary"
    elif context.desk is not None and (parts := await _parts(context, question, want, scope)):
        return parts, {}
    elif context.tables_given:
        workflow, why = ANALYST, "Tables came with the question"
    else:
        signs = await signs_of(context, question)
        if not signs.named and await asyncio.to_thread(is_survey, context, question, scope):
            return [_call(SURVEY, question, scope, "It is asked of every document of a set")], {}
        over_tables = signs.certain
        if signs.likely and not signs.certain:  # a close call: whoever is more likely right
            documents, document = await _looked(runtime, question, scope)
            likely = {"likely_documents": documents, "likely_tables": signs.likely}
            # What a passage of a table tells, the table tells better. A document's id is the
            # start of its SHA-256.
            tables = () if context.desk is None else context.desk.tables()
            over_tables = signs.likely >= documents or any(
                document is not None and table.sha256.startswith(document) for table in tables
            )
        workflow, why = ANALYST, signs.why
        if not over_tables:
            workflow, why = from_documents(want, question, context.settings.auto)
    return [_call(workflow, question, summed or scope, why)], likely


def is_survey(context: Context, question: str, scope: Scope) -> bool:
    """Whether it is put to every document of a set, of which the library holds several."""
    plan = None if context.titles is None else planned(question)
    if plan is None or plan.likely < SURE or context.titles is None:
        return False
    return len(members(context, plan.which, context.titles(scope))[0]) > 1


async def _parts(context: Context, question: str, want: Want, scope: Scope) -> list[CallData]:
    """Of a question that needs a document and a table, a call for each kind in its order."""
    calls: list[CallData] = []
    if want.split is None or want.split.combining != "each":
        return calls
    parts = want.split.parts
    over = [(await signs_of(context, part)).named for part in parts]
    if len(set(over)) == 1:
        return calls
    for tables in dict.fromkeys(over):
        asked = [part for part, of in zip(parts, over, strict=True) if of == tables]
        asked = [asked[0], *(f"{part[:1].lower()}{part[1:]}" for part in asked[1:])]
        joined = f"{', and '.join(part.rstrip('?') for part in asked)}?"
        workflow, why = ANALYST, "this part is about a table"
        if not tables:
            several = context.settings.auto.routes.several_facts
            workflow = several if len(asked) > 1 else context.settings.auto.routes.one_fact
            why = "this part is about documents"
        calls.append(_call(workflow, joined, scope, why))
    return [] if PRONOUN.search(question) and await _loses_rows(context, question, calls) else calls


async def _loses_rows(context: Context, question: str, calls: Sequence[CallData]) -> bool:
    """Whether "they" of a part over tables stands for rows that only the other part names."""
    over = " ".join(one["question"] for one in calls if one["workflow"] == ANALYST).casefold()
    with suppress(TableError):  # the workflow that computes tells what is wrong with it
        found = resolver(context, await asked_tables(context, question))
        values = await asyncio.to_thread(found.values, question)
        return any(question[one.start : one.end].casefold() not in over for one in values)
    return False


def from_documents(want: Want, question: str, settings: AutoSettings) -> tuple[str, str]:
    """Which workflow answers from documents, and why."""
    if want.kind == "account":
        return settings.routes.account, "It asks for an account of several things"
    if want.kind in {"parts", "several"}:
        return settings.routes.several_facts, "It needs several facts"
    if unresolved(question) is not None:  # `corrective` asks back where a word has several meanings
        return settings.routes.several_facts, "A word of it may have several meanings"
    return settings.routes.one_fact, "Searched your documents"


def _call(workflow: str, question: str, scope: Scope, why: str) -> CallData:
    kind: EvidenceKind = "tables" if workflow == ANALYST else "documents"
    return CallData(workflow=workflow, question=question, scope=scope, kind=kind, why=why)


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
    first = {
        "question": asked["question"],
        "scope": asked["scope"],
        "queries": [asked["question"]],
        "found": [],
        "steps": [],
        "warnings": [],
    }
    ended = await context.workflows[name].ainvoke(first, context=context)
    answer = Answer.model_validate(ended["answer"])
    inner = [{**told, "workflow": name} for told in ended["steps"]]
    numbers = {"status": answer.status, "sure": answer.confidence.value}
    return {
        "answers": [*state["answers"], ended["answer"]],
        "found": ended["found"],
        "steps": [*inner, step(name, _SAID[answer.status], numbers)],
        "warnings": ended["warnings"],
    }


def within(context: Context, workflow: str) -> Context:
    """The services of the run as another workflow is given them."""
    return replace(context, workflow=workflow, models=replace(context.models, workflow=workflow))


# Looks at what came back. Where one kind of evidence holds no answer and the other may, that
# one is tried, once.


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
    context, calls = runtime.context, state["calls"]
    first, pending = calls[0], next_call(state)
    said, why, way = "There is nothing else to try.", "nothing is left to try", "finish"
    worth = len(calls) < MOST_CALLS and first["workflow"] != SUMMARY and not context.tables_given
    if pending is not None:
        said, why, way = "On to the other part.", "a part is left", pending["workflow"]
    elif (
        worth
        and not parsed(state["question"]).choices
        and not context.ledger.must_end("look_again")
    ):
        other, reason = await _other(context, state)
        if other is not None:
            again = _call(other, first["question"], first["scope"], "the first try found no answer")
            calls, why, way = [*calls, again], reason, other
            said = f"{why[:1].upper()}{why[1:]}, so Secondlook tried {other}."
    told = step("look_again", said, route=(way, why))
    return {"calls": calls, "steps": [told], "warnings": []}


async def _other(context: Context, state: ToLookAgain) -> tuple[str | None, str]:
    """The workflow to try after one that found no answer, and why; None where nothing is left."""
    question, first = state["question"], state["calls"][0]
    if first["kind"] == "tables":
        documents = context.shelf.size()[1]
        want = await asyncio.to_thread(wanted, question)
        name = from_documents(want, question, context.settings.auto)[0] if documents else None
        return name, "no table answers"
    seen = [one["id"] for one in state["answers"][-1]["passages"] if one["origin"] == "library"]
    if first["workflow"] == SURVEY:
        want = await asyncio.to_thread(wanted, question)
        return from_documents(want, question, context.settings.auto)[0], "no set answers"
    if first["workflow"] != PLAIN and seen:
        with suppress(Exception):  # the answer that is there matters more than another try
            held = await texts(context, seen[:1])
            languages = context.shelf.reader_languages
            for one in held.values():
                # Who grades passages was not trained for another language; one pass takes them
                # as they are.
                if (other := foreign(question, one.text, languages)) is not None:
                    return PLAIN, f"no grader here knows {other.language}"
    signs = await signs_of(context, question, thorough=True)
    return (ANALYST if signs.named else None), "no document answers"


# What speaks for the tables, and how likely the documents answer.

_SHORTEST = 3  # Letters of a word that can name a column by itself
SURE_DOUBT = 0.05  # A reading that leaves out less of the question needs no second opinion
BY_CODE = 0.5
"""How likely code of a model is right about a question that our own grammar does not read: the
half that nobody knows."""


@dataclass(frozen=True, slots=True)
class Signs:
    likely: float = 0.0  # How likely the tables give the right answer; 0 where they give none
    certain: bool = False  # Nobody else need be asked
    named: bool = False
    """It names what the tables hold, whether or not anybody can compute what it asks."""
    why: str = ""


async def signs_of(context: Context, question: str, *, thorough: bool = False) -> Signs:
    """`thorough` also reads a question whose words stand in no table's head, but maybe in cells."""
    if context.desk is None or not context.desk.tables():
        return Signs()
    tables = tables_of(context)
    if asks_for_concept(question) and entry_for(term_of(question)) is not None:
        return Signs(1.0, certain=True, why="It asks what a term of statistics means")
    named, measured = named_column(question, tables), asks_for_data(question)
    said = {word for word in _words(question) if len(word) >= _SHORTEST}
    heads = [[one.name, one.title, *(column.name for column in one.columns)] for one in tables]
    shares = any(said & _words(" ".join(head)) for head in heads)
    if not (thorough or named or measured or shares):
        return Signs()
    reading, values = None, False
    with suppress(TableError):  # the workflow that computes tells what is wrong with it
        asked = await asked_tables(context, question)
        reading, values = await asyncio.to_thread(_understood, context, question, asked)
    if reading is not None and reading.taken and not thorough:
        reading = None  # the documents may know more of the word that has no condition
    both = f"It asks for a measure and names {named}"
    if reading is None:
        if named is None or not (measured or values):
            return Signs()
        by_code = context.models.serves("code") and context.sandbox is not None
        return Signs(BY_CODE if by_code else 0.0, named=True, why=both)
    why = f"It names {named}" if named else f"The tables tell it ({reading.said})"
    # That the reading is right, as fitted on questions over tables whose answers are known.
    scores = [one.score for one in reading.resolved]
    return Signs(
        shipped().probability(signals(reading_data(reading), scores)),
        certain=measured and named is not None and reading.doubt <= SURE_DOUBT,
        named=True,
        why=both if measured and named else why,
    )


def named_column(question: str, tables: Sequence[Table]) -> str | None:
    """`'price' of sales.csv` where the question names a column, word for word."""
    said = _words(question)
    for table in tables:
        for column in table.columns:
            name = _words(column.name)
            if name and name <= said and any(len(word) >= _SHORTEST for word in name):
                return f"{column.name!r} of {table.title}"
    return None


def _understood(
    context: Context, question: str, tables: Sequence[AskedTable]
) -> tuple[Reading | None, bool]:
    """Our own reading of the question, and whether it names what stands in a cell."""
    found = resolver(context, tables)
    values = bool(found.values(question))
    if not values and not found.mentions(question):
        return None, False
    if context.settings.models.servers.query == "model":
        return None, values
    return understand(question, tables).best, values


def _words(text: str) -> frozenset[str]:
    """Without what stands in brackets, which is a unit in the name of a column."""
    plain = re.sub(r"[(\[].*?[)\]]", " ", text)
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", plain)
    return frozenset(word.casefold().rstrip("s") for word in re.findall(r"\w+", apart))


async def _looked(
    runtime: Runtime[Context], question: str, scope: Scope
) -> tuple[float, str | None]:
    """How likely the documents answer, by one search and the reader's own answer, and the document
    of the best passage. Where nothing can be searched, the workflow that searches tells why."""
    asked: Query = {"question": question, "scope": scope, "queries": [question]}
    try:
        found = (await retrieve(asked, runtime))["found"]
        read = (await rerank({**asked, "found": found}, runtime))["found"]
        draft = await extract(runtime.context, question, read)
    except (SecondlookError, OSError, RuntimeError):
        return 0.0, None
    return draft["confidence"] or 0.0, read[0]["document"] if read else None


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
    target = summary_of(question)
    if target is None and not certain:
        return None
    from secondlook.nodes.outline import meant

    held = {document.id: (document.title, document.paths) for document in titles(scope)}
    if target == "":
        return {**scope, "documents": list(held)}
    named, _ = meant(target or question, held)
    if not named and not certain and question.lstrip().casefold().startswith("what"):
        # "what is the Domesday Book about" asks for a fact, if no document is called so
        return None
    return {**scope, "documents": named or scope["documents"]}
