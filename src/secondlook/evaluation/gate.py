"""Whether a change lost anything: two runs over the same set, configuration by configuration.

A gate that fails by chance is switched off, so it fails only on a loss that chance does not
explain: the 95 % interval of the deciding metric wholly below 0, and p, corrected for how many
configurations are compared, below .05.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.evaluation.comparison import (
    check_metric,
    compare,
    corrected,
    gained,
    primary_metric,
    significant,
)
from secondlook.evaluation.questions import by_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.evaluation.records import Comparison, Results, Row

_MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Gate:
    """What two runs come to."""

    lines: tuple[str, ...]
    """For a person: what differs between the runs beside their figures, then each verdict."""
    comparisons: tuple[Comparison, ...]
    lost: tuple[str, ...]
    """Configurations of the second run with a significant loss."""

    @property
    def failed(self) -> bool:
        return bool(self.lost)


def gate(a: Results, b: Results, *, metric: str | None = None, seed: int = 0) -> Gate:
    """Whether `b` is significantly worse than `a` in any configuration that both have."""
    _refuse_other_set(a, b)
    before, after = _rows(a), _rows(b)
    pairs = _pairs(before, after)
    chosen = check_metric(metric or primary_metric(before[pairs[0][0]]))
    comparisons = corrected(
        [
            compare(before[one], after[other], metric=chosen, seed=seed, names=(one, other))
            for one, other in pairs
        ]
    )
    lost = tuple(one.other for one in comparisons if _is_loss(one))
    lines = (
        *_unpaired(before, after, pairs),
        *_changed("setting", a.settings, b.settings),
        *_changed("version", a.versions, b.versions),
        *(line for pair in pairs for line in _missing(pair[1], before[pair[0]], after[pair[1]])),
        *map(_told, comparisons),
    )
    return Gate(lines, comparisons, lost)


def _refuse_other_set(a: Results, b: Results) -> None:
    documents = [one.data.get("fingerprint") for one in (a, b)]
    if documents[0] != documents[1]:
        names = [one.data.get("name", "?") for one in (a, b)]
        raise UsageError(
            f"the two runs searched different documents ({names[0]!r} and {names[1]!r})",
            hint="a loss can only be told on the same set: run both over the same folder",
        )
    asked = {row.case: row for row in a.rows}
    for row in b.rows:
        known = asked.get(row.case, row)
        if (known.question, known.expected) != (row.question, row.expected):
            raise UsageError(
                f"question {row.case!r} is not the same in both runs",
                hint="a loss can only be told on the same questions and answers",
            )


def _rows(results: Results) -> dict[str, list[Row]]:
    found = by_configuration(results.rows)
    if not found:
        raise UsageError("a run without rows cannot be compared", hint="run the evaluation again")
    return found


def _pairs(
    before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]
) -> list[tuple[str, str]]:
    """By name; one with one whatever their names."""
    if len(before) == len(after) == 1:
        return [(next(iter(before)), next(iter(after)))]
    pairs = [(name, name) for name in before if name in after]
    if not pairs:
        raise UsageError(
            f"the runs have no configuration in common: {', '.join(map(repr, before))} in the "
            f"first, {', '.join(map(repr, after))} in the second",
            hint="run both with the same --workflow",
        )
    return pairs


def _is_loss(comparison: Comparison) -> bool:
    return gained(comparison.deciding)[2] < 0 and significant(comparison.deciding)


def _unpaired(
    before: Mapping[str, Sequence[Row]],
    after: Mapping[str, Sequence[Row]],
    pairs: Sequence[tuple[str, str]],
) -> Iterator[str]:
    for which, names, used in (
        ("first", before, {pair[0] for pair in pairs}),
        ("second", after, {pair[1] for pair in pairs}),
    ):
        if left := [name for name in names if name not in used]:
            yield f"only in the {which} run, not compared: {', '.join(left)}"


def _missing(name: str, before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    first, second = ({row.case for row in rows} for rows in (before, after))
    for which, only in (("first", first - second), ("second", second - first)):
        if only:
            yield f"{name}: {len(only)} questions only in the {which} run, not compared"


def _changed(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    before, after = dict(_flat(one)), dict(_flat(other))
    keys = [
        key
        for key in dict.fromkeys((*before, *after))
        if before.get(key, "not there") != after.get(key, "not there")
    ]
    told = [
        f"{what} {key}: {before.get(key, 'not there')!r} -> {after.get(key, 'not there')!r}"
        for key in keys[:_MOST_TOLD]
    ]
    return told + [f"{len(keys) - _MOST_TOLD} more {what}s differ"] * (len(keys) > _MOST_TOLD)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _told(comparison: Comparison) -> str:
    found = comparison.deciding
    if _is_loss(comparison):
        verdict = "a significant loss"
    elif gained(found)[1] > 0 and significant(found):
        verdict = "a significant gain"
    else:
        verdict = "no significant loss"
    names = dict.fromkeys((comparison.base, comparison.other))
    return (
        f"{' -> '.join(names)}: {found.metric} {found.base:.3f} -> {found.other:.3f}, "
        f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}], "
        f"p = {found.p_holm if found.p_holm is not None else found.p:.3f}, "
        f"n = {found.n}: {verdict}"
    )
