"""One question to one model until there is a usable reply.

Three things make a call happen again: the model was away (`Tries`), the server does not do the
output mode (the next mode), or the reply has the wrong form (one correction). Each try is
reserved and settled on its own, so that no cap is broken and nothing spent is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.answer import CallUsage
from secondlook.errors import BudgetExceeded, ContextOverflow, UnusableReply
from secondlook.models.port import ModeRefused, Reply
from secondlook.models.replies import Misread
from secondlook.models.thinking import without_thoughts
from secondlook.models.wording import corrected, with_schema

if TYPE_CHECKING:
    from secondlook.models.port import ChatResult, Message, OutputMode
    from secondlook.models.tries import Made, Tries


@dataclass(slots=True)
class Exchange:
    tries: Tries

    async def run(self) -> Reply[Any]:
        """The first usable reply."""
        terms = self.tries.terms
        modes: list[OutputMode] = ["text"]
        if terms.form is not None:
            modes = list(self.tries.models.modes(terms.part))
        made = await self._ask(terms.messages, modes)
        try:
            return self._read(made)
        except Misread as misread:
            problem = misread
        messages = self._correction(made.result, problem)
        try:
            made = await self._ask(messages, _modes_after(made.result, modes))
            return self._read(made)
        except Misread as misread:
            raise self._unusable(misread) from misread
        except (ContextOverflow, BudgetExceeded) as refused:
            if isinstance(refused, BudgetExceeded) and refused.reason == "deadline":
                raise
            raise self._unusable(problem) from refused  # no room or money for a correction

    async def _ask(self, messages: tuple[Message, ...], modes: list[OutputMode]) -> Made:
        """In the best mode that the server does; what it refuses is not tried again."""
        while True:
            mode = modes[0]
            try:
                return await self.tries.make(self._prompt(messages, mode), mode)
            except UnusableReply as refusal:  # of the mode, or of this schema in this mode
                if isinstance(refusal, ModeRefused):
                    self.tries.models.refused(self.tries.terms.part, mode)
                if len(modes) == 1:
                    raise
                modes.pop(0)

    def _prompt(self, messages: tuple[Message, ...], mode: OutputMode) -> tuple[Message, ...]:
        form = self.tries.terms.form
        if form is None or mode != "prompted":
            return messages
        return with_schema(messages, form.text)

    def _read(self, made: Made) -> Reply[Any]:
        """Parse, and settle the account either way. Raises `Misread`."""
        text, value = "", None
        parse_failures = 1
        try:
            text, value = self._parsed(without_thoughts(made.result.text))
            parse_failures = 0
        finally:
            self.tries.settle(made, parse_failures=parse_failures)
        return Reply(text, value, made.result.finish, _sum(self.tries.spent))

    def _parsed(self, text: str) -> tuple[str, Any]:
        form = self.tries.terms.form
        if form is not None:
            read = form.read(text)
            return read.text, read.value
        if not text.strip():
            raise Misread("it is empty")
        return text, None

    def _correction(self, result: ChatResult, problem: Misread) -> tuple[Message, ...]:
        form = self.tries.terms.form
        return corrected(
            self.tries.terms.messages,
            without_thoughts(result.text),
            str(problem),
            form.text if form else None,
            cut_off=result.finish == "length",
        )

    def _unusable(self, problem: Misread) -> UnusableReply:
        return UnusableReply(
            f"{self.tries.chat.spec!r} gave {self.tries.terms.node} a reply that cannot be used: "
            f"{problem}",
            hint="A larger model may do better; `secondlook models probe` measures this one.",
        )


def _modes_after(result: ChatResult, modes: list[OutputMode]) -> list[OutputMode]:
    """A server that answers with prose where JSON was demanded ignores the mode."""
    ignored = modes[0] in {"json_schema", "tool"} and "{" not in result.text
    return modes[-1:] if ignored else modes


def _sum(calls: list[CallUsage]) -> CallUsage:
    """What one reply took, its failed tries included."""
    last = calls[-1]
    costs = [call.cost for call in calls]
    known = [cost for cost in costs if cost is not None]
    return CallUsage(
        node=last.node,
        role=last.role,
        model=last.model,
        calls=sum(call.calls for call in calls),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        tokens_cached=sum(call.tokens_cached for call in calls),
        characters_in=sum(call.characters_in for call in calls),
        characters_out=sum(call.characters_out for call in calls),
        cost=sum(known) if len(known) == len(costs) else None,
        seconds=sum(call.seconds for call in calls),
        retries=sum(call.retries for call in calls),
        parse_failures=sum(call.parse_failures for call in calls),
    )
