"""What a question over a table asks for, as one line of text: `mean c3 | c1 is Sales`.

The understander writes such a line, code parses it, checks it and computes it. Columns are named by
their numbers; `training/asked/README.md` lists the forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FIGURES = ("count distinct", "sum", "mean", "median", "min", "max", "range", "std")
LISTING = frozenset(("show", "distinct", "first", "last", "after", "before"))
"""Acts that show cells."""
PARTS = ("year", "quarter", "month", "weekday")
SIGNS = {"!=": "is not", ">=": "at least", "<=": "at most", ">": "over", "<": "under", "=": "is"}
"""The model has no < in its vocabulary, so signs are said in words."""
_OPERATOR = re.compile(r" (!=|>=|<=|>|<|=|contains|in) (.+)$| (missing|present)$")
_RANKED = re.compile(r"^(top|bottom) ([1-9]\d*) (.+)$")
_LIMIT = re.compile(r"^(.+) (!=|>=|<=|>|<|=) (\S+)$")
_PART = re.compile(rf"^({'|'.join(PARTS)})\((.+)\)$")


@dataclass(frozen=True, slots=True)
class Key:
    """A column, or a part of its dates."""

    column: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    key: Key
    sign: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """`act`: show, distinct, figure, top, bottom, first, last, after, before, groups, share,
    difference or none."""

    act: str
    figure: str = ""
    """What is computed; count, or one of FIGURES."""
    of: str = ""
    """Of this column."""
    shown: tuple[str, ...] = ()
    by: tuple[Key, ...] = ()
    """Groups; of rows that are ranked, the column they are ranked by."""
    n: str = ""
    where: tuple[Condition, ...] = ()
    between: tuple[Condition, ...] = ()
    """Of a share the one that is counted, of a difference both."""

    @property
    def columns(self) -> list[str]:
        keys = [*self.by, *(one.key for one in (*self.where, *self.between))]
        return [one for one in (*self.shown, self.of, *(key.column for key in keys)) if one]


class FormError(ValueError):
    """A line that is no form over these columns."""


def signed(line: str) -> str:
    """With signs for their words, which the model writes."""
    for sign, words in SIGNS.items():
        line = line.replace(f" {words} ", f" {sign} ")
    return line


def parsed(line: str, columns: Sequence[str]) -> Form:  # noqa: PLR0911 - one line a kind
    act, *conditions = (part.strip() for part in line.split(" | "))
    if act == "none":
        return Form("none")
    reader, (word, _, rest) = _Reader(tuple(columns)), act.partition(" ")
    if word == "difference" and rest:
        return reader.difference(rest, conditions)
    where = tuple(map(reader.condition, conditions))
    if word == "share" and rest:
        return reader.share(rest, where)
    if word in LISTING and rest:
        return Form(word, shown=reader.listed(rest), where=where)
    if word == "groups":
        return reader.groups(rest, where)
    if ranked := _RANKED.match(act):
        return reader.ranked(ranked[1], ranked[2], ranked[3], where)
    figure, of, keys = reader.figure(act)
    return Form("figure", figure, of, by=keys, where=where)


def _limit(text: str) -> tuple[str, str, str]:
    found = _LIMIT.match(text)
    if not found:
        raise FormError(f"{text!r} has no limit")
    return found[1], found[2], found[3]


@dataclass(frozen=True, slots=True)
class _Reader:
    columns: tuple[str, ...]

    def difference(self, text: str, conditions: Sequence[str]) -> Form:
        """The first of the conditions names both sides."""
        figure, of, _ = self.figure(text)
        first, _, second = (conditions[0] if conditions else "").partition(" / ")
        between = (self.condition(first), self.condition(second))
        rest = tuple(map(self.condition, conditions[1:]))
        return Form("difference", figure, of, between=between, where=rest)

    def share(self, text: str, where: tuple[Condition, ...]) -> Form:
        """`CONDITION`, or `sum COLUMN, CONDITION`."""
        if not text.startswith("sum "):
            return Form("share", "count", between=(self.condition(text),), where=where)
        of, _, counted = text.removeprefix("sum ").partition(", ")
        column = self.column(of)
        return Form("share", "sum", column, between=(self.condition(counted),), where=where)

    def ranked(self, end: str, n: str, text: str, where: tuple[Condition, ...]) -> Form:
        """A header may have " by " within it: the first place that makes sense counts."""
        for found in re.finditer(r" by(?= )", text):
            shown, by = text[: found.start()], text[found.end() + 1 :]
            try:
                if by == "count" or by.startswith(tuple(f"{one} " for one in FIGURES)):
                    figure, of, _ = self.figure(by)
                    return Form(end, figure, of, by=self.keys(shown), n=n, where=where)
                keys, columns = self.keys(by), self.listed(shown)
                return Form(end, shown=columns, by=keys, n=n, where=where)
            except FormError:
                continue
        raise FormError(f"{text!r} ranks nothing")

    def groups(self, text: str, where: tuple[Condition, ...]) -> Form:
        """`KEY by count = 1`."""
        head, sign, value = _limit(text)
        form = self.ranked("groups", "", head, where)
        if not form.figure:
            raise FormError(f"{text!r} has no figure")
        limit = Condition(Key(""), sign, (value,))
        return Form("groups", form.figure, form.of, by=form.by, where=where, between=(limit,))

    def figure(self, text: str) -> tuple[str, str, tuple[Key, ...]]:
        """`count`, `mean salary`, each also with ` by KEY, KEY`."""
        if text == "count" or text.startswith("count by "):
            keys = text.removeprefix("count").removeprefix(" by ")
            return "count", "", self.keys(keys) if keys else ()
        named = next((one for one in FIGURES if text.startswith(f"{one} ")), None)
        if named is None:
            raise FormError(f"{text!r} is no form")
        rest = text.removeprefix(f"{named} ")
        if rest in self.columns:
            return named, rest, ()
        for found in re.finditer(r" by(?= )", rest):
            of, keys = rest[: found.start()], rest[found.end() + 1 :]
            if of in self.columns:
                return named, of, self.keys(keys)
        raise FormError(f"no column in {rest!r}")

    def keys(self, text: str) -> tuple[Key, ...]:
        return tuple(self.key(one) for one in self._split(text))

    def key(self, text: str) -> Key:
        if text not in self.columns and (found := _PART.match(text)):
            return Key(self.column(found[2]), found[1])
        return Key(self.column(text))

    def listed(self, text: str) -> tuple[str, ...]:
        return tuple(map(self.column, self._split(text)))

    def _split(self, text: str) -> list[str]:
        return [text] if text in self.columns else text.split(", ")

    def column(self, text: str) -> str:
        if text not in self.columns:
            raise FormError(f"no column {text!r}")
        return text

    def condition(self, text: str) -> Condition:
        """The longest header, or part of a date, that it begins with counts."""
        wrapped = [f"{part}({one})" for part in PARTS for one in self.columns]
        for known in sorted((*self.columns, *wrapped), key=len, reverse=True):
            found = text.startswith(known) and _OPERATOR.match(text[len(known) :])
            if found and found[3]:
                return Condition(self.key(known), found[3])
            if found:
                values = found[2].split("; ") if found[1] == "in" else [found[2]]
                return Condition(self.key(known), found[1], tuple(values))
        raise FormError(f"{text!r} is no condition")
