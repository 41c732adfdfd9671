"""Passages, vectors and questions for `benchmarks/search.py` and `benchmarks/scale.py`."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.index.port import Entry
from secondlook.retrieval.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from secondlook.reading.port import Embedder

    Vectors = NDArray[np.float32]

CACHE = Path(__file__).parents[1] / ".cache" / "search"
BLOCK = 256
BATCH = 2000
RARE_ONE_IN = 20


@dataclass(frozen=True, slots=True)
class Collection:
    entries: list[Entry]
    vectors: Vectors
    embedder: str


class RandomProjection:
    """A stand-in for an embedder: the sum of a fixed random vector per term. Texts that share
    words are neighbours, which is enough to exercise an index without any model."""

    name = "random-projection"
    dimensions = 384

    def __init__(self) -> None:
        self._known: dict[str, NDArray[np.float64]] = {}

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        total = sum((self._of(term) for term in set(terms(text)) or {""}), np.zeros(384))
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _of(self, term: str) -> NDArray[np.float64]:
        if term not in self._known:
            seed = int.from_bytes(hashlib.sha256(term.encode()).digest()[:8], "big")
            weight = 1 + min(len(term), 8)  # long words tell more than short ones
            self._known[term] = weight * np.random.default_rng(seed).standard_normal(384)
        return self._known[term]


def load_embedder(spec: str) -> Embedder | RandomProjection:
    if spec == RandomProjection.name:
        return RandomProjection()
    from secondlook.reading import load_embedder as load

    return load(spec)


def data_folder() -> Path:
    folder = os.environ.get("SECONDLOOK_DATA")
    if not folder:
        raise SystemExit("set SECONDLOOK_DATA to the folder that holds the evaluation sets")
    return Path(folder)


def all_passages(embedder: str) -> Collection:
    rows = all_rows()
    model = load_embedder(embedder)
    vectors = embedded([whole(row) for row in rows], model)
    return Collection([as_entry(row) for row in rows], vectors, model.name)


def all_rows() -> list[dict[str, Any]]:
    return [row for path in corpora() for row in read_lines(path, prefix=path.parent.name)]


def corpora() -> list[Path]:
    return sorted(data_folder().glob("*/corpus.jsonl.gz"))


def read_lines(path: Path, prefix: str = "") -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line) | {"set": prefix}


def whole(row: dict[str, Any]) -> str:
    """The passage as the library embeds and analyses it: below its title."""
    return with_context(row["title"] or "", (), row["text"])


def as_entry(row: dict[str, Any]) -> Entry:
    document = hashlib.sha256(f"{row['set']}/{row['title']}".encode()).hexdigest()[:16]
    rare = int(document, 16) % RARE_ONE_IN == 0
    return Entry(
        id=f"{row['set']}/{row['id']}",
        document=document,
        text=row["text"],
        terms=terms(whole(row)),
        start=0,
        end=len(row["text"]),
        labels=(f"set={row['set']}", "slice=rare" if rare else "slice=common"),
    )


def questions(count: int) -> list[str]:
    """A fixed draw from the questions of every set that has a corpus."""
    found = [
        row["question"]
        for path in corpora()
        for row in read_lines(path.with_name("queries.jsonl.gz"))
        if row["answerable"]
    ]
    return random.Random(0).sample(found, count)


def embedded(
    texts: list[str], model: Embedder | RandomProjection, *, first: int | None = None
) -> Vectors:
    """The vectors of the texts, or of the first so many of them, kept on disk; an interrupted run
    goes on where it stopped."""
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    name = re.sub(r"[^\w.-]", "-", model.name)
    file, progress = CACHE / f"{name}-{digest}.npy", CACHE / f"{name}-{digest}.done"
    CACHE.mkdir(parents=True, exist_ok=True)
    done = int(progress.read_text()) if progress.exists() and file.exists() else 0
    shape = (len(texts), model.dimensions)
    mode = "r+" if done else "w+"
    vectors = np.lib.format.open_memmap(file, mode=mode, dtype=np.float32, shape=shape)
    started, before, wanted = time.monotonic(), done, min(first or len(texts), len(texts))
    while done < wanted:
        block = slice(done, min(done + BLOCK, wanted))
        vectors[block] = model.embed_passages(texts[block])
        vectors.flush()
        done = block.stop
        progress.write_text(str(done))
        pace = (time.monotonic() - started) / (done - before)
        print(f"\rembedded {done}/{wanted}, {pace * (wanted - done):.0f} s to go", end="")
    return np.array(vectors[:wanted])


def sample(collection: Collection, size: int) -> Collection:
    places = sorted(random.Random(size).sample(range(len(collection.entries)), size))
    return replace(
        collection,
        entries=[collection.entries[place] for place in places],
        vectors=collection.vectors[places],
    )


def noisy_copies(collection: Collection, size: int) -> Collection:
    """The collection, filled up to `size` with copies that are as far from their originals as
    passages typically are from their nearest neighbours."""
    chance = np.random.default_rng(size)
    places = chance.integers(0, len(collection.entries), size - len(collection.entries))
    distance = neighbour_distance(collection.vectors)
    copies = copied_entries(collection.entries, places.tolist())
    return replace(
        collection,
        entries=collection.entries + copies,
        vectors=np.concatenate(
            [collection.vectors, moved(collection.vectors[places], distance, chance)]
        ),
    )


def moved(vectors: Vectors, distance: float, chance: np.random.Generator) -> Vectors:
    """Each vector taken so far in a random direction, and of unit length again."""
    moves = chance.standard_normal(vectors.shape).astype(np.float32)
    moves *= distance / np.linalg.norm(moves, axis=1, keepdims=True)
    taken: Vectors = vectors + moves
    taken /= np.linalg.norm(taken, axis=1, keepdims=True)
    return taken


def neighbour_distance(vectors: Vectors, probes: int = 1000) -> float:
    """The median distance of a passage to its nearest neighbour, over some passages."""
    chosen = np.random.default_rng(1).choice(len(vectors), min(probes, len(vectors)), replace=False)
    best = []
    for place in chosen:
        similarities = vectors @ vectors[place]
        similarities[place] = -1
        best.append(similarities.max())
    return float(np.median(np.sqrt(np.maximum(0, 2 - 2 * np.array(best)))))


def copied_entries(
    entries: Sequence[Entry], places: Sequence[int], *, first: int = 0
) -> list[Entry]:
    """Copies whose terms are drawn from all terms of the original's document; they are numbered
    from `first` on."""
    vocabulary: dict[str, list[str]] = {}
    for entry in entries:
        vocabulary.setdefault(entry.document, []).extend(entry.terms)
    chance, copies = random.Random(2 + first), []
    for number, place in enumerate(places, first):
        entry = entries[place]
        drawn = chance.choices(vocabulary[entry.document] or [""], k=len(entry.terms))
        copies.append(replace(entry, id=f"copy{number}/{entry.id}", terms=tuple(drawn)))
    return copies


def batches_of_documents(
    entries: Sequence[Entry], copies: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Places of entries, about BATCH at a time, `copies` of each counted in. A document lies in
    one batch, for adding it again would replace it."""
    documents: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        documents.setdefault(entry.document, []).append(place)
    batch: list[int] = []
    held = 0
    for places in documents.values():
        batch += places
        held += len(places) + sum(copies[place] for place in places if copies)
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
