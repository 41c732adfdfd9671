"""One search: two engines side by side, fused, and the best candidates looked at twice."""

from __future__ import annotations

import logging
import math
import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from secondlook.errors import UsageError
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.index.port import EVERYTHING, Entry, Filter, Index, Scored
from secondlook.retrieval.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.reading.port import Choose, Embedder, Reader, Reading

OPENING = 1_500  # Characters at the beginning of a document that tell what it is about
_LINE = re.compile(r"[^\n.]+(?:\.(?!\s)[^\n.]*)*")
_LONGEST_LINE = 300

log = logging.getLogger(__name__)


# Weighted reciprocal rank fusion of a dense and a lexical result list.


@dataclass(frozen=True, slots=True)
class Fused:
    id: str
    score: float  # 1.0 for what is first in every list that counts
    dense_rank: int | None = None  # 1 is best; None when the dense search did not return it
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None


def fuse(
    dense: Sequence[Scored],
    lexical: Sequence[Scored],
    *,
    dense_weight: float,
    lexical_weight: float,
    k: int = 60,
) -> list[Fused]:
    """The entries of both lists, best first, ties by id. Each scores weight / (k + rank) in a list,
    scaled so that the best possible sum is 1.0; a list of weight zero adds no entries."""
    if min(dense_weight, lexical_weight, k) < 0 or not 0 < dense_weight + lexical_weight < math.inf:
        raise UsageError(
            "search weights must not be negative or both 0, nor the rank constant negative: "
            f"dense {dense_weight!r}, lexical {lexical_weight!r}, k {k!r}",
            hint="use weights such as 0.5 and 0.5, or 0.9 and 0.1",
        )
    # Of an id that comes twice the better place counts.
    in_dense, in_lexical = (
        {hit.id: (rank, hit.score) for rank, hit in reversed([*enumerate(found, 1)])}
        for found in (dense, lexical)
    )
    fused = []
    for name in {*(in_dense if dense_weight else ()), *(in_lexical if lexical_weight else ())}:
        dense_rank, dense_score = in_dense.get(name, (None, None))
        lexical_rank, lexical_score = in_lexical.get(name, (None, None))
        score = dense_weight * ((k + 1) / (k + dense_rank)) if dense_rank else 0.0
        score += lexical_weight * ((k + 1) / (k + lexical_rank)) if lexical_rank else 0.0
        score /= dense_weight + lexical_weight
        fused.append(Fused(name, score, dense_rank, dense_score, lexical_rank, lexical_score))
    return sorted(fused, key=lambda entry: (-entry.score, entry.id))


# Blends what the reader thinks of a passage with what the two searches thought of it.

RELEVANCE_SCALE = 8.0  # logits of relevance are divided by this before the sigmoid
Place = tuple[str, int, int]  # document, first and last character
Item = TypeVar("Item")


def best_looks(
    fusion: Sequence[float], *, blend: float, looks: int, rivals: Sequence[float] = ()
) -> Choose:
    """Chooses, by a glance at each, which passages are among the best `looks`; `rivals` are the
    final scores of what was looked at before. Ties go to the first."""

    def choose(glances: Sequence[float]) -> list[int]:
        scored = [
            (blended(score, glance, blend), score)
            for score, glance in zip(fusion, glances, strict=True)
        ]
        places = sorted(range(len(scored)), key=lambda at: (-scored[at][0], -scored[at][1], at))
        better = [sum(rival >= scored[at][0] for rival in rivals) for at in places]
        return [at for rank, at in enumerate(places) if rank + better[rank] < looks]

    return choose


