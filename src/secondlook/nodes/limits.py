"""What may still be tried: another search, another draft."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.errors import Cap
    from secondlook.nodes.context import Context
    from secondlook.nodes.state import DraftData, Search
    from secondlook.settings.sections import BudgetSettings, Settings

HOTTER = 0.4
"""By how much the temperature rises with each of the first two new drafts."""
_FULL_STEPS = 2
_SMALL_STEP = 0.1
_HOTTEST = 2.0


def may_regenerate(context: Context, draft: DraftData, regenerations: int) -> bool:
    """Whether a model wrote the draft and may write another. What the reader took from a passage
    would be taken again."""
    settings = context.settings.corrective
    return (
        settings.enable_regeneration
        and regenerations < settings.max_regenerations
        and draft["model"] is not None
        and context.models.serves("answer")
    )


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


def rewriting_may_help(draft: DraftData) -> bool:
    """Whether a draft that is not useful is a reason to search again. Where the reader withheld
    its own answer it is none: the same scores have said already what was found."""
    return bool(draft["sentences"]) or draft["model"] is not None


def hotter(temperature: float, regenerations: int) -> float:
    """The temperature of a new draft: 0.4 and 0.8 above the role's own, then slowly more."""
    full = min(regenerations, _FULL_STEPS)
    raised = temperature + HOTTER * full + _SMALL_STEP * (regenerations - full)
    return round(min(raised, _HOTTEST), 2)


# Where the judges of an answer are sure, and where they are not.

MIN_LIKENESS: Final = 0.65
"""The cosine that a sentence and a place that it cites must reach."""
GREY: Final = 0.25
"""The reader is unsure of a sentence whose support is no further than this from `min_support`."""


# What a model held of the answers of a run, for whoever writes the next one.

AnswerGrade = Literal["yes", "no", "not graded"]


class AnswerGrades(TypedDict):
    answer_grades: Annotated[list[AnswerGrade], operator.add]
    """One for each answer that was to be graded, in order."""


def is_refused(answer_grades: Sequence[AnswerGrade]) -> bool:
    """Whether the answer that is to be written now follows one that was refused."""
    return bool(answer_grades) and answer_grades[-1] == "no"


# The risk dial: how sure an answer must be where only so many answers may be wrong.

_DIGITS = range(2, 7)


@dataclass(frozen=True, slots=True)
class Dial:
    """The share of answers that may be wrong, and what keeps to it."""

    max_risk: float
    threshold: float | None
    """The probability that an answer needs; None when none would do."""
    counted: int
    """Answers that the promise rests on."""

    def objection(self, probability: float | None) -> str | None:
        """Why an answer with this probability must be withheld; None where it may be given."""
        allowed = f"the risk allowed is {100 * self.max_risk:g} %"
        if self.threshold is None:
            return (
                f"{allowed}: no answer can be promised to keep to it by the {self.counted} answers "
                "that the calibration counts; secondlook calibrate with more questions may help"
            )
        if probability is None:
            needed = _apart(self.threshold, 0.0)[0]
            return f"{allowed}: an answer needs a probability of {needed}, this one has none"
        if probability < self.threshold:
            needed, has = _apart(self.threshold, probability)
            return f"{allowed}: an answer needs a probability of {needed}, this one has {has}"
        return None


def dial(context: Context) -> Dial | None:
    """None where no risk was named."""
    settings = context.settings.answer
    if settings.max_risk is None:
        return None
    calibration = context.calibration
    return Dial(
        max_risk=settings.max_risk,
        threshold=calibration.risk_threshold(settings.max_risk),
        counted=calibration.risk.questions if calibration.risk else 0,
    )


def _apart(needed: float, has: float) -> tuple[str, str]:
    """Both with as many digits as it takes to tell them apart: `.93`, `.71`."""
    for digits in _DIGITS:
        pair = (f"{needed:.{digits}f}".lstrip("0"), f"{has:.{digits}f}".lstrip("0"))
        if pair[0] != pair[1]:
            break
    return pair


# How an answer says that a cap has cut it short, and what would allow more. In one place, so
# that whoever checks an answer knows the words for ours.

_MORE: Final[dict[Cap, tuple[str, str]]] = {
    "calls": ("model call", "--max-calls"),
    "tokens": ("token", "--max-tokens"),
    "money": ("US dollar", "--max-cost"),
    "seconds": ("second", "--timeout"),
}
_NO_PRICE: Final = (
    "(Cut short: a price is unknown, so a cap of {} US dollars cannot be kept. To allow more: name "
    "prices with models.prices, or set budget.money to 0.)"
)
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
        return _NO_PRICE.format(f"{budget.money:,g}")
    what, flag = _MORE[cap]
    allowed = getattr(budget, cap)
    most = f"{allowed:,g} {what}" + ("" if allowed == 1 else "s")
    return f"(Cut short: a question may take {most}. To allow more: {flag} or budget.{cap}.)"


def without_cut(text: str) -> str:
    """A text without what it says of being cut short, which ends it."""
    return _SAID.sub("", text).rstrip() if _SAID.search(text) else text
