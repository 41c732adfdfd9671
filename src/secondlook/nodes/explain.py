"""Puts a result into words: the direct answer first, how it was read, what to mind. Code writes it,
or a model whose every number must be in the result."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, TableError
from secondlook.nodes.cite import sentences_were
from secondlook.nodes.code.write import SAME, STOPPED
from secondlook.nodes.compute import RESULT, named_values
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    asked_tables,
    last_outcome,
    measures,
    result_shown,
    shared,
    shared_by,
    value_shown,
)
from secondlook.nodes.extract import withheld
from secondlook.nodes.judge.result import confidence
from secondlook.nodes.revalidate import guard_of
from secondlook.nodes.state import (
    Analysed,
    Draft,
    DraftData,
    Question,
    Readings,
    Sentence,
    Trace,
    step,
    trouble,
)
from secondlook.nodes.understand import entries_in, term_of
from secondlook.reading.numbers import Number, numbers
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.prompts import load
from secondlook.roles.sentences import review
from secondlook.tables.understand.readings import wanted_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.answer import StopReason
    from secondlook.nodes.state import AttemptData
    from secondlook.sandbox.port import Frame, Outcome, Plain

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
    if context.settings.models.servers.explain == "model" and context.models.serves("explain"):
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
    if not context.settings.analyst.enable_arithmetic:
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


# Explains a concept that no document of the library explains: in a model's words, with an
# example from the person's own columns, or from our glossary. Marked as general knowledge,
# without a confidence.

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
            said = await _explain_concept_said(context, question)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("explain_concept", error, "the glossary was looked up instead")]
        else:
            if said:
                return _explain_concept_drafted(said, context.models.name("explain")), warnings
    named = entries_in(question)[:_MOST_TERMS]
    if named:
        said = [sentence for entry in named for sentence in entry.sentences]
        example = await _example(context, named[0].example, question)
        return _explain_concept_drafted([*said, *example], None), warnings
    note = f"Neither the library nor the glossary explains {term_of(question)!r}."
    return {**withheld("no_evidence"), "note": note}, warnings


async def _explain_concept_said(context: Context, question: str) -> list[str]:
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


def _explain_concept_drafted(said: Sequence[str], model: str | None) -> DraftData:
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


# What a person is told where no result could stand: what was tried, and what would help.

_TRIES = {1: "once", 2: "twice", 3: "three times"}


def given_up(context: Context, state: Analysed) -> tuple[StopReason, str | None]:
    """Why it ended, and what to ask the person."""
    last = state["attempts"][-1] if state["attempts"] else None
    if last is not None and last["status"] == STOPPED:
        return _stopped(context, last), None
    if context.ledger.refusal is not None:
        return context.ledger.refusal.reason, None
    if state["remedies"] and state["remedies"][-1]["action"] == "cannot_proceed":
        return "cannot_proceed", _question_back(state)
    if last is not None and last["error"] == SAME:
        return "no_progress", _question_back(state)
    return "attempts_exhausted", _question_back(state)


def _stopped(context: Context, last: AttemptData) -> StopReason:
    if not context.models.serves("code"):
        return "model_unavailable"
    return last.get("stop", "cannot_proceed")


def tried(state: Analysed) -> str:
    """An honest account."""
    last = state["attempts"][-1] if state["attempts"] else None
    if last is not None and last["status"] == STOPPED:
        return last["error"] or "Nothing could be run."
    parts = []
    codes = [one for one in state["attempts"] if one["code"]]
    if state["reading"]:
        parts.append(f"It was read as: {state['reading']}.")
    elif codes:
        count = len(codes)
        parts.append(f"Code was written {_TRIES.get(count, f'{count} times')}.")
    if state["issues"]:
        told = "; ".join(issue.rstrip(".") for issue in state["issues"])
        parts.append(f"The last result could not stand: {told}.")
    if state["remedies"]:
        causes = list(dict.fromkeys(one["cause"] for one in state["remedies"]))
        parts.append(f"Tried to mend: {'; '.join(causes)}.")
    return " ".join(parts)


def _question_back(state: Analysed) -> str:
    """One that whoever asked can answer. A model's guidance may be one already."""
    guidance = next((one["guidance"] for one in reversed(state["remedies"])), "")
    if guidance.rstrip().endswith("?"):
        return guidance.strip()
    columns = ", ".join(dict.fromkeys(one["column"] for one in state["resolved"]))
    if columns:
        return f"Which figure do you want to know of {columns}, and over which rows?"
    return "Which column holds what you want to know, and which figure of it do you need?"


# Numbers in an explanation that the executed result does not hold.

_DEEPEST = 12
_MOST = 100_000
_SCALES: Final = (1.0, 1e3, 1e6, 1e9)
_SCALED = re.compile(r"\b(?:thousands?|millions?|billions?|bn|mn)\b|\d[kKmM]\b")
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b|percentage\b|pct\b)", re.IGNORECASE)
_DOWNWARD = re.compile(
    r"\b(?:negativ\w*|decreas\w*|declin\w*|f[ea]ll\w*|drop\w*|lower|less|loss\w*|lost|below|minus|"
    r"down|reduc\w*|shrink\w*|shrank|fewer|inverse\w*|behind|under|lag\w*)\b",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"^\s*(?:[-*\u2022]\s*)?\d{1,2}[.)]\s+")
