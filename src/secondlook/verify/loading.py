"""Answers from files and pipes that anybody may have written."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pydantic import ValidationError

from secondlook.answer import Answer
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

LARGEST = 64 << 20
"""Bytes. An answer with a hundred web pages has a few million."""
_HINT = "secondlook ask --json writes such a file; docs/answer.schema.json describes it"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Windows PowerShell writes UTF-16 where another shell writes UTF-8."""


def load_answer(path: str | Path) -> Answer:
    """The answer in this file."""
    file = Path(path).expanduser()
    try:
        if file.is_dir():  # Windows would say that access is denied
            raise UsageError(f"{str(path)!r} is a folder, not an answer", hint=_HINT)
        with file.open("rb") as stream:
            return read_answer(stream, name=str(path))
    except FileNotFoundError:
        raise UsageError(f"there is no file {str(path)!r}", hint=_HINT) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise UsageError(f"{str(path)!r} cannot be read: {error}") from error


def read_answer(stream: BinaryIO, *, name: str) -> Answer:
    """The answer that a stream holds as JSON, such as standard input."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UsageError(
            f"{name!r} is larger than {LARGEST >> 20} MB, which no answer is", hint=_HINT
        )
    return parse_answer(data, name=name)


def parse_answer(data: bytes, *, name: str) -> Answer:
    text = _decoded(data, name)
    if not text.strip():
        raise UsageError(f"{name!r} is empty", hint=_HINT)
    try:
        return Answer.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{name!r} is not an answer: {_reason(error)}", hint=_HINT) from None


def _decoded(data: bytes, name: str) -> str:
    encoding = next((known for mark, known in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name!r} is not text in UTF-8 (byte {error.start:,}), so not an answer", hint=_HINT
        ) from None


def _reason(error: ValidationError) -> str:
    """The first mistake, and how many more there are."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{_mistake(found[0])}{more}"


def _mistake(detail: ErrorDetails) -> str:
    where = ".".join(str(part) for part in detail["loc"])[:80]
    message = detail["msg"]
    if detail["type"] == "json_invalid":
        return message
    if detail["type"] == "model_type":
        return "it is JSON, but not an object" if not where else f"{where} is not an object"
    return f"{where!r}: {message[:1].lower()}{message[1:]}"
