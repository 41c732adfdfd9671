"""Reads what a job replied. Its bytes may be anything; what comes out is plain data, or a refusal.

No value is evaluated or unpickled. A job whose code writes to the reply itself can at worst give a
wrong result, which it could have given as `result` just as well: a reply must be the only one, be
whole, have the shape that we give it, and bear a token that is new for each job.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, cast

from secondlook.sandbox.port import Failure, Figure, Frame, Outcome
from secondlook.sandbox.protocol import LENGTH, MOST_FIGURES

if TYPE_CHECKING:
    from secondlook.sandbox.port import Limits, Plain, Status

_MOST_DEPTH = 40
_MOST_CONTAINERS = 1_500_000
_MOST_VALUES = 6_000_000
"""A list costs the reader thirty times its two brackets: so many fit into memory at any time."""
_WIDEST_INTEGER = 2**63
_PNG = b"\x89PNG\r\n\x1a\n"
_STATUSES = ("ok", "error", "memory", "output", "crashed")


class Unreadable(Exception):
    """The reply is not one of ours."""


class TooMuch(Unreadable):
    """It may be one, but of more values than are read."""


def read_reply(data: bytes, *, token: str, limits: Limits) -> Outcome:
    """The outcome without what only the watcher knows: output, seconds. Raises Unreadable."""
    try:
        document, *attachments = _parts(data)
        fields = _object(_parsed(document))
        if fields.get("token") != token:
            raise Unreadable("The reply does not bear the job's token.")
        return _outcome(fields, attachments, limits)
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError, OverflowError) as error:
        raise Unreadable(f"The reply cannot be read ({type(error).__name__}).") from error


def _parts(data: bytes) -> list[bytes]:
    parts: list[bytes] = []
    position = 0
    while position < len(data):
        if len(parts) > MOST_FIGURES:
            raise ValueError("too many parts")
        start = position + LENGTH.size
        (length,) = LENGTH.unpack(data[position:start].ljust(LENGTH.size, b"\xff"))
        position = start + length
        if position > len(data):
            raise ValueError("cut short")
        parts.append(data[start:position])
    return parts or [b""]


def _parsed(data: bytes, *, no_constants: bool = False) -> Any:
    """JSON, if it is small enough to be worth reading."""
    if data.count(b"[") + data.count(b"{") > _MOST_CONTAINERS or data.count(b",") > _MOST_VALUES:
        raise TooMuch("The reply holds more values than are read.")
    text = data.decode("utf-8")
    return json.loads(text, parse_constant=lambda _: None) if no_constants else json.loads(text)


def _outcome(fields: dict[str, Any], attachments: list[bytes], limits: Limits) -> Outcome:
    status = fields.get("status")
    if status not in _STATUSES:
        raise ValueError("no status")
    frame = fields.get("frame")
    frames = _object(fields.get("frames") or {})
    return Outcome(
        status=cast("Status", status),
        result=_plain(fields.get("result")),
        has_result=fields.get("has_result") is True,
        frame=None if frame is None else _frame(frame, limits),
        figures=_figures(fields.get("figures"), attachments),
        failure=None if status == "ok" else _failure(fields.get("failure")),
        memory=_count(fields.get("memory")),
        frames={_text(name): _frame(each, limits) for name, each in frames.items()},
    )


def _plain(value: Any, depth: int = 0) -> Plain:
    if depth > _MOST_DEPTH:
        raise ValueError("too deep")
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {_text(key): _plain(each, depth + 1) for key, each in value.items()}
    if type(value) is int and not -_WIDEST_INTEGER <= value < _WIDEST_INTEGER:
        return str(value)
    return cast("Plain", value)


def _frame(value: Any, limits: Limits) -> Frame:
    fields = _object(value)
    columns = tuple(_text(name) for name in _list(fields["columns"]))
    kept = _list(fields["rows"])[: limits.frame_rows]
    rows = tuple(tuple(_plain(cell) for cell in _list(row)) for row in kept)
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("a row of another width")
    return Frame(columns, rows, max(_count(fields["total_rows"]), len(rows)))


def _figures(kinds: Any, attachments: list[bytes]) -> tuple[Figure, ...]:
    listed = _list(kinds)
    if len(listed) != len(attachments):
        raise ValueError("other figures than announced")
    return tuple(_figure(kind, data) for kind, data in zip(listed, attachments, strict=True))


def _figure(kind: Any, data: bytes) -> Figure:
    if kind == "png" and data.startswith(_PNG):
        return Figure("png", base64.b64encode(data).decode("ascii"))
    if kind != "plotly":
        raise ValueError("an unknown kind of figure")
    figure = _plain(_object(_parsed(data, no_constants=True)))
    # Written anew, so that it is JSON for certain; escaped, so that no page mistakes it for markup.
    written = json.dumps(figure, separators=(",", ":"))
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Figure("plotly", written)


def _failure(value: Any) -> Failure:
    fields = _object(value)
    line, code = fields.get("line"), fields.get("code")
    return Failure(
        kind=_text(fields["kind"]),
        message=_text(fields["message"]),
        line=line if type(line) is int and 0 < line < _WIDEST_INTEGER else None,
        code=None if code is None else _text(code),
    )


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _WIDEST_INTEGER:
        raise TypeError("not a count")
    return value


def _text(value: Any) -> str:
    """Text that can be written: JSON may hold halves of characters, which UTF-8 cannot."""
    if not isinstance(value, str):
        raise TypeError("not text")
    if value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")
