"""The ledger: nothing is started that would break a cap, and what was spent adds up."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from secondlook.errors import BudgetExceeded
from secondlook.models.budget import Ledger
from secondlook.models.prices import Caps, Price, Reservation

CHEAP = Price(1.0, 2.0, 0.1)


def reserve(
    ledger: Ledger,
    tokens_in: int = 100,
    max_tokens_out: int = 50,
    *,
    price: Price | None = CHEAP,
    final: bool = False,
    node: str = "answer",
    model: str = "m",
) -> Reservation:
    return ledger.reserve(
        node=node,
        role="answer",
        model=model,
        tokens_in=tokens_in,
        max_tokens_out=max_tokens_out,
        price=price,
        final=final,
    )


def test_an_unknown_price_makes_the_cost_unknown_never_zero() -> None:
    ledger = Ledger(Caps())
    assert ledger.usage().cost == 0.0
    ledger.settle(reserve(ledger, price=CHEAP), tokens_in=100, tokens_out=10)
    ledger.settle(reserve(ledger, price=None, model="x"), tokens_in=1, tokens_out=1)
    usage = ledger.usage()
    assert usage.cost is None
    assert [call.cost for call in usage.by_node] == [pytest.approx(0.00012), None]


def test_ten_tenths_fill_a_cap_of_one_exactly() -> None:
    ledger = Ledger(Caps(money=1.0))
    tenth = Price(0.1, 0.0)
    for _ in range(10):
        ledger.settle(reserve(ledger, 1_000_000, 0, price=tenth), tokens_in=1_000_000, tokens_out=0)
    assert ledger.usage().cost == 1.0
    with pytest.raises(BudgetExceeded):
        reserve(ledger, 1, 0, price=tenth)


def test_a_model_that_counts_more_than_was_reserved_is_believed() -> None:
    ledger = Ledger(Caps(tokens=1000))
    ledger.settle(reserve(ledger, 100, 50), tokens_in=150, tokens_out=100)
    with pytest.raises(BudgetExceeded, match="could take 752 tokens"):
        reserve(ledger, 300, 151)
    reserve(ledger, 300, 150)
    other = Ledger(Caps(tokens=1000))
    other.settle(reserve(other, 100, 50), tokens_in=150, tokens_out=100)
    reserve(other, 500, 250, model="another")


@pytest.mark.parametrize(
    ("caps", "room"),
    [
        (Caps(), None),
        (Caps(seconds=5), None),
        (Caps(tokens=500), 450),
        (Caps(tokens=40), 0),
        (Caps(money=0.0005), 400),
        (Caps(tokens=500, money=0.0005), 400),
        (Caps(calls=1), None),
    ],
)
def test_the_room_for_a_prompt_is_what_can_be_paid(caps: Caps, room: int | None) -> None:
    ledger = Ledger(caps)
    assert ledger.room(model="m", max_tokens_out=50, price=CHEAP) == room
    if room:
        with pytest.raises(BudgetExceeded):
            reserve(ledger, room + 1, 50)
    if room != 0:
        reserve(ledger, room or 10**6, 50)
    if caps.calls:
        assert ledger.room(model="m", max_tokens_out=50, price=CHEAP) == 0


# Under any interleaving of calls, whatever the caps

PRICES = st.builds(
    Price,
    input=st.floats(0, 50).map(lambda value: round(value, 3)),
    output=st.floats(0, 50).map(lambda value: round(value, 3)),
    cached=st.none() | st.floats(0, 80).map(lambda value: round(value, 3)),
)
CAPS = st.one_of(
    st.builds(Caps, calls=st.integers(1, 4)),
    st.builds(Caps, tokens=st.integers(500, 5000)),
    st.builds(Caps, money=st.sampled_from([0.001, 0.02, 0.1])),
    st.builds(Caps, calls=st.integers(0, 6), tokens=st.integers(0, 9000), money=st.just(0.1)),
)
SIZES = st.integers(0, 1500)


@dataclass
class Books:
    """An independent account, kept the simplest way."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    open: dict[Reservation, float] = field(default_factory=dict)


class Interleaved(RuleBasedStateMachine):
    """Providers that keep to what was reserved: then no cap is ever broken."""

    reservations: Bundle[Reservation] = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(Caps())
        self.books = Books()

    @initialize(caps=CAPS, aside=st.none() | st.tuples(SIZES, SIZES))
    def begin(self, caps: Caps, aside: tuple[int, int] | None) -> None:
        self.ledger = Ledger(caps, set_aside=aside)

    @rule(
        target=reservations,
        tokens_in=SIZES,
        out=SIZES,
        price=PRICES,
        final=st.booleans(),
        node=st.sampled_from("abc"),
    )
    def reserve(
        self, tokens_in: int, out: int, price: Price, final: bool, node: str
    ) -> MultipleResults[Reservation] | Reservation:
        try:
            taken = reserve(self.ledger, tokens_in, out, price=price, final=final, node=node)
        except BudgetExceeded:
            return multiple()
        self.books.open[taken] = float(price.worst(tokens_in=tokens_in, tokens_out=out))
        return taken

    @rule(taken=consumes(reservations), data=st.data())
    def settle(self, taken: Reservation, data: st.DataObject) -> None:
        tokens_in = data.draw(st.integers(0, taken.tokens_in))
        out = data.draw(st.integers(0, taken.max_tokens_out))
        cached = data.draw(st.integers(0, tokens_in))
        call = self.ledger.settle(
            taken, tokens_in=tokens_in, tokens_out=out, tokens_cached=cached, seconds=0.25
        )
        worst = self.books.open.pop(taken)
        assert call.cost is not None
        assert call.cost <= worst + 1e-12
        self.books.calls += 1
        self.books.tokens += tokens_in + out
        self.books.money += call.cost

    @rule(taken=consumes(reservations))
    def release(self, taken: Reservation) -> None:
        self.ledger.release(taken)
        del self.books.open[taken]

    @invariant()
    def no_cap_is_broken(self) -> None:
        caps, books = self.ledger.caps, self.books
        if caps.calls:
            assert books.calls + len(books.open) <= caps.calls
        if caps.tokens:
            assert books.tokens + sum(item.tokens for item in books.open) <= caps.tokens
        if caps.money:
            assert books.money + sum(books.open.values()) <= caps.money + 1e-9

    @invariant()
    def the_books_agree(self) -> None:
        usage = self.ledger.usage()
        assert usage.calls == self.books.calls
        assert usage.tokens_in + usage.tokens_out == self.books.tokens
        assert usage.cost == pytest.approx(self.books.money, abs=1e-12)

    @invariant()
    def totals_are_the_sum_of_the_parts(self) -> None:
        usage = self.ledger.usage()
        for name in ("calls", "tokens_in", "tokens_out", "tokens_cached"):
            assert getattr(usage, name) == sum(getattr(call, name) for call in usage.by_node)
        assert usage.cost == pytest.approx(sum(call.cost or 0 for call in usage.by_node))
        keys = [(call.node, call.role, call.model) for call in usage.by_node]
        assert len(keys) == len(set(keys))


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(
    max_examples=80, stateful_step_count=20, deadline=None, derandomize=True
)
