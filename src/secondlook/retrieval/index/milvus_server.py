"""The connection to a Milvus server: its collections, its calls, and its errors in our words."""

from __future__ import annotations

import logging
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from secondlook.errors import (
    LibraryError,
    LibraryUnreachable,
    SettingsError,
    UsageError,
)
from secondlook.retrieval.index.milvus_rows import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pymilvus import CollectionSchema, MilvusClient

INSTALL = 'pip install "secondlook[milvus]"'
PARTITIONS = 1024
"""Of the vector index, IVF_FLAT: a search that probes all of them is exact."""
MOST_HITS = 16_384
"""As many as Milvus gives back of one search or query."""

_ADDRESS = re.compile(r"(?P<uri>https?://[^\s/@?#]+)(?:/(?P<database>[A-Za-z_]\w*))?/?", re.ASCII)
_PATIENCE = 60.0
"""Seconds that one call may take."""
_CONNECTING = 10.0
_ROWS_AT_ONCE = 500
_KEYS_AT_ONCE = 5000
_MOST_LABELS = 4096
_AWAY = re.compile(
    r"fail(ed)? connecting|unavailable|deadline|timed? ?out|retry run out", re.IGNORECASE
)
_NOT_LET_IN = re.compile(r"auth|permission|privilege|token", re.IGNORECASE)
_STRONG = "Strong"
"""Consistency: a read sees every write that was answered before it."""


def client_module() -> Any:
    """The module `pymilvus`. It would read a `.env` file into the environment and log each failed
    call with its traceback; we tell of it ourselves."""
    before = os.environ.get("PYTHON_DOTENV_DISABLED")
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"
    try:
        import pymilvus
    except ImportError as error:
        raise SettingsError(
            "library.index names Milvus, and its client is not installed", hint=INSTALL
        ) from error
    finally:
        if before is None:
            del os.environ["PYTHON_DOTENV_DISABLED"]
        else:
            os.environ["PYTHON_DOTENV_DISABLED"] = before
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    return pymilvus


