"""What a run may spend at most, what tokens cost, and leave to make one call: data only."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from secondlook.settings import BudgetSettings

NOTHING = Decimal(0)
_PER = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that one run may spend; 0 = no cap."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, budget: BudgetSettings) -> Caps:
        return cls(budget.calls, budget.tokens, budget.money, budget.seconds)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. `cached` is of input the provider had seen; None = as new."""

    input: float
    output: float
    cached: float | None = None

    def of(self, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> Decimal:
        """`tokens_in` includes the cached ones."""
        cached = self.input if self.cached is None else self.cached
        seen = min(tokens_cached, tokens_in)
        dollars = (
            decimal(self.input) * (tokens_in - seen)
            + decimal(cached) * seen
            + decimal(self.output) * tokens_out
        )
        return dollars / _PER

    def worst(self, *, tokens_in: int, tokens_out: int) -> Decimal:
        """Where the cache costs more than it saves, all of it might have been cached."""
        new, seen = (
            self.of(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=cached)
            for cached in (0, tokens_in)
        )
        return max(new, seen)


class SetAside(NamedTuple):
    """What other calls must leave for one final call, so that a run can end with an answer."""

    tokens_in: int
    tokens_out: int
    price: Price | None = None
    """Of the final call; None = as of the call that wants to go first."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """Leave for one call. Settle it when it happened, release it when it did not."""

    node: str
    role: str
    model: str
    tokens_in: int
    max_tokens_out: int
    price: Price | None
    final: bool = False
    more_in: int = 0
    """On top, for a model that was seen to count more than was reserved."""
    more_out: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.more_in + self.max_tokens_out + self.more_out

    @property
    def cost(self) -> Decimal:
        """At worst. An unknown price is 0 here: with a cap on money nothing unknown is let in."""
        if self.price is None:
            return NOTHING
        return self.price.worst(
            tokens_in=self.tokens_in + self.more_in, tokens_out=self.max_tokens_out + self.more_out
        )


def decimal(value: float) -> Decimal:
    """As it is written: 0.1 is a tenth."""
    return Decimal(repr(value))
