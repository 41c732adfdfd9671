"""Whether a question that names no workflow is meant for the tables of the library."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.answer import Step
from secondlook.nodes.concepts import asks_for_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.table import Table

_SHORTEST = 3
"""Letters of a word that can name a column by itself."""


def over_tables(question: str, tables: Sequence[Table]) -> Step | None:
    """Why it is: it asks for a measure and names a column, word for word. None where it is not, or
    may not be: documents are what is asked by default."""
    if not tables or not asks_for_data(question):
        return None
    said = _words(question)
    for table in tables:
        for column in table.columns:
            name = _words(column.name)
            if name and name <= said and any(len(word) >= _SHORTEST for word in name):
                why = f"the question asks for a measure and names {column.name!r} of {table.title}"
                return Step(node="workflow", said=f"Asked over the tables: {why}.")
    return None


def _words(text: str) -> frozenset[str]:
    """Without what stands in brackets, which is a unit in the name of a column."""
    plain = re.sub(r"[(\[].*?[)\]]", " ", text)
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", plain)
    return frozenset(word.casefold().rstrip("s") for word in re.findall(r"\w+", apart))
