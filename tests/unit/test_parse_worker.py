"""The worker's side of the conversation, in this process."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from secondlook.retrieval.parse import worker
from secondlook.retrieval.parse.source import ParseLimits
from secondlook.retrieval.parse.worker import receive, send, serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def conversation(jobs: list[str], limits: ParseLimits) -> list[object]:
    waiting = iter([*jobs, None])
    outbox = io.BytesIO()
    serve(lambda: next(waiting), outbox, limits)
    outbox.seek(0)
    messages: list[object] = []
    while outbox.tell() < len(outbox.getvalue()):
        messages.append(receive(outbox))
    return messages


def test_each_job_gives_a_sign_of_life_and_an_outcome(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")
    # Here the worker is the process of the tests, which may have grown for reasons of its own.
    roomy = ParseLimits(memory_bytes=1 << 40)
    first_beat, first, second_beat, second = conversation([str(path), "nowhere"], roomy)
    assert first_beat is None
    assert second_beat is None
    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    (parsed,), is_spent = first
    assert parsed.extracted.text == "words"
    assert is_spent is False
    assert "no longer there" in str(second[0][0].error)


def test_whatever_a_parser_raises_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_arguments: object, **_options: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(worker, "extract", leave)
    (outcome,) = [item for item in conversation(["x"], ParseLimits()) if item is not None]
    assert isinstance(outcome, tuple)
    assert "SystemExit" in str(outcome[0][0].error)


def test_signs_of_life_are_not_sent_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def beats(*_arguments: object, beat: Callable[[], None]) -> list[object]:
        for _ in range(100):
            beat()
        return []

    monkeypatch.setattr(worker, "extract", beats)
    assert [item is None for item in conversation(["x"], ParseLimits())] == [True, False]


def test_the_end_of_a_pipe_is_noticed() -> None:
    stream = io.BytesIO()
    send(stream, ["message"])
    stream.seek(0)
    assert receive(stream) == ["message"]
    with pytest.raises(EOFError):
        receive(stream)
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:-1]))
