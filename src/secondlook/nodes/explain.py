"""Puts a result into words: the direct answer first, how it was read, what to mind. Code writes it,
or a model whose every number must be in the result."""

from __future__ import annotations

import contextlib
import math
import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, TableError
from secondlook.nodes.cite import sentences_were
from secondlook.nodes.code.write import SAME, STOPPED
from secondlook.nodes.compute import RESULT, named_values
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    ask,
    asked_tables,
    last_outcome,
    meant,
    measures,
    result_shown,
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.sandbox.port import Frame, Outcome, Plain

_LISTED = 8
_MOST_SAID = 24  # Of one value: rows or groups that a sentence lists


class Explained(Draft, Readings, Trace):
    pass


async def explain_result(state: Analysed, runtime: Runtime[Context]) -> Explained:
    context = runtime.context
    outcome = last_outcome(context, state["attempts"])
    if outcome is not None and outcome.status == "ok" and not state["issues"]:
        draft, warnings = await _drafted(context, state, outcome)
        told = step("explain", "Put the result into words.", sentences=len(draft["sentences"]))
        return _explained(runtime, draft, told, warnings)
    # Nothing that a check spoke against is shown as an answer: what was tried is, and what would
    # help.
    stop, question = _given_up(context, state)
    note, warnings = _tried(state), []
    if question and _in_its_words(context):
        said, warnings = await _said(context, "stuck", "explain", state, tried=note)
        about = [state["question"], note]
        said = [one for one in said if not stray_numbers(one, (), allowed=about)]
        if asked := [one for one in said if one.endswith("?")][-1:]:  # else it did not understand
            question = asked[0]
            note = "\n".join(one for one in said if one != question) or note
    draft = {**withheld(stop, reasons=state["issues"]), "note": note}
    told = step("explain", "Withheld: no result could stand.", issues=len(state["issues"]))
    return _explained(runtime, draft, told, warnings, asks_back=question)


def _in_its_words(context: Context) -> bool:
    """Whether a model says what came of it."""
    return context.settings.models.servers.explain == "model" and context.models.serves("explain")


def _explained(
    runtime: Runtime[Context],
    draft: DraftData,
    told: dict[str, Any],
    warnings: list[dict[str, Any]],
    *,
    asks_back: str | None = None,
) -> Explained:
    for sentence in draft["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    return {
        "draft": draft,
        "assumed": None,
        "asks_back": asks_back,
        "steps": [told],
        "warnings": warnings,
    }


async def _drafted(
    context: Context, state: Analysed, outcome: Outcome
) -> tuple[DraftData, list[dict[str, Any]]]:
    values = named_values(outcome, wanted_of(state["question"]))
    columns = [one["column"] for one in state["resolved"]]
    told = told_by_code(state["reading"], columns, outcome, values)
    note, model = None, None
    warnings: list[dict[str, Any]] = []
    if _in_its_words(context):
        made = state["reading"] or state["attempts"][-1]["code"]
        holes = {"result": result_shown(outcome), "made": made}
        said, warnings = await _said(context, "explain", "explain", state, **holes)
        model = context.models.name("explain") if said else None
        kept, cut = _checked(context, state, outcome, said)
        shown, text = result_shown(outcome), " ".join(kept).casefold()
        direct = not values or (short_form(values) or shown).casefold() in text
        direct |= any(says_a_number_of(one, shown) for one in kept)
        told = kept if kept and direct else [*told, *kept]
        if cut and state["query"] is None:  # what our own code computed is there as a whole
            note = f"({cut} more {sentences_were(cut)} cut: the result does not say so.)"
    sure, reasons = confidence(state)
    # It stands on the executed result, which every number in it was found in; whether that is what
    # was asked, nothing vouches for where a word of the question went without a condition, or
    # where it names no column and a model chose some.
    vouched = state["resolved"] if state["query"] is None else not state["query"].get("taken")
    whole = True if vouched else None
    sentences = [Sentence(text=text, cited=[], support=1.0, supported=whole) for text in told]
    draft: DraftData = {
        **withheld("answered", confidence=sure, reasons=reasons, model=model),
        "method": "computed",
        "sentences": sentences,
        "short": short_form(values),
        "note": note,
    }
    return draft, warnings


async def _said(
    context: Context, name: str, node: str, state: Mapping[str, Any], **holes: Any
) -> tuple[list[str], list[dict[str, Any]]]:
    """The sentences of a model's explanation, without those that are the prompt's own; none, and
    why, where the model fails."""
    try:
        reply = await ask(context, name, node, state, final=True, **holes)
    except (ModelError, BudgetExceeded) as error:
        return [], [trouble(node, error, "it was put into words without a model")]
    own = load(f"analyst_{name}").own_words
    reviewed = review(reply.text, 0, own_words=own, question=state["question"])
    return [sentence.text for sentence in reviewed.sentences], []


