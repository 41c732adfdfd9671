"""The parts of the worker that need no model: what is asked of llama.cpp, and how it is read."""

from __future__ import annotations

from typing import Any

import pytest

from secondlook.errors import ContextOverflow, ModelError, UnusableReply
from secondlook.models.gguf import (
    UnusableModel,
    from_worker,
)
from secondlook.models.gguf_worker import (
    Refused,
    StreamedReply,
    closed_objects,
    harmless,
    mark_pattern,
)

MARKS = mark_pattern(["<|im_end|>", "<|im_start|>", "<s>"])


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


def test_a_finished_reply_that_is_no_json_does_not_pass_for_a_schema() -> None:
    reply = StreamedReply(lambda _: None)
    reply.take(chunk("Sure! Here", "stop"))
    with pytest.raises(Refused) as caught:
        reply.result(is_json=True)
    assert caught.value.reason == "schema"


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
