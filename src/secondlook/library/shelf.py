"""What the workflows ask of a library: to find, to read and to fetch, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import LibraryError
from secondlook.retrieval.index.port import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from secondlook.library.library import Library
    from secondlook.passage import Hit, Passage
    from secondlook.reading.port import Choose, Reading
    from secondlook.retrieval.index.port import Filter
    from secondlook.retrieval.search import Ranked, SearchOptions
    from secondlook.settings import SearchSettings

_REMEMBERED = 512
"""Passages kept at hand: the steps of a run ask for the same few again and again."""


def search_options(
    chosen: SearchSettings,
    *,
    k: int | None = None,
    dense: float | None = None,
    lexical: float | None = None,
    candidates: int | None = None,
    rerank: bool | None = None,
) -> SearchOptions:
    """The settings, but for what is given."""
    from secondlook.retrieval.search import SearchOptions

    return SearchOptions(
        k=chosen.k if k is None else k,
        dense=chosen.dense if dense is None else dense,
        lexical=chosen.lexical if lexical is None else lexical,
        rrf_k=chosen.rrf_k,
        pool=chosen.pool,
        candidates=chosen.candidates if candidates is None else candidates,
        rerank=chosen.rerank if rerank is None else rerank,
        looks=chosen.looks,
        blend=chosen.blend,
    )


class Shelf:
    """Threads may share one. It follows a rebuild of the library as `Library.search` does."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._remembered: dict[str, Passage] = {}

    @property
    def reader_name(self) -> str:
        return self._library.reader().name

    @property
    def reader_languages(self) -> tuple[str, ...]:
        from secondlook.reading.languages import trained_for

        return trained_for(self._library.reader())

    def find(self, query: str, options: SearchOptions, where: Filter = EVERYTHING) -> list[Hit]:
        """What both searches together found, in the order of fusion, not yet read."""
        hits = self._following(lambda library: library.searcher().find(query, options, where))
        self._remember([hit.passage for hit in hits])
        return hits

    def read(
        self, query: str, passages: Sequence[Passage], *, choose: Choose | None = None
    ) -> list[Reading]:
        """What the reader makes of each passage; spans count characters of its text.

        All are looked at, or those that `choose` chooses by a glance at each."""
        from secondlook.retrieval.search import read_in_context

        return read_in_context(
            self._library.reader(),
            query,
            [(passage.title, passage.heading, passage.text) for passage in passages],
            choose=choose,
        )

    def read_text(self, query: str, text: str) -> Reading:
        """One look at a text that is in no document, such as a model's answer."""
        return self._library.reader().read(query, [text])[0]

    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How alike the two texts of each pair are in meaning: the cosine of their vectors."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = self._library.embedder().embed_passages(texts)
        place = {text: at for at, text in enumerate(texts)}
        return [float(vectors[place[one]] @ vectors[place[other]]) for one, other in pairs]

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """What the embedder makes of each text; of length 1, so that a product is the cosine."""
        made = self._library.embedder().embed_passages(list(texts))
        return [[float(value) for value in vector] for vector in made]

    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """The passages with these ids; those that are gone are left out."""
        remembered = self._remembered
        held = {name: remembered[name] for name in ids if name in remembered}
        if missing := [name for name in ids if name not in held]:
            hits = self._following(lambda library: _fetched(library, missing))
            self._remember([hit.passage for hit in hits])
            held.update((hit.passage.id, hit.passage) for hit in hits)
        return held

    def paths(self, documents: Collection[str]) -> dict[str, tuple[str, ...]]:
        return self._library.paths(documents)

    def page(self, document: str, at: int) -> int | None:
        """The page on which this character of the document stands; None where it has no pages."""
        for page in reversed(self._library.text(document).pages):
            if page.start <= at:
                return page.number
        return None

    def size(self) -> tuple[int, int]:
        """How many documents and passages there are to search."""
        counts = self._library.index.documents()
        return len(counts), sum(counts.values())

    def _following(self, work: Callable[[Library], list[Ranked]]) -> list[Hit]:
        if self._library.refresh():
            self._remembered = {}
        try:
            return self._library.hits(work(self._library))
        except LibraryError:
            if not self._library.refresh():
                raise
            # A rebuild took the place of what was being searched.
            self._remembered = {}
            return self._library.hits(work(self._library))

    def _remember(self, passages: Sequence[Passage]) -> None:
        if len(self._remembered) > _REMEMBERED:
            self._remembered = {}
        self._remembered.update((passage.id, passage) for passage in passages)


def _fetched(library: Library, ids: Sequence[str]) -> list[Ranked]:
    from secondlook.retrieval.search import Ranked

    return [Ranked(entry, score=0.0, fusion_score=0.0) for entry in library.index.fetch(ids)]
