"""The head of a GGUF file, read by ourselves: what the model is before anything loads it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from secondlook.models.gguf.failures import UnusableModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_ENTRIES = 1 << 20
_MAX_KEY = 1 << 16
_SCALARS = {
    0: struct.Struct("<B"), 1: struct.Struct("<b"), 2: struct.Struct("<H"), 3: struct.Struct("<h"),
    4: struct.Struct("<I"), 5: struct.Struct("<i"), 6: struct.Struct("<f"), 7: struct.Struct("<?"),
    10: struct.Struct("<Q"), 11: struct.Struct("<q"), 12: struct.Struct("<d"),
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_COUNT = _SCALARS[10]
_KIND = _SCALARS[4]

_CONTROL_TOKEN, _USER_DEFINED_TOKEN = 3, 4
_TOKENS, _TOKEN_KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_HINT = "Name a model file in the GGUF format, as in gguf:/models/name.gguf."


class _BadHeader(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Header:
    architecture: str
    context_tokens: int | None
    """Longest context the model was trained for, when the file says so."""

    def usable_context(self, wanted: int) -> int:
        """A model makes no sense of more than it was trained for."""
        return min(wanted, self.context_tokens or wanted)


def read_header(path: Path) -> Header:
    """Raises UnusableModel for what is no readable GGUF file."""
    found: dict[str, Any] = {}
    for key, value in _read(path):
        if key == "general.architecture" or key.endswith(".context_length"):
            found[key] = value
        if len(found) == len(("architecture", "context_length")):
            break  # the vocabulary comes later, and is long
    architecture = str(found.get("general.architecture", ""))
    context = found.get(f"{architecture}.context_length")
    return Header(architecture, context if isinstance(context, int) and context > 0 else None)


def control_marks(path: Path) -> tuple[str, ...]:
    """Strings that the model's tokenizer takes for its own control marks, such as `<|im_end|>`."""
    vocabulary = {key: value for key, value in _read(path) if key in {_TOKENS, _TOKEN_KINDS}}
    marks = zip(vocabulary.get(_TOKENS, ()), vocabulary.get(_TOKEN_KINDS, ()), strict=False)
    return tuple(text for text, kind in marks if _is_mark(text, kind))


def _is_mark(text: str, kind: int) -> bool:
    # Tokens that makers of models define are often plain text, such as HTML tags or spaces.
    is_control = kind == _CONTROL_TOKEN or (kind == _USER_DEFINED_TOKEN and text.startswith("<|"))
    return is_control and len(text) > 1


def _read(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with path.open("rb") as stream:
            yield from _entries(stream)
    except FileNotFoundError as error:
        raise UnusableModel(f"there is no model file {str(path)!r}", hint=_HINT) from error
    except OSError as error:
        why = error.strerror or error
        raise UnusableModel(f"cannot read the model file {str(path)!r}: {why}") from error
    except (_BadHeader, struct.error, UnicodeDecodeError, MemoryError, OverflowError) as error:
        raise UnusableModel(f"{str(path)!r} is no usable GGUF file: {error}", hint=_HINT) from error


def _entries(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    if (magic := stream.read(len(_MAGIC))) != _MAGIC:
        raise _BadHeader(f"it starts with {magic!r} instead of {_MAGIC!r}")
    if (version := _number(stream, _KIND)) not in _VERSIONS:
        raise _BadHeader(f"version {version} of the format is not supported")
    _number(stream, _COUNT)  # how many tensors
    entries = _number(stream, _COUNT)
    if entries > _MAX_ENTRIES:
        raise _BadHeader(f"it claims {entries} entries")
    for _ in range(entries):
        key = _text(stream, _MAX_KEY)
        yield key, _value(stream, _number(stream, _KIND))


def _number(stream: IO[bytes], form: struct.Struct) -> Any:
    return form.unpack(stream.read(form.size))[0]


def _text(stream: IO[bytes], limit: int = 1 << 26) -> str:
    length = _number(stream, _COUNT)
    if length > limit:
        raise _BadHeader(f"it claims a text of {length} bytes")
    data = stream.read(length)
    if len(data) < length:
        raise _BadHeader("it is cut short")
    return data.decode("utf-8", "replace")


def _value(stream: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _text(stream)
    if kind == _ARRAY:
        return _array(stream)
    if kind not in _SCALARS:
        raise _BadHeader(f"it holds a value of unknown kind {kind}")
    return _number(stream, _SCALARS[kind])


def _array(stream: IO[bytes]) -> tuple[Any, ...]:
    kind, count = _number(stream, _KIND), _number(stream, _COUNT)
    if kind in _SCALARS:
        form = _SCALARS[kind]
        data = stream.read(form.size * count)
        if len(data) < form.size * count:
            raise _BadHeader("it is cut short")
        return tuple(value for (value,) in form.iter_unpack(data))
    return tuple(_value(stream, kind) for _ in range(count))
