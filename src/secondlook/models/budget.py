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


# What was spent, added up: by node, role and model, and altogether.


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
