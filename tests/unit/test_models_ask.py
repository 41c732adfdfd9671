"""The one door: counted, paid, retried, corrected, journaled, and typed in failure."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from secondlook.errors import (
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    UnusableReply,
)
from secondlook.models import replies as bounded_module
from secondlook.models.budget import Ledger
from secondlook.models.chat import ChatRequest, Message, ModelBusy, ModeRefused
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.models.replies import Form, Misread, objects
from tests.support.function_model import FunctionModel, asker_of, models_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.answer import CallUsage
    from secondlook.models.calls import Asker


class Grade(BaseModel):
    """How well a passage answers."""

    relevant: bool
    reason: str = Field(description="Why, in a few words.")


GOOD = '{"relevant": true, "reason": "it names the depth"}'
ASKED = (Message("system", "You grade."), Message("user", "How deep is the quay?"))


def ask(asker: Asker, schema: Any = None, **options: Any) -> Any:
    return asyncio.run(asker.ask("grade", ASKED, schema, **{"node": "grade", **options}))


def replies(*said: Any) -> Callable[[ChatRequest], Any]:
    """Says one after the other; the last one for ever. Exceptions are raised."""
    left = list(said)

    def function(request: ChatRequest) -> Any:
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, BaseException):
            raise now
        return now

    return function


def spent(asker: Asker) -> CallUsage:
    (usage,) = asker.ledger.usage().by_node
    return usage


# Replies


def test_modes_that_a_server_refuses_are_not_tried_again() -> None:
    def function(request: ChatRequest) -> str:
        if request.mode != "prompted":
            raise ModeRefused(f"no {request.mode}")
        assert '"relevant"' in request.messages[0].content  # the schema, in words
        assert request.messages[0].content.startswith("You grade.")
        return f"Sure!\n```json\n{GOOD}\n```"

    model = FunctionModel(function)
    models = models_of(model)
    for run in ("a", "b"):
        asker = models.asker(
            run=run, workflow="linear", ledger=Ledger(Caps()), journal=MemoryJournal()
        )
        assert ask(asker, Grade).value.relevant
        assert spent(asker).calls == 1  # what was refused at the door is not owed
    assert [request.mode for request in model.requests] == [
        "json_schema",
        "tool",
        "prompted",
        "prompted",
    ]


def test_a_wrong_reply_is_corrected_once() -> None:
    def function(request: ChatRequest) -> str:
        said = request.messages[-1].content
        if "could not be used" not in said:
            return '{"relevant": "perhaps", "reason": 3}'
        assert "relevant: " in said
        assert '"properties"' in said
        assert request.messages[-2] == Message("assistant", '{"relevant": "perhaps", "reason": 3}')
        return GOOD

    model = FunctionModel(function)
    asker = asker_of(model)
    reply = ask(asker, Grade)
    assert reply.value.relevant
    assert reply.usage == spent(asker)
    assert (reply.usage.calls, reply.usage.parse_failures) == (2, 1)
    sent = [message.content for request in model.requests for message in request.messages]
    assert reply.usage.characters_in == sum(map(len, sent))
    assert [request.mode for request in model.requests] == ["json_schema", "json_schema"]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I would rather not.",
        json.dumps(Grade.model_json_schema()),
        '{"relevant": true, "reason": "Why, in a few words."}',
        "{" * 50_000,
        "\x00\ud800" * 100,
    ],
)
def test_what_stays_wrong_is_unusable(said: str) -> None:
    asker = asker_of(FunctionModel(lambda request: said, obedient=False))
    with pytest.raises(UnusableReply) as caught:
        ask(asker, Grade)
    assert "grade a reply that cannot be used" in caught.value.message
    assert (spent(asker).calls, spent(asker).parse_failures) == (2, 2)


def test_thoughts_are_no_part_of_a_reply() -> None:
    heard: list[str] = []
    asker = asker_of(FunctionModel(lambda request: "<think>Let me see. So</think>\n\nSeven."))
    assert ask(asker, on_text=heard.append).text == "Seven."
    assert "".join(heard) == "Seven."
    model = FunctionModel(lambda request: f"<think>{GOOD[:20]}</think> {GOOD}")
    assert ask(asker_of(model), Grade).value.relevant


# Bounds


def test_a_stream_without_end_is_cut() -> None:
    closed = []

    def endless() -> Any:
        try:
            yield from itertools.repeat("and so on ")
        finally:
            closed.append(True)

    asker = asker_of(FunctionModel(lambda request: endless(), obedient=False))
    heard: list[str] = []
    reply = ask(asker, max_tokens=16, on_text=heard.append)
    assert reply.finish == "length"
    assert len(reply.text) == len("".join(heard)) < 3000
    assert spent(asker).tokens_out > 100
    assert closed  # the backend was stopped, not left running


def test_a_prompt_that_does_not_fit_is_refused_before_anything_is_sent() -> None:
    model = FunctionModel(lambda request: "never", context=200)
    asker = asker_of(model)
    with pytest.raises(ContextOverflow) as caught:
        ask(asker, max_tokens=190)
    tokens = asyncio.run(model.count(ASKED))
    assert f"a prompt of {tokens} tokens and a reply of 190 do not fit" in caught.value.message
    assert "the 200 tokens" in caught.value.message
    assert model.requests == []
    assert asker.ledger.usage().calls == 0
    ask(asker, max_tokens=200 - tokens)


# Failures


def test_a_model_that_was_away_is_asked_again() -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    model = FunctionModel(
        replies(ModelUnavailable("away"), ModelBusy("busy", wait=3.5), "back again")
    )
    asker = asker_of(model)
    asker.models.pause = pause
    assert ask(asker).text == "back again"
    assert pauses == [0.5, 3.5]
    assert (spent(asker).calls, spent(asker).retries) == (3, 2)


@pytest.mark.parametrize("error", [RuntimeError("boom"), MemoryError(), asyncio.CancelledError()])
def test_whatever_a_backend_raises_becomes_a_model_error(error: BaseException) -> None:
    asker = asker_of(FunctionModel(replies(error)))
    with pytest.raises(ModelError):
        ask(asker)
    assert spent(asker).calls == 1


async def forever(request: ChatRequest) -> str:
    await asyncio.Event().wait()
    return "never"


def test_a_model_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_module, "_PATIENCE", 0.01)
    asker = asker_of(FunctionModel(forever), timeout=0.02, retries=1)
    with pytest.raises(ModelTimeout, match=re.escape("did not answer within 0.02 s")):
        ask(asker)
    assert (spent(asker).calls, spent(asker).retries) == (2, 1)
    assert spent(asker).tokens_in > 0  # it may have been read, and billed


def test_nobody_hears_a_reply_twice() -> None:
    def function(request: ChatRequest) -> Any:
        if len(model.requests) == 1:
            return broken()
        return "The quay is seven metres deep."

    def broken() -> Any:
        yield "The quay is "
        raise ModelUnavailable("the line broke")

    model = FunctionModel(function)
    heard: list[str] = []
    reply = ask(asker_of(model), on_text=heard.append)
    assert reply.text == "The quay is seven metres deep."
    assert heard == ["The quay is "]
    assert reply.usage.tokens_in > 30  # both tries were read


# Roles, options, journal


@pytest.mark.parametrize("schema", [None, Grade])
def test_a_call_of_the_same_run_is_paid_once(schema: Any) -> None:
    model = FunctionModel(lambda request: GOOD)
    journal = MemoryJournal()
    first = ask(asker_of(model, journal=journal), schema)
    resumed = asker_of(model, journal=journal)
    assert ask(resumed, schema) == first
    assert len(model.requests) == 1
    assert resumed.ledger.usage().calls == 0
    ask(resumed, schema, node="another")
    ask(resumed, schema, max_tokens=100)
    assert len(model.requests) == 3


# Objects in what models say: found, repaired, or left alone, and always in time


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
    plain, value = FORM.read(text)
    assert (value.answer, value.score) == ("x", 1.0)
    assert Verdict.model_validate_json(plain) == value


@pytest.mark.parametrize(
    "text", ["{" * 50_000, "[" * 50_000, '{"a":' * 20_000, "{'" * 25_000, '{"a": "' + "\\" * 50_000]
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
