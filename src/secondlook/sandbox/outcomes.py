"""Runs a job on any backend: hands over its request, watches it, and reads what became of it."""

from __future__ import annotations

import base64
import json
import os
import secrets
import select
import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox.port import LENGTH, MOST_FIGURES, Failure, Figure, Frame, Outcome, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.sandbox.port import Limits, Plain, Status, Supplied

MOST_TABLES = 200
_MOST_CODE = 10_000_000


class Job(Protocol):
    @property
    def reply(self) -> int: ...
    @property
    def output(self) -> int: ...
    def memory(self) -> int:
        """Bytes that it uses now beyond what it began with; 0 where nobody can tell."""

    def kill(self) -> None: ...
    def ended(self) -> tuple[int, int] | None:
        """Exit code (negative: the signal) and most memory; None where nobody can tell."""

    def close(self) -> None: ...


def run_job(
    start: Callable[[int, Sequence[int]], Job],
    code: str,
    tables: Sequence[Supplied],
    limits: Limits,
) -> Outcome:
    """`start` is given descriptors of the request and of the tables, which stay ours."""
    names = tuple(table.name for table in tables)
    if len(names) > MOST_TABLES:
        raise UsageError(
            f"{len(names)} tables are more than the {MOST_TABLES} that a job can hold."
        )
    if len(set(names)) < len(names):
        raise UsageError(f"Two tables have the same name: {sorted(names)!r}.")
    if len(code) > _MOST_CODE:
        raise UsageError(f"Code of {len(code)} characters is longer than {_MOST_CODE}.")
    request = Request(code, names, limits, token=secrets.token_hex(16))
    with ExitStack() as ours:
        files: list[int] = []
        for table in tables:
            try:
                files.append(os.open(table.file, os.O_RDONLY | os.O_CLOEXEC))
            except OSError as error:
                said = f"({error.strerror}: {str(table.file)!r})"
                raise SandboxError(f"The table {table.name!r} cannot be opened {said}.") from error
            ours.callback(os.close, files[-1])
        content = os.memfd_create("request", os.MFD_CLOEXEC)
        ours.callback(os.close, content)
        view = memoryview(request.encoded())
        while view:
            view = view[os.write(content, view) :]
        os.lseek(content, 0, os.SEEK_SET)
        job = start(content, files)
        ours.callback(job.close)
        seen = watch(job, limits)
        job.kill()
        return outcome_of(seen, token=request.token, limits=limits, ended=job.ended)


# Watches a job from outside: takes what it says within bounds, ends it when it goes beyond.

_LOOK_EVERY = 0.02  # seconds between two looks at the memory
_AT_ONCE = 1 << 18
_FRAMING = 4096  # bytes of a reply besides its content
_OUTPUT_READ_FOR_EACH_KEPT = 256  # more is thrown away; so much more ends the job
_LEAST_KEPT = 4096


@dataclass(slots=True)
class Witnessed:
    reply: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    output_cut: bool = False
    stopped: Status | None = None  # why it had to be ended
    memory: int = 0
    seconds: float = 0.0


def watch(job: Job, limits: Limits) -> Witnessed:
    """Returns when there is no more to come, or at a limit; ending the job is the caller's part."""
    seen = Witnessed()
    kept = limits.stdout_bytes
    started, looked, printed = time.monotonic(), 0.0, 0
    listening = {job.reply, job.output}
    poll = select.poll()
    for descriptor in listening:
        poll.register(descriptor, select.POLLIN)
    while listening and seen.stopped is None:
        left = limits.seconds - seen.seconds
        for descriptor, _ in poll.poll(1000 * min(left, _LOOK_EVERY)):
            part = os.read(descriptor, _AT_ONCE)
            if not part:
                poll.unregister(descriptor)
                listening.discard(descriptor)
            elif descriptor == job.reply:
                seen.reply += part
            else:
                room = kept - len(seen.output)
                seen.output += part[:room]
                seen.output_cut = seen.output_cut or len(part) > room
                printed += len(part)
        seen.seconds = time.monotonic() - started
        if listening and seen.seconds - looked >= _LOOK_EVERY:
            looked = seen.seconds
            seen.memory = max(seen.memory, job.memory())
        if (
            len(seen.reply) > limits.reply_bytes + _FRAMING
            or printed > max(kept, _LEAST_KEPT) * _OUTPUT_READ_FOR_EACH_KEPT
        ):
            seen.stopped = "output"
        elif listening and seen.memory > limits.resident:
            seen.stopped = "memory"
        elif listening and seen.seconds >= limits.seconds:
            seen.stopped = "timeout"
    return seen


