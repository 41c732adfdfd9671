"""Words of a question to columns and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.resolving.port import (
        AskedTable,
        Embed,
        Mention,
        Resolved,
        ValueMention,
    )


class Resolver:
    """Over the tables at hand. Keeps what it has worked out about them."""

    def __init__(self, tables: Sequence[AskedTable], *, embed: Embed | None = None) -> None:
        self._tables = tuple(tables)
        self._embed = embed

    def column(self, phrase: str) -> list[Resolved]:
        """Columns that a phrase may mean, best first."""
        raise NotImplementedError(phrase)

    def mentions(self, question: str) -> list[Mention]:
        """Columns named in a text, in its order, without overlap."""
        raise NotImplementedError(question)

    def values(self, question: str) -> list[ValueMention]:
        """Cell values named in a text, in its order; several columns may hold the same value."""
        raise NotImplementedError(question)
