"""Who watches runs. An observer never fails and never waits: answering goes on whatever it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from secondlook.answer import CallUsage
    from secondlook.events import Event


class Observer(Protocol):
    def see(self, event: Event) -> None:
        """Every event of every run, `Answered` included."""

    def left(self, run: str) -> None:
        """The run stopped without an answer."""

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        """A model was asked, just now and for so long; `error` is the class of what went wrong."""


class Silent:
    """Nobody watches."""

    def see(self, event: Event) -> None:
        pass

    def left(self, run: str) -> None:
        pass

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        pass


SILENT = Silent()