def _checked(
    context: Context, state: Analysed, outcome: Outcome, said: Sequence[str]
) -> tuple[list[str], int]:
    """The sentences that speak of the tables or of the result and give no orders; those with a
    number of their own are cut, and counted."""
    question, columns = state["question"], [one["column"] for one in state["resolved"]]
    tables = meant(context.desk, question) if context.desk else ()
    allowed = [question, *columns, *(str(table.rows) for table in tables)]
    near = list(said)
    if (guard := guard_of(context, question)) is not None:
        shown, needed = result_shown(outcome), state["requirements"] or {"analysis": ""}
        names = (column.name for table in tables for column in table.columns)
        known = set(query_terms(" ".join([*allowed, shown, needed["analysis"], *names])))
        near = [one for one in said if says_a_number_of(one, shown) or known & set(terms(one))]
        near = [one for one in near if guard.objection(one, []) is None]
    if not context.settings.analyst.enable_arithmetic:
        return near, 0
    values = values_of(outcome)
    kept = [one for one in near if not stray_numbers(one, values, allowed=allowed)]
    return kept, len(near) - len(kept)


def told_by_code(
    reading: str, columns: Sequence[str], outcome: Outcome, values: dict[str, Plain]
) -> list[str]:
    """What code says of a result, without any model."""
    if not values and outcome.frame is None and outcome.figures:
        return ["The chart shows what was asked for."]
    if not values and outcome.frame is not None:
        rows = outcome.frame.total_rows
        return [f"The result is a table of {rows} {'row' if rows == 1 else 'rows'}."]
    if len(values) != 1:
        listed = [f"{name}: {value_shown(value)}" for name, value in list(values.items())[:_LISTED]]
        more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
        return [f"{'; '.join(listed)}{more}."]
    name, value = next(iter(values.items()))
    if isinstance(value, list | dict) and not value:
        return ["There is none."]
    said = value_shown(value)
    if isinstance(value, list | dict) and len(value) > _MOST_SAID:
        # More than anybody reads in a sentence: how many, and between which they lie.
        several = list(value.values()) if isinstance(value, dict) else value
        known = [one for one in several if isinstance(one, int | float)]
        said = f"{len(several)} values, which the table lists"
        if len(known) == len(several):
            said = (
                f"{len(known)} values from {value_shown(min(known))} to {value_shown(max(known))}"
            )
    if subject := reading or (name.replace("_", " ") if name != RESULT else ""):
        return [f"{subject[:1].upper()}{subject[1:]}: {said}."]
    source = f", computed from {', '.join(dict.fromkeys(columns))}" if columns else ""
    return [f"{said}{source}."]


def short_form(values: dict[str, Plain]) -> str | None:
    too_long = any(
        isinstance(one, list | dict) and len(one) > _MOST_SAID for one in values.values()
    )
    if not values or len(values) > _LISTED or too_long:
        return None
    if len(values) == 1:
        return value_shown(next(iter(values.values()))) or None
    return "; ".join(f"{name} = {value_shown(value)}" for name, value in values.items())


# Explains a concept that no document of the library explains: in a model's words, with an
# example from the person's own columns, or from our glossary. Marked as general knowledge,
# without a confidence.

GENERAL = "(General knowledge: no document of the library explains this.)"
_MOST_TERMS = 2


async def explain_concept(state: Question, runtime: Runtime[Context]) -> Explained:
    context, question = runtime.context, state["question"]
    warnings: list[dict[str, Any]] = []
    said: list[str] = []
    model = None
    if context.models.serves("explain"):
        said, warnings = await _said(context, "concept", "explain_concept", state)
        model = context.models.name("explain") if said else None
    if not said and (named := entries_in(question)[:_MOST_TERMS]):
        said = [sentence for entry in named for sentence in entry.sentences]
        example, columns = named[0].example, []
        with contextlib.suppress(TableError):
            columns = measures(await asked_tables(context, question))
        if example and (columns or "{column}" not in example):
            said.append(example.replace("{column}", next(iter(columns), "")))
    by = model or ("the glossary" if said else "nobody")
    told = step("explain_concept", f"Explained by {by}.", sentences=len(said))
    if not said:
        note = f"Neither the library nor the glossary explains {term_of(question)!r}."
        return _explained(runtime, {**withheld("no_evidence"), "note": note}, told, warnings)
    draft: DraftData = {
        **withheld("answered", reasons=["general knowledge, without a source"], model=model),
        "method": "generative" if model else "none",
        "sentences": [Sentence(text=text, cited=[], support=None, supported=None) for text in said],
    }
    return _explained(runtime, draft, told, warnings)


# Where no result could stand: what was tried, and what would help.

_TRIES = {1: "once", 2: "twice", 3: "three times"}


