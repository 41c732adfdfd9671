"""What a run may spend, and what it has spent. Nothing is started that would break a cap.

A call is reserved at its worst case before it starts and settled at what it really took. One
reservation is one attempt: a retry is a call of its own. Money is summed in decimal, so that a
thousand small calls do not drift past a cap.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from secondlook.answer import CallUsage, Usage
from secondlook.errors import BudgetExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.settings import BudgetSettings

_PER = Decimal(1_000_000)
_NOTHING = Decimal(0)
_RAISE = "answer from what is known, or raise {} (0 = no cap)"


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
            _decimal(self.input) * (tokens_in - seen)
            + _decimal(cached) * seen
            + _decimal(self.output) * tokens_out
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

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.max_tokens_out

    @property
    def cost(self) -> Decimal:
        """At worst. An unknown price is 0 here: with a cap on money nothing unknown is let in."""
        if self.price is None:
            return _NOTHING
        return self.price.worst(tokens_in=self.tokens_in, tokens_out=self.max_tokens_out)


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    characters_in: int = 0
    characters_out: int = 0
    cost: Decimal | None = _NOTHING
    seconds: float = 0.0
    retries: int = 0
    parse_failures: int = 0

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


@dataclass(frozen=True, slots=True)
class _Bound:
    """One cap as it stands for one call: `want` on top of `taken` must stay within `cap`."""

    name: str
    cap: Decimal
    taken: Decimal
    want: Decimal

    def check(self, reservation: Reservation) -> None:
        if not self.cap or self.taken + self.want <= self.cap:
            return
        raise BudgetExceeded(
            f"{reservation.node} may not call {reservation.model!r}: it could take "
            f"{self.want.normalize():f} {self.name}, and {self.taken.normalize():f} of "
            f"{self.cap.normalize():f} are spent, promised or set aside",
            hint=_RAISE.format(f"budget.{_SETTING[self.name]}"),
        )


_SETTING = {"calls": "calls", "tokens": "tokens", "dollars": "money"}


class Ledger:
    """The account of one run; safe to use from several threads."""

    def __init__(
        self,
        caps: Caps,
        *,
        set_aside: SetAside | tuple[int, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.caps = caps
        self._set_aside = SetAside(*set_aside) if set_aside else None
        self._clock = clock
        self._began = clock()
        self._before = 0.0
        self._lock = threading.Lock()
        self._open: set[Reservation] = set()
        self._by_node: dict[tuple[str, str, str], _Spent] = {}
        self._total = _Spent()
        self._had_final = False

    def reserve(
        self,
        *,
        node: str,
        role: str,
        model: str,
        tokens_in: int,
        max_tokens_out: int,
        price: Price | None,
        final: bool = False,
    ) -> Reservation:
        """Leave to make one call, or `BudgetExceeded`. A `final` one may use what is set aside."""
        wanted = Reservation(node, role, model, tokens_in, max_tokens_out, price, final)
        with self._lock:
            self._check_time(wanted)
            if self.caps.money:
                self._check_prices(wanted)
            for bound in self._bounds(wanted):
                bound.check(wanted)
            self._open.add(wanted)
        return wanted

    def settle(
        self,
        reservation: Reservation,
        *,
        tokens_in: int,
        tokens_out: int,
        tokens_cached: int = 0,
        characters_in: int = 0,
        characters_out: int = 0,
        seconds: float = 0.0,
        retries: int = 0,
        parse_failures: int = 0,
    ) -> CallUsage:
        """Put down what the call took, also where it is more than was reserved."""
        price = reservation.price
        cost = (
            price.of(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached)
            if price
            else None
        )
        call = CallUsage(
            node=reservation.node,
            role=reservation.role,
            model=reservation.model,
            calls=1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tokens_cached=tokens_cached,
            characters_in=characters_in,
            characters_out=characters_out,
            cost=None if cost is None else float(cost),
            seconds=seconds,
            retries=retries,
            parse_failures=parse_failures,
        )
        with self._lock:
            if reservation not in self._open:
                raise ValueError(f"{reservation!r} is not open: settled or released before")
            self._open.remove(reservation)
            self._had_final = self._had_final or reservation.final
            self._add(call, cost)
        return call

    def release(self, reservation: Reservation) -> None:
        """The call never happened. Of a settled reservation nothing is left to release."""
        with self._lock:
            self._open.discard(reservation)

    def restore(self, usage: Usage) -> None:
        """Go on from what an earlier part of the same run spent, its seconds included."""
        with self._lock:
            self._before += usage.seconds
            for call in usage.by_node:
                self._add(call, None if call.cost is None else _decimal(call.cost))

    def seconds(self) -> float:
        """Wall time of the run so far, with the parts that were restored."""
        return self._before + max(0.0, self._clock() - self._began)

    def remaining_seconds(self, *, final: bool = True) -> float | None:
        """Until the deadline, never below 0; None = there is none."""
        if not self.caps.seconds:
            return None
        held = 0.0 if final else self._held_seconds()
        return max(0.0, self.caps.seconds - held - self.seconds())

    def usage(self) -> Usage:
        """Calls that were settled, by node, role and model. `seconds` is the run's wall time."""
        with self._lock:
            by_node = tuple(
                CallUsage(
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
                for (node, role, model), spent in self._by_node.items()
            )
            total = self._total
            return Usage(
                calls=total.calls,
                tokens_in=total.tokens_in,
                tokens_out=total.tokens_out,
                tokens_cached=total.tokens_cached,
                characters_in=total.characters_in,
                characters_out=total.characters_out,
                cost=total.dollars,
                seconds=self.seconds(),
                by_node=by_node,
            )

    def _add(self, call: CallUsage, cost: Decimal | None) -> None:
        spent = self._by_node.setdefault((call.node, call.role, call.model), _Spent())
        spent.add(call, cost)
        self._total.add(call, cost)

    def _check_time(self, wanted: Reservation) -> None:
        if self.remaining_seconds(final=wanted.final) == 0.0:
            raise BudgetExceeded(
                f"{wanted.node} may not call {wanted.model!r}: {self.seconds():.1f} of "
                f"{self.caps.seconds:g} seconds are over",
                reason="deadline",
                hint=_RAISE.format("budget.seconds"),
            )

    def _check_prices(self, wanted: Reservation) -> None:
        unknown = self._unpriced() if self._total.cost is None else None
        if wanted.price is not None and unknown is None:
            return
        raise BudgetExceeded(
            f"{wanted.node} may not call {wanted.model!r}: the price of "
            f"{unknown or repr(wanted.model)} is unknown, so a cap of {self.caps.money:g} dollars "
            "cannot be kept",
            hint="give its price in the file that models.prices names, or set budget.money to 0",
        )

    def _unpriced(self) -> str:
        models = {model for (_, _, model), spent in self._by_node.items() if spent.cost is None}
        return ", ".join(map(repr, sorted(models)))

    def _bounds(self, wanted: Reservation) -> tuple[_Bound, ...]:
        total, opened = self._total, self._open
        held = self._held(wanted)
        return (
            _bound("calls", self.caps.calls, total.calls + len(opened) + held[0], 1),
            _bound(
                "tokens",
                self.caps.tokens,
                total.tokens_in + total.tokens_out + sum(item.tokens for item in opened) + held[1],
                wanted.tokens,
            ),
            _bound(
                "dollars",
                self.caps.money,
                (total.cost or _NOTHING) + sum((item.cost for item in opened), held[2]),
                wanted.cost,
            ),
        )

    def _held(self, wanted: Reservation) -> tuple[int, int, Decimal]:
        """Calls, tokens and dollars that this call must leave to the final one."""
        aside = self._set_aside
        if aside is None or wanted.final or self._final_began():
            return 0, 0, _NOTHING
        price = aside.price or wanted.price
        cost = (
            price.worst(tokens_in=aside.tokens_in, tokens_out=aside.tokens_out)
            if price
            else _NOTHING
        )
        return 1, aside.tokens_in + aside.tokens_out, cost

    def _held_seconds(self) -> float:
        aside = self._set_aside
        return 0.0 if aside is None or self._final_began() else aside.seconds

    def _final_began(self) -> bool:
        return self._had_final or any(item.final for item in self._open)


def _bound(name: str, cap: float, taken: Decimal | int, want: Decimal | int) -> _Bound:
    return _Bound(name, _decimal(cap), Decimal(taken), Decimal(want))


def _decimal(value: float) -> Decimal:
    """As it is written: 0.1 is a tenth."""
    return Decimal(repr(value))
