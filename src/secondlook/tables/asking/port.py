"""What reading a question over tables comes to: data only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.tables.resolving.port import AskedTable, Mention, Resolved, ValueMention

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.query import Query
    from secondlook.tables.resolving import Resolver

__all__ = [
    "AskedTable",
    "Bound",
    "Case",
    "Family",
    "Mention",
    "Output",
    "Reading",
    "Resolved",
    "ValueMention",
    "Wanted",
]

Operation = Literal[
    "difference",
    "sum",
    "ratio",
    "greater",
    "less",
    "same",
    "most",
    "least",
    "exists",
    "none",
]
"""`difference` is the first less the second, `greater` asks whether the first is; `most` and
`least` take the one of `choices` whose query gives it; `exists` and `none` ask whether the query
has a row."""
AnswerForm = Literal["value", "rows", "list", "boolean", "words"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form in which a question wants its values, as in `@mean_fare[value]`."""

    names: tuple[str, ...] = ()
    decimals: int | None = None
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Per name the words it may be: `("Normal", "Non-normal")`."""
    each: Mapping[str, int] = field(default_factory=dict)
    """Decimals of single names, where the question tells them apart."""
    texts: frozenset[str] = frozenset()
    """Names whose value is some text."""
    quoted: frozenset[str] = frozenset()
    """Names whose texts stand in double quotes."""
    held: Mapping[str, str] = field(default_factory=dict)
    """What stands in the brackets of each name."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A test of one number of a result."""

    measure: str
    sign: Literal["<", "<=", ">", ">="]
    value: float
    absolute: bool = False
    """Compare the size of the number, not its sign."""


@dataclass(frozen=True, slots=True)
class Case:
    """The word that holds where all of the bounds do."""

    word: str
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A wanted value: which number of the result it is, and how it is said."""

    name: str
    measure: str
    """Column of the result."""
    query: int = 0
    """0 is the reading's first query, 1 the first of `more`."""
    group: tuple[Scalar, ...] = ()
    """Of which group, where the result has several."""
    decimals: int | None = None
    cases: tuple[Case, ...] = ()
    """The number turned into a word: the first case that holds."""
    every: Literal["list", "mapping"] | None = None
    """Every row of the result: the column's values, or groups with theirs."""
    prefix: str = ""
    """Before the groups of a mapping: `month_`."""
    combine: Literal["most", "least", "sum", "positive"] | None = None
    """Over several measures: the label with the largest or smallest value, their sum, or the
    labels whose value is not 0."""
    over: tuple[tuple[str, str], ...] = ()
    """Those measures, each with its label."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a question."""

    query: Query
    said: str
    """`mean of Fare over all rows`."""
    doubt: float
    """Share 0..1 of the question's content words that the reading does not account for."""
    resolved: tuple[Resolved, ...]
    family: str
    answer: AnswerForm
    outputs: tuple[Output, ...] = ()
    """Empty: every measure under its own name."""
    more: tuple[Query, ...] = ()
    """Further queries: what `operation` combines with the first, or outputs refer to."""
    operation: Operation | None = None
    """Over the single values of `query` and `more`, in that order."""
    rows: int = 0
    """Of the table."""
    choices: tuple[str, ...] = ()
    """What `query` and each of `more` stand for."""


Family: TypeAlias = "Callable[[str, Sequence[AskedTable], Resolver, Wanted], list[Reading]]"
"""Reads the questions of one kind; none where it does not know the kind."""