def _given_up(context: Context, state: Analysed) -> tuple[StopReason, str | None]:
    """Why it ended, and what to ask the person. A model's guidance may be a question already."""
    last = state["attempts"][-1] if state["attempts"] else None
    if last is not None and last["status"] == STOPPED:
        served = context.models.serves("code")
        return last.get("stop", "cannot_proceed") if served else "model_unavailable", None
    if context.ledger.refusal is not None:
        return context.ledger.refusal.reason, None
    remedy = state["remedies"][-1] if state["remedies"] else None
    back = remedy["guidance"].strip() if remedy else ""
    if not back.endswith("?"):
        columns = ", ".join(dict.fromkeys(one["column"] for one in state["resolved"]))
        of = f" of {columns}" if columns else ""
        back = f"Which figure do you want to know{of}, and over which rows?"
    if remedy and remedy["action"] == "cannot_proceed":
        return "cannot_proceed", back
    same = last is not None and last["error"] == SAME
    return "no_progress" if same else "attempts_exhausted", back


def _tried(state: Analysed) -> str:
    """An honest account."""
    last = state["attempts"][-1] if state["attempts"] else None
    if last is not None and last["status"] == STOPPED:
        return last["error"] or "Nothing could be run."
    parts = []
    if state["reading"]:
        parts.append(f"It was read as: {state['reading']}.")
    elif count := sum(bool(one["code"]) for one in state["attempts"]):
        parts.append(f"Code was written {_TRIES.get(count, f'{count} times')}.")
    if state["issues"]:
        told = "; ".join(issue.rstrip(".") for issue in state["issues"])
        parts.append(f"The last result could not stand: {told}.")
    if state["remedies"]:
        causes = dict.fromkeys(one["cause"] for one in state["remedies"])
        parts.append(f"Tried to mend: {'; '.join(causes)}.")
    return " ".join(parts)


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


def stray_numbers(
    sentence: str, values: Iterable[Plain | Frame], *, allowed: Iterable[str] = ()
) -> list[str]:
    """Those that stand neither in `values` nor in the `allowed` texts, as the sentence writes them.
    A number stands there if it is equal at the digits shown, also as a percentage of a share, and
    in thousands or millions where the sentence says so."""
    text = _LIST_MARK.sub("", sentence)
    said = [number for number in numbers(text) if number.required]
    if not said:
        return []
    inner = list(islice(chain.from_iterable(_flat(value, 0) for value in values), _MOST))
    texts = [*allowed, *(one for one in inner if isinstance(one, str))]
    # As they are read, also dates and codes.
    words: set[str] = set()
    for one in texts:
        words.update(*(number.readings for number in numbers(_TIMED.sub(r"\1 ", one))))
    held = [one for one in inner if not isinstance(one, str) and math.isfinite(one)]
    held += map(float, filter(_PLAIN.fullmatch, words))
    scales = _SCALES if _SCALED.search(text) else _SCALES[:1]
    signs = (1.0, -1.0) if _DOWNWARD.search(text) else (1.0,)

    def stands(number: Number) -> bool:
        if number.readings & words:
            return True
        at = text.find(number.written)
        percent = at >= 0 and _PERCENT.match(text, at + len(number.written)) is not None
        factors = [
            share * sign / scale
            for share in ((1.0, 100.0) if percent else (1.0,))
            for sign in signs
            for scale in scales
        ]
        return any(
            abs(reading - value * factor) <= unit / 2 * (1 + _SLACK) + abs(value * factor) * 1e-12
            for reading in map(float, filter(_PLAIN.fullmatch, number.readings))
            for unit in [_unit(number, reading)]
            for value in held
            for factor in factors
        )

    return [number.written for number in said if not stands(number)]


def says_a_number_of(sentence: str, shown: str) -> bool:
    """Whether any of its numbers stands in what was shown, be it rounded."""
    said = [number for number in numbers(_LIST_MARK.sub("", sentence)) if number.required]
    return len(stray_numbers(sentence, (), allowed=[shown])) < len(said)


def values_of(outcome: Outcome) -> list[Plain | Frame]:
    """What an explanation of that outcome may speak of."""
    frames = [outcome.frame] if outcome.frame is not None else []
    return [outcome.result, *frames, *outcome.frames.values()]


def _flat(value: Plain | Frame, depth: int) -> Iterator[str | float]:
    """Every number and text, keys included, and how many there are."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None or depth > _DEEPEST:
        return
    elif isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            yield float(value)
    else:
        inner: Iterable[Plain] = value if isinstance(value, list) else ()
        yield float(len(value) if isinstance(value, list | dict) else value.total_rows)
        if isinstance(value, dict):
            inner = [*value, *value.values()]
        elif not isinstance(value, list):
            yield float(len(value.columns))
            inner = [*value.columns, *chain.from_iterable(value.rows)]
        for one in inner:
            yield from _flat(one, depth + 1)


def _unit(number: Number, reading: float) -> float:
    """What its last digit counts: 0.1 of 42.3, a hundred thousand of 1.2 million."""
    digits = _DIGITS.search(number.written)
    if digits is None:  # in words: exact
        return 0.0
    bare = re.sub(r"[^\d.]", "", digits[0])
    written = float(bare or 0)
    scale = abs(reading) / written if written else 1.0
    return scale * 10.0 ** -len(bare.partition(".")[2])
