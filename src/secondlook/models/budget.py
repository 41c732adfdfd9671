"""What a run may spend, and what it has spent. Nothing is started that would break a cap. A call is
reserved at its worst case and settled at what it took. Other calls leave what one final call may
need; once a call is refused only final ones are let in."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from secondlook.answer import CallUsage, Usage
from secondlook.errors import BudgetExceeded, Cap
from secondlook.models.journal import Journal, JournalEntry, ended
from secondlook.models.prices import NOTHING, Caps, Price, Reservation, SetAside, decimal

_RAISE = "answer from what is known, or raise {} (0 = no cap)"
_NAMES: dict[Cap, str] = {"calls": "calls", "tokens": "tokens", "money": "dollars"}
_ADDED = tuple(CallUsage.model_fields.keys() - {"node", "role", "model", "cost"})


@dataclass(frozen=True, slots=True)
class _Bound:
    """One cap as it stands for one call: `want` on top of `taken` must stay within `most`."""

    cap: Cap
    most: Decimal
    taken: Decimal
    want: Decimal

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
        self.refusal: BudgetExceeded | None = None  # the first call that a step was refused
        self.on_refusal: Callable[[BudgetExceeded], object] = lambda _: None
        self._set_aside = SetAside(*set_aside) if set_aside else None
        self._clock = clock
        self._began = clock()
        self._before = 0.0
        self._lock = threading.Lock()
        self._open: set[Reservation] = set()
        self._spent: list[CallUsage] = []
        self._maybe_tokens = 0  # of calls that nobody heard the end of: they may be billed whole
        self._maybe_cost = NOTHING
        # How many tokens a model counts for each that was reserved, at worst: it will do so again.
        self._excess_in: dict[str, Fraction] = {}
        self._excess_out: dict[str, Fraction] = {}

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
            more = self._more(model, tokens_in, max_tokens_out)
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
        is_certain: bool = True,
        **others: Any,
    ) -> CallUsage:
        """Put down what the call took, also beyond what was reserved. `is_certain=False`: nobody
        heard the end of it. `others` are further fields of `CallUsage`."""
        price, model = reservation.price, reservation.model
        tokens = {"tokens_in": tokens_in, "tokens_out": tokens_out, "tokens_cached": tokens_cached}
        cost = price.of(**tokens) if price else None
        anew = price.of(tokens_in=tokens_in, tokens_out=tokens_out) if price else NOTHING
        call = CallUsage(
            node=reservation.node,
            role=reservation.role,
            model=model,
            calls=1,
            cost=None if cost is None else float(cost),
            saved=float(anew - (cost or NOTHING)),
            **tokens,
            **others,
        )
        with self._lock:
            if reservation not in self._open:
                raise ValueError(f"{reservation!r} is not open: settled or released before")
            self._open.remove(reservation)
            self._spent.append(call)
            reserved = (reservation.tokens_in, reservation.max_tokens_out)
            self._learn(model, reserved, (tokens_in, tokens_out))
            if not is_certain:
                self._maybe_tokens += max(0, reservation.tokens - tokens_in - tokens_out)
                self._maybe_cost += max(NOTHING, reservation.cost - (cost or NOTHING))
        return call

    def release(self, reservation: Reservation) -> None:
        """The call never happened. Of a settled reservation nothing is left to release."""
        with self._lock:
            self._open.discard(reservation)

    def take_up(self, earlier: Earlier) -> None:
        """Go on from where the earlier parts of the same run stopped."""
        self.restore(earlier.usage)
        with self._lock:
            self._maybe_tokens += earlier.maybe_tokens
            self._maybe_cost += earlier.maybe_cost
            for model, reserved, told in earlier.counted:
                self._learn(model, reserved, told)
            self.refusal = self.refusal or earlier.refusal

    def restore(self, usage: Usage) -> None:
        """Go on from what was spent before, its seconds included."""
        with self._lock:
            self._before += usage.seconds
            self._spent += usage.by_node

    # Where a run stands

    def refuse(self, refusal: BudgetExceeded) -> None:
        """A step could not do what it wanted to: what the run comes to is cut short by that."""
        with self._lock:
            if self.refusal is not None:
                return
            self.refusal = refusal
        self.on_refusal(refusal)

    def must_end(self, node: str) -> bool:
        """Whether a step must not go on: a call was refused, or there is time for the last only."""
        if self.refusal is None and self.remaining_seconds(final=False) == 0.0:
            self.refuse(self._too_late(f"{node} may not go on"))
        return self.refusal is not None

    def room(
        self, *, model: str, max_tokens_out: int, price: Price | None, final: bool = False
    ) -> int | None:
        """Tokens that the prompt of one call may have now; None = as many as you like."""
        with self._lock:
            more = self._more(model, 0, max_tokens_out)[1]
            wanted = Reservation("", "", model, 0, max_tokens_out, price, final, 0, more)
            calls, tokens, money = (bound.left for bound in self._bounds(wanted))
            most = [] if tokens is None else [int(tokens) - max_tokens_out - more]
            if calls == 0:
                most.append(0)
            if money is not None and price is not None:
                rest, each = money - wanted.cost, decimal(max(price.input, price.cached or 0.0))
                if rest < 0:
                    most.append(0)
                elif each:
                    most.append(int((rest * 1_000_000 / each).to_integral_value(ROUND_FLOOR)))
            if not most:
                return None
            return max(0, int(min(most) / self._excess_in.get(model, Fraction(1))))

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
            spent = _usage(self._spent) if self._spent else Usage()
            return spent.model_copy(update={"seconds": self.seconds()})

    def _learn(self, model: str, reserved: tuple[int, int], told: tuple[int, int]) -> None:
        both = (self._excess_in, self._excess_out)
        for known, said, held in zip(both, told, reserved, strict=True):
            if said > held > 0:
                known[model] = max(known.get(model, Fraction(1)), Fraction(said, held))

    def _more(self, model: str, tokens_in: int, max_tokens_out: int) -> tuple[int, int]:
        """Tokens on top of those, in and out."""
        return (
            ceil(tokens_in * (self._excess_in.get(model, 1) - 1)),
            ceil(max_tokens_out * (self._excess_out.get(model, 1) - 1)),
        )

    def _too_late(self, what: str) -> BudgetExceeded:
        said = f"{what}: {self.seconds():.1f} of {self.caps.seconds:g} seconds are over"
        return BudgetExceeded(said, cap="seconds", hint=_RAISE.format("budget.seconds"))

    def _check(self, wanted: Reservation) -> None:
        """Raises `BudgetExceeded` where something stands against a call."""
        refused = f"{wanted.node} may not call {wanted.model!r}"
        if self.remaining_seconds(final=wanted.final) == 0.0:
            raise self._too_late(refused)
        if self.refusal is not None and not wanted.final:
            # A step that was refused does not try with something smaller: the run is to end.
            said = f"{refused}: a call was refused before, and what is left is for the answer"
            raise BudgetExceeded(said, cap=self.refusal.cap, hint=self.refusal.hint)
        unknown = {call.model for call in self._spent if call.cost is None}
        unknown |= {wanted.model} if wanted.price is None else set()
        if self.caps.money and unknown:
            names = ", ".join(map(repr, sorted(unknown)))
            said = f"{refused}: the price of {names} is unknown, so budget.money cannot be kept"
            hint = "give its price in the file that models.prices names, or set budget.money to 0"
            raise BudgetExceeded(said, cap="price", hint=hint)
        for bound in self._bounds(wanted):
            if bound.left is not None and bound.taken + bound.want > bound.most:
                figures = (bound.want, bound.taken, bound.most)
                want, taken, most = (f"{one.normalize():f}" for one in figures)
                could = f"{refused}: it could take {want} {_NAMES[bound.cap]}"
                said = f"{could}, and {taken} of {most} are spent, promised or set aside"
                hint = _RAISE.format(f"budget.{bound.cap}")
                raise BudgetExceeded(said, cap=bound.cap, hint=hint)

    def _bounds(self, wanted: Reservation) -> tuple[_Bound, _Bound, _Bound]:
        spent, opened, aside = self._spent, self._open, self._set_aside
        calls = sum(call.calls for call in spent) + len(opened)
        tokens = sum(call.tokens_in + call.tokens_out for call in spent) + self._maybe_tokens
        tokens += sum(item.tokens for item in opened)
        cost = sum((decimal(call.cost or 0.0) for call in spent), self._maybe_cost)
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


def summed(calls: Sequence[CallUsage]) -> CallUsage:
    """One for all, named as the last. Money is added in decimal; an unknown cost is never 0."""
    costs = [call.cost for call in calls]
    known = [decimal(cost) for cost in costs if cost is not None]
    cost = float(sum(known, NOTHING)) if len(known) == len(costs) else None
    added = {name: sum(getattr(call, name) for call in calls) for name in _ADDED}
    return calls[-1].model_copy(update={**added, "cost": cost})


def _usage(calls: Iterable[CallUsage]) -> Usage:
    by_node: dict[tuple[str, str, str], list[CallUsage]] = {}
    for call in calls:
        by_node.setdefault((call.node, call.role, call.model), []).append(call)
    lines = tuple(map(summed, by_node.values()))
    total = summed(lines)
    both = CallUsage.model_fields.keys() & Usage.model_fields.keys() - {"seconds"}
    rate = total.tokens_cached / total.tokens_in if total.tokens_in else None
    return Usage(**total.model_dump(include=both), cache_hit_rate=rate, by_node=lines)


# What the earlier parts of a run leave to its account when it is taken up again.

_REFUSED = "/refused"  # under it a journal keeps the first refused call; no call is named so


@dataclass(frozen=True, slots=True)
class Earlier:
    usage: Usage = field(default_factory=Usage)
    maybe_tokens: int = 0  # on top of what was spent: what calls without an end may be billed for
    maybe_cost: Decimal = NOTHING
    counted: tuple[tuple[str, tuple[int, int], tuple[int, int]], ...] = ()
    """By call: its model, the tokens in and out that were reserved, and those it told."""
    refusal: BudgetExceeded | None = None


def earlier_of(rows: Iterable[tuple[str, JournalEntry]], *, seconds: float) -> Earlier:
    """Out of a journal, in the order it was written."""
    entries = list(rows)
    maybe_tokens, maybe_cost, counted = 0, NOTHING, []
    spent = []
    for sent, end in ended(entries):
        last = end or sent
        if last is not None:
            spent.append(last.usage)
            maybe_tokens += max(0, last.most_tokens - last.tokens_in - last.tokens_out)
            if last.most_cost is not None:
                maybe_cost += max(NOTHING, decimal(last.most_cost) - decimal(last.cost or 0.0))
        if sent and end and end.state == "reply":
            told = (end.tokens_in, end.tokens_out)
            counted.append((end.model, (sent.tokens_in, sent.longest), told))
    refusal = None
    for key, entry in entries:
        if key == _REFUSED:
            kept = json.loads(entry.text)
            refusal = BudgetExceeded(kept["message"], cap=kept["cap"], hint=kept["hint"])
    usage = (_usage(spent) if spent else Usage()).model_copy(update={"seconds": seconds})
    return Earlier(usage, maybe_tokens, maybe_cost, tuple(counted), refusal)


def keep_refusal(journal: Journal, refusal: BudgetExceeded) -> None:
    told = {"message": str(refusal), "cap": refusal.cap, "hint": refusal.hint}
    journal.put(_REFUSED, JournalEntry.free(json.dumps(told), kind="budget", node=""))
