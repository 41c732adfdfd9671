"""Models that think aloud put their thoughts first, in marks; they are no part of the reply."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_OPEN = "<think>"
_CLOSE = "</think>"
_THOUGHTS = re.compile(r"^\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
_LEFT_OPEN = re.compile(r"^(?:(?!<think>).)*</think>\s*", re.DOTALL)
"""Some chat templates open the mark themselves, so that only its end is in the reply."""


def without_thoughts(text: str) -> str:
    if _CLOSE not in text and _OPEN not in text:
        return text
    return _LEFT_OPEN.sub("", _THOUGHTS.sub("", text))


class SpokenOnly:
    """Passes on a stream without the thoughts at its start."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._held = ""
        self._speaking = False

    def __call__(self, piece: str) -> None:
        if self._speaking:
            self._on_text(piece)
            return
        self._held += piece
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            _, closed, said = begun.partition(_CLOSE)
            said = said.lstrip()
            self._speaking = bool(closed and said)
            if self._speaking:
                self._on_text(said)
        elif begun and not _OPEN.startswith(begun):
            self._speaking = True
            self._on_text(self._held)

    def finish(self) -> None:
        """The stream ended: what might have become a mark is text after all."""
        if not self._speaking and not self._held.lstrip().startswith(_OPEN) and self._held:
            self._on_text(self._held)
            self._held = ""
