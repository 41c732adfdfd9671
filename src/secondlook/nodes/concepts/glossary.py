"""Common terms of statistics, explained in our own words: `glossary.toml` beside this file."""

from __future__ import annotations

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
