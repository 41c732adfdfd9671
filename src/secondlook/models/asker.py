"""The one door to every model: counted first, paid from the budget, journaled, validated."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, overload

from secondlook.answer import CallUsage
from secondlook.errors import BudgetExceeded, ModelError, SecondlookError
from secondlook.memory.calls import Calls
from secondlook.models.exchange import Exchange
from secondlook.models.port import Message, Reply, Role, T
from secondlook.models.replies import Form
from secondlook.models.tries import Terms, Tries
from secondlook.models.wording import with_schema
from secondlook.telemetry.port import SILENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.memory.journal import Journal
    from secondlook.memory.ledger import Ledger
    from secondlook.models.port import Chat
    from secondlook.models.roles import Part
    from secondlook.models.service import Models
    from secondlook.telemetry.port import Observer

_MARGIN = 16
"""Tokens kept free between prompt, reply and the end of the context."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks models on behalf of one run of one workflow."""

    models: Models
    run: str
    workflow: str
    ledger: Ledger
    journal: Journal
    observer: Observer = SILENT
    visit: Callable[[], str] = str
    """Names the visit to a node from which it is asked."""
    counting: Mapping[str, float] = field(default_factory=dict)
    """`Models.counting` as it was when the run began."""

    def serves(self, role: Role) -> bool:
        """Whether there is a model for this role; False for `none`."""
        return self._part(role).spec.named

    def name(self, role: Role) -> str:
        return self._part(role).spec.text

    def temperature(self, role: Role) -> float:
        """At which it is asked unless told."""
        return self._part(role).options.temperature

    def local(self, role: Role) -> bool:
        """Whether it runs on this machine: then little fits, and reading takes long."""
        part = self._part(role)
        return part.spec.named and self._chat(part).local

    async def room(
        self,
        role: Role,
        *,
        max_tokens: int,
        schema: type[Any] | None = None,
        final: bool = False,
    ) -> int | None:
        """Tokens that a prompt may have beside a reply of `max_tokens`; None = unknown. A `final`
        one makes do with what the budget still pays for."""
        part = self._part(role)
        longest = part.options.max_tokens or max_tokens
        paid = self._paid(part, longest) if final else None
        context = await self._context(part, final=final)
        seen = None if context is None else context - longest
        most = min((room for room in (paid, seen) if room is not None), default=None)
        if most is None:
            return None
        told = 0
        if schema is not None and self.models.modes(part)[0] == "prompted":
            told = await self._told(part, Form(schema))
        return max(0, most - told - _MARGIN)

    def _paid(self, part: Part, longest: int) -> int | None:
        return self.ledger.room(
            model=part.spec.text,
            max_tokens_out=longest,
            price=self.models.price(part.spec),
            final=True,
        )

    async def count(self, role: Role, messages: Sequence[Message]) -> int:
        return await self._counted(self._part(role), messages)

    @overload
    async def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        schema: type[T],
        *,
        node: str,
        max_tokens: int = 512,
        stop: tuple[str, ...] = (),
        temperature: float | None = None,
        on_text: Callable[[str], None] | None = None,
        final: bool = False,
    ) -> Reply[T]: ...

    @overload
    async def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        schema: None = None,
        *,
        node: str,
        max_tokens: int = 512,
        stop: tuple[str, ...] = (),
        temperature: float | None = None,
        on_text: Callable[[str], None] | None = None,
        final: bool = False,
    ) -> Reply[None]: ...

    async def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        schema: type[Any] | None = None,
        *,
        node: str,
        max_tokens: int = 512,
        stop: tuple[str, ...] = (),
        temperature: float | None = None,
        on_text: Callable[[str], None] | None = None,
        final: bool = False,
    ) -> Reply[Any]:
        """One reply: text, or with a schema an object of it in `value`.

        `on_text` hears a text reply as it is written, as a preview (after a failed try it hears
        nothing more, and JSON never): `Reply.text` is what counts. `temperature` takes the place of
        the role's own.
        Raises ContextOverflow before anything is sent, BudgetExceeded, ModelUnavailable after the
        retries, UnusableReply after one correction, or another ModelError; nothing else. A
        `final` call may use what the ledger has set aside.
        """
        part = self._part(role)
        if temperature is not None:
            part = replace(part, options=replace(part.options, temperature=temperature))
        form = Form(schema) if schema is not None else None
        terms = Terms(
            messages=tuple(messages),
            form=form,
            node=node,
            part=part,
            max_tokens=part.options.max_tokens or max_tokens,
            stop=stop,
            final=final,
        )
        tries = Tries(
            self.models,
            self.ledger,
            self._chat(part),
            terms,
            lambda: self._context(part, final=final),
            Calls(self.run, self.journal, self.visit),
            on_text,
            self._each(part),
        )
        return await self._observed(Exchange(tries))

    async def _observed(self, exchange: Exchange) -> Reply[Any]:
        terms = exchange.tries.terms
        usage = CallUsage(node=terms.node, role=terms.part.role, model=terms.part.spec.text)
        error: str | None = None
        began = time.monotonic()
        try:
            reply = await exchange.run()
            usage = reply.usage
        except (SecondlookError, asyncio.CancelledError) as failure:
            if isinstance(failure, BudgetExceeded):
                self.ledger.refuse(failure)
            error = type(failure).__name__
            raise
        else:
            return reply
        finally:
            if exchange.tries.were_made:
                seconds = time.monotonic() - began
                self.observer.called(self.run, usage, seconds=seconds, error=error)

    async def _context(self, part: Part, *, final: bool) -> int | None:
        """Within the time of the run; where that ends meanwhile, the ledger will say so."""
        try:
            async with asyncio.timeout(self.ledger.remaining_seconds(final=final)):
                return await self.models.context_tokens(part)
        except TimeoutError:
            return None

    def _part(self, role: Role) -> Part:
        return self.models.cast.part(role, self.workflow)

    def _chat(self, part: Part) -> Chat:
        if not part.spec.named:
            raise ModelError(
                f"no model serves the role {part.role!r}",
                hint="Name one with --model or models.default; `secondlook models` lists them.",
            )
        return self.models.chat(part.spec)

    async def _told(self, part: Part, form: Form[Any]) -> int:
        bare = (Message("user", ""),)
        with_form = await self._counted(part, with_schema(bare, form.text))
        return with_form - await self._counted(part, bare)

    async def _counted(self, part: Part, messages: Sequence[Message]) -> int:
        return ceil(await self._chat(part).count(messages) * self._each(part))

    def _each(self, part: Part) -> float:
        return self.counting.get(part.spec.text, 1.0)