_DIGITS = re.compile(r"\d[\d,'\u2019\u00a0\u202f\u2009]*(?:\.\d+)?|\.\d+")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")
_TIMED = re.compile(r"\b(\d{4}-\d{2}-\d{2})T(?=\d{2}:)")
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class _Held:
    values: tuple[float, ...]
    words: frozenset[str]
    """Numbers of the texts: as they are read, also dates and codes."""


def stray_numbers(
    sentence: str, values: Iterable[Plain | Frame], *, allowed: Iterable[str] = ()
) -> list[str]:
    """Those that stand neither in `values` nor in the `allowed` texts, as the sentence writes them.

    A number stands there if it is equal at the digits shown, also as a percentage of a share, and
    in thousands or millions where the sentence says so.
    """
    text = _LIST_MARK.sub("", sentence)
    said = _numbers_said_said(text)
    if not said:
        return []
    held = _held(values, allowed)
    scales = _SCALES if _SCALED.search(text) else _SCALES[:1]
    downward = _DOWNWARD.search(text) is not None
    return [
        number.written
        for number in said
        if not _stands(number, held, scales, percent=_is_percent(number, text), downward=downward)
    ]


def says_a_number_of(sentence: str, shown: str) -> bool:
    """Whether any of its numbers stands in what was shown, be it rounded."""
    said = _numbers_said_said(_LIST_MARK.sub("", sentence))
    return len(stray_numbers(sentence, (), allowed=[shown])) < len(said)


def _numbers_said_said(text: str) -> list[Number]:
    return [number for number in numbers(text) if number.required]


def values_of(outcome: Outcome) -> list[Plain | Frame]:
    """What an explanation of that outcome may speak of."""
    frames = [outcome.frame] if outcome.frame is not None else []
    return [outcome.result, *frames, *outcome.frames.values()]


def _held(values: Iterable[Plain | Frame], allowed: Iterable[str]) -> _Held:
    found: list[float] = []
    texts = list(allowed)
    for value in values:
        for one in _flat(value, 0):
            if isinstance(one, str):
                texts.append(one)
            elif math.isfinite(one):
                found.append(one)
            if len(found) >= _MOST:
                break
    dated = [_TIMED.sub(r"\1 ", text) for text in texts]
    words = {reading for text in dated for number in numbers(text) for reading in number.readings}
    found += [float(word) for word in words if _PLAIN.fullmatch(word)]
    return _Held(tuple(found), frozenset(words))


def _flat(value: Plain | Frame, depth: int) -> Iterator[str | float]:
    """Every number and text, keys included, and how many there are."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None or depth > _DEEPEST:
        return
    elif isinstance(value, int | float):
        yield _as_float(value)
    elif isinstance(value, list):
        yield float(len(value))
        for one in value:
            yield from _flat(one, depth + 1)
    elif isinstance(value, dict):
        yield float(len(value))
        yield from value
        for one in value.values():
            yield from _flat(one, depth + 1)
    else:
        yield float(value.total_rows)
        yield float(len(value.columns))
        yield from value.columns
        for row in value.rows:
            for cell in row:
                yield from _flat(cell, depth + 1)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_percent(number: Number, text: str) -> bool:
    at = text.find(number.written)
    return at >= 0 and _PERCENT.match(text, at + len(number.written)) is not None


def _stands(
    number: Number, held: _Held, scales: tuple[float, ...], *, percent: bool, downward: bool
) -> bool:
    if number.readings & held.words:
        return True
    readings = [float(one) for one in number.readings if _PLAIN.fullmatch(one)]
    return any(
        _is_held(reading, _unit(number, reading), held, scales, percent=percent, downward=downward)
        for reading in readings
    )


def _is_held(
    said: float,
    unit: float,
    held: _Held,
    scales: tuple[float, ...],
    *,
    percent: bool,
    downward: bool,
) -> bool:
    factors = (1.0, 100.0) if percent else (1.0,)
    for value in held.values:
        for factor in factors:
            for scale in scales:
                meant = value * factor / scale
                if _equal(said, meant, unit) or (downward and _equal(said, -meant, unit)):
                    return True
    return False


def _equal(said: float, meant: float, unit: float) -> bool:
    """At the digits shown."""
    return abs(said - meant) <= unit / 2 * (1 + _SLACK) + abs(meant) * 1e-12


def _unit(number: Number, reading: float) -> float:
    """What its last digit counts: 0.1 of 42.3, a hundred thousand of 1.2 million."""
    digits = _DIGITS.search(number.written)
    if digits is None:  # in words: exact
        return 0.0
    bare = re.sub(r"[^\d.]", "", digits[0])
    written = float(bare or 0)
    scale = abs(reading) / written if written else 1.0
    decimals = len(bare.partition(".")[2])
    return scale * 10.0**-decimals
