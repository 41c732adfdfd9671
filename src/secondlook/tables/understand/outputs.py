"""Values under the names, and in the words, that a question wants: `@mean_fare[value]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.tables.understand.methods import NUMBER
from secondlook.tables.understand.readings import Bound, Case, Output, Wanted
from secondlook.tables.words import atoms, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.query import Measure, Query
    from secondlook.tables.resolver import AskedTable

Paired: TypeAlias = "list[tuple[str, str, tuple[Scalar, ...]]]"
"""Names with their measures, and of which group."""
_TESTED: dict[str, Literal["yes", "no"]] = {"normality": "no", "correlation_p": "yes"}
"""What a small p-value says of the question."""


def named_outputs(
    wanted: Wanted, query: Query, asked: AskedTable, text: str
) -> tuple[Output, ...] | None:
    """One for each wanted name, in the order of the measures, or of the groups that names hold;
    None where they do not come out even."""
    numbers = [one for one in wanted.names if one not in wanted.forms]
    worded = [_worded(one, wanted.forms[one], query.measures, text) for one in wanted.forms]
    if None in worded or not query.measures:
        return None
    if query.limit is not None:
        pairs = _of_first(wanted, query)
    elif query.group_by:
        pairs = _of_groups(numbers, query, asked)
    else:
        pairs = [] if wanted.texts & {*numbers} else _in_order(numbers, query.measures)
    if len(pairs) != len(numbers):
        return None
    places = {name: wanted.each.get(name, wanted.decimals) for name in numbers}
    return (
        *(Output(name, one, group=group, decimals=places[name]) for name, one, group in pairs),
        *filter(None, worded),
    )


def _in_order(names: Sequence[str], measures: Sequence[Measure]) -> Paired:
    """A p-value goes to the name that says so, and may go without one."""
    tested = [one for one in measures if one.statistic in _TESTED]
    plain = [one for one in measures if one.statistic not in _TESTED]
    found: Paired = []
    for name in names:
        said = "p" in {one.text for one in atoms(name)}
        some = tested if tested and (said or not plain) else plain
        if not some:
            return []
        found.append((name, some.pop(0).name, ()))
    return [] if plain else found


def _worded(
    name: str, words: Sequence[str], measures: Sequence[Measure], text: str
) -> Output | None:
    """One of two words, by a p-value."""
    tested = next((one for one in measures if one.statistic in _TESTED), None)
    if tested is None:
        return None
    cases = p_cases(words, tested.name, text, small=_TESTED[tested.statistic])
    return Output(name, cases[0].bounds[0].measure, cases=cases) if cases else None


def _of_first(wanted: Wanted, query: Query) -> Paired:
    """The group that has the most, and how much that is."""
    if query.limit != 1 or len(query.group_by) != 1:
        return []
    texts = [one for one in wanted.names if one in wanted.texts]
    numbers = [one for one in wanted.names if one not in wanted.texts]
    if not texts and len(numbers) == 2:  # noqa: PLR2004
        texts, numbers = numbers[:1], numbers[1:]
    columns = [query.group_by[0].column, query.measures[0].name]
    return [(one, column, ()) for one, column in zip((*texts, *numbers), columns, strict=False)]


def _of_groups(names: Sequence[str], query: Query, asked: AskedTable) -> Paired:
    """`mean_fare_class1`: the group whose words the name holds, its figures in their order."""
    if len(query.group_by) != 1:
        return []
    column = asked.profile.column(query.group_by[0].column)
    values = [one.value for one in column.top] if column else []
    found: Paired = []
    for name in names:
        words = {stem(one.text) for one in atoms(name)}
        own = [x for x in values if {stem(one.text) for one in atoms(str(x))} <= words]
        if len(own) != 1:
            return []
        place = sum(group == (own[0],) for *_, group in found)
        if place >= len(query.measures):
            return []
        found.append((name, query.measures[place].name, (own[0],)))
    return found


# A p-value turned into one of two words that a question asks for.

USUAL_ALPHA = 0.05
ALPHA = re.compile(
    rf"(?:significance level|alpha|\u03b1)[^.\n\d]{{0,30}}({NUMBER})"
    rf"|({NUMBER}) (?:significance )?level",
    re.IGNORECASE,
)
P_AGAINST = re.compile(
    rf"p[- ]?values?[^.\n\d]{{0,40}}(?:than|<|>|=|to)\s*({NUMBER})", re.IGNORECASE
)
NEGATIVE = re.compile(
    r"^(?:not?|non|in|un|false|isn't|doesn't)(?=[\W_]|$)|^(?:non|not|un)\w{3}|\bnot\b",
    re.IGNORECASE,
)


def alpha(text: str) -> float:
    for pattern in (P_AGAINST, ALPHA):
        found = pattern.search(text)
        if found is not None:
            said = float(next(one for one in found.groups() if one))
            if 0 < said < 1:
                return said
    return USUAL_ALPHA


def polar(words: Sequence[str]) -> tuple[str, str] | None:
    """The word that affirms and the word that denies, where there are just these two."""
    if len(words) != 2:  # noqa: PLR2004
        return None
    denied = [one for one in words if NEGATIVE.search(one.replace("_", " "))]
    if len(denied) != 1:
        return None
    (affirmed,) = [one for one in words if one not in denied]
    return affirmed, denied[0]


def p_cases(
    words: Sequence[str], measure: str, text: str, *, small: Literal["yes", "no"]
) -> tuple[Case, ...]:
    """By a p-value: `small` says whether a small one affirms (a correlation) or denies (that the
    values are normal)."""
    pair = polar(words)
    if pair is None:
        return ()
    affirmed, denied = pair
    if_small, if_not = (affirmed, denied) if small == "yes" else (denied, affirmed)
    return Case(if_small, (Bound(measure, "<", alpha(text)),)), Case(if_not)
