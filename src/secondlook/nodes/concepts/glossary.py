"""Common terms of statistics, explained in our own words: `glossary.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Entry:
    names: tuple[str, ...]
    sentences: tuple[str, ...]
    example: str = ""
    """A sentence, with room for a {column} of the person's own."""


def entry_for(term: str) -> Entry | None:
    """The entry of a term, however it is written."""
    return _by_name().get(_plain(term))


def entries_in(text: str) -> list[Entry]:
    """Those whose terms a text names, in its order; of two that overlap, the longer term."""
    found = {match["name"]: None for match in _names().finditer(_spaced(text))}
    return list(dict.fromkeys(_by_name()[_plain(name)] for name in found))


@cache
def _names() -> re.Pattern[str]:
    names = sorted((_spaced(name) for one in entries() for name in one.names), key=len)
    return re.compile(rf"\b(?P<name>{'|'.join(map(re.escape, reversed(names)))})s?\b")


def _spaced(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.casefold()))


@cache
def entries() -> tuple[Entry, ...]:
    held = tomllib.loads(files(__package__).joinpath("glossary.toml").read_text("utf-8"))
    return tuple(
        Entry(tuple(one["names"]), tuple(one["sentences"]), one.get("example", ""))
        for one in held["entry"]
    )


@cache
def _by_name() -> dict[str, Entry]:
    return {_plain(name): entry for entry in entries() for name in entry.names}


def _plain(term: str) -> str:
    kept = "".join(char for char in term.casefold() if char.isalnum())
    return kept.removesuffix("s")
