"""What the earlier parts of a run leave to its account."""

from __future__ import annotations

from decimal import Decimal

import pytest

from secondlook.answer import CallUsage
from secondlook.errors import BudgetExceeded
from secondlook.models.budget import Earlier, Ledger, earlier_of, keep_refusal
from secondlook.models.journal import Calls, JournalEntry, MemoryJournal
from secondlook.models.prices import Caps, Price, Reservation

PRICE = Price(1.0, 2.0)
EXPECTED = CallUsage(
    node="grade", role="grade", model="m", calls=1, tokens_in=100, cost=100 / 1_000_000
)


def reserve(ledger: Ledger, tokens_in: int, tokens_out: int, **more: bool) -> Reservation:
    return ledger.reserve(
        node="grade",
        role="grade",
        model="m",
        tokens_in=tokens_in,
        max_tokens_out=tokens_out,
        price=PRICE,
        **more,
    )


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


def left_by(journal: MemoryJournal) -> Earlier:
    return earlier_of(journal.entries.items(), seconds=2.0)


def taken_up(journal: MemoryJournal, caps: Caps) -> Ledger:
    ledger = Ledger(caps)
    ledger.take_up(left_by(journal))
    return ledger


def sent(journal: MemoryJournal) -> tuple[Calls, str, Reservation]:
    calls, reserved = Calls("r", journal), reserve(Ledger(Caps()), 100, 50)
    key = calls.key("a")
    calls.send(key, EXPECTED, reserved)
    return calls, key, reserved


def test_what_a_lost_call_may_be_billed_for_stays_taken(journal: MemoryJournal) -> None:
    sent(journal)
    earlier = left_by(journal)
    assert (earlier.usage.calls, earlier.usage.tokens_in, earlier.usage.tokens_out) == (1, 100, 0)
    assert (earlier.maybe_tokens, earlier.maybe_cost) == (50, Decimal("0.0001"))
    ledger = taken_up(journal, Caps(tokens=300))
    with pytest.raises(BudgetExceeded, match="150 of 300"):
        reserve(ledger, 101, 50)
    reserve(ledger, 100, 50)
    with pytest.raises(BudgetExceeded, match=r"0.0002 of 0.0003"):
        reserve(taken_up(journal, Caps(money=0.0003)), 101, 0)


@pytest.mark.parametrize(("doubted", "rest"), [(True, 50), (False, 0)])
def test_so_is_one_that_failed_unless_somebody_worked_on_it(
    journal: MemoryJournal, doubted: bool, rest: int
) -> None:
    calls, reserved = Calls("r", journal), reserve(Ledger(Caps()), 100, 50)
    on_its_way = calls.send(calls.key("a"), EXPECTED, reserved)
    promised = reserved if doubted else None
    calls.failed(on_its_way, JournalEntry.of(EXPECTED, "ModelTimeout", promised=promised))
    assert left_by(journal).maybe_tokens == rest


def test_who_was_refused_stays_refused(journal: MemoryJournal) -> None:
    ledger = Ledger(Caps(calls=1))
    ledger.on_refusal = lambda refusal: keep_refusal(journal, refusal)
    first = BudgetExceeded("grade may not", cap="tokens", hint="give more")
    ledger.refuse(first)
    ledger.refuse(BudgetExceeded("nor may plan", cap="calls"))
    again = taken_up(journal, Caps(tokens=10_000))
    assert again.refusal is not None
    assert (str(again.refusal), again.refusal.cap) == (str(first), "tokens")
    assert again.refusal.hint == "give more"
    with pytest.raises(BudgetExceeded, match="was refused before"):
        reserve(again, 1, 1)
    reserve(again, 1, 1, final=True)
