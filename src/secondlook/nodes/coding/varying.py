"""Whether a result follows from its data: the same code on the same rows in another order must come
to the same, on other values to something else.

Only what is certain is said. Code may rightly depend on order, and a count or a name may rightly
stay as it is: then there is no verdict.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.comparing import same
from secondlook.nodes.coding.ordering import Signs
from secondlook.nodes.judging.values import Named, named_values, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Outcome, Variation
    from secondlook.state.analysis import AnalysisCheckData

SHUFFLED: Final = "same_in_any_order"
CHANGED: Final = "follows_the_data"
_EXACT = 1e-9
_FITTED = 1e-6
"""Sums over rows in another order differ in their last digits; fits add to that."""
_UNCHANGED = 1e-12
_UNROUNDED = 6
"""Digits with which a number cannot stay the same by chance."""
_TELLING = 4
"""The same where several changes left it as it was."""
_LARGE = 1_000
_SATURATED = 1e-9
"""A p-value of 1e-200 is as small as it gets, whatever the data."""
_WITH_DECIMALS = re.compile(r"-?\d+\.\d+")


def variations(question: str, code: str) -> tuple[Variation, ...]:
    """The runs worth making."""
    signs = Signs(question, code)
    shuffled: tuple[Variation, ...] = () if signs.by_order else ("shuffled",)
    return (*shuffled, "perturbed", "resampled")


def follows(
    question: str,
    code: str,
    base: Outcome,
    varied: Sequence[tuple[Variation, Outcome]],
) -> list[AnalysisCheckData]:
    """`base`: what the code came to on the tables themselves. Nothing where nothing can be said."""
    if base.status != "ok":
        return []
    signs = Signs(question, code)
    ended = [(how, outcome) for how, outcome in varied if outcome.status == "ok"]
    shuffled = [outcome for how, outcome in ended if how == "shuffled"]
    changed = [outcome for how, outcome in ended if how != "shuffled"]
    found = [_in_any_order(signs, base, one) for one in shuffled[:1]]
    found.append(_on_other_values(signs, base, changed))
    return [one for one in found if one is not None]


def _in_any_order(signs: Signs, base: Outcome, shuffled: Outcome) -> AnalysisCheckData | None:
    if not base.has_result:
        return None  # points of a chart come in the order of the rows
    tolerance = _FITTED if signs.fitted else _EXACT
    equal = same(base, shuffled, tolerance=tolerance, ties=True)
    if equal is None or (not equal and signs.by_order):
        return None
    if equal:
        return {"name": SHUFFLED, "passed": True, "said": "The order of the rows does not matter."}
    said = f"With the rows in another order the result is another{_difference(base, shuffled)}."
    return {"name": SHUFFLED, "passed": False, "said": said}


def _difference(base: Outcome, other: Outcome) -> str:
    """The first number that differs."""
    pairs = zip(named_values(base), named_values(other), strict=False)
    for one, its in pairs:
        if one.number is not None and its.number is not None and one.number != its.number:
            return f" ({shown(one.number)}, then {shown(its.number)})"
    return ""


def _on_other_values(
    signs: Signs, base: Outcome, changed: Sequence[Outcome]
) -> AnalysisCheckData | None:
    if not changed:
        return None
    if not all(_unchanged(base, one) for one in changed):
        said = "With other values in the tables the result is another, as it must be."
        return {"name": CHANGED, "passed": True, "said": said}
    if signs.of_structure or not _must_change(signs, base, runs=len(changed)):
        return None
    said = "With other values in the tables the result stays the same: it does not come from them."
    return {"name": CHANGED, "passed": False, "said": said}


def _unchanged(base: Outcome, other: Outcome) -> bool:
    equal = same(base, other, tolerance=_UNCHANGED, ties=False)
    drawn = [figure.data for figure in base.figures] == [figure.data for figure in other.figures]
    return equal is not False and drawn


def _must_change(signs: Signs, base: Outcome, *, runs: int) -> bool:
    """Whether there is a figure that other values cannot leave as it is."""
    enough = _TELLING if runs > 1 else _UNROUNDED
    if any(_digits(one) >= enough for one in named_values(base)):
        return True
    if signs.of_counts:
        return False
    whole = [one.number for one in named_values(base) if one.number is not None]
    return runs > 1 and any(_LARGE <= abs(number) < math.inf for number in whole)


def _digits(value: Named) -> int:
    """Significant digits of a number with decimals; 0 for whole numbers and words."""
    if isinstance(value.value, str):
        return max(map(_significant, _WITH_DECIMALS.findall(value.value[:2_000])), default=0)
    number = value.number
    if number is None or not math.isfinite(number) or number.is_integer():
        return 0
    if abs(number) < _SATURATED:
        return 0
    return _significant(repr(number).partition("e")[0])


def _significant(written: str) -> int:
    return len(re.sub(r"\D", "", written).lstrip("0"))
