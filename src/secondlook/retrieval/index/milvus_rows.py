"""How entries become rows of a Milvus collection and come back, and how filters become expressions.

Expressions speak of numbers alone: every id, document and label has one, made from its text. So
nothing that a person named can end a string too early, and the server compares integers.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.retrieval.index.port import Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from secondlook.retrieval.index.port import Filter, Vectors

MOST_BYTES = 65_535
"""More does not fit into one text field of Milvus."""
ENTRY_FIELDS = ("id", "document", "text", "terms", "place")
STORED_FIELDS = (
    *("key", "commit", "id_key", "document_key", "label_keys"),
    *ENTRY_FIELDS,
    "vector",
)

_PLACES_PER_COMMIT = 1 << 24
_ONE_TOKEN_ANYWHERE = re.compile(r"(?!zz)[a-z0-9]+", re.ASCII)
_CODED = "zz"


def number(text: str) -> int:
    """The same whole number for the same text; of two texts, never the same in practice."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def tokens(terms: Sequence[str]) -> str:
    """The terms as one text that any analyser of Milvus splits into as many tokens and leaves as
    they are: what is not plain letters and digits is written in hexadecimal."""
    return " ".join(_token(term) for term in terms if term)


def terms_of(joined: str) -> tuple[str, ...]:
    return tuple(_term(token) for token in joined.split())


def _token(term: str) -> str:
    return term if _ONE_TOKEN_ANYWHERE.fullmatch(term) else _CODED + term.encode().hex()


def _term(token: str) -> str:
    if not token.startswith(_CODED):
        return token
    return bytes.fromhex(token.removeprefix(_CODED)).decode()


def rows(entries: Sequence[Entry], vectors: Vectors, *, commit: int) -> list[dict[str, Any]]:
    if len(entries) >= _PLACES_PER_COMMIT:
        raise UsageError(f"One commit takes fewer than {_PLACES_PER_COMMIT:,} passages")
    return [
        _row(entry, vector, key=commit * _PLACES_PER_COMMIT + place, commit=commit)
        for place, (entry, vector) in enumerate(zip(entries, vectors, strict=True))
    ]


def _row(entry: Entry, vector: Any, *, key: int, commit: int) -> dict[str, Any]:
    texts = {
        "id": entry.id,
        "document": entry.document,
        "text": entry.text,
        "terms": tokens(entry.terms),
        "place": json.dumps([entry.start, entry.end, entry.page, entry.heading, entry.labels]),
    }
    for name, value in texts.items():
        if len(value.encode()) > MOST_BYTES:
            raise UsageError(
                f"The {name} of passage {entry.id[:80]!r} is longer than {MOST_BYTES:,} bytes, "
                "the most that Milvus holds in a field",
                hint="shorter passages (chunking.tokens) fit",
            )
    return texts | {
        "key": key,
        "commit": commit,
        "id_key": number(entry.id),
        "document_key": number(entry.document),
        "label_keys": [number(label) for label in entry.labels],
        "vector": vector,
    }


def entry(row: dict[str, Any]) -> Entry:
    start, end, page, heading, labels = json.loads(row["place"])
    return Entry(
        id=row["id"],
        document=row["document"],
        text=row["text"],
        terms=terms_of(row["terms"]),
        start=start,
        end=end,
        page=page,
        heading=tuple(heading),
        labels=tuple(labels),
    )


def predicate(where: Filter) -> list[str]:
    """The conditions of a filter; exclusions are dealt with by asking for more."""
    conditions = []
    if where.documents is not None:
        conditions.append(any_of("document_key", where.documents))
    if where.labels:
        numbers = sorted(number(label) for label in where.labels)
        conditions.append(f"array_contains_all(label_keys, {numbers})")
    return conditions


def any_of(field: str, texts: Collection[str]) -> str:
    return among(field, (number(text) for text in texts))


def among(field: str, numbers: Iterable[int]) -> str:
    return f"{field} in {sorted(set(numbers))}"
