"""Whatever bytes a job replies with, the program gets plain data or a refusal, and goes on."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secondlook.sandbox.outcomes import Unreadable, Witnessed, outcome_of, read_reply, watch
from secondlook.sandbox.port import LENGTH, Limits, Outcome, encode_reply

TOKEN = "0123456789abcdef"  # noqa: S105 - of a made-up job
LIMITS = Limits(seconds=5.0, stdout_bytes=1_000, reply_bytes=10_000, frame_rows=10)
HONEST: dict[str, Any] = {
    "status": "ok",
    "token": TOKEN,
    "has_result": True,
    "result": {"mean": 1.5, "names": ["a", None, True]},
    "frame": {"columns": ["a", "b"], "rows": [[1, "x"], [2.5, None]], "total_rows": 2},
    "frames": {"by": {"columns": ["a"], "rows": [[1]], "total_rows": 1}},
    "figures": ["plotly"],
    "memory": 10,
}
FIGURE = b'{"data": [{"y": [1, 2]}], "layout": {}}'
FIELDS = st.sampled_from([*HONEST, "failure", "line", "columns", "rows", "total_rows", "kind"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)
QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(one) for key, one in value.items())
    if isinstance(value, list):
        return all(is_plain(one) for one in value)
    return value is None or type(value) in (bool, int, float, str)


def survives(data: bytes) -> Outcome | None:
    """The outcome, which is plain through and through, or None where it was refused."""
    try:
        outcome = read_reply(data, token=TOKEN, limits=LIMITS)
    except Unreadable:
        return None
    assert is_plain(outcome.result)
    for frame in (outcome.frame, *outcome.frames.values()):
        if frame is not None:
            assert all(len(row) == len(frame.columns) for row in frame.rows)
            assert all(is_plain(cell) for row in frame.rows for cell in row)
    for figure in outcome.figures:
        assert figure.kind == "png" or isinstance(json.loads(figure.data), dict)
    json.dumps(outcome.result).encode("utf-8")
    return outcome


def test_an_honest_reply_is_read() -> None:
    outcome = survives(encode_reply(HONEST, [FIGURE]))
    assert outcome is not None
    assert outcome.result == HONEST["result"]
    assert len(outcome.figures) == 1


@QUICK
@given(st.binary(max_size=2_000))
def test_any_bytes(data: bytes) -> None:
    assert survives(data) is None


@QUICK
@given(st.binary(max_size=500), st.integers(0, 2**64 - 1))
def test_any_bytes_after_any_length(data: bytes, length: int) -> None:
    assert survives(LENGTH.pack(length) + data) is None


@QUICK
@given(st.dictionaries(FIELDS, VALUES, max_size=8), st.lists(st.binary(max_size=50), max_size=3))
def test_any_document_under_our_token(fields: dict[str, Any], figures: list[bytes]) -> None:
    survives(encode_reply({**HONEST, **fields, "token": TOKEN}, figures))


@QUICK
@given(st.data())
def test_an_honest_reply_with_bytes_changed(data: st.DataObject) -> None:
    reply = bytearray(encode_reply(HONEST, [FIGURE]))
    for _ in range(data.draw(st.integers(1, 8))):
        reply[data.draw(st.integers(0, len(reply) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(reply[: data.draw(st.integers(0, len(reply)))]))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '{"result": ' + "9" * 100_000 + "}",
        '{"result": 1e999999}',
        '{"token": "\\ud800"}',
        "nul",
        "[1, 2]",
        '"text"',
        "\ufeff{}",
        "",
    ],
    ids=range(11),
)
def test_documents_that_break_parsers(text: str) -> None:
    data = text.encode("utf-8")
    assert survives(LENGTH.pack(len(data)) + data) is None


@pytest.mark.parametrize("deep", [50, 1_000, 50_000])
def test_a_deep_value_under_our_token_is_refused(deep: int) -> None:
    honest = json.dumps({**HONEST, "figures": []})
    text = honest.replace(json.dumps(HONEST["result"]), "[" * deep + "]" * deep)
    assert survives(LENGTH.pack(len(text)) + text.encode()) is None


@QUICK
@given(st.binary(max_size=500), st.binary(max_size=500), st.none() | st.integers(-64, 300))
def test_an_outcome_is_always_made(reply: bytes, output: bytes, code: int | None) -> None:
    seen = Witnessed(reply=bytearray(reply), output=bytearray(output))
    ended = None if code is None else (code, 0)
    outcome = outcome_of(seen, token=TOKEN, limits=LIMITS, ended=lambda: ended)
    assert outcome.status == "crashed"
    assert outcome.failure is not None
    outcome.stdout.encode("utf-8")


class Pipes:
    """A job that writes these bytes and ends."""

    def __init__(self, reply: bytes, output: bytes) -> None:
        self.reply, reply_end = os.pipe()
        self.output, output_end = os.pipe()
        self._writers = [
            threading.Thread(target=_write, args=(end, data))
            for end, data in ((reply_end, reply), (output_end, output))
        ]
        for writer in self._writers:
            writer.start()

    def memory(self) -> int:
        return 0

    def close(self) -> None:
        os.close(self.reply)
        os.close(self.output)
        for writer in self._writers:
            writer.join()


def _write(end: int, data: bytes) -> None:
    try:
        with os.fdopen(end, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass  # the reader has had enough


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40_000), st.integers(0, 400_000))
def test_no_more_is_kept_than_allowed(reply: int, output: int) -> None:
    limits = replace(LIMITS, seconds=30.0)
    job = Pipes(b"r" * reply, b"o" * output)
    try:
        seen = watch(job, limits)
    finally:
        job.close()
    assert len(seen.output) <= limits.stdout_bytes
    assert len(seen.reply) <= limits.reply_bytes + (1 << 19)  # what one read may bring
    if seen.stopped is None:
        assert len(seen.reply) == reply
        assert seen.output_cut == (output > limits.stdout_bytes)
    assert seen.stopped in (None, "output")
    assert seen.stopped == "output" or reply <= limits.reply_bytes + 4_096
