"""What a question over a table asks for, as one line of text: `mean c3 | c1 is Sales`. The
understander writes such a line, code parses it, checks it and computes it. Columns are named by
their numbers; `training/asked/README.md` lists the forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

FIGURES = (
    "count distinct", "sum", "mean", "median", "min", "max", "range", "std", "variance", "mode",
    "iqr", "skewness", "kurtosis", "outliers", "normality",
)  # fmt: skip
PAIRED = ("correlation", "significance", "covariance")
"""Of two columns; a correlation's significance is its p-value."""
SPREAD = "histogram"
LISTING = frozenset(("show", "distinct", "first", "last", "after", "before"))
"""Acts that show cells."""
PARTS = ("year", "quarter", "month", "weekday")
SIGNS = {"!=": "is not", ">=": "at least", "<=": "at most", ">": "over", "<": "under", "=": "is"}
"""The model has no < in its vocabulary, so signs are said in words."""
_OPERATOR = re.compile(r" (!=|>=|<=|>|<|=|contains|in) (.+)$| (missing|present|usual)$")
_ARITHMETIC = re.compile(r" ([-+*/])(?= )")
_QUANTILE = re.compile(r"^quantile (\d+(?:\.\d+)?) (.+)$")
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
    figure: str = ""  # What is computed: count, quantile, histogram, one of FIGURES or of PAIRED
    of: str = ""  # Of this column
    operator: str = ""
    other: str = ""  # The second column: of a pair, or of `price * quantity`, which has an operator
    at: str = ""  # Of a quantile, in per cent
    shown: tuple[str, ...] = ()
    by: tuple[Key, ...] = ()  # Groups; of rows that are ranked, the column they are ranked by
    n: str = ""
    where: tuple[Condition, ...] = ()
    between: tuple[Condition, ...] = ()  # Of a share the one that is counted, of a difference both
    more: tuple[Form, ...] = ()  # Further figures of the same rows and groups

    @property
    def columns(self) -> list[str]:
        keys = [*self.by, *(one.key for one in (*self.where, *self.between))]
        further = [column for one in self.more for column in one.columns]
        own = (*self.shown, self.of, self.other, *(key.column for key in keys), *further)
        return [one for one in own if one]


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
    *firsts, last = (reader.figure(one) for one in act.split("; "))
    first, *more = [*(replace(one, by=last.by) for one in firsts), last]
    if SPREAD in {first.figure, last.figure} and (more or first.by):
        raise FormError(f"{act!r} spreads more than one column")
    return replace(first, where=where, more=tuple(more))


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
        figured = self.figure(text)
        first, _, second = (conditions[0] if conditions else "").partition(" / ")
        between = (self.condition(first), self.condition(second))
        rest = tuple(map(self.condition, conditions[1:]))
        return replace(figured, act="difference", between=between, where=rest)

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
                figures = tuple(f"{one} " for one in FIGURES)
                if by == "count" or (by not in self.columns and by.startswith(figures)):
                    figured = self.figure(by)
                    return replace(figured, act=end, by=self.keys(shown), n=n, where=where)
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
        return replace(form, between=(Condition(Key(""), sign, (value,)),))

    def figure(self, text: str) -> Form:
        """`count`, `mean salary`, `sum price * quantity`, each also with ` by KEY, KEY`."""
        if text == "count" or text.startswith("count by "):
            keys = text.removeprefix("count").removeprefix(" by ")
            return Form("figure", "count", by=self.keys(keys) if keys else ())
        if quantile := _QUANTILE.match(text):
            return replace(self.measured("quantile", quantile[2]), at=quantile[1])
        for named in (*FIGURES, *PAIRED, SPREAD):
            if text.startswith(f"{named} "):
                return self.measured(named, text.removeprefix(f"{named} "))
        raise FormError(f"{text!r} is no form")

    def measured(self, figure: str, text: str) -> Form:
        """A header may have " by " within it: the first place that makes sense counts."""
        cuts = [(text, "")]
        cuts += [(text[: x.start()], text[x.end() + 1 :]) for x in re.finditer(r" by(?= )", text)]
        for of, keys in cuts:
            if (term := self.term(of, ", " if figure in PAIRED else "")) is not None:
                by = self.keys(keys) if keys else ()
                return Form("figure", figure, term[0], term[1], term[2], by=by)
        raise FormError(f"no column in {text!r}")

    def term(self, text: str, pair: str) -> tuple[str, str, str] | None:
        """A column; two of a pair; two with an operator."""
        if pair:
            first, _, second = text.partition(pair)
            return (first, "", second) if {first, second} <= set(self.columns) else None
        if text in self.columns:
            return text, "", ""
        for found in _ARITHMETIC.finditer(text):
            first, second = text[: found.start()], text[found.end() + 1 :]
            if {first, second} <= set(self.columns):
                return first, found[1], second
        return None

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
