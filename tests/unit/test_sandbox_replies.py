"""The reader of replies, against bytes that a job might send in their place."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest

from secondlook.sandbox import outcomes as replies_module
from secondlook.sandbox.outcomes import TooMuch, Unreadable, Witnessed, outcome_of, read_reply
from secondlook.sandbox.port import LENGTH, Frame, Limits, encode_reply

TOKEN = "token-of-this-job"  # noqa: S105 - of no job at all
LIMITS = Limits(frame_rows=3)
PNG = b"\x89PNG\r\n\x1a\n rest"


def document(**fields: Any) -> dict[str, Any]:
    return {"token": TOKEN, "status": "ok", "memory": 1, "figures": [], **fields}


def read(whole: dict[str, Any], *attachments: bytes) -> Any:
    return read_reply(encode_reply(whole, attachments), token=TOKEN, limits=LIMITS)


def raw(text: str) -> bytes:
    return LENGTH.pack(len(text)) + text.encode()


def test_values_come_back_as_they_were() -> None:
    value = {"a": [1, 0.1 + 0.2, None, True, "é"], "nan": math.nan, "most": -math.inf}
    outcome = read(document(result=value, has_result=True))
    assert outcome.result["a"] == [1, 0.30000000000000004, None, True, "é"]
    assert math.isnan(outcome.result["nan"])
    assert outcome.result["most"] == -math.inf
    assert outcome.has_result


def test_frames_are_cut_to_the_limit() -> None:
    sent = {"columns": ["a"], "rows": [[1], [2], [3], [4]], "total_rows": 4}
    outcome = read(document(frame=sent, frames={"other": sent}))
    expected = Frame(("a",), ((1,), (2,), (3,)), 4)
    assert outcome.frame == expected
    assert outcome.frames == {"other": expected}


def test_failures_of_the_code() -> None:
    failure = {"kind": "KeyError", "message": "'x'", "line": 3, "code": "df['x']"}
    outcome = read(document(status="error", failure=failure))
    assert outcome.failure is not None
    assert (outcome.failure.line, outcome.failure.code) == (3, "df['x']")
    nowhere = read(document(status="error", failure={**failure, "line": -1, "code": None}))
    assert nowhere.failure.line is None


def test_figures_are_json_for_certain_and_no_markup() -> None:
    figure = b'{"data": [NaN], "layout": {"title": "</script><script>"}}'
    outcome = read(document(figures=["plotly", "png"]), figure, PNG)
    assert json.loads(outcome.figures[0].data) == {
        "data": [None],
        "layout": {"title": "</script><script>"},
    }
    assert "<" not in outcome.figures[0].data
    assert base64.b64decode(outcome.figures[1].data) == PNG


def test_halves_of_characters_and_endless_integers_become_writable() -> None:
    outcome = read(document(result=["\ud800", {"\udfff": 10**30}]))
    assert outcome.result == ["?", {"?": str(10**30)}]
    json.dumps(outcome.result, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\xff" * 40,
        LENGTH.pack(0),
        LENGTH.pack(5) + b"ab",
        raw("[]"),
        raw("null"),
        raw("{"),
        raw("[" * 100_000),
        raw('{"a":' * 100_000),
        raw("9" * 5000),
        LENGTH.pack(3) + b"\xff\xfe\xfd",
        raw(json.dumps({"status": "ok"})),
        raw(json.dumps(document(token=TOKEN[1:]))),
        raw(json.dumps(document())) * 2,
        LENGTH.pack(1) * 50,
    ],
    ids=range(16),
)
def test_bytes_that_are_no_reply(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_reply(data, token=TOKEN, limits=LIMITS)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "fine"},
        {"status": ["ok"]},
        {"memory": -1},
        {"memory": True},
        {"memory": 2**70},
        {"frame": []},
        {"frame": {"columns": ["a"], "rows": [[1, 2]], "total_rows": 1}},
        {"frame": {"columns": [1], "rows": [], "total_rows": 0}},
        {"frame": {"columns": [], "rows": {}, "total_rows": 0}},
        {"frame": {"columns": []}},
        {"frames": [1]},
        {"figures": None},
        {"figures": ["plotly"]},
        {"status": "error"},
        {"status": "error", "failure": {"kind": 1, "message": ""}},
        {"result": json.loads("[" * 100 + "]" * 100)},
    ],
    ids=str,
)
def test_replies_of_another_shape(fields: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        read(document(**fields))


@pytest.mark.parametrize(
    ("kind", "content"), [("png", b"GIF"), ("svg", b"<svg>"), ("plotly", b"[]"), ("plotly", b"{")]
)
def test_figures_that_are_none(kind: str, content: bytes) -> None:
    with pytest.raises(Unreadable):
        read(document(figures=[kind]), content)


def test_more_values_than_memory_should_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies_module, "_MOST_CONTAINERS", 10)
    assert read(document(result=[[]] * 5)).result == [[]] * 5
    with pytest.raises(TooMuch):
        read(document(result=[[]] * 20))
    seen = Witnessed(reply=bytearray(encode_reply(document(result=[[]] * 20), ())))
    outcome = outcome_of(seen, token=TOKEN, limits=LIMITS, ended=lambda: None)
    assert outcome.status == "output"
