"""Words of a question to columns and values of the tables at hand, with a score."""

from __future__ import annotations

from secondlook.tables.resolving.port import AskedTable, Mention, Resolved, ValueMention
from secondlook.tables.resolving.resolver import Resolver

__all__ = ["AskedTable", "Mention", "Resolved", "Resolver", "ValueMention"]
