"""Replies of models: one bounded call, its thoughts left out, and the object that was asked for."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from pydantic import TypeAdapter, ValidationError

from secondlook.errors import ModelError, ModelTimeout, SecondlookError
from secondlook.models.chat import ChatResult, Message, T, approximate_tokens, longest_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.models.chat import Chat, ChatRequest

_MOST_PROBLEMS = 3
_SCHEMA_WORDS = frozenset({"properties", "$defs", "$schema", "$ref", "additionalProperties"})
_TYPE_NAMES = frozenset({"string", "str", "number", "integer", "boolean", "array", "object", "..."})


class Misread(Exception):
    """The reply cannot be used; the message is fit to be told to the model."""


class Form(Generic[T]):
    def __init__(self, kind: type[T]) -> None:
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)
        self.schema: dict[str, Any] = self._adapter.json_schema()
        self.schema.setdefault("title", getattr(kind, "__name__", "Reply"))

    @property
    def text(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))

    def read(self, text: str) -> tuple[str, T]:
        """The first object in the text that has the form, as JSON and as such. Raises `Misread`."""
        problem = "it holds no complete JSON object" if text.strip() else "it is empty"
        for found in objects(text):
            if _repeats_schema(found, self.schema):
                problem = "it repeats the schema instead of filling it in"
                continue
            # Characters that are half a pair cannot be stored or sent on.
            plain = whole_characters(json.dumps(found, ensure_ascii=False))
            try:
                return plain, self._adapter.validate_json(plain)
            except ValidationError as error:
                wrong = error.errors(include_url=False, include_input=False, include_context=False)
                told = [
                    f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}"
                    for one in wrong[:_MOST_PROBLEMS]
                ]
                more = len(wrong) - len(told)
                problem = "; ".join(told) + (f"; and {more} more" if more > 0 else "")
        raise Misread(problem)


def _repeats_schema(found: dict[str, Any], schema: dict[str, Any]) -> bool:
    """It is the schema, a part of it, or its descriptions and type names in place of values."""
    fields = schema.get("properties", {})
    if _SCHEMA_WORDS & (found.keys() - fields.keys()):
        return True
    if any(found.get(name) and found[name] == form for name, form in fields.items()):
        return True
    said = {text for _, text in _texts(found)}
    known = {text for name, text in _texts(schema) if name == "description"} | _TYPE_NAMES
    return bool(said and found.keys() & fields.keys()) and said <= known


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text within that is not blank, with the name that it stands under."""
    if isinstance(value, str) and value.strip():
        yield name, value.strip()
    elif isinstance(value, dict | list):
        within = value.items() if isinstance(value, dict) else [(name, one) for one in value]
        for inner, one in within:
            yield from _texts(one, inner)


# Objects in what a model said: JSON, and what models write when they mean JSON.

