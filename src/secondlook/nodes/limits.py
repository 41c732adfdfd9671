"""What may still be tried, how sure an answer must be, and how an answer says that a cap cut it
short."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Method, Tier
    from secondlook.errors import Cap
    from secondlook.nodes.context import Context
    from secondlook.nodes.state import Search
    from secondlook.settings.sections import BudgetSettings, Settings

GREY: Final = 0.25
"""The reader is unsure of a sentence whose support is no further than this from `min_support`."""
AnswerGrade = Literal["yes", "no", "not graded"]


class AnswerGrades(TypedDict):
    answer_grades: Annotated[list[AnswerGrade], operator.add]
    """A model's verdict on each answer that was to be graded, in order."""


def rewrites(queries: Sequence[str], assumed: str | None) -> int:
    """How often the question was put in other words. The question as it was understood, where a
    reading was assumed, is a query too, and none of these."""
    return len(queries) - 1 - (assumed is not None)


def may_search_again(
    queries: Sequence[str],
    searches: Sequence[Search],
    settings: Settings,
    *,
    assumed: str | None = None,
) -> bool:
    """Whether the question may be put in other words: attempts remain, and the last time it was,
    that brought something new."""
    corrective = settings.corrective
    if not corrective.enable_rewriting or rewrites(queries, assumed) >= corrective.max_rewrites:
        return False
    return len(searches) <= 1 or searches[-1]["new"] > 0


def hotter(temperature: float, regenerations: int) -> float:
    """The temperature of a new draft: 0.4 and 0.8 above the role's own, then slowly more."""
    full = min(regenerations, 2)
    return round(min(temperature + 0.4 * full + 0.1 * (regenerations - full), 2.0), 2)


@dataclass(frozen=True, slots=True)
class Dial:
    """The share of answers that may be wrong, and what keeps to it."""

    max_risk: float
    threshold: float | None  # the probability that an answer needs; None when none would do
    counted: int  # answers that the promise rests on

    def objection(self, probability: float | None) -> str | None:
        """Why an answer with this probability must be withheld; None where it may be given."""
        allowed = f"the risk allowed is {100 * self.max_risk:g} %"
        if self.threshold is None:
            return (
                f"{allowed}: no answer can be promised to keep to it by the {self.counted} answers "
                "that the calibration counts; secondlook calibrate with more questions may help"
            )
        if probability is not None and probability >= self.threshold:
            return None
        needed, has = f"{self.threshold:.2f}", "none"
        for digits in range(2, 7):  # as many as it takes to tell the two apart
            needed = f"{self.threshold:.{digits}f}".lstrip("0")
            has = "none" if probability is None else f"{probability:.{digits}f}".lstrip("0")
            if needed != has:
                break
        return f"{allowed}: an answer needs a probability of {needed}, this one has {has}"


def dial(context: Context) -> Dial | None:
    """None where no risk was named."""
    max_risk = context.settings.answer.max_risk
    if max_risk is None:
        return None
    calibration = context.calibration
    counted = calibration.risk.questions if calibration.risk else 0
    return Dial(max_risk, calibration.risk_threshold(max_risk), counted)


# What an answer says of itself. In one place, so that `verify` knows the words.


def lead(tier: Tier | None, short: str | None, method: Method) -> str:
    """How the text of an answer begins: that it is not sure, and yes or no where a passage is
    quoted. A model says that itself."""
    said = f"{short}. " if short in {"Yes", "No"} and method == "extractive" else ""
    return f"Most likely: {said}" if tier == "likely" else said


_MORE: Final[dict[Cap, tuple[str, str]]] = {
    "calls": ("model call", "--max-calls"),
    "tokens": ("token", "--max-tokens"),
    "money": ("US dollar", "--max-cost"),
    "seconds": ("second", "--timeout"),
}
_SAID: Final = re.compile(
    r"\(Cut short: (?:"
    r"a question may take [\d.,e+-]+ (?:model call|token|US dollar|second)s?\. "
    r"To allow more: --[a-z-]+ or budget\.[a-z]+\."
    r"|a price is unknown, so a cap of [\d.,e+-]+ US dollars cannot be kept\. "
    r"To allow more: name prices with models\.prices, or set budget\.money to 0\."
    r")\)\s*\Z"
)


def cut_short_by(cap: Cap, budget: BudgetSettings) -> str:
    if cap == "price":
        return (
            f"(Cut short: a price is unknown, so a cap of {budget.money:,g} US dollars cannot be "
            "kept. To allow more: name prices with models.prices, or set budget.money to 0.)"
        )
    what, flag = _MORE[cap]
    allowed = getattr(budget, cap)
    most = f"{allowed:,g} {what}" + ("" if allowed == 1 else "s")
    return f"(Cut short: a question may take {most}. To allow more: {flag} or budget.{cap}.)"


def without_cut(text: str) -> str:
    """A text without what it says of being cut short, which ends it."""
    return _SAID.sub("", text).rstrip() if _SAID.search(text) else text
