"""The connection to a Milvus server: its collections, its calls, and its errors in our words."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from secondlook.errors import LibraryError, LibraryUnreachable, SettingsError, UsageError
from secondlook.retrieval.index.port import Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pymilvus import CollectionSchema, MilvusClient

    from secondlook.retrieval.index.port import Filter, Vectors

    _Index = tuple[str, str, dict[str, Any]]  # kind, metric, options

INSTALL = "pip install pymilvus"
PARTITIONS = 1024  # of the vector index, IVF_FLAT: a search that probes all of them is exact
MOST_HITS = 16_384  # as many as Milvus gives back of one search or query

_ADDRESS = re.compile(r"(?P<uri>https?://[^\s/@?#]+)(?:/(?P<database>[A-Za-z_]\w*))?/?", re.ASCII)
_PATIENCE = 60.0  # seconds that one call may take
_ROWS_AT_ONCE = 500
_KEYS_AT_ONCE = 5000
_AWAY = re.compile(
    r"fail(ed)? connecting|unavailable|deadline|timed? ?out|retry run out", re.IGNORECASE
)
_STRONG = "Strong"  # consistency: a read sees every write that was answered before it


def client_module() -> Any:
    """The module `pymilvus`. It would read a `.env` file into the environment and log each failed
    call with its traceback; we tell of it ourselves."""
    disabled = "PYTHON_DOTENV_DISABLED"
    before = os.environ.get(disabled)
    os.environ[disabled] = "1"
    try:
        import pymilvus
    except ImportError as error:
        raise SettingsError(
            "library.index names Milvus, and its client is not installed", hint=INSTALL
        ) from error
    finally:
        del os.environ[disabled]
        if before is not None:
            os.environ[disabled] = before
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    return pymilvus


class Server:
    """One connection, which threads may share. `address` is `http://HOST:PORT[/DATABASE]`."""

    def __init__(self, address: str, *, token: str | None = None) -> None:
        found = _ADDRESS.fullmatch(address)
        if not found:
            raise UsageError(
                "the address of Milvus is not of the form http://HOST:PORT[/DATABASE]",
                hint="a name and a password belong into MILVUS_TOKEN: USER:PASSWORD",
            )
        self.address = address
        self._token = token or ""
        module = client_module()
        with self.explained():
            self._client: MilvusClient = module.MilvusClient(
                found["uri"], "", "", found["database"] or "", self._token, timeout=10.0
            )

    @contextmanager
    def explained(self) -> Iterator[None]:
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, RpcError, OSError) as error:
            said = " ".join(str(getattr(error, "message", "") or error).split())[:300]
            if self._token:
                said = said.replace(self._token, "***")
            # No chain: it could show what was sent.
            if _AWAY.search(said):
                raise LibraryUnreachable(
                    f"Milvus at {self.address} does not answer: {said}",
                    hint="check that it runs and that library.index has its address; "
                    "nothing stored is lost",
                ) from None
            hint = "the token or USER:PASSWORD belongs into MILVUS_TOKEN"
            raise LibraryError(f"Milvus at {self.address} refused: {said}", hint=hint) from None

    # Collections

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        with self.explained():
            return getattr(self._client, method)(*args, timeout=_PATIENCE, **options)

    def has(self, collection: str) -> bool:
        return bool(self.call("has_collection", collection))

    def fields(self, collection: str) -> dict[str, dict[str, Any]]:
        said = self.call("describe_collection", collection)
        return {field["name"]: field for field in said["fields"]}

    def names(self, prefix: str) -> list[str]:
        return [name for name in self.call("list_collections") if name.startswith(prefix)]

    def drop(self, collection: str) -> None:
        if self.has(collection):
            self.call("drop_collection", collection)

    def create_heads(self, collection: str) -> None:
        kinds = client_module().DataType
        schema = self._schema("key", "turn", "part", "parts")
        schema.add_field("said", kinds.VARCHAR, max_length=MOST_BYTES)
        # Milvus has no collection without vectors.
        schema.add_field("unused", kinds.FLOAT_VECTOR, dim=2)
        self._create(collection, schema, {"unused": ("FLAT", "COSINE", {})})

    def create_rows(self, collection: str, dimensions: int) -> None:
        module = client_module()
        kinds = module.DataType
        numbers = ("key", "commit", "id_key", "document_key")
        schema = self._schema(*numbers)
        for name in ("id", "document", "text", "place"):
            schema.add_field(name, kinds.VARCHAR, max_length=MOST_BYTES)
        labels = {"element_type": kinds.INT64, "max_capacity": 4096}
        schema.add_field("label_keys", kinds.ARRAY, **labels)
        tokens = {"enable_analyzer": True, "analyzer_params": {"tokenizer": "standard"}}
        schema.add_field("terms", kinds.VARCHAR, max_length=MOST_BYTES, **tokens)
        schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dimensions)
        schema.add_field("weights", kinds.SPARSE_FLOAT_VECTOR)
        kind = module.FunctionType.BM25
        schema.add_function(module.Function("bm25", kind, ["terms"], ["weights"]))
        bm25 = {"bm25_k1": 1.2, "bm25_b": 0.75, "inverted_index_algo": "TAAT_NAIVE"}
        indices: dict[str, _Index] = {
            "vector": ("IVF_FLAT", "COSINE", {"nlist": PARTITIONS}),
            "weights": ("SPARSE_INVERTED_INDEX", "BM25", bm25),
        }
        indices |= {name: ("INVERTED", "", {}) for name in numbers[1:]}
        self._create(collection, schema, indices)

    def _schema(self, *numbers: str) -> CollectionSchema:
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        for name in numbers:
            schema.add_field(name, client_module().DataType.INT64, is_primary=name == "key")
        return schema

    def _create(
        self, collection: str, schema: CollectionSchema, indices: dict[str, _Index]
    ) -> None:
        chosen = self._client.prepare_index_params()
        for field, (kind, metric, options) in indices.items():
            measured = {"metric_type": metric} if metric else {}
            # The client takes one level of `params` off; Milvus Lite knows no other form.
            chosen.add_index(field, index_type=kind, params={"params": options}, **measured)
        self.call("create_collection", collection, schema=schema, consistency_level=_STRONG)
        # Nothing is in it: waiting for each index would cost half a second.
        self.call("create_index", collection, chosen, sync=False)
        self.call("load_collection", collection)

    # Rows

    def insert(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self.call("insert", collection, list(rows[start : start + _ROWS_AT_ONCE]))

    def delete(self, collection: str, expression: str) -> None:
        self.call("delete", collection, filter=expression)

    def delete_keys(self, collection: str, keys: Sequence[int]) -> None:
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            self.call("delete", collection, ids=list(keys[start : start + _KEYS_AT_ONCE]))

    def query(
        self, collection: str, expression: str, fields: Sequence[str], *, limit: int = MOST_HITS
    ) -> list[dict[str, Any]]:
        options = {"output_fields": list(fields), "limit": limit, "consistency_level": _STRONG}
        return list(self.call("query", collection, filter=expression, **options))

    def pages(
        self, collection: str, expression: str, fields: Sequence[str]
    ) -> Iterator[list[dict[str, Any]]]:
        """Rows that may be many. Few come in one call."""
        first = self.query(collection, expression, fields, limit=_ROWS_AT_ONCE)
        if len(first) < _ROWS_AT_ONCE:
            yield first
            return
        with self.explained():
            wanted = {"output_fields": list(fields), "consistency_level": _STRONG}
            pages = self._client.query_iterator(
                collection, batch_size=_ROWS_AT_ONCE, filter=expression, **wanted
            )
            try:
                while page := pages.next():
                    yield page
            finally:
                pages.close()

    def search(
        self, collection: str, field: str, query: Any, limit: int, expression: str, **options: Any
    ) -> list[tuple[str, float]]:
        found = self.call(
            "search",
            collection,
            data=[query],
            anns_field=field,
            filter=expression,
            limit=min(limit, MOST_HITS),
            search_params={"params": options},
            output_fields=["id"],
            consistency_level=_STRONG,
        )
        return [(hit["entity"]["id"], hit["distance"]) for hit in found[0]]


# How entries become rows of a Milvus collection and come back, and how filters become expressions.

MOST_BYTES = 65_535  # more does not fit into one text field of Milvus
ENTRY_FIELDS = ("id", "document", "text", "terms", "place")
_KEYS = ("key", "commit", "id_key", "document_key", "label_keys")
STORED_FIELDS = (*_KEYS, *ENTRY_FIELDS, "vector")

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
    return " ".join(
        term if _ONE_TOKEN_ANYWHERE.fullmatch(term) else _CODED + term.encode().hex()
        for term in terms
        if term
    )


def terms_of(joined: str) -> tuple[str, ...]:
    return tuple(
        bytes.fromhex(token.removeprefix(_CODED)).decode() if token.startswith(_CODED) else token
        for token in joined.split()
    )


def rows(entries: Sequence[Entry], vectors: Vectors, *, commit: int) -> list[dict[str, Any]]:
    if len(entries) >= _PLACES_PER_COMMIT:
        raise UsageError(f"One commit takes fewer than {_PLACES_PER_COMMIT:,} passages")
    made = []
    for at, (entry, vector) in enumerate(zip(entries, vectors, strict=True)):
        place = [entry.start, entry.end, entry.page, entry.heading, entry.labels]
        texts = {
            "id": entry.id,
            "document": entry.document,
            "text": entry.text,
            "terms": tokens(entry.terms),
            "place": json.dumps(place),
        }
        for name, value in texts.items():
            if len(value.encode()) > MOST_BYTES:
                raise UsageError(
                    f"The {name} of passage {entry.id[:80]!r} is longer than {MOST_BYTES:,} bytes, "
                    "the most that Milvus holds in a field",
                    hint="shorter passages (chunking.tokens) fit",
                )
        keys = {"key": commit * _PLACES_PER_COMMIT + at, "commit": commit}
        keys |= {"id_key": number(entry.id), "document_key": number(entry.document)}
        labels = [number(label) for label in entry.labels]
        made.append(texts | keys | {"label_keys": labels, "vector": vector})
    return made


def entry(row: dict[str, Any]) -> Entry:
    start, end, page, heading, labels = json.loads(row["place"])
    texts = (row["id"], row["document"], row["text"], terms_of(row["terms"]))
    return Entry(*texts, start, end, page, tuple(heading), tuple(labels))


def predicate(where: Filter) -> list[str]:
    """The conditions of a filter; exclusions are dealt with by asking for more."""
    documents = [] if where.documents is None else [any_of("document_key", where.documents)]
    labels = sorted(number(label) for label in where.labels)
    return [*documents, *([f"array_contains_all(label_keys, {labels})"] if labels else [])]


def any_of(field: str, texts: Collection[str]) -> str:
    return among(field, (number(text) for text in texts))


def among(field: str, numbers: Iterable[int]) -> str:
    return f"{field} in {sorted(set(numbers))}"
