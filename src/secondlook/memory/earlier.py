"""What the earlier parts of a run leave to its account when it is taken up again.

Not only what they spent: also what may still be billed for calls that nobody heard the end of, how
its models were seen to count, and whether a call was refused. All of it is in the journal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from secondlook.answer import Usage
from secondlook.errors import BudgetExceeded
from secondlook.memory.calls import ended, spent_on
from secondlook.memory.caps import NOTHING, decimal
from secondlook.memory.journal import JournalEntry
from secondlook.memory.spending import Books

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from secondlook.memory.journal import Journal

_REFUSED = "/refused"
"""Under it a journal keeps the first call that was refused; no call is named so."""


class Counted(NamedTuple):
    """Tokens that were reserved for a call, and those that its model told."""

    model: str
    reserved: tuple[int, int]
    """In and out."""
    told: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Earlier:
    usage: Usage = field(default_factory=Usage)
    maybe_tokens: int = 0
    """On top of what was spent: what calls without an end may be billed for."""
    maybe_cost: Decimal = NOTHING
    counted: tuple[Counted, ...] = ()
    refusal: BudgetExceeded | None = None


def earlier_of(rows: Iterable[tuple[str, JournalEntry]], *, seconds: float) -> Earlier:
    """Out of a journal, in the order it was written."""
    entries = list(rows)
    calls = ended(entries)
    doubtful = [end or sent for sent, end in calls]
    return Earlier(
        _spent(entries, seconds),
        sum(max(0, one.most_tokens - one.tokens_in - one.tokens_out) for one in doubtful if one),
        sum((_rest(one) for one in doubtful if one), NOTHING),
        tuple(
            Counted(end.model, (sent.tokens_in, sent.longest), (end.tokens_in, end.tokens_out))
            for sent, end in calls
            if sent and end and end.state == "reply"
        ),
        _refusal(entries),
    )


def keep_refusal(journal: Journal, refusal: BudgetExceeded) -> None:
    told = {"message": str(refusal), "cap": refusal.cap, "hint": refusal.hint}
    journal.put(_REFUSED, JournalEntry.free(json.dumps(told), kind="budget", node=""))


def _spent(rows: Iterable[tuple[str, JournalEntry]], seconds: float) -> Usage:
    books = Books()
    for call in spent_on(rows):
        books.add(call, None if call.cost is None else decimal(call.cost))
    return books.usage(seconds)


def _refusal(rows: Iterable[tuple[str, JournalEntry]]) -> BudgetExceeded | None:
    kept = next((entry for key, entry in rows if key == _REFUSED), None)
    if kept is None:
        return None
    told = json.loads(kept.text)
    return BudgetExceeded(told["message"], cap=told["cap"], hint=told["hint"])


def _rest(entry: JournalEntry) -> Decimal:
    if entry.most_cost is None:
        return NOTHING
    return max(NOTHING, decimal(entry.most_cost) - decimal(entry.cost or 0.0))