def rerank(
    fused: Sequence[Fused],
    relevance: Mapping[str, float],
    *,
    blend: float,
    glanced: Collection[str] = (),
) -> list[tuple[Fused, float]]:
    """The entries with their final scores, best first, ties by id, from the reader's logits. Those
    in `glanced` are first guesses and rank below what was looked at; unseen ones rank last."""
    if not 0 <= blend <= 1:
        raise UsageError(
            f"the share of the reranker must lie between 0 and 1: {blend!r}",
            hint="0 keeps the order of the searches, 1 takes that of the reader",
        )
    floors: list[list[tuple[Fused, float]]] = [[], [], []]
    for entry in fused:
        floor = 2 if entry.id not in relevance else 1 if entry.id in glanced else 0
        score = blended(entry.score, relevance.get(entry.id, -math.inf), blend)
        floors[floor].append((entry, score))
    placed: list[tuple[Fused, float]] = []
    for scored in floors:
        scored.sort(key=lambda item: (-item[1], -item[0].score, item[0].id))
        ceiling = placed[-1][1] if placed else math.inf
        placed += [(entry, min(score, ceiling)) for entry, score in scored]
    return placed


def distinct(ranked: Sequence[Item], *, place: Callable[[Item], Place]) -> list[Item]:
    """Without passages most of whose text a better one of the same document already shows.
    Neighbours that share a sentence both stay: most of what each says is its own."""
    kept: dict[str, list[tuple[int, int]]] = {}
    found = []
    for item in ranked:
        document, start, end = place(item)
        better = kept.setdefault(document, [])
        if all(min(end, e) - max(start, s) <= 0.5 * (end - start) for s, e in better):
            better.append((start, end))
            found.append(item)
    return found


def blended(fusion: float, relevance: float, blend: float) -> float:
    value = relevance / RELEVANCE_SCALE
    if math.isnan(value):  # a model gone wrong must not scramble the order
        seen = 0.0
    elif value >= 0:
        seen = 1 / (1 + math.exp(-value))
    else:
        seen = math.exp(value) / (1 + math.exp(value))
    return (1 - blend) * fusion + blend * seen


