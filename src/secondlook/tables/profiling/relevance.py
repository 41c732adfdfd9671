"""Which columns a question is about, as far as words tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.retrieval.stopwords import STOP_WORDS
from secondlook.tables.profiling.headers import name_words
from secondlook.tables.profiling.joins import singular

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secondlook.tables.table import ColumnProfile, Table, TableProfile

SHORTEST_VALUE = 3
"""A value of one or two letters is in every question by chance."""


def ranked(
    tables: Sequence[tuple[Table, TableProfile]],
    *,
    question: str,
    relevant: Collection[tuple[str, str]] = (),
) -> list[tuple[int, int]]:
    """Every column as table and place: those given, then those that share words with the
    question in their name, then in their values, then keys; in the file's order otherwise."""
    wanted = set(relevant)
    words, spoken = question_words(question), f" {' '.join(_plain(question))} "

    def rank(at: int, place: int) -> tuple[bool, float, bool, bool]:
        table, profile = tables[at]
        column = profile.columns[place]
        given = not wanted.isdisjoint({(table.id, column.name), (table.name, column.name)})
        return (not given, -name_score(column, words), not _said(column, spoken), not column.key)

    places = [
        (at, place)
        for at, (_, profile) in enumerate(tables)
        for place in range(len(profile.columns))
    ]
    return sorted(places, key=lambda each: rank(*each))


def question_words(question: str) -> frozenset[str]:
    return frozenset(map(singular, set(name_words(question)) - STOP_WORDS["english"]))


def name_score(column: ColumnProfile, words: frozenset[str]) -> float:
    """Share of the name's words that the question has, with a little more for longer names."""
    mine = {singular(word) for word in name_words(column.name)}
    shared = len(mine & words)
    return shared / len(mine) + shared / 100 if shared else 0.0


def _said(column: ColumnProfile, spoken: str) -> bool:
    values = (" ".join(_plain(one.value)) for one in column.top)
    return any(len(value) >= SHORTEST_VALUE and f" {value} " in spoken for value in values)


def _plain(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
