"""What was spent, added up: by node, role and model, and altogether."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from secondlook.answer import CallUsage, Usage
from secondlook.memory.caps import NOTHING

if TYPE_CHECKING:
    from decimal import Decimal

    from secondlook.memory.caps import Reservation


@dataclass(slots=True)
class Spent:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    cost: Decimal | None = NOTHING
    """None where a price is unknown: never 0."""
    seconds: float = 0.0
    retries: int = 0
    parse_failures: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def add(self, call: CallUsage, cost: Decimal | None) -> None:
        self.calls += call.calls
        self.tokens_in += call.tokens_in
        self.tokens_out += call.tokens_out
        self.tokens_cached += call.tokens_cached
        self.characters_in += call.characters_in
        self.characters_out += call.characters_out
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.seconds += call.seconds
        self.retries += call.retries
        self.parse_failures += call.parse_failures

    @property
    def dollars(self) -> float | None:
        return None if self.cost is None else float(self.cost)


@dataclass(slots=True)
class Books:
    """All that was spent, and what may have been: a call that nobody heard the end of may be
    billed whole, so what it could take at worst stays taken."""

    total: Spent = field(default_factory=Spent)
    maybe_tokens: int = 0
    maybe_cost: Decimal = NOTHING
    _by_node: dict[tuple[str, str, str], Spent] = field(default_factory=dict)

    def add(self, call: CallUsage, cost: Decimal | None) -> None:
        self._by_node.setdefault((call.node, call.role, call.model), Spent()).add(call, cost)
        self.total.add(call, cost)

    def doubt(self, reservation: Reservation, call: CallUsage, cost: Decimal | None) -> None:
        """Keep the rest of its worst case taken."""
        self.maybe_tokens += max(0, reservation.tokens - call.tokens_in - call.tokens_out)
        self.maybe_cost += max(NOTHING, reservation.cost - (cost or NOTHING))

    def unpriced(self) -> str:
        """The models whose cost is unknown, for people."""
        models = {model for (_, _, model), spent in self._by_node.items() if spent.cost is None}
        return ", ".join(map(repr, sorted(models)))

    def usage(self, seconds: float) -> Usage:
        total = self.total
        return Usage(
            calls=total.calls,
            tokens_in=total.tokens_in,
            tokens_out=total.tokens_out,
            tokens_cached=total.tokens_cached,
            characters_in=total.characters_in,
            characters_out=total.characters_out,
            cost=total.dollars,
            seconds=seconds,
            by_node=tuple(_line(*key, spent) for key, spent in self._by_node.items()),
        )


def _line(node: str, role: str, model: str, spent: Spent) -> CallUsage:
    return CallUsage(
        node=node,
        role=role,
        model=model,
        calls=spent.calls,
        tokens_in=spent.tokens_in,
        tokens_out=spent.tokens_out,
        tokens_cached=spent.tokens_cached,
        characters_in=spent.characters_in,
        characters_out=spent.characters_out,
        cost=spent.dollars,
        seconds=spent.seconds,
        retries=spent.retries,
        parse_failures=spent.parse_failures,
    )


@dataclass(slots=True)
class Excess:
    """By how much a model's own count was above what was reserved, at worst. It counts in another
    way than we do, or does not keep to the length it was told, and will do so again."""

    _in: dict[str, Fraction] = field(default_factory=dict)
    _out: dict[str, Fraction] = field(default_factory=dict)

    def learn(self, model: str, *, reserved: tuple[int, int], told: tuple[int, int]) -> None:
        """By one call: tokens in and out."""
        _learn(self._in, model, told[0], reserved[0])
        _learn(self._out, model, told[1], reserved[1])

    def of(self, model: str, tokens_in: int, max_tokens_out: int) -> tuple[int, int]:
        """Tokens on top of those, in and out."""
        return (
            ceil(tokens_in * (self._in.get(model, 1) - 1)),
            ceil(max_tokens_out * (self._out.get(model, 1) - 1)),
        )

    def counted(self, model: str, tokens_in: int) -> int:
        """The tokens of a prompt, as we count, that the model counts as so many."""
        return int(tokens_in / self._in.get(model, Fraction(1)))


def _learn(known: dict[str, Fraction], model: str, told: int, reserved: int) -> None:
    if told > reserved > 0:
        known[model] = max(known.get(model, Fraction(1)), Fraction(told, reserved))
