"""Puts a result into words: the direct answer first, how it was read, what to mind. Code writes it,
or a model whose every number must be in the result."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.analysing.answering import RESULT, named_values
from secondlook.nodes.analysing.confidence import confidence
from secondlook.nodes.analysing.outcomes import last_outcome
from secondlook.nodes.analysing.result_shown import result_shown, value_shown
from secondlook.nodes.analysing.showing import shared_by
from secondlook.nodes.analysing.stopping import given_up, tried
from secondlook.nodes.claims import sentences_were
from secondlook.nodes.coding.numbers_said import says_a_number_of, stray_numbers, values_of
from secondlook.nodes.extract import withheld
from secondlook.nodes.revalidating import guard_of
from secondlook.nodes.sentences import review
from secondlook.prompts import load
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.state import (
    Analysed,
    Draft,
    DraftData,
    Readings,
    Sentence,
    Trace,
    step,
    trouble,
)
from secondlook.tables.asking import wanted_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox import Outcome, Plain

_LISTED = 8
_SHARED = 2
"""Words of the question that a sentence without a value must have."""
_MOST_SAID = 24
"""Of one value: rows or groups that a sentence lists."""


class Explained(Draft, Readings, Trace):
    pass


async def explain_result(state: Analysed, runtime: Runtime[Context]) -> Explained:
    context = runtime.context
    outcome = last_outcome(context, state["attempts"])
    if outcome is None or outcome.status != "ok" or state["issues"]:
        return _withheld(context, state)
    drafted, warnings = await _drafted(context, state, outcome)
    for sentence in drafted["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    told = step("explain", "Put the result into words.", sentences=len(drafted["sentences"]))
    return {
        "draft": drafted,
        "assumed": None,
        "asks_back": None,
        "steps": [told],
        "warnings": warnings,
    }


def _withheld(context: Context, state: Analysed) -> Explained:
    """Nothing that a check spoke against is shown as an answer: what was tried is, and what would
    help."""
    stop, question = given_up(context, state)
    draft = {**withheld(stop, reasons=state["issues"]), "note": tried(state)}
    told = step("explain", "Withheld: no result could stand.", issues=len(state["issues"]))
    return {
        "draft": draft,  # type: ignore[typeddict-item]
        "assumed": None,
        "asks_back": question,
        "steps": [told],
        "warnings": [],
    }


async def _drafted(
    context: Context, state: Analysed, outcome: Outcome
) -> tuple[DraftData, list[dict[str, Any]]]:
    values = named_values(outcome, wanted_of(state["question"]))
    columns = [one["column"] for one in state["resolved"]]
    plain = told_by_code(state["reading"], columns, outcome, values)
    told, note, warnings, model = plain, None, [], None
    if context.settings.analyst.explain == "model" and context.models.serves("explain"):
        try:
            said = await _said(context, state, outcome)
            model = context.models.name("explain")
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("explain", error, "the result was put into words by code")]
        else:
            kept = _checked(context, state, outcome, said)
            note = _cut(len(said) - len(kept)) if len(kept) < len(said) else None
            told = kept or plain
    sure, reasons = confidence(context, state)
    draft = DraftData(
        method="computed",
        model=model,
        sentences=[_sentence(text) for text in told],
        short=short_form(values),
        stop="answered",
        confidence=sure,
        reasons=reasons,
        note=note,
    )
    return draft, warnings


def _cut(count: int) -> str:
    return f"({count} more {sentences_were(count)} cut: the result does not say so.)"


def told_by_code(
    reading: str, columns: Sequence[str], outcome: Outcome, values: dict[str, Plain]
) -> list[str]:
    """What code says of a result, without any model."""
    if not values and outcome.frame is None and outcome.figures:
        return ["The chart shows what was asked for."]
    if not values and outcome.frame is not None:
        rows = outcome.frame.total_rows
        return [f"The result is a table of {rows} {'row' if rows == 1 else 'rows'}."]
    if len(values) == 1:
        name, value = next(iter(values.items()))
        return [_single(reading, columns, name, value)]
    listed = [f"{name}: {value_shown(value)}" for name, value in list(values.items())[:_LISTED]]
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return [f"{'; '.join(listed)}{more}."]


def _single(reading: str, columns: Sequence[str], name: str, value: Plain) -> str:
    if isinstance(value, list | dict) and not value:
        return "There is none."
    subject = reading or (name.replace("_", " ") if name != RESULT else "")
    said = value_shown(value) if _is_short(value) else _summed_up(value)
    if subject:
        return f"{subject[:1].upper()}{subject[1:]}: {said}."
    source = f", computed from {', '.join(dict.fromkeys(columns))}" if columns else ""
    return f"{said}{source}."


def _is_short(value: Plain) -> bool:
    return not isinstance(value, list | dict) or len(value) <= _MOST_SAID


def _summed_up(value: Plain) -> str:
    """Of more values than anybody reads in a sentence: how many, and between which they lie."""
    several = value.values() if isinstance(value, dict) else value
    assert isinstance(several, Collection)  # noqa: S101 - others are short
    numbers = [one for one in several if isinstance(one, int | float)]
    if not numbers or len(numbers) < len(several):
        return f"{len(several)} values, which the table lists"
    return f"{len(several)} values from {value_shown(min(numbers))} to {value_shown(max(numbers))}"


def short_form(values: dict[str, Plain]) -> str | None:
    if not values or len(values) > _LISTED:
        return None
    if not all(map(_is_short, values.values())):
        return None
    if len(values) == 1:
        return value_shown(next(iter(values.values()))) or None
    return "; ".join(f"{name} = {value_shown(value)}" for name, value in values.items())


async def _said(context: Context, state: Analysed, outcome: Outcome) -> list[str]:
    prompt = load("analyst_explain")
    holes = await shared_by(context, state)
    reply = await context.models.ask(
        prompt.role,
        prompt.render(
            **holes,
            result=result_shown(outcome),
            checks="\n".join(f"- {one['said']}" for one in state["checks"]) or "none",
        ),
        node="explain",
        max_tokens=prompt.max_tokens,
        final=True,
    )
    reviewed = review(reply.text, 0, own_words=prompt.own_words, question=state["question"])
    return [sentence.text for sentence in reviewed.sentences]


def _checked(context: Context, state: Analysed, outcome: Outcome, said: Sequence[str]) -> list[str]:
    """The sentences that speak of the result, and say no number of their own."""
    said = _of_the_result(context, state, outcome, said)
    if not context.settings.analyst.enable_number_check:
        return said
    values = values_of(outcome)
    allowed = [state["question"], *(one["column"] for one in state["resolved"])]
    return [one for one in said if not stray_numbers(one, values, allowed=allowed)]


def _of_the_result(
    context: Context, state: Analysed, outcome: Outcome, said: Sequence[str]
) -> list[str]:
    """Without what a cell or a name may have ordered: links, code, orders, and what neither says a
    value of the result nor speaks of what was asked."""
    guard = guard_of(context, state["question"])
    if guard is None:
        return list(said)
    columns = [one["column"] for one in state["resolved"]]
    known = set(query_terms(" ".join([state["question"], *columns])))
    shown = result_shown(outcome)
    return [
        one
        for one in said
        if (says_a_number_of(one, shown) or _speaks_of(known, one))
        and guard.objection(one, []) is None
    ]


def _speaks_of(known: set[str], sentence: str) -> bool:
    return len(known & set(terms(sentence))) >= min(_SHARED, len(known))


def _sentence(text: str) -> Sentence:
    """It stands on the executed result, which every number in it was found in."""
    return Sentence(text=text, cited=[], support=1.0, supported=True)
