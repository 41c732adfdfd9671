"""Hard negatives by our own search: what the product itself would show for a question.

Passages are embedded once and their vectors kept, a part at a time, so that an interrupted run
goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from secondlook.reading import load_embedder
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry
from secondlook.retrieval.search import Searcher, SearchOptions
from secondlook.retrieval.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from secondlook.reading.port import Embedder
    from training.data.rows import Passage

PART = 2000
"""Passages embedded and kept at a time: about half a minute on two cores."""


@dataclass(frozen=True, slots=True)
class IndexMiner:
    """Finds hard negatives as the product finds passages, without the reader."""

    kept: Path
    """Folder for the vectors."""

    def hardest(
        self, passages: Sequence[Passage], questions: Sequence[str], count: int
    ) -> Iterator[list[int]]:
        """For each question in turn, the places of the passages that are found, best first."""
        embedder = load_embedder()
        vectors = kept_vectors(passages, embedder, self.kept)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            index = LanceIndex.open(
                Path(folder) / "index", dimensions=embedder.dimensions, create=True
            )
            _fill(index, passages, vectors)
            searcher = Searcher(index, embedder)
            options = SearchOptions(k=count, candidates=count, rerank=False)
            for question in questions:
                found = searcher.find(question, options)[:count]
                yield [int(item.entry.id) for item in found]


def _fill(index: LanceIndex, passages: Sequence[Passage], vectors: NDArray[np.float32]) -> None:
    entries = [
        Entry(
            id=str(place),
            document=str(place),
            text=passage.text,
            terms=tuple(terms(_whole(passage))),
            start=0,
            end=len(passage.text),
        )
        for place, passage in enumerate(passages)
    ]
    for start in range(0, len(entries), PART):
        index.add(entries[start : start + PART], vectors[start : start + PART])
    index.compact()


def _whole(passage: Passage) -> str:
    """As a library embeds and analyses it."""
    return with_context(passage.title, (), passage.text)


def kept_vectors(
    passages: Sequence[Passage], embedder: Embedder, folder: Path
) -> NDArray[np.float32]:
    """The vectors of all passages; those embedded before are read."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(passages), PART):
        texts = [_whole(passage) for passage in passages[start : start + PART]]
        file = folder / f"{_key(texts, embedder)}.npy"
        if not file.exists():
            _save(embedder.embed_passages(texts), file)
            sys.stderr.write(f"embedded {start + len(texts)} of {len(passages)} passages\n")
        parts.append(np.load(file))
    return np.concatenate(parts)


def _save(vectors: NDArray[np.float32], file: Path) -> None:
    made = file.with_suffix(".part.npy")
    np.save(made, vectors)
    made.replace(file)


def _key(texts: Sequence[str], embedder: Embedder) -> str:
    """Other texts or another embedder have other vectors."""
    digest = hashlib.sha256(embedder.name.encode())
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:24]
