"""What a model file says of itself, and what the worker asks of llama.cpp: no model is needed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.models.gguf import UnusableModel, control_marks
from secondlook.models.gguf_worker import (
    Refused,
    StreamedReply,
    closed_objects,
)
from tests.support.gguf_files import gguf_bytes

if TYPE_CHECKING:
    from pathlib import Path


LLAMA = {"general.architecture": "llama", "llama.context_length": 2048, "llama.block_count": 2}


def written(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_control_marks_are_those_that_the_tokenizer_would_obey(tmp_path: Path) -> None:
    entries = {
        **LLAMA,
        "tokenizer.ggml.tokens": ["<unk>", "<|im_end|>", "hello", "<td>", "<|user|>", "\n"],
        "tokenizer.ggml.token_type": [2, 3, 1, 4, 4, 3],
    }
    assert control_marks(written(tmp_path, gguf_bytes(entries))) == ("<|im_end|>", "<|user|>")


def damaged_files() -> dict[str, bytes]:
    whole = gguf_bytes({**LLAMA, "tokenizer.ggml.token_type": [1, 2, 3]})
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    return {
        "a zip": b"PK\x03\x04" + bytes(100),
        "other byte order": b"GGUF" + struct.pack(">IQQ", 3, 0, 1),
        "cut in a list": whole[:-5],
        "endless entries": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
        "endless text": head + struct.pack("<Q1sIQ", 1, b"k", 8, 1 << 60),
        "unknown kind": head + struct.pack("<Q1sI", 1, b"k", 99),
    }


@pytest.mark.parametrize("kind", damaged_files())
def test_what_is_no_gguf_file_is_said_with_its_name(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, damaged_files()[kind])
    with pytest.raises(UnusableModel, match="is no usable GGUF file") as caught:
        control_marks(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert not caught.value.retryable


def test_random_damage_never_escapes_as_another_error(tmp_path: Path) -> None:
    import random

    entries: dict[str, Any] = {**LLAMA, "tokenizer.ggml.tokens": ["<s>", "b"], "x": [1, 2]}
    whole, dice = gguf_bytes(entries), random.Random(7)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            control_marks(written(tmp_path, bytes(data)))
        except UnusableModel:
            continue


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
