"""Getting one reply out of a model that may be away: each try reserved, bounded and settled."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

from secondlook.answer import CallUsage
from secondlook.errors import (
    BudgetExceeded,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
)
from secondlook.memory.journal import JournalEntry
from secondlook.models.bounded import Stream, complete, counted
from secondlook.models.counting import approximate_tokens, characters, longest_reply
from secondlook.models.port import ChatRequest, ChatResult, ModelBusy, ModeRefused
from secondlook.models.thinking import SpokenOnly

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from secondlook.memory.calls import Calls, Sent
    from secondlook.memory.ledger import Ledger, Reservation
    from secondlook.models.port import Chat, Message, OutputMode
    from secondlook.models.replies import Form
    from secondlook.models.roles import Part
    from secondlook.models.service import Models

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 20.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What is asked, by which step, and within what."""

    messages: tuple[Message, ...]
    form: Form[Any] | None
    node: str
    part: Part
    max_tokens: int
    stop: tuple[str, ...] = ()
    final: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A call that gave a reply; its account is settled once the reply has been read."""

    result: ChatResult
    prompt: tuple[Message, ...]
    key: str
    """Under which the journal keeps the reply."""
    paid: Reservation | CallUsage
    """What it took, where the journal had the reply already: an earlier part of the run paid."""
    is_retry: bool


@dataclass(frozen=True, slots=True)
class _Try:
    key: str
    prompt: tuple[Message, ...]
    mode: OutputMode
    tokens_in: int
    is_retry: bool


@dataclass(slots=True)
class Tries:
    models: Models
    ledger: Ledger
    chat: Chat
    terms: Terms
    window: Callable[[], Awaitable[int | None]]
    """How much the model can see."""
    calls: Calls
    on_text: Callable[[str], None] | None = None
    each: float = 1.0
    """Tokens that the model counts for each of ours."""
    spent: list[CallUsage] = field(default_factory=list)
    _heard: bool = False
    _called: bool = False

    async def make(self, prompt: tuple[Message, ...], mode: OutputMode) -> Made:
        """Ask until there is a reply, as often as settings and deadline allow."""
        key = self._key(prompt, mode)
        if (known := self.calls.reply(key)) is not None:
            return Made(_replayed(known), prompt, key, known.usage, is_retry=False)
        if self.calls.refusal(key, ModeRefused.__name__):
            raise ModeRefused(f"{self.chat.spec!r} has refused this form of reply before")
        return await self._asked(key, prompt, mode)

    async def _asked(self, key: str, prompt: tuple[Message, ...], mode: OutputMode) -> Made:
        tokens_in: int | None = None
        failed: ModelUnavailable | None = None
        for turn in range(self.models.settings.retries + 1):
            if failed is not None and not await self._may_wait(failed, turn):
                break
            try:
                if tokens_in is None:
                    tokens_in = await self._fitting(prompt)
                return await self._once(_Try(key, prompt, mode, tokens_in, failed is not None))
            except BudgetExceeded as refused:
                if failed is None or refused.reason == "deadline":
                    raise
                break  # it failed, and there is no budget for another try
            except ModelUnavailable as error:
                failed = error
                if not error.retryable:
                    break
        if failed is None:
            raise AssertionError  # there is at least one turn, and it returns or raises
        raise failed

    @property
    def were_made(self) -> bool:
        """Whether anybody was asked: replies of the journal are nobody's work."""
        return self._called

    def settle(self, made: Made, *, parse_failures: int) -> None:
        """Pay, and keep the reply before anybody acts on it, of use or not."""
        if isinstance(made.paid, CallUsage):
            self.spent.append(made.paid)
            return
        result = made.result
        self.models.counted(self.terms.part.spec, estimate=result.estimate, told=result.tokens_in)
        usage = self.ledger.settle(
            made.paid,
            tokens_in=result.tokens_in,
            tokens_out=result.tokens_out,
            tokens_cached=result.tokens_cached,
            characters_in=characters(made.prompt),
            characters_out=len(result.text),
            seconds=result.seconds,
            retries=int(made.is_retry),
            parse_failures=parse_failures,
        )
        self.spent.append(usage)
        self.calls.keep(made.key, JournalEntry.of(usage, result.text, finish=result.finish))

    async def _fitting(self, prompt: tuple[Message, ...]) -> int:
        tokens = ceil(await counted(self.chat, prompt, self._timeout()) * self.each)
        context = await self.window()
        if context is not None and tokens + self.terms.max_tokens > context:
            raise ContextOverflow(
                f"{self.terms.node}: a prompt of {tokens:,} tokens and a reply of "
                f"{self.terms.max_tokens:,} do not fit into the {context:,} tokens that "
                f"{self.chat.spec!r} can see",
                hint="Give less evidence (answer.evidence_tokens), or set models.context_tokens "
                "if it can see more.",
            )
        return tokens

    async def _may_wait(self, failed: ModelUnavailable, turn: int) -> bool:
        """Pause before the next try, if there is time for it."""
        asked = failed.wait if isinstance(failed, ModelBusy) else None
        pause = _FIRST_PAUSE * 2 ** (turn - 1) if asked is None else asked
        left = self.ledger.remaining_seconds(final=self.terms.final)
        if pause > _LONGEST_PAUSE or (left is not None and pause >= left):
            return False
        await self.models.pause(pause)
        return True

    async def _once(self, one: _Try) -> Made:
        reservation = self._reserve(one.tokens_in)
        sent = self.calls.send(one.key, _expected(reservation, one), reservation)
        self._called = True
        listener = self._listener()
        stream = Stream(longest_reply(self.terms.max_tokens), listener)
        request = self._request(one, sent)
        started = time.monotonic()
        try:
            result = await complete(self.chat, request, stream, tokens_in=one.tokens_in)
        except ModeRefused:
            self.ledger.release(reservation)  # turned away at the door: nothing was read
            nothing = CallUsage(
                node=reservation.node, role=reservation.role, model=reservation.model, cost=0.0
            )
            self.calls.failed(sent, JournalEntry.of(nothing, ModeRefused.__name__))
            raise
        except (ModelError, asyncio.CancelledError) as error:
            usage = self._settle_failed(reservation, one, stream, error, started)
            if isinstance(error, ModelError):  # who is stopped meanwhile is asked again
                doubted = reservation if _worked(stream, error) else None
                entry = JournalEntry.of(usage, type(error).__name__, promised=doubted)
                self.calls.failed(sent, entry)
            self._tell_deadline(error)
            raise
        except BaseException:
            self.ledger.release(reservation)
            raise
        finally:
            self._heard = self._heard or bool(stream.text)
        if listener is not None:
            listener.finish()
        return Made(result, one.prompt, one.key, reservation, one.is_retry)

    def _settle_failed(
        self,
        reservation: Reservation,
        one: _Try,
        stream: Stream,
        error: BaseException,
        started: float,
    ) -> CallUsage:
        """What was waited for or begun was worked on, and maybe billed."""
        worked = _worked(stream, error)
        usage = self.ledger.settle(
            reservation,
            tokens_in=reservation.tokens_in if worked else 0,
            tokens_out=approximate_tokens(stream.text),
            characters_in=characters(one.prompt) if worked else 0,
            characters_out=len(stream.text),
            seconds=time.monotonic() - started,
            retries=int(one.is_retry),
            is_certain=not worked,
        )
        self.spent.append(usage)
        return usage

    def _who(self) -> dict[str, str]:
        part = self.terms.part
        return {"node": self.terms.node, "role": part.role, "model": part.spec.text}

    def _reserve(self, tokens_in: int) -> Reservation:
        return self.ledger.reserve(
            **self._who(),
            tokens_in=tokens_in,
            max_tokens_out=self.terms.max_tokens,
            price=self.models.price(self.terms.part.spec),
            final=self.terms.final,
        )

    def _listener(self) -> SpokenOnly | None:
        """Nobody hears JSON, and nobody hears a reply twice."""
        if self.on_text is None or self._heard or self.terms.form is not None:
            return None
        return SpokenOnly(self.on_text)

    def _request(self, one: _Try, sent: Sent) -> ChatRequest:
        options = self.terms.part.options
        return ChatRequest(
            messages=one.prompt,
            max_tokens=self.terms.max_tokens,
            temperature=options.temperature,
            seed=options.seed,
            schema=self.terms.form.schema if self.terms.form else None,
            mode=one.mode,
            timeout=self._timeout(),
            stop=self.terms.stop,
            idempotency_key=sent.idempotency_key,
        )

    def _key(self, prompt: tuple[Message, ...], mode: OutputMode) -> str:
        """Everything that shapes the reply."""
        options = self.terms.part.options
        return self.calls.key(
            *self._who().values(),
            [[message.role, message.content] for message in prompt],
            self.terms.form.schema if self.terms.form else None,
            mode,
            self.terms.max_tokens,
            options.temperature,
            options.seed,
            list(self.terms.stop),
        )

    def _timeout(self) -> float:
        allowed = self.terms.part.options.timeout or self.models.settings.timeout
        left = self.ledger.remaining_seconds(final=self.terms.final)
        return allowed if left is None else min(allowed, left)

    def _tell_deadline(self, error: BaseException) -> None:
        """A call that ended because the run's time is over says so."""
        over = self.ledger.remaining_seconds(final=self.terms.final) == 0.0
        if over and isinstance(error, ModelTimeout):
            raise BudgetExceeded(
                f"the time for this run was over before {self.chat.spec!r} had answered "
                f"{self.terms.node}",
                cap="seconds",
                hint="Give it more with --timeout or budget.seconds (0 = no cap).",
            ) from error


def _worked(stream: Stream, error: BaseException) -> bool:
    """Whether somebody worked on it, who may bill it whole."""
    return bool(stream.text) or isinstance(error, ModelTimeout | asyncio.CancelledError)


def _replayed(entry: JournalEntry) -> ChatResult:
    return ChatResult(
        text=entry.text,
        finish=entry.finish,
        tokens_in=entry.tokens_in,
        tokens_out=entry.tokens_out,
        tokens_cached=entry.tokens_cached,
        seconds=entry.seconds,
    )


def _expected(reservation: Reservation, one: _Try) -> CallUsage:
    """What a call takes of which nothing more is ever heard: it was read, as far as we know."""
    price = reservation.price
    cost = price.of(tokens_in=reservation.tokens_in, tokens_out=0) if price else None
    return CallUsage(
        node=reservation.node,
        role=reservation.role,
        model=reservation.model,
        calls=1,
        tokens_in=reservation.tokens_in,
        characters_in=characters(one.prompt),
        cost=None if cost is None else float(cost),
        retries=int(one.is_retry),
    )
