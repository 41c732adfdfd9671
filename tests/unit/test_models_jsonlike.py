"""Objects in what models say: found, repaired, or left alone, and always in time."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from secondlook.models.replies import Form, Misread, objects


class Verdict(BaseModel):
    answer: str = Field(description="The answer in a few words.")
    score: float
    tags: list[str] = []


FORM = Form(Verdict)


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "x", "score": 1}',
        'Sure! Here it is:\n```json\n{"answer": "x", "score": 1}\n```\nHope that helps.',
        "{'answer': 'x', 'score': 1}",
        '{"answer": "x", "score": 1,}',
        "{answer: 'x', score: +1.0, /* why not */ }",
        '{"answer": "x", // the answer\n "score": 1 # certain\n}',
        '{"note": 1} and then {"answer": "x", "score": 1}',
        "{\u201canswer\u201d: \u201cx\u201d, \u201cscore\u201d: 1}",
        "{ broken { 'answer': 'x', 'score': 1 }",
    ],
)
def test_forms_that_mean_the_same(text: str) -> None:
    read = FORM.read(text)
    assert (read.value.answer, read.value.score) == ("x", 1.0)
    assert Verdict.model_validate_json(read.text) == read.value


@pytest.mark.parametrize(
    "text",
    ["{" * 50_000, "[" * 50_000, '{"a":' * 20_000, "{'" * 25_000, '{"a": "' + "\\" * 50_000],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(Misread):
        FORM.read(text)
    assert time.process_time() - started < 2


@given(st.text(alphabet=st.sampled_from("{}[]'\":,\\ \nab1.-/*#u")))
def test_nothing_said_can_break_the_reader(text: str) -> None:
    for found in objects(text):
        json.dumps(found)
