"""Whatever a job says, the program gets plain data or a refusal within bounds, and goes on."""

from __future__ import annotations

import base64
import json
import math
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secondlook.sandbox import outcomes
from secondlook.sandbox.outcomes import (
    TooMuch,
    Unreadable,
    Witnessed,
    outcome_of,
    read_reply,
)
from secondlook.sandbox.port import LENGTH, Frame, Limits, Outcome, encode_reply

TOKEN = "0123456789abcdef"  # noqa: S105 - of no job at all
LIMITS = Limits(seconds=5.0, stdout_bytes=1_000, reply_bytes=10_000, frame_rows=3)
PNG = b"\x89PNG\r\n\x1a\n rest"
FIGURE = b'{"data": [NaN], "layout": {"title": "</script><script>"}}'
SENT = {"columns": ["a"], "rows": [[1], [2], [3], [4]], "total_rows": 4}
EXAMPLES = 2_000 if os.environ.get("SECONDLOOK_SOAK") else 40
QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def document(**fields: Any) -> dict[str, Any]:
    return {"token": TOKEN, "status": "ok", "memory": 1, "figures": [], **fields}


def read(whole: dict[str, Any], *attachments: bytes) -> Outcome:
    return read_reply(encode_reply(whole, attachments), token=TOKEN, limits=LIMITS)


def raw(text: str) -> bytes:
    return LENGTH.pack(len(text.encode())) + text.encode()


def test_an_honest_reply_comes_back_as_it_was() -> None:
    value = {"a": [1, 0.1 + 0.2, None, True, "é"], "nan": math.nan, "most": -math.inf}
    sent = document(
        result=value, has_result=True, frame=SENT, frames={"o": SENT}, figures=["plotly", "png"]
    )
    outcome = read(sent, FIGURE, PNG)
    assert isinstance(outcome.result, dict)
    assert outcome.result["a"] == [1, 0.30000000000000004, None, True, "é"]
    assert math.isnan(outcome.result["nan"])  # type: ignore[arg-type]
    expected = Frame(("a",), ((1,), (2,), (3,)), 4)  # cut to the limit
    assert (outcome.frame, outcome.frames) == (expected, {"o": expected})
    drawn = json.loads(outcome.figures[0].data)
    assert drawn == {"data": [None], "layout": {"title": "</script><script>"}}
    assert "<" not in outcome.figures[0].data  # no markup in a page
    assert base64.b64decode(outcome.figures[1].data) == PNG


def test_halves_of_characters_and_endless_integers_become_writable() -> None:
    outcome = read(document(result=["\ud800", {"\udfff": 10**30}]))
    assert outcome.result == ["?", {"?": str(10**30)}]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        LENGTH.pack(5) + b"ab",
        raw("[]"),
        raw("[" * 100_000 + "]" * 100_000),
        LENGTH.pack(3) + b"\xff\xfe\xfd",
        raw(json.dumps({"status": "ok"})),
        raw(json.dumps(document(token=TOKEN[1:]))),
        raw(json.dumps(document())) * 2,
    ],
    ids=range(8),
)
def test_bytes_that_are_no_reply(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_reply(data, token=TOKEN, limits=LIMITS)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": ["ok"]},
        {"memory": 2**70},
        {"frame": {"columns": ["a"], "rows": [[1, 2]], "total_rows": 1}},
        {"frames": [1]},
        {"figures": ["plotly"]},
        {"status": "error", "failure": {"kind": 1, "message": ""}},
        {"result": json.loads("[" * 100 + "]" * 100)},
    ],
    ids=str,
)
def test_replies_of_another_shape(fields: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        read(document(**fields))


def test_more_values_than_memory_should_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "_MOST_CONTAINERS", 10)
    with pytest.raises(TooMuch):
        read(document(result=[[]] * 20))
    seen = Witnessed(reply=bytearray(encode_reply(document(result=[[]] * 20), ())))
    assert outcome_of(seen, token=TOKEN, limits=LIMITS, ended=lambda: None).status == "output"


# Any bytes

FIELDS = st.sampled_from([*document(), "result", "frame", "frames", "failure", "columns", "rows"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


def is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(one) for key, one in value.items())
    if isinstance(value, list):
        return all(is_plain(one) for one in value)
    return value is None or type(value) in (bool, int, float, str)


def survives(data: bytes) -> None:
    """The outcome is plain through and through, or it is refused."""
    try:
        outcome = read_reply(data, token=TOKEN, limits=LIMITS)
    except Unreadable:
        return
    assert is_plain(outcome.result)
    json.dumps(outcome.result).encode("utf-8")
    for frame in (outcome.frame, *outcome.frames.values()):
        for row in frame.rows if frame is not None else ():
            assert len(row) == len(frame.columns)  # type: ignore[union-attr]
            assert all(map(is_plain, row))


@QUICK
@given(
    st.binary(max_size=500), st.integers(0, 2**64 - 1), st.dictionaries(FIELDS, VALUES), st.data()
)
def test_any_reply_is_survived(
    junk: bytes, length: int, fields: dict[str, Any], data: st.DataObject
) -> None:
    survives(junk)
    survives(LENGTH.pack(length) + junk)
    survives(encode_reply({**document(), **fields, "token": TOKEN}, [junk]))
    changed = bytearray(encode_reply(document(result=1, frame=SENT, figures=["plotly"]), [FIGURE]))
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(changed))
