"""Questions about what something means: how they are told, and a small glossary of statistics."""

from __future__ import annotations

from secondlook.nodes.concepts.glossary import Entry, entries_in, entry_for
from secondlook.nodes.concepts.signs import asks_for_concept, asks_for_data, term_of

__all__ = ["Entry", "asks_for_concept", "asks_for_data", "entries_in", "entry_for", "term_of"]