class Server:
    """One connection, which threads may share. `address` is `http://HOST:PORT[/DATABASE]`."""

    def __init__(self, address: str, *, token: str | None = None) -> None:
        found = _ADDRESS.fullmatch(address)
        if not found:
            raise UsageError(
                "the address of Milvus is not of the form http://HOST:PORT or "
                "http://HOST:PORT/DATABASE",
                hint="a name and a password do not belong in it: put USER:PASSWORD into the "
                "environment variable that library.index_token_env names",
            )
        self.address = address
        self._token = token or ""
        module = client_module()
        with self.explained():
            self._client: MilvusClient = module.MilvusClient(
                uri=found["uri"],
                token=self._token,
                db_name=found["database"] or "",
                timeout=_CONNECTING,
            )

    @contextmanager
    def explained(self) -> Iterator[None]:
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, RpcError, OSError) as error:
            raise self._explanation(error) from None  # the chain could show what was sent

    def _explanation(self, error: Exception) -> LibraryError:
        said = " ".join(str(getattr(error, "message", "") or error).split())[:300]
        if self._token:
            said = said.replace(self._token, "***")
        if _AWAY.search(said):
            return LibraryUnreachable(
                f"Milvus at {self.address} does not answer: {said}",
                hint="check that it runs and that library.index has its address; "
                "nothing stored is lost",
            )
        if _NOT_LET_IN.search(said):
            return LibraryError(
                f"Milvus at {self.address} does not let us in: {said}",
                hint="put USER:PASSWORD or a token into the environment variable that "
                "library.index_token_env names",
            )
        return LibraryError(f"Milvus at {self.address} refused: {said}")

    # Collections

    def has(self, collection: str) -> bool:
        with self.explained():
            return bool(self._client.has_collection(collection, timeout=_PATIENCE))

    def fields(self, collection: str) -> dict[str, dict[str, Any]]:
        with self.explained():
            said = self._client.describe_collection(collection, timeout=_PATIENCE)
        return {field["name"]: field for field in said["fields"]}

    def names(self, prefix: str) -> list[str]:
        with self.explained():
            held = self._client.list_collections(timeout=_PATIENCE)
        return [name for name in held if name.startswith(prefix)]

    def drop(self, collection: str) -> None:
        with self.explained():
            if self._client.has_collection(collection, timeout=_PATIENCE):
                self._client.drop_collection(collection, timeout=_PATIENCE)

    def load(self, collection: str) -> None:
        """Make it searchable; costs little where it is."""
        with self.explained():
            self._client.load_collection(collection, timeout=_PATIENCE)

    def create_heads(self, collection: str) -> None:
        kinds = client_module().DataType
        schema = self._schema(
            key=kinds.INT64, turn=kinds.INT64, part=kinds.INT64, parts=kinds.INT64
        )
        schema.add_field("said", kinds.VARCHAR, max_length=MOST_BYTES)
        # Milvus has no collection without vectors.
        schema.add_field("unused", kinds.FLOAT_VECTOR, dim=2)
        self._create(collection, schema, {"unused": ("FLAT", "COSINE", {})})

    def create_rows(self, collection: str, dimensions: int) -> None:
        module = client_module()
        kinds = module.DataType
        numbers = ("key", "commit", "id_key", "document_key")
        schema = self._schema(**dict.fromkeys(numbers, kinds.INT64))
        for name in ("id", "document", "text", "place"):
            schema.add_field(name, kinds.VARCHAR, max_length=MOST_BYTES)
        schema.add_field(
            "label_keys", kinds.ARRAY, element_type=kinds.INT64, max_capacity=_MOST_LABELS
        )
        schema.add_field(
            "terms",
            kinds.VARCHAR,
            max_length=MOST_BYTES,
            enable_analyzer=True,
            analyzer_params={"tokenizer": "standard"},
        )
        schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dimensions)
        schema.add_field("weights", kinds.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            module.Function(
                name="bm25",
                function_type=module.FunctionType.BM25,
                input_field_names=["terms"],
                output_field_names=["weights"],
            )
        )
        bm25 = {"bm25_k1": 1.2, "bm25_b": 0.75, "inverted_index_algo": "TAAT_NAIVE"}
        indices: dict[str, tuple[str, str, dict[str, Any]]] = {
            "vector": ("IVF_FLAT", "COSINE", {"nlist": PARTITIONS}),
            "weights": ("SPARSE_INVERTED_INDEX", "BM25", bm25),
        }
        indices |= {name: ("INVERTED", "", {}) for name in numbers[1:]}
        self._create(collection, schema, indices)

    def _schema(self, **numbers: Any) -> CollectionSchema:
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        for name, kind in numbers.items():
            schema.add_field(name, kind, is_primary=name == "key")
        return schema

    def _create(
        self,
        collection: str,
        schema: CollectionSchema,
        indices: dict[str, tuple[str, str, dict[str, Any]]],
    ) -> None:
        chosen = self._client.prepare_index_params()
        for field, (kind, metric, options) in indices.items():
            measured = {"metric_type": metric} if metric else {}
            # The client takes one level of `params` off; Milvus Lite knows no other form.
            chosen.add_index(field, index_type=kind, params={"params": options}, **measured)
        with self.explained():
            self._client.create_collection(
                collection, schema=schema, consistency_level=_STRONG, timeout=_PATIENCE
            )
            # Nothing is in it: waiting for each index would cost half a second.
            self._client.create_index(collection, chosen, sync=False, timeout=_PATIENCE)
        self.load(collection)

    # Rows

    def insert(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        with self.explained():
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = list(rows[start : start + _ROWS_AT_ONCE])
                self._client.insert(collection, part, timeout=_PATIENCE)

    def delete(self, collection: str, expression: str) -> None:
        with self.explained():
            self._client.delete(collection, filter=expression, timeout=_PATIENCE)

    def delete_keys(self, collection: str, keys: Sequence[int]) -> None:
        with self.explained():
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                part = list(keys[start : start + _KEYS_AT_ONCE])
                self._client.delete(collection, ids=part, timeout=_PATIENCE)

    def query(
        self, collection: str, expression: str, fields: Sequence[str], *, limit: int = MOST_HITS
    ) -> list[dict[str, Any]]:
        """Rows that are few, in any order."""
        with self.explained():
            return list(
                self._client.query(
                    collection,
                    filter=expression,
                    output_fields=list(fields),
                    limit=limit,
                    consistency_level=_STRONG,
                    timeout=_PATIENCE,
                )
            )

    def pages(
        self, collection: str, expression: str, fields: Sequence[str]
    ) -> Iterator[list[dict[str, Any]]]:
        """Rows that may be many. Few come in one call."""
        first = self.query(collection, expression, fields, limit=_ROWS_AT_ONCE)
        if len(first) < _ROWS_AT_ONCE:
            yield first
            return
        with self.explained():
            pages = self._client.query_iterator(
                collection,
                batch_size=_ROWS_AT_ONCE,
                filter=expression,
                output_fields=list(fields),
                consistency_level=_STRONG,
            )
            try:
                while page := pages.next():
                    yield page
            finally:
                pages.close()

    def search(
        self, collection: str, field: str, query: Any, limit: int, expression: str, **options: Any
    ) -> list[tuple[str, float]]:
        """Ids with what Milvus calls their distance."""
        with self.explained():
            found = self._client.search(
                collection,
                data=[query],
                anns_field=field,
                limit=min(limit, MOST_HITS),
                filter=expression,
                search_params={"params": options},
                output_fields=["id"],
                consistency_level=_STRONG,
                timeout=_PATIENCE,
            )
        return [(hit["entity"]["id"], hit["distance"]) for hit in found[0]]

    def flush(self, collection: str) -> None:
        with self.explained():
            self._client.flush(collection, timeout=_PATIENCE)

    def compact(self, collection: str) -> None:
        """Ask for it; the server does it in its own time."""
        with self.explained():
            self._client.compact(collection, timeout=_PATIENCE)
