"""Answers and events are the same after a trip through JSON, whatever is in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from secondlook.answer import EXIT_CODES, Answer, Claim, Status
from secondlook.events import EVENT, Answered, Event, NodeFinished, PassagesFound, Token
from tests.support.memory_runs import full_answer
from tests.support.researched import guess, refused, researched

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "answer.schema.json"
WORDS = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | WORDS


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([full_answer("r"), researched(), guess(), refused()]), WORDS, NUMBERS)
def test_an_answer_is_the_same_after_json(sample: Answer, text: str, number: float) -> None:
    changed = {
        "text": text,
        "usage": sample.usage.model_copy(update={"cost": number, "seconds": number}),
        "passages": tuple(
            one.model_copy(update={"title": text, "score": number}) for one in sample.passages
        ),
    }
    answer = sample.model_copy(update=changed)
    written = answer.model_dump_json()
    again = Answer.model_validate_json(written)
    assert again == answer
    assert again.model_dump_json() == written
    assert _types(again.model_dump()) == _types(answer.model_dump())
    assert Answer.model_validate(json.loads(written)) == answer


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(WORDS, SCALARS))
def test_an_event_is_the_same_after_json(numbers: dict[str, Any]) -> None:
    answer = full_answer("r")
    events: list[Event] = [
        Answered(run="r", at=1.5, answer=answer),
        PassagesFound(run="r", query="q", passages=answer.passages),
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


def test_nothing_can_be_changed_or_added() -> None:
    token = Token(run="r", text="x")
    with pytest.raises(ValidationError):
        token.text = "y"
    with pytest.raises(ValidationError):
        Claim(text="x", citations=(), proof="none")  # type: ignore[call-arg]


@pytest.mark.parametrize(("status", "code"), EXIT_CODES.items())
def test_every_status_has_an_exit_code(status: Status, code: int) -> None:
    assert full_answer("r").model_copy(update={"status": status}).exit_code == code
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