def outcome_of(
    seen: Witnessed, *, token: str, limits: Limits, ended: Callable[[], tuple[int, int] | None]
) -> Outcome:
    """`ended` gives exit code (negative: the signal) and most memory; asked only where needed."""
    if seen.stopped is None and seen.reply:
        try:
            outcome = read_reply(bytes(seen.reply), token=token, limits=limits)
        except TooMuch as problem:
            outcome = Outcome("output", failure=Failure("OutputLimit", str(problem)))
        except Unreadable as problem:
            outcome = Outcome("crashed", failure=Failure("UnreadableReply", str(problem)))
    else:
        code, memory = ended() or (None, 0)
        crashed = "The sandbox was closed or ended while it ran."
        if code is not None and code >= 0:
            crashed = f"It ended without a reply (exit code {code})."
        elif code is not None:
            crashed = f"It was ended by signal {-code} ({signal.strsignal(-code)})."
        kind, said = {
            "timeout": ("Timeout", f"It was stopped after {limits.seconds:g} seconds."),
            "memory": ("MemoryLimit", f"It used more than {limits.resident} bytes of memory."),
            "output": ("OutputLimit", "It wrote more than is read."),
        }.get(seen.stopped or "", ("Crashed", crashed))
        outcome = Outcome(seen.stopped or "crashed", failure=Failure(kind, said), memory=memory)
    return replace(
        outcome,
        stdout=seen.output.decode("utf-8", "replace"),
        stdout_cut=seen.output_cut,
        seconds=seen.seconds,
        memory=max(outcome.memory, seen.memory),
    )


# Reads what a job replied. Its bytes may be anything; what comes out is plain data, or a refusal.

_MOST_DEPTH = 40
_MOST_CONTAINERS = 1_500_000
_MOST_VALUES = 6_000_000  # so many fit into memory at any time
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
        fields = _of(dict, _parsed(document))
        if fields.get("token") != token:
            raise Unreadable("The reply does not bear the job's token.")
        frame, frames = fields.get("frame"), _of(dict, fields.get("frames") or {})
        status, kinds = _text(fields.get("status")), _of(list, fields.get("figures"))
        _STATUSES.index(status)  # ValueError where it is none
        return Outcome(
            status=cast("Status", status),
            result=_plain(fields.get("result")),
            has_result=fields.get("has_result") is True,
            frame=None if frame is None else _frame(frame, limits),
            figures=tuple(_figure(*one) for one in zip(_of(list, kinds), attachments, strict=True)),
            failure=None if status == "ok" else _failure(fields.get("failure")),
            memory=_count(fields.get("memory")),
            frames={_text(name): _frame(each, limits) for name, each in frames.items()},
        )
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
    fields = _of(dict, value)
    columns = tuple(_text(name) for name in _of(list, fields["columns"]))
    kept = _of(list, fields["rows"])[: limits.frame_rows]
    rows = tuple(tuple(_plain(cell) for cell in _of(list, row)) for row in kept)
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("a row of another width")
    return Frame(columns, rows, max(_count(fields["total_rows"]), len(rows)))


def _figure(kind: Any, data: bytes) -> Figure:
    if kind == "png" and data.startswith(_PNG):
        return Figure("png", base64.b64encode(data).decode("ascii"))
    if kind != "plotly":
        raise ValueError("an unknown kind of figure")
    figure = _plain(_of(dict, _parsed(data, no_constants=True)))
    # Written anew, so that it is JSON for certain; escaped, so that no page mistakes it for markup.
    written = json.dumps(figure, separators=(",", ":"))
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return Figure("plotly", written)


def _failure(value: Any) -> Failure:
    fields = _of(dict, value)
    line, code = fields.get("line"), fields.get("code")
    return Failure(
        kind=_text(fields["kind"]),
        message=_text(fields["message"]),
        line=line if type(line) is int and 0 < line < _WIDEST_INTEGER else None,
        code=None if code is None else _text(code),
    )


def _of(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"not a {kind.__name__}")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _WIDEST_INTEGER:
        raise TypeError("not a count")
    return value


def _text(value: Any) -> str:
    """Text that can be written: JSON may hold halves of characters, which UTF-8 cannot."""
    text = str(_of(str, value))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
