"""What a run may spend, and what it has spent. Nothing is started that would break a cap.

A call is reserved at its worst case before it starts and settled at what it really took. One
reservation is one attempt: a retry is a call of its own. Money is summed in decimal, so that a
thousand small calls do not drift past a cap. What one final call may need is always left by the
others. The first call that is refused ends what may be ended: from then on only final ones are let
in, so that a run goes straight to the best answer it can give.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from secondlook.answer import CallUsage, Usage
from secondlook.errors import BudgetExceeded
from secondlook.models.journal import JournalEntry, ended, spent_on
from secondlook.models.prices import NOTHING, Caps, Price, Reservation, SetAside, decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from secondlook.errors import Cap
    from secondlook.models.journal import Journal

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
            self._check(wanted)
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

    def _too_late(self, what: str) -> BudgetExceeded:
        return BudgetExceeded(
            f"{what}: {self.seconds():.1f} of {self.caps.seconds:g} seconds are over",
            cap="seconds",
            hint=_RAISE.format("budget.seconds"),
        )

    def _check(self, wanted: Reservation) -> None:
        """Raises `BudgetExceeded` where something stands against a call."""
        refused = f"{wanted.node} may not call {wanted.model!r}"
        if self.remaining_seconds(final=wanted.final) == 0.0:
            raise self._too_late(refused)
        if self.refusal is not None and not wanted.final:
            # A step that was refused does not try with something smaller: the run is to end.
            raise BudgetExceeded(
                f"{refused}: a call was refused before, and what is left is for the answer",
                cap=self.refusal.cap,
                hint=self.refusal.hint,
            )
        unknown = self._books.unpriced() if self._books.total.cost is None else None
        if self.caps.money and (wanted.price is None or unknown is not None):
            raise BudgetExceeded(
                f"{refused}: the price of {unknown or repr(wanted.model)} is unknown, so a cap of "
                f"{self.caps.money:g} dollars cannot be kept",
                cap="price",
                hint="give its price in the file that models.prices names, or set budget.money "
                "to 0",
            )
        for bound in self._bounds(wanted):
            if bound.left is not None and bound.taken + bound.want > bound.most:
                raise BudgetExceeded(
                    f"{refused}: it could take {bound.want.normalize():f} {_NAMES[bound.cap]}, "
                    f"and {bound.taken.normalize():f} of {bound.most.normalize():f} are spent, "
                    "promised or set aside",
                    cap=bound.cap,
                    hint=_RAISE.format(f"budget.{bound.cap}"),
                )

    def _bounds(self, wanted: Reservation) -> tuple[_Bound, _Bound, _Bound]:
        books, opened, aside = self._books, self._open, self._set_aside
        total = books.total
        calls = total.calls + len(opened)
        tokens = total.tokens + books.maybe_tokens + sum(item.tokens for item in opened)
        cost = (total.cost or NOTHING) + books.maybe_cost
        cost += sum((item.cost for item in opened), NOTHING)
        if aside is not None and not wanted.final:  # what this call must leave to the final one
            calls += 1
            tokens += aside.tokens_in + aside.tokens_out
            if price := aside.price or wanted.price:
                cost += price.worst(tokens_in=aside.tokens_in, tokens_out=aside.tokens_out)
        return (
            _Bound("calls", decimal(self.caps.calls), Decimal(calls), Decimal(1)),
            _Bound("tokens", decimal(self.caps.tokens), Decimal(tokens), Decimal(wanted.tokens)),
            _Bound("money", decimal(self.caps.money), cost, wanted.cost),
        )


def _unheard(refusal: BudgetExceeded) -> None:
    """Nobody keeps it."""


def _bought(money: Decimal, price: Price) -> int:
    """Tokens of a prompt that so much pays for, at worst."""
    each = decimal(max(price.input, price.cached or 0.0))
    if money <= 0 or not each:
        return 0 if money < 0 else 10**12
    return int((money * 1_000_000 / each).to_integral_value(ROUND_FLOOR))


# What was spent, added up: by node, role and model, and altogether.


_ADDED = tuple(CallUsage.model_fields.keys() - {"node", "role", "model", "cost"})


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
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(call, name))
        self.cost = None if self.cost is None or cost is None else self.cost + cost

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
        total, lines = self.total, []
        for (node, role, model), spent in self._by_node.items():
            summed = {name: getattr(spent, name) for name in _ADDED}
            lines.append(CallUsage(node=node, role=role, model=model, cost=spent.dollars, **summed))
        return Usage(
            calls=total.calls,
            tokens_in=total.tokens_in,
            tokens_out=total.tokens_out,
            tokens_cached=total.tokens_cached,
            characters_in=total.characters_in,
            characters_out=total.characters_out,
            cost=total.dollars,
            seconds=seconds,
            by_node=tuple(lines),
        )


@dataclass(slots=True)
class Excess:
    """By how much a model's own count was above what was reserved, at worst. It counts in another
    way than we do, or does not keep to the length it was told, and will do so again."""

    _in: dict[str, Fraction] = field(default_factory=dict)
    _out: dict[str, Fraction] = field(default_factory=dict)

    def learn(self, model: str, *, reserved: tuple[int, int], told: tuple[int, int]) -> None:
        """By one call: tokens in and out."""
        for known, said, held in zip((self._in, self._out), told, reserved, strict=True):
            if said > held > 0:
                known[model] = max(known.get(model, Fraction(1)), Fraction(said, held))

    def of(self, model: str, tokens_in: int, max_tokens_out: int) -> tuple[int, int]:
        """Tokens on top of those, in and out."""
        return (
            ceil(tokens_in * (self._in.get(model, 1) - 1)),
            ceil(max_tokens_out * (self._out.get(model, 1) - 1)),
        )

    def counted(self, model: str, tokens_in: int) -> int:
        """The tokens of a prompt, as we count, that the model counts as so many."""
        return int(tokens_in / self._in.get(model, Fraction(1)))


# What the earlier parts of a run leave to its account when it is taken up again.

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
    calls, books = ended(entries), Books()
    for call in spent_on(entries):
        books.add(call, None if call.cost is None else decimal(call.cost))
    counted = []
    for sent, end in calls:
        last = end or sent
        if last is not None:
            books.maybe_tokens += max(0, last.most_tokens - last.tokens_in - last.tokens_out)
            if last.most_cost is not None:
                rest = decimal(last.most_cost) - decimal(last.cost or 0.0)
                books.maybe_cost += max(NOTHING, rest)
        if sent and end and end.state == "reply":
            reserved = (sent.tokens_in, sent.longest)
            counted.append(Counted(end.model, reserved, (end.tokens_in, end.tokens_out)))
    kept = next((entry for key, entry in entries if key == _REFUSED), None)
    told = json.loads(kept.text) if kept else None
    return Earlier(
        books.usage(seconds),
        books.maybe_tokens,
        books.maybe_cost,
        tuple(counted),
        BudgetExceeded(told["message"], cap=told["cap"], hint=told["hint"]) if told else None,
    )


def keep_refusal(journal: Journal, refusal: BudgetExceeded) -> None:
    told = {"message": str(refusal), "cap": refusal.cap, "hint": refusal.hint}
    journal.put(_REFUSED, JournalEntry.free(json.dumps(told), kind="budget", node=""))
