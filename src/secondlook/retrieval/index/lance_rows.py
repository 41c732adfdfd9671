"""How entries become rows of a Lance table and come back, and how filters become predicates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from secondlook.retrieval.index.checking import checked_vectors
from secondlook.retrieval.index.port import Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa

    from secondlook.retrieval.index.port import Filter, Vectors

ENTRY_COLUMNS = ("id", "document", "text", "terms", "start", "end", "page", "heading", "labels")

_BREAKS_TOKENS = re.compile(r"[\s%]")
_ESCAPED = re.compile(r"%([0-9a-f]+);")


def schema(dimensions: int) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("terms", pa.string(), nullable=False),
            pa.field("words", pa.int32(), nullable=False),
            pa.field("start", pa.int64(), nullable=False),
            pa.field("end", pa.int64(), nullable=False),
            pa.field("page", pa.int32()),
            pa.field("heading", pa.list_(pa.string())),
            pa.field("labels", pa.list_(pa.string())),
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
        ]
    )


def table(entries: Sequence[Entry], vectors: Vectors, dimensions: int) -> pa.Table:
    import pyarrow as pa

    rows = checked_vectors(vectors, len(entries), dimensions)
    columns: dict[str, Any] = {
        name: [getattr(entry, name) for entry in entries] for name in ENTRY_COLUMNS
    }
    columns["terms"] = [join_terms(entry.terms) for entry in entries]
    # BM25 counts passages that have terms: how many are held must be cheap to ask
    columns["words"] = [len(entry.terms) for entry in entries]
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), dimensions)
    return pa.table(columns, schema=schema(dimensions))


def entry(row: dict[str, Any]) -> Entry:
    return Entry(
        id=row["id"],
        document=row["document"],
        text=row["text"],
        terms=split_terms(row["terms"]),
        start=row["start"],
        end=row["end"],
        page=row["page"],
        heading=tuple(row["heading"] or ()),
        labels=tuple(row["labels"] or ()),
    )


def join_terms(terms: Sequence[str]) -> str:
    """One string that splits at spaces into the same terms, whatever they contain."""
    joined = " ".join(terms)
    if "%" not in joined and joined.split() == list(terms):  # nearly always
        return joined
    return " ".join(_BREAKS_TOKENS.sub(_escape, term) for term in terms if term)


def split_terms(joined: str) -> tuple[str, ...]:
    if "%" not in joined:
        return tuple(joined.split())
    return tuple(_ESCAPED.sub(_unescape, term) for term in joined.split())


def _escape(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):x};"


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def predicate(where: Filter) -> str | None:
    """The filter as SQL; exclusions are dealt with by asking for more."""
    conditions = []
    if where.documents is not None:
        conditions.append(any_of("document", where.documents))
    conditions += [f"array_has(labels, {quote(label)})" for label in sorted(where.labels)]
    return " AND ".join(conditions) or None


def any_of(column: str, values: Collection[str]) -> str:
    if not values:
        return "false"
    return f"{column} IN ({', '.join(quote(value) for value in sorted(values))})"


def quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
