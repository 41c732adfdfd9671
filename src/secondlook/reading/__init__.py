"""The small local models. They take strings, nothing else; no engine is imported until used."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Literal

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.reading.port import Embedder, Reader
    from secondlook.reading.reader import OnnxReader

EMBEDDER_FORMS = (
    '"embedded", "ollama:MODEL", "openai:MODEL", "openai:MODEL@http://HOST:PORT/v1" '
    'or "sentence-transformers:NAME_OR_PATH"'
)
READER_FORMS = '"embedded" or "sentence-transformers:NAME_OR_PATH"'
_loaded: dict[tuple[Any, ...], Any] = {}
_loading = threading.Lock()


def load_embedder(
    spec: str = "embedded",
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    threads: int | None = None,
) -> Embedder:
    """The embedder that `spec` names, one per process however often it is asked for."""
    from secondlook.reading import embedders

    provider, _, model = spec.partition(":")
    key = ("embedder", spec, base_url, api_key, threads)
    embedder: Embedder
    if spec == "embedded":
        embedder = _once(key, embedders.OnnxEmbedder, threads=threads)
    elif provider in {"ollama", "openai"} and model:
        embedder = _once(
            key, embedders.open_remote, provider, model, base_url=base_url, api_key=api_key
        )
    elif provider == "sentence-transformers" and model:
        embedder = _once(key, embedders.TransformerEmbedder, model)
    else:
        raise UsageError(f"unknown embedder {spec!r}", hint=f"use {EMBEDDER_FORMS}")
    return embedder


def load_reader(spec: str = "embedded", *, threads: int | None = None) -> Reader:
    """The reader that `spec` names, one per process however often it is asked for."""
    if spec == "embedded":
        return load_embedded_reader(threads=threads)
    _, model = reader_parts(spec)
    from secondlook.reading.cross_encoder import CrossEncoderReader

    embedded = load_embedded_reader(threads=threads)
    reader: Reader = _once(("reader", spec, threads), CrossEncoderReader, model, embedded)
    return reader


def load_embedded_reader(*, threads: int | None = None) -> OnnxReader:
    """The one that comes with the weights, which also judges claims; one per process."""
    from secondlook.reading.reader import OnnxReader

    reader: OnnxReader = _once(("reader", "embedded", threads), OnnxReader, threads=threads)
    return reader


def reader_parts(spec: str) -> tuple[Literal["embedded", "sentence-transformers"], str]:
    """Who provides the reader, and the name it has there."""
    provider, _, model = spec.partition(":")
    if spec == "embedded":
        return "embedded", ""
    if provider == "sentence-transformers" and model:
        return "sentence-transformers", model
    raise UsageError(f"unknown reader {spec!r}", hint=f"use {READER_FORMS}")


def warm_up(*, threads: int | None = None, reader: bool = True) -> None:
    """Start loading the embedded models, so that the first question waits less."""

    def load() -> None:
        # What goes wrong here goes wrong again, and is told, where the model is asked for.
        with contextlib.suppress(Exception):
            load_embedder(threads=threads)
            if reader:
                load_reader(threads=threads)

    threading.Thread(target=load, name="secondlook-warm-up").start()


def _once(key: tuple[Any, ...], make: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with _loading:
        if key not in _loaded:
            _loaded[key] = make(*args, **options)
        return _loaded[key]
