"""Which workflows `auto` may call, and how far a run of it can go at most. What a called workflow
does counts against a limit of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.nodes.considering.deciding import ANALYST, CHOOSING, SUMMARY
from secondlook.nodes.look_again import MOST_CALLS, PLAIN

if TYPE_CHECKING:
    from secondlook.settings import Settings

_OF_ITS_OWN: Final = 2
"""`consider` and `finish`."""


def called(settings: Settings) -> tuple[str, ...]:
    """The workflows that it may call, each once."""
    chosen = settings.auto
    from_documents = (chosen.one_fact, chosen.several_facts, chosen.account)
    return tuple(dict.fromkeys((*from_documents, PLAIN, CHOOSING, ANALYST, SUMMARY)))


def most_visits(settings: Settings) -> int:  # noqa: ARG001  # every workflow is asked by settings
    """No run visits more of its own nodes than this: each call is looked at once."""
    return _OF_ITS_OWN + 2 * MOST_CALLS
