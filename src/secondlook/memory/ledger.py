"""What a run may spend, and what it has spent. Nothing is started that would break a cap.

A call is reserved at its worst case before it starts and settled at what it really took. One
reservation is one attempt: a retry is a call of its own. Money is summed in decimal, so that a
thousand small calls do not drift past a cap. What one final call may need is always left by the
others. The first call that is refused ends what may be ended: from then on only final ones are let
in, so that a run goes straight to the best answer it can give.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from secondlook.answer import CallUsage, Usage
from secondlook.errors import BudgetExceeded
from secondlook.memory.caps import NOTHING, Caps, Price, Reservation, SetAside, decimal
from secondlook.memory.spending import Books, Excess

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.errors import Cap
    from secondlook.memory.earlier import Earlier

__all__ = ["Caps", "Ledger", "Price", "Reservation", "SetAside"]

_RAISE = "answer from what is known, or raise {} (0 = no cap)"
_NAMES: dict[Cap, str] = {"calls": "calls", "tokens": "tokens", "money": "dollars"}


@dataclass(frozen=True, slots=True)
class _Bound:
    """One cap as it stands for one call: `want` on top of `taken` must stay within `cap`."""

    cap: Cap
    most: Decimal
    taken: Decimal
    want: Decimal = NOTHING

    @property
    def left(self) -> Decimal | None:
        """None = as much as you like."""
        return max(NOTHING, self.most - self.taken) if self.most else None

    def check(self, reservation: Reservation) -> None:
        if self.left is None or self.taken + self.want <= self.most:
            return
        raise BudgetExceeded(
            f"{reservation.node} may not call {reservation.model!r}: it could take "
            f"{self.want.normalize():f} {_NAMES[self.cap]}, and {self.taken.normalize():f} of "
            f"{self.most.normalize():f} are spent, promised or set aside",
            cap=self.cap,
            hint=_RAISE.format(f"budget.{self.cap}"),
        )


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
        self.refusal: BudgetExceeded | None = None
        """The first call that a step wanted and was refused."""
        self.on_refusal: Callable[[BudgetExceeded], None] = _unheard
        """Told of that one."""
        self._set_aside = SetAside(*set_aside) if set_aside else None
        self._clock = clock
        self._began = clock()
        self._before = 0.0
        self._lock = threading.Lock()
        self._open: set[Reservation] = set()
        self._books = Books()
        self._excess = Excess()

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
        with self._lock:
            more = self._excess.of(model, tokens_in, max_tokens_out)
            wanted = Reservation(node, role, model, tokens_in, max_tokens_out, price, final, *more)
            self._check_time(wanted)
            self._check_over(wanted)
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
        is_certain: bool = True,
    ) -> CallUsage:
        """Put down what the call took, also where it is more than was reserved. Where nobody heard
        the end of it (`is_certain=False`) it may be billed whole: the rest stays taken."""
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
            self._books.add(call, cost)
            self._excess.learn(
                reservation.model,
                reserved=(reservation.tokens_in, reservation.max_tokens_out),
                told=(tokens_in, tokens_out),
            )
            if not is_certain:
                self._books.doubt(reservation, call, cost)
        return call

    def release(self, reservation: Reservation) -> None:
        """The call never happened. Of a settled reservation nothing is left to release."""
        with self._lock:
            self._open.discard(reservation)

    def take_up(self, earlier: Earlier) -> None:
        """Go on from where the earlier parts of the same run stopped."""
        self.restore(earlier.usage)
        with self._lock:
            self._books.maybe_tokens += earlier.maybe_tokens
            self._books.maybe_cost += earlier.maybe_cost
            for model, reserved, told in earlier.counted:
                self._excess.learn(model, reserved=reserved, told=told)
            self.refusal = self.refusal or earlier.refusal

    def restore(self, usage: Usage) -> None:
        """Go on from what was spent before, its seconds included."""
        with self._lock:
            self._before += usage.seconds
            for call in usage.by_node:
                self._books.add(call, None if call.cost is None else decimal(call.cost))

    # Where a run stands

    def refuse(self, refusal: BudgetExceeded) -> None:
        """A step could not do what it wanted to: what the run comes to is cut short by that."""
        with self._lock:
            if self.refusal is not None:
                return
            self.refusal = refusal
        self.on_refusal(refusal)

    def must_end(self, node: str) -> bool:
        """Whether a step that could go on must not: a call was refused before, or there is no time
        left but for the last one. Who asks and hears so is cut short by it."""
        if self.refusal is None and self.remaining_seconds(final=False) == 0.0:
            self.refuse(self._too_late(f"{node} may not go on"))
        return self.refusal is not None

    def room(
        self, *, model: str, max_tokens_out: int, price: Price | None, final: bool = False
    ) -> int | None:
        """Tokens that the prompt of one call may have now; None = as many as you like."""
        with self._lock:
            more = self._excess.of(model, 0, max_tokens_out)[1]
            wanted = Reservation("", "", model, 0, max_tokens_out, price, final, 0, more)
            calls, tokens, money = (bound.left for bound in self._bounds(wanted))
            most = [] if tokens is None else [int(tokens) - max_tokens_out - more]
            if calls == 0:
                most.append(0)
            if money is not None and price is not None:
                most.append(_bought(money - wanted.cost, price))
            return max(0, self._excess.counted(model, min(most))) if most else None

    def seconds(self) -> float:
        """Wall time of the run so far, with the parts that were restored."""
        return self._before + max(0.0, self._clock() - self._began)

    def remaining_seconds(self, *, final: bool = True) -> float | None:
        """Until the deadline, never below 0; None = there is none."""
        if not self.caps.seconds:
            return None
        held = self._set_aside.seconds if self._set_aside and not final else 0.0
        return max(0.0, self.caps.seconds - held - self.seconds())

    def usage(self) -> Usage:
        """Calls that were settled, by node, role and model. `seconds` is the run's wall time."""
        with self._lock:
            return self._books.usage(self.seconds())

    # What stands against a call

    def _check_time(self, wanted: Reservation) -> None:
        if self.remaining_seconds(final=wanted.final) == 0.0:
            raise self._too_late(f"{wanted.node} may not call {wanted.model!r}")

    def _too_late(self, what: str) -> BudgetExceeded:
        return BudgetExceeded(
            f"{what}: {self.seconds():.1f} of {self.caps.seconds:g} seconds are over",
            cap="seconds",
            hint=_RAISE.format("budget.seconds"),
        )

    def _check_over(self, wanted: Reservation) -> None:
        """Who was refused once does not try with something smaller: the run is to end."""
        if self.refusal is not None and not wanted.final:
            raise BudgetExceeded(
                f"{wanted.node} may not call {wanted.model!r}: a call was refused before, and what "
                "is left is for the answer",
                cap=self.refusal.cap,
                hint=self.refusal.hint,
            )

    def _check_prices(self, wanted: Reservation) -> None:
        unknown = self._books.unpriced() if self._books.total.cost is None else None
        if wanted.price is not None and unknown is None:
            return
        raise BudgetExceeded(
            f"{wanted.node} may not call {wanted.model!r}: the price of "
            f"{unknown or repr(wanted.model)} is unknown, so a cap of {self.caps.money:g} dollars "
            "cannot be kept",
            cap="price",
            hint="give its price in the file that models.prices names, or set budget.money to 0",
        )

    def _bounds(self, wanted: Reservation) -> tuple[_Bound, _Bound, _Bound]:
        books, opened = self._books, self._open
        total = books.total
        calls, tokens, cost = self._held(wanted)
        tokens += total.tokens + books.maybe_tokens + sum(item.tokens for item in opened)
        cost += (total.cost or NOTHING) + books.maybe_cost
        cost += sum((item.cost for item in opened), NOTHING)
        return (
            _bound("calls", self.caps.calls, total.calls + len(opened) + calls, 1),
            _bound("tokens", self.caps.tokens, tokens, wanted.tokens),
            _bound("money", self.caps.money, cost, wanted.cost),
        )

    def _held(self, wanted: Reservation) -> tuple[int, int, Decimal]:
        """Calls, tokens and dollars that this call must leave to the final one."""
        aside = self._set_aside
        if aside is None or wanted.final:
            return 0, 0, NOTHING
        price = aside.price or wanted.price
        cost = (
            price.worst(tokens_in=aside.tokens_in, tokens_out=aside.tokens_out)
            if price
            else NOTHING
        )
        return 1, aside.tokens_in + aside.tokens_out, cost


def _unheard(refusal: BudgetExceeded) -> None:
    """Nobody keeps it."""


def _bound(cap: Cap, most: float, taken: Decimal | int, want: Decimal | int) -> _Bound:
    return _Bound(cap, decimal(most), Decimal(taken), Decimal(want))


def _bought(money: Decimal, price: Price) -> int:
    """Tokens of a prompt that so much pays for, at worst."""
    each = decimal(max(price.input, price.cached or 0.0))
    if money <= 0 or not each:
        return 0 if money < 0 else 10**12
    return int((money * 1_000_000 / each).to_integral_value(ROUND_FLOOR))
