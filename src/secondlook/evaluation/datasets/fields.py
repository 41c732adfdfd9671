"""Fields of a row, taken with care: each is there and of its kind, or the reason is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SHOWN = 40


class Malformed(SecondlookError):
    """A row cannot be used; the message is the reason that its problem gives."""


def shown(value: object) -> str:
    """A value from a file, short enough for a message."""
    whole = repr(value)
    return whole if len(whole) <= _SHOWN else f"{whole[: _SHOWN - 3]}..."


def identifier(row: Mapping[str, Any], key: str) -> str:
    return as_identifier(_needed(row, key), key)


def as_identifier(value: object, what: str) -> str:
    """Ids may be texts or whole numbers: 7 and "7" name the same."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise Malformed(f"{what} is {_kind(value)}, not a text or a whole number")
    if isinstance(value, str) and not value.strip():
        raise Malformed(f"{what} is empty")
    return _whole(str(value), what)


def text(row: Mapping[str, Any], key: str) -> str:
    return _as_text(_needed(row, key), key)


def optional_text(row: Mapping[str, Any], key: str) -> str:
    """Empty where the field is missing or null."""
    return "" if row.get(key) is None else _as_text(row[key], key)


def filled_text(row: Mapping[str, Any], key: str) -> str:
    """A text with something in it, without the blanks around it."""
    value = text(row, key).strip()
    if not value:
        raise Malformed(f"{key} is empty")
    return value


def optional_list(row: Mapping[str, Any], key: str) -> list[Any]:
    """Empty where the field is missing or null."""
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{key} is {_kind(value)}, not a list")
    return value


def answers(values: Iterable[object]) -> tuple[str, ...]:
    """Each once, in their order."""
    texts = [_as_text(value, "an answer").strip() for value in values]
    if not all(texts):
        raise Malformed("an answer is empty")
    return tuple(dict.fromkeys(texts))


def optional_flag(row: Mapping[str, Any], key: str, *, default: bool) -> bool:
    value = row.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Malformed(f"{key} is {shown(value)}, not true or false")
    return value


def first_label(row: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """The first of these fields that says anything."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, (dict, list)):
            raise Malformed(f"{key} is {_kind(value)}, not a text or a number")
        if value is not None and str(value).strip():
            return _whole(str(value).strip(), key)
    return None


def text_map(row: Mapping[str, Any], key: str) -> dict[str, str] | None:
    """None where the field is missing or null."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, dict) or not value:
        raise Malformed(f"{key} is {shown(value)}, not texts by letter")
    return {_whole(name, key): _as_text(item, f"{key} {name!r}") for name, item in value.items()}


def _needed(row: Mapping[str, Any], key: str) -> Any:
    if row.get(key) is None:
        raise Malformed(f"{key} is missing")
    return row[key]


def _as_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{what} is {_kind(value)}, not a text")
    return _whole(value, what)


def _whole(value: str, what: str) -> str:
    """Half of a surrogate pair, or a byte that is no UTF-8, can be neither stored nor shown."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Malformed(f"{what} holds a broken character at {error.start}") from error
    return value


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", bool: "true or false", str: "a text"}
    return kinds.get(type(value), "null" if value is None else "a number")
