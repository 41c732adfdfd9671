"""The one door: counted, paid, retried, corrected, journaled, and typed in failure."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest

from secondlook.errors import ContextOverflow, UnusableReply
from secondlook.models.budget import Ledger
from secondlook.models.chat import ChatRequest, Message, ModeRefused
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from tests.support.asking import ASKED, GOOD, Grade, ask, replies, spent
from tests.support.function_model import FunctionModel, asker_of, models_of

# Replies


def test_text_comes_back_with_what_it_took() -> None:
    model = FunctionModel(lambda request: f"You asked: {request.messages[-1].content}")
    asker = asker_of(model)
    heard: list[str] = []
    reply = ask(asker, on_text=heard.append)
    assert reply.text == "".join(heard) == "You asked: How deep is the quay?"
    assert (reply.value, reply.finish) == (None, "stop")
    assert reply.usage == spent(asker)
    assert reply.usage.model == "ollama:function"
    assert (reply.usage.calls, reply.usage.cost, reply.usage.parse_failures) == (1, 0.0, 0)
    assert reply.usage.tokens_in > 8
    assert reply.usage.tokens_out > 3
    sent = sum(len(message.content) for message in model.requests[0].messages)
    assert (reply.usage.characters_in, reply.usage.characters_out) == (sent, len(reply.text))
    assert model.requests[0].mode == "text"


def test_an_object_is_asked_for_natively_first() -> None:
    model = FunctionModel(lambda request: GOOD)
    reply = ask(asker_of(model), Grade)
    assert reply.value == Grade(relevant=True, reason="it names the depth")
    assert json.loads(reply.text)["relevant"] is True
    (request,) = model.requests
    assert request.mode == "json_schema"
    assert request.schema is not None
    assert set(request.schema["properties"]) == {"relevant", "reason"}
    assert request.messages == ASKED  # the server knows the schema; it costs no tokens


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
        "   \n",
        "I would rather not.",
        '{"relevant": "so-so"}',
        json.dumps(Grade.model_json_schema()),
        '{"relevant": true, "reason": "Why, in a few words."}',
        "word " * 10_000,
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


def test_room_is_what_a_prompt_may_have() -> None:
    async def rooms() -> list[int | None]:
        asker = asker_of(FunctionModel(replies("x"), context=1000))
        words = asker_of(
            FunctionModel(replies("x"), context=1000), options=("grade.mode=prompted",)
        )
        return [
            await asker.room("grade", max_tokens=100),
            await asker.room("grade", max_tokens=100, schema=Grade),
            await words.room("grade", max_tokens=100, schema=Grade),
            await asker.room("grade", max_tokens=5000),
            await asker_of(FunctionModel(replies("x"), context=None)).room("grade", max_tokens=1),
            await asker_of(FunctionModel(replies("x")), context_tokens=300).room(
                "grade", max_tokens=100
            ),
        ]

    plain, native, in_words, none, unknown, told = asyncio.run(rooms())
    assert (plain, native, none, unknown, told) == (884, 884, 0, None, 184)
    assert in_words is not None
    assert 600 < in_words < 800
