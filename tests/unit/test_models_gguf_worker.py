"""The parts of the worker that need no model: what is asked of llama.cpp, and how it is read."""

from __future__ import annotations

import io
import queue
import threading
from typing import Any

import pytest

from secondlook.errors import ContextOverflow, ModelError, UnusableReply
from secondlook.models import gguf_worker as worker
from secondlook.models.gguf import (
    UnusableModel,
    from_worker,
    receive,
    send,
)
from secondlook.models.gguf_worker import (
    Model,
    Refused,
    StreamedReply,
    closed_objects,
    harmless,
    mark_pattern,
)

MARKS = mark_pattern(["<|im_end|>", "<|im_start|>", "<s>"])


@pytest.mark.parametrize(
    "message", [{}, {"text": "é\n\0\ud800"}, {"n": [1, None, {"a": "b" * 99}]}]
)
def test_messages_survive_the_wire(message: dict[str, Any]) -> None:
    stream = io.BytesIO()
    send(stream, message)
    stream.seek(0)
    assert receive(stream) == message
    with pytest.raises(EOFError):
        receive(stream)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", "plain"),
        ("a<|im_end|>b", "a< |im_end|>b"),
        ("<|im_<|im_end|>end|>", "<|im_< |im_end|>end|>"),
        ("<s><|im_start|>", "< s>< |im_start|>"),
        ("half \ud800 pair", "half ? pair"),
    ],
)
def test_control_marks_in_a_text_become_text(content: str, expected: str) -> None:
    assert harmless(content, MARKS) == expected
    assert MARKS is not None
    assert not MARKS.search(expected)


def test_objects_are_closed_at_every_depth_unless_they_ask_to_be_open() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    open_one = {"type": "object", "properties": {}, "additionalProperties": True}
    schema = {"type": "object", "properties": {"a": {"anyOf": [inner, open_one]}}}
    closed = closed_objects(schema)
    assert closed["additionalProperties"] is False
    first, second = closed["properties"]["a"]["anyOf"]
    assert first["additionalProperties"] is False
    assert second["additionalProperties"] is True
    assert "additionalProperties" not in schema


def chunk(text: str | None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}


def test_a_streamed_reply_is_passed_on_and_collected() -> None:
    pieces: list[dict[str, Any]] = []
    reply = StreamedReply(pieces.append)
    for piece in (chunk(None), chunk("a"), chunk("b"), chunk(None, "length"), USAGE):
        assert reply.take(piece) is False
    assert [piece["text"] for piece in pieces] == ["a", "b"]
    assert reply.result(is_json=True) == {
        "text": "ab", "finish": "length", "tokens_in": 9, "tokens_out": 2, "tokens_cached": 4,
    }  # fmt: skip


def test_a_finished_reply_that_is_no_json_does_not_pass_for_a_schema() -> None:
    reply = StreamedReply(lambda _: None)
    reply.take(chunk("Sure! Here", "stop"))
    with pytest.raises(Refused) as caught:
        reply.result(is_json=True)
    assert caught.value.reason == "schema"


def test_too_long_a_prompt_is_told_apart_from_other_refusals() -> None:
    for kind, reason in (("exceed_context_size_error", "overflow"), ("other", "request")):
        reply = StreamedReply(print)
        assert reply.take({"error": {"type": kind, "message": "no"}})
        with pytest.raises(Refused) as caught:
            reply.result(is_json=False)
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("overflow", ContextOverflow),
        ("schema", UnusableReply),
        ("engine", UnusableModel),
        ("load", UnusableModel),
        ("request", ModelError),
    ],
)
def test_refusals_become_our_errors(reason: str, kind: type[ModelError]) -> None:
    error = from_worker("gguf:m", {"reason": reason, "why": "because"})
    assert type(error) is kind
    assert "because" in error.message
    assert not error.retryable


class Parrot(Model):
    """Says what it is asked, or refuses."""

    def __init__(self) -> None:
        pass

    def count(self, messages: list[dict[str, str]]) -> int:
        return len(messages)

    def complete(self, request: dict[str, Any], emit: Any) -> dict[str, Any]:
        if request["text"] == "no":
            raise Refused("request", "I will not")
        emit({"kind": "text", "text": request["text"]})
        return {"text": request["text"]}


def test_the_worker_answers_until_its_input_ends() -> None:
    requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    for request in (
        {"kind": "count", "messages": [{}, {}]},
        {"kind": "complete", "text": "no"},
        {"kind": "complete", "text": "yes"},
        None,
    ):
        requests.put(request)
    outbox = io.BytesIO()
    worker.serve(Parrot(), requests.get, outbox, threading.Event())
    outbox.seek(0)
    assert [receive(outbox) for _ in range(4)] == [
        {"kind": "done", "tokens": 2},
        {"kind": "failed", "reason": "request", "why": "I will not"},
        {"kind": "text", "text": "yes"},
        {"kind": "done", "text": "yes"},
    ]
    assert outbox.read() == b""
