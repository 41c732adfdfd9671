"""How an answer says that a cap has cut it short, and what would allow more. In one place, so that
whoever checks an answer knows the words for ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from secondlook.errors import Cap
    from secondlook.settings import BudgetSettings

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
