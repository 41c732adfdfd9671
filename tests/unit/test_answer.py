"""Answers and events are the same after a trip through JSON, whatever is in them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from secondlook.answer import (
    EXIT_CODES,
    Answer,
    CallUsage,
    Check,
    Citation,
    Claim,
    Confidence,
    Route,
    SeenPassage,
    Status,
    Step,
    Trouble,
    Usage,
)
from secondlook.events import EVENT, Answered, Event, NodeFinished, PassagesFound, Token

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "answer.schema.json"

WORDS = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False)
SHARES = st.floats(0, 1)
COUNTS = st.integers(0, 2**53)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | WORDS


def builds(kind: type[Any], **given_: Any) -> st.SearchStrategy[Any]:
    """Every field at random, by its annotation, unless given here."""
    return st.builds(kind, **given_)


USAGES = builds(
    Usage,
    calls=COUNTS,
    cost=st.none() | NUMBERS,
    seconds=NUMBERS,
    by_node=st.lists(
        builds(CallUsage, node=WORDS, role=WORDS, model=WORDS, cost=st.none() | NUMBERS), max_size=2
    ).map(tuple),
)
PASSAGES = builds(
    SeenPassage,
    id=WORDS,
    document=WORDS,
    title=WORDS,
    page=st.none() | st.integers(),
    start=st.integers(),
    end=st.integers(),
    score=NUMBERS,
    rerank_score=st.none() | NUMBERS,
    kept=st.booleans(),
    why=WORDS,
    origin=st.sampled_from(["library", "web"]),
    text=st.none() | WORDS,
)
ANSWERS = builds(
    Answer,
    run=WORDS,
    question=WORDS,
    asked=WORDS,
    workflow=WORDS,
    method=st.sampled_from(["extractive", "generative", "outline", "summary", "none"]),
    model=st.none() | WORDS,
    text=WORDS,
    short=st.none() | WORDS,
    status=st.sampled_from(get_args(Status)),
    stop_reason=st.sampled_from(["answered", "no_evidence", "budget", "error"]),
    claims=st.lists(
        builds(
            Claim,
            text=WORDS,
            citations=st.lists(st.integers(1, 9), max_size=3).map(tuple),
            support=st.none() | NUMBERS,
            supported=st.none() | st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
    citations=st.lists(
        builds(
            Citation,
            number=st.integers(1, 99),
            passage=WORDS,
            document=WORDS,
            sha256=WORDS,
            title=WORDS,
            page=st.none() | st.integers(),
            start=COUNTS,
            end=COUNTS,
            quote=WORDS,
            path=st.none() | WORDS,
        ),
        max_size=2,
    ).map(tuple),
    confidence=builds(Confidence, value=st.none() | SHARES, reasons=st.lists(WORDS).map(tuple)),
    grounded=builds(Check, score=st.none() | NUMBERS),
    queries=st.lists(WORDS, max_size=2).map(tuple),
    passages=st.lists(PASSAGES, max_size=2).map(tuple),
    warnings=st.lists(
        builds(Trouble, node=WORDS, error=WORDS, message=WORDS, consequence=WORDS), max_size=2
    ).map(tuple),
    steps=st.lists(
        builds(
            Step,
            node=WORDS,
            said=WORDS,
            numbers=st.dictionaries(WORDS, SCALARS, max_size=3),
            route=st.none() | builds(Route, to=WORDS, why=WORDS),
            seconds=NUMBERS,
        ),
        max_size=2,
    ).map(tuple),
    usage=USAGES,
    created=WORDS,
    version=WORDS,
)


@settings(max_examples=60, deadline=None)
@given(ANSWERS)
def test_an_answer_is_the_same_after_json(answer: Answer) -> None:
    text = answer.model_dump_json()
    again = Answer.model_validate_json(text)
    assert again == answer
    assert again.model_dump_json() == text
    assert _types(again.model_dump()) == _types(answer.model_dump())
    assert Answer.model_validate(json.loads(text)) == answer


@settings(max_examples=30, deadline=None)
@given(ANSWERS, st.lists(PASSAGES, max_size=2).map(tuple), st.dictionaries(WORDS, SCALARS))
def test_an_event_is_the_same_after_json(
    answer: Answer, passages: tuple[SeenPassage, ...], numbers: dict[str, Any]
) -> None:
    events: list[Event] = [
        Answered(run="r", at=1.5, answer=answer),
        PassagesFound(run="r", query="q", passages=passages),
        NodeFinished(run="r", node="n", said="s", numbers=numbers, seconds=0.1),
    ]
    for event in events:
        again = EVENT.validate_json(event.model_dump_json())
        assert (again, type(again)) == (event, type(event))


def _types(value: object) -> object:
    """1, 1.0 and True are equal, but not the same."""
    if isinstance(value, dict):
        return {key: _types(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_types(inner) for inner in value]
    return type(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_numbers_without_end_survive(value: float) -> None:
    step = Step(node="n", said="s", seconds=value)
    assert Step.model_validate_json(step.model_dump_json()).seconds == value


def test_nothing_can_be_changed_or_added() -> None:
    token = Token(run="r", text="x")
    with pytest.raises(ValidationError):
        token.text = "y"
    with pytest.raises(ValidationError):
        Claim(text="x", citations=(), proof="none")  # type: ignore[call-arg]


@pytest.mark.parametrize(("status", "code"), EXIT_CODES.items())
def test_every_status_has_an_exit_code(status: Status, code: int) -> None:
    answer = Answer(
        run="r",
        question="q",
        asked="q",
        workflow="linear",
        method="none",
        text="t",
        status=status,
        stop_reason="error",
        created="2026-01-01",
        version="0",
    )
    assert answer.exit_code == code
    assert set(EXIT_CODES) == set(get_args(Status))


def test_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads(SCHEMA.read_text("utf-8"))
    assert published == Answer.model_json_schema(), "run scripts/answer-schema"


def test_every_field_is_described_in_the_documentation() -> None:
    page = (ROOT / "docs" / "answers.md").read_text("utf-8")
    described = {
        field
        for row in re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
        for field in re.findall(r"`(\w+)`", row)
    }
    whole = Answer.model_json_schema()
    for name, part in {**whole["$defs"], "Answer": whole}.items():
        missing = part.get("properties", {}).keys() - described
        assert missing == set(), f"docs/answers.md does not describe {missing} of {name}"
