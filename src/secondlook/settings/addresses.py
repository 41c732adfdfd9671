"""Addresses of services. A password or key that was written into one is taken out where it is read,
and kept in this process for the client that sends it: settings, runs on record, errors and exports
hold the address without it."""

from __future__ import annotations

import re
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

T = TypeVar("T")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_NAMES_A_USER = re.compile(_SCHEME.pattern + r"[^/\s]*@", re.IGNORECASE)
_QUERY = re.compile(r"[?#]")
_HIDDEN = re.compile(rf"({_SCHEME.pattern})(?:.*@)?([^?#'\"]*)(?:[?#][^'\"]*)?", re.IGNORECASE)
_sent: dict[str, dict[str, Any]] = {}  # by address: what httpx is given with it


def plain(given: T) -> T:
    """An address, `provider:model@ADDRESS`, or several, as they may be shown anywhere. A
    ValueError says what is malformed, and not what was given."""
    if isinstance(given, tuple):
        return tuple(map(plain, given))  # type: ignore[return-value]
    if not isinstance(given, str) or not (scheme := _SCHEME.search(given)):
        return given
    place, *query = _QUERY.split(given[scheme.end() :], maxsplit=1)
    user, _, rest = place.rpartition("@")
    if re.search(r"[/\s]", user) or any("@" in one for one in query):
        raise ValueError("Input should have %40, %2F, %3F and %23 for @, /, ? and # in a password")
    shown = given[: scheme.end()] + rest
    if user or query:
        name, _, password = user.partition(":")
        held = {"auth": (unquote(name), unquote(password))} if user else {}
        params = {"params": parse_qsl(query[0])} if query else {}
        _sent[shown[scheme.start() :].rstrip("/")] = held | params
    return shown  # type: ignore[return-value]


def without_password(given: T) -> T:
    """For services that are sent none."""
    if plain(given) != given:
        raise ValueError("Input should be a plain address, without user, password and query")
    return given


def names_a_user(text: str) -> bool:
    return _NAMES_A_USER.search(text) is not None


def sent_to(address: str | None) -> dict[str, Any]:
    """What httpx is given to ask there, besides the address: nothing, where none was in it."""
    return _sent.get((address or "").rstrip("/"), {})


def hidden(text: str) -> str:
    """A text for an error, in which an address may be malformed."""
    return _HIDDEN.sub(r"\1\2", text)