_DEEPEST = 40
_MOST_STARTS = 20  # where an object may begin: a page of braces must not take minutes
_LONGEST = 200_000
_TOKEN = re.compile(
    r"""
    (?P<gap>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    |(?P<text>"(?:[^"\\]++|\\.)*+"|\u201c(?:[^\u201d\\]++|\\.)*+\u201d
        # An apostrophe within single quotes ends nothing: what ends is followed by `, : } ]`.
        |'(?:[^'\\]++|\\.|'(?!\s*[,:}\]]))*+')
    |(?P<number>[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<key>[A-Za-z_$][\w$-]*(?=\s*:))
    |(?P<word>true|True|false|False|null|None|undefined)\b
    |(?P<mark>[{}\[\],:])
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and the infinities are not JSON


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost object in the text: as JSON where it is JSON, else as what was meant."""
    text, at = text[:_LONGEST], 0
    for _ in range(_MOST_STARTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            try:
                found, at = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                found, at = _meant(text, at)
        except ValueError:
            at += 1
        else:
            yield found


def _meant(text: str, at: int) -> tuple[dict[str, Any], int]:
    """An object with other quotes, bare keys, comments or a comma too many, and where it ends."""
    tokens: list[str] = []
    depth = 0
    while depth <= _DEEPEST and (token := _TOKEN.match(text, at)):
        at, said = token.end(), token[0]
        match token.lastgroup:
            case "gap":
                continue
            case "text":
                said = json.dumps(_ESCAPED.sub(_character, said[1:-1]))
            case "key":
                said = json.dumps(said)
            case "number":
                said = _number(said.replace("_", ""))
            case _ if said in "{[":
                depth += 1
            case _ if said in "}]":
                depth -= 1
                if tokens[-1] == ",":
                    tokens.pop()
        tokens.append(_WORDS.get(said, said))
        if not depth:
            return _DECODER.decode(" ".join(tokens)), at
    raise ValueError("not an object, or cut off")


def _character(escape: re.Match[str]) -> str:
    kind = escape[1]
    return chr(int(kind[1:], 16)) if len(kind) > 1 else _ESCAPES.get(kind, kind)


def _number(plain: str) -> str:
    try:
        return str(int(plain))
    except ValueError:
        return json.dumps(float(plain))


def whole_characters(text: str) -> str:
    """Joins halves of characters (surrogates) that belong together; other halves become `?`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return joined.encode("utf-8", "replace").decode()
    return text


# Models that think aloud put their thoughts first, in marks; they are no part of the reply.

_OPEN = "<think>"
_CLOSE = "</think>"
_THOUGHTS = re.compile(r"^\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
_LEFT_OPEN = re.compile(r"^(?:(?!<think>).)*</think>\s*", re.DOTALL)  # templates may open the mark


def without_thoughts(text: str) -> str:
    if _CLOSE not in text and _OPEN not in text:
        return text
    return _LEFT_OPEN.sub("", _THOUGHTS.sub("", text))


class SpokenOnly:
    """Passes on a stream without the thoughts at its start."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._held = ""
        self._speaking = False

    def __call__(self, piece: str) -> None:
        if self._speaking:
            self._on_text(piece)
            return
        self._held += piece
        begun = self._held.lstrip()
        if not _OPEN.startswith(begun[: len(_OPEN)]) or _CLOSE in begun:
            self.finish()

    def finish(self) -> None:
        """Nothing more comes that could be a thought: what might have become a mark is text."""
        if not self._speaking and (said := without_thoughts(self._held)):
            self._speaking = True
            self._on_text(said)


# What Secondlook itself says to a model about the form of its reply.

_IN_WORDS = (
    "Reply with one JSON object and nothing else: no explanation, no code fence. "
    "It must be an instance of this JSON schema, not the schema itself:\n{schema}"
)
_AGAIN = (
    "Your last reply could not be used: {problem}. "
    "Reply again with one JSON object and nothing else. It must follow this JSON schema:\n{schema}"
)
_AGAIN_TEXT = "Your last reply could not be used: {problem}. Reply again, in plain text."
_SHORTER = " Keep it short: the last reply was cut off."
_QUOTED = 1000


def with_schema(messages: Sequence[Message], schema: str) -> tuple[Message, ...]:
    told = _IN_WORDS.format(schema=schema)
    first, *rest = messages
    if first.role == "system":
        return (Message("system", f"{first.content}\n\n{told}"), *rest)
    return (Message("system", told), first, *rest)


def corrected(
    messages: Sequence[Message], said: str, problem: str, schema: str | None, *, cut_off: bool
) -> tuple[Message, ...]:
    form = _AGAIN if schema else _AGAIN_TEXT
    wanted = form.format(problem=problem, schema=schema) + (_SHORTER if cut_off else "")
    quoted = said.strip()[:_QUOTED] or "(nothing)"
    return (*messages, Message("assistant", quoted), Message("user", wanted))


# One call to a backend, bounded in time and length whatever the backend does.

_PATIENCE = 2.0  # seconds that a call may take to end once it is cancelled
_PATIENT_SHARE = 0.1  # at most so much of the time that it had


class Stream:
    """What has been said so far; says so when it has become too long to be a reply."""

    def __init__(self, limit: int, on_text: Callable[[str], None] | None) -> None:
        self._limit = limit
        self._on_text = on_text
        self.text = ""
        self.began: float | None = None
        self.overflowed = asyncio.Event()

    def __call__(self, piece: str) -> None:
        if not piece or self.overflowed.is_set():
            return
        if self.began is None:
            self.began = time.monotonic()
        piece = piece[: self._limit - len(self.text)]
        self.text += piece
        if self._on_text is not None:
            self._on_text(piece)
        if len(self.text) >= self._limit:
            self.overflowed.set()


async def complete(
    chat: Chat, request: ChatRequest, stream: Stream, *, tokens_in: int
) -> ChatResult:
    """The backend's reply, or a typed error. A stream that does not end is cut, not waited for."""
    started = time.monotonic()
    answering = asyncio.ensure_future(chat.complete(request, stream))
    overflowing = asyncio.ensure_future(stream.overflowed.wait())
    allowed = request.timeout
    try:
        await asyncio.wait(
            {answering, overflowing}, timeout=allowed, return_when=asyncio.FIRST_COMPLETED
        )
        if answering.done():
            result = _result(chat, answering, longest_reply(request.max_tokens))
        elif stream.overflowed.is_set():
            text = whole_characters(stream.text)
            result = ChatResult(text, "length", tokens_in, approximate_tokens(text))
        else:
            said = f"{chat.spec!r} did not answer within {allowed:g} s"
            raise ModelTimeout(said, hint="models.options: all.timeout=SECONDS.")
    finally:
        # What still runs is cancelled and may clean up; one that refuses to is not waited for.
        # With little time to answer there is little to end: a run may wait for its last step.
        answering.cancel()
        overflowing.cancel()
        patience = _PATIENCE if allowed is None else min(_PATIENCE, _PATIENT_SHARE * allowed)
        await asyncio.wait((answering, overflowing), timeout=patience)
        if answering.done() and not answering.cancelled():
            answering.exception()  # seen, so that asyncio does not report it as never retrieved
    first = result.first_token_seconds
    if first is None and stream.began is not None:
        first = stream.began - started
    seconds = result.seconds or time.monotonic() - started
    return replace(result, seconds=seconds, first_token_seconds=first)


async def counted(chat: Chat, messages: Sequence[Message], timeout: float) -> int:  # noqa: ASYNC109
    """Tokens of a prompt. A backend may have to load its model for that, or wait in line."""
    try:
        async with asyncio.timeout(timeout):
            return await chat.count(messages)
    except SecondlookError:
        raise
    except TimeoutError as late:
        raise ModelTimeout(f"{chat.spec!r} was not ready within {timeout:g} s") from late
    except Exception as unexpected:
        raise _failed(chat, unexpected) from unexpected


def _result(chat: Chat, answering: asyncio.Future[ChatResult], longest: int) -> ChatResult:
    try:
        result = answering.result()
        text = whole_characters(result.text)
        return replace(
            result,
            text=text[:longest],
            finish="length" if len(text) > longest else result.finish,
            tokens_in=max(0, int(result.tokens_in)),
            tokens_out=max(0, int(result.tokens_out)),
            tokens_cached=max(0, int(result.tokens_cached)),
        )
    except (SecondlookError, KeyboardInterrupt, SystemExit):
        raise
    # Also what is no Exception: it cancelled itself, for nobody here did.
    except BaseException as unexpected:
        raise _failed(chat, unexpected) from unexpected


def _failed(chat: Chat, unexpected: BaseException) -> ModelError:
    return ModelError(f"{chat.spec!r} failed: {type(unexpected).__name__}: {unexpected}")
