"""Secondlook as a system under comparison: as it is set up by default, and with whole texts."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from benchmarks.peers_contract import WANTED, Mode, Part, System, first_of_each
from secondlook.library.library import Library
from secondlook.library.report import Text as LibraryText
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.peers_contract import Embedding, Text
    from secondlook.reading.port import Embedder

    Vectors = NDArray[np.float32]

PASSAGES = 2 * WANTED
"""Asked for, as several passages may come from one document; the reader reads 20 either way."""
WHOLE_TOKENS = 512
"""As many as the embedder takes in: a longer text is cut into passages, where the peers' tail
goes unread."""
TEXT_PREFIX = "text:"


class SharedEmbedder:
    """Secondlook's own embedder, with passages taken from where all systems take them."""

    def __init__(self, own: Embedder, shared: Embedding) -> None:
        self._own, self._shared = own, shared
        self.name, self.dimensions, self.max_tokens = own.name, own.dimensions, own.max_tokens

    def token_starts(self, text: str) -> list[int]:
        return self._own.token_starts(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._shared.passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return self._shared.query(text)


class MeasuredLibrary(Library):
    shared: Embedding

    def embedder(self) -> Embedder:
        return SharedEmbedder(super().embedder(), self.shared)


class Shelf:
    """One library and what is asked of it."""

    def __init__(self, texts: Sequence[Text], embedding: Embedding, folder: Path) -> None:
        self._texts, self._embedding, self._folder = texts, embedding, folder
        self.library: MeasuredLibrary | None = None
        self.settings = Settings()
        self._names: dict[str, tuple[str, ...]] = {}

    def build(self) -> None:
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self.library = MeasuredLibrary.open(self._folder, settings=self.settings)
        self.library.shared = self._embedding
        report = self.library.add_texts(
            LibraryText(name=text.id, text=text.text, title=text.title or None)
            for text in self._texts
        )
        if report.failed:
            raise SystemExit(f"these texts failed: {report.failed[:3]!r}")

    def close(self) -> None:
        if self.library is not None:
            self.library.close()

    def passages(self) -> int:
        return self._open().status().passages

    def search(self, **options: float | bool | None) -> Callable[[str], list[str]]:
        rerank, lexical = options.get("rerank"), options.get("lexical")

        def found(question: str) -> list[str]:
            hits = self._open().search(
                question,
                k=PASSAGES,
                lexical=None if lexical is None else float(lexical),
                rerank=None if rerank is None else bool(rerank),
            )
            return first_of_each(
                [name for hit in hits for name in self._named(hit.passage.document)]
            )

        return found

    def _named(self, document: str) -> tuple[str, ...]:
        """What the set calls a document; equal texts are one document with several names."""
        if document not in self._names:
            paths = self._open().paths([document])[document]
            self._names[document] = tuple(path.removeprefix(TEXT_PREFIX) for path in paths)
        return self._names[document]

    def _open(self) -> MeasuredLibrary:
        if self.library is None:
            raise SystemExit("asked before it was built")
        return self.library


def default(texts: Sequence[Text], embedding: Embedding, folder: Path) -> System:
    """The product as it comes: texts are cut into passages of about 200 tokens."""
    return _system(Shelf(texts, embedding, folder))


def whole(texts: Sequence[Text], embedding: Embedding, folder: Path) -> System:
    """Each text one passage, as the peers hold them: what differs is the search alone."""
    shelf = Shelf(texts, embedding, folder)
    chunking = shelf.settings.chunking.model_copy(update={"tokens": WHOLE_TOKENS})
    shelf.settings = shelf.settings.model_copy(update={"chunking": chunking})
    return _system(shelf)


def _system(shelf: Shelf) -> System:
    parts = ("library",)
    return System(
        parts={"library": Part(shelf.build)},
        modes={
            "hybrid + rerank": Mode(parts, shelf.search()),
            "hybrid": Mode(parts, shelf.search(rerank=False)),
            "dense": Mode(parts, shelf.search(rerank=False, lexical=0.0)),
        },
        distributions=("secondlook", "pylance"),
        passages=shelf.passages,
        durable=True,
        closing=[shelf.close],
    )