# One search with its options.


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. The defaults are the outcome of the sweep in docs/search.md."""

    k: int = 10  # how many passages come back
    dense: float = 0.7  # weight of the search by meaning; 0 leaves it out
    lexical: float = 0.3  # weight of the search by words; 0 leaves it out
    rrf_k: int = 5  # constant of rank fusion: the larger, the less the first ranks stand out
    pool: int = 100  # passages that each of the two searches contributes
    candidates: int = 16  # how many of the fused passages the reader glances at
    looks: int = 6  # how many of those it looks at: the best by the glance
    rerank: bool = True
    blend: float = 0.8  # share of the reader in the order: 0 keeps that of fusion


DEFAULT_OPTIONS = SearchOptions()


@dataclass(frozen=True, slots=True)
class Ranked:
    entry: Entry
    score: float
    fusion_score: float
    dense_rank: int | None = None
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    rerank_score: float | None = None
    reading: Reading | None = None  # its span counts characters of the entry's text


@dataclass(frozen=True, slots=True)
class Searcher:
    index: Index
    embedder: Embedder
    reader: Reader | Callable[[], Reader] | None = None  # it loads while the engines search
    language: str = "english"
    titles: Callable[[Collection[str]], Mapping[str, str]] | None = None
    """Titles of documents by id, for the reader to see above a passage."""

    def search(
        self, query: str, options: SearchOptions = DEFAULT_OPTIONS, where: Filter = EVERYTHING
    ) -> list[Ranked]:
        with ThreadPoolExecutor(1, thread_name_prefix="secondlook-reader") as pool:
            loading = pool.submit(self._load_reader, options)
            found = self.find(query, options, where)
            readings = self._readings(query, found[: options.candidates], loading, options)
        return order(found, readings, blend=options.blend)[: options.k]

    def find(
        self, query: str, options: SearchOptions = DEFAULT_OPTIONS, where: Filter = EVERYTHING
    ) -> list[Ranked]:
        if not query.strip():
            raise UsageError("the query is empty", hint="say what to look for")
        depth = max(options.pool, options.candidates, options.k)
        dense: list[Scored] = []
        lexical: list[Scored] = []
        with ThreadPoolExecutor(1, thread_name_prefix="secondlook-search") as pool:
            terms = query_terms(query, self.language) if options.lexical else ()
            by_words = pool.submit(self.index.lexical, terms, depth, where) if terms else None
            if options.dense:
                dense = self.index.dense(self.embedder.embed_query(query), depth, where)
            if by_words:
                lexical = by_words.result()
        weights = {"dense_weight": options.dense, "lexical_weight": options.lexical}
        fused = fuse(dense, lexical, **weights, k=options.rrf_k)
        # Twice as many as asked for, as some may turn out to repeat others.
        kept = fused[: max(2 * options.k, options.candidates)]
        # Another process may have removed a passage since it was found.
        held = {entry.id: entry for entry in self.index.fetch([entry.id for entry in kept])}
        return [
            Ranked(
                held[one.id],
                one.score,
                one.score,
                one.dense_rank,
                one.dense_score,
                one.lexical_rank,
                one.lexical_score,
            )
            for one in kept
            if one.id in held
        ]

    def _load_reader(self, options: SearchOptions) -> Reader | None:
        if not options.rerank or self.reader is None:
            return None
        return cast("Reader", self.reader) if hasattr(self.reader, "read") else self.reader()

    def _readings(
        self,
        query: str,
        found: Sequence[Ranked],
        loading: Future[Reader | None],
        options: SearchOptions,
    ) -> dict[str, Reading]:
        try:
            reader = loading.result()
            if reader is None or not found:
                return {}
            fusion = [item.fusion_score for item in found]
            entries = [item.entry for item in found]
            titles = self.titles({entry.document for entry in entries}) if self.titles else {}
            given = [(titles.get(one.document, ""), one.heading, one.text) for one in entries]
            choose = best_looks(fusion, blend=options.blend, looks=options.looks)
            readings = read_in_context(reader, query, given, choose=choose)
            return {entry.id: one for entry, one in zip(entries, readings, strict=True)}
        except Exception as failure:  # noqa: BLE001 - a search is worth more than its second look
            log.warning("not reranked: %s", failure)
            return {}


def in_context(
    query: str, title: str, heading: tuple[str, ...], text: str, opening: str = ""
) -> str:
    """A passage as it is read: below its title and headings, as it was embedded, and below the line
    of its document's opening that has most of what the question names and the passage does not. A
    contract names its parties once, at the top."""
    missing = set(query_terms(query)) - {*terms(f"{title} {' '.join(heading)} {text}")}
    named: dict[str, int] = {}
    for found in _LINE.finditer(opening) if missing else ():
        line = " ".join(found[0].split())[:_LONGEST_LINE]
        if count := len(missing.intersection(terms(line))):
            named.setdefault(line, count)
    above = max(named, key=lambda line: named[line], default="")
    return with_context(title, heading, f"{above}\n{text}" if above else text)


def read_in_context(
    reader: Reader,
    query: str,
    passages: Sequence[tuple[str, tuple[str, ...], str]],
    *,
    openings: Sequence[str] = (),
    choose: Choose | None = None,
) -> list[Reading]:
    """Each (title, headings, text) read in its context, with the openings of their documents where
    these are known. Spans count from the first character of the text."""
    both = zip(passages, openings or [""] * len(passages), strict=True)
    given = [in_context(query, *parts, opening) for parts, opening in both]
    found = []
    readings = reader.read(query, given, choose=choose)
    for reading, whole, (_, _, text) in zip(readings, given, passages, strict=True):
        lead = len(whole) - len(text)
        start, end = (min(max(at - lead, 0), len(text)) for at in (reading.start, reading.end))
        found.append(replace(reading, start=start, end=end))
    return found


def order(
    found: Sequence[Ranked], readings: Mapping[str, Reading], *, blend: float
) -> list[Ranked]:
    ordered = list(found)
    if readings:
        by_id = {item.entry.id: item for item in found}
        relevance = {name: reading.relevance for name, reading in readings.items()}
        glanced = {name for name, reading in readings.items() if not reading.looked}
        fused = [Fused(item.entry.id, item.fusion_score) for item in found]
        ordered = [
            replace(
                by_id[entry.id],
                score=score,
                rerank_score=relevance.get(entry.id),
                reading=readings.get(entry.id),
            )
            for entry, score in rerank(fused, relevance, blend=blend, glanced=glanced)
        ]
    return distinct(
        ordered, place=lambda item: (item.entry.document, item.entry.start, item.entry.end)
    )
