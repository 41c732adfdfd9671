"""Objects in what a model said: JSON, and what models write when they mean JSON.

Read tolerantly: fences and prose around the object, single quotes, trailing commas, comments,
bare names, Python's literals, line breaks within strings. An object that was cut off is not
completed: nobody knows what it would have said.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 40
_MOST_STARTS = 20
"""Places where an object may begin that are tried: a page of braces must not take minutes."""
_MOST_QUOTES = 20_000
"""Single quotes that are weighed whether they end something, over all places."""
_LONGEST = 200_000
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_BARE = re.compile(r"[A-Za-z_$][\w$-]*")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS: dict[str, Any] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
    "undefined": None,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
_SPECIAL = {mark: re.compile(rf"[\\{mark}]") for mark in _CLOSING.values()}


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost object in the text, in order."""
    text = text[:_LONGEST]
    whole = _strict(text)
    if isinstance(whole, dict):
        yield whole
        return
    at = 0
    reader = _Reader(text)
    for _ in range(_MOST_STARTS):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            found, at = _object(reader, text, at)
        except _NotJson:
            at += 1
        else:
            yield found


def whole_characters(text: str) -> str:
    """Joins halves of characters (surrogates) that belong together; other halves become `?`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return joined.encode("utf-8", "replace").decode()
    return text


class _NotJson(Exception):
    pass


def _object(reader: _Reader, text: str, at: int) -> tuple[dict[str, Any], int]:
    """As JSON where it is JSON, else as what was meant."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return reader.object(at, 0)


def _strict(text: str) -> Any:
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and the infinities are not JSON


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class _Reader:
    """Recursive descent; each method takes a place and returns a value and the place after it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._patience = _MOST_QUOTES

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self._skip(at + 1)
        while not self._at("}", at):
            key, at = self._key(at)
            at = self._skip(at)
            if not self._at(":", at):
                raise _NotJson
            found[key], at = self._value(self._skip(at + 1), depth + 1)
            at = self._next(at, "}")
        return found, at + 1

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self._skip(at + 1)
        while not self._at("]", at):
            value, at = self._value(at, depth + 1)
            found.append(value)
            at = self._next(at, "]")
        return found, at + 1

    def _next(self, at: int, closing: str) -> int:
        """Past the comma after an item, if there is one; else there must be the end."""
        at = self._skip(at)
        if self._at(",", at):
            return self._skip(at + 1)
        if not self._at(closing, at):
            raise _NotJson
        return at

    def _key(self, at: int) -> tuple[str, int]:
        if self._text[at : at + 1] in _CLOSING:
            return self._string(at)
        if name := _BARE.match(self._text, at):
            return name[0], name.end()
        raise _NotJson

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > _DEEPEST:
            raise _NotJson
        first = self._text[at : at + 1]
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self._array(at, depth)
        if first in _CLOSING:
            return self._string(at)
        return self._scalar(at)

    def _scalar(self, at: int) -> tuple[Any, int]:
        if (word := _BARE.match(self._text, at)) and word[0] in _WORDS:
            return _WORDS[word[0]], word.end()
        if number := _NUMBER.match(self._text, at):
            return _number(number[0]), number.end()
        raise _NotJson

    def _string(self, at: int) -> tuple[str, int]:
        closing = _CLOSING[self._text[at]]
        pieces: list[str] = []
        at += 1
        while special := _SPECIAL[closing].search(self._text, at):
            pieces.append(self._text[at : special.start()])
            at = special.end()
            if special[0] == "\\":
                piece, at = self._escape(at)
                pieces.append(piece)
            elif self._ends(at, closing):
                return whole_characters("".join(pieces)), at
            else:
                pieces.append(closing)
        raise _NotJson

    def _ends(self, after: int, closing: str) -> bool:
        """An apostrophe within single quotes ends nothing: what ends is followed by `, : } ]`."""
        if closing == '"':
            return True
        self._patience -= 1
        if self._patience < 0:
            raise _NotJson
        following = self._skip(after)
        return self._text[following : following + 1] in {",", ":", "}", "]"}

    def _escape(self, at: int) -> tuple[str, int]:
        kind = self._text[at : at + 1]
        if kind != "u":
            return _ESCAPES.get(kind, kind), at + 1
        digits = self._text[at + 1 : at + 5]
        try:
            return chr(int(digits, 16)), at + 5
        except ValueError:
            raise _NotJson from None

    def _skip(self, at: int) -> int:
        blank = _SPACE.match(self._text, at)
        return blank.end() if blank else at

    def _at(self, character: str, at: int) -> bool:
        if at >= len(self._text):
            raise _NotJson  # cut off
        return self._text[at] == character


def _number(text: str) -> int | float:
    plain = text.replace("_", "")
    try:
        return int(plain)
    except ValueError:
        pass
    value = float(plain)
    if math.isinf(value):
        raise _NotJson
    return value
