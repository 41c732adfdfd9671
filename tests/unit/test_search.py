"""Search over a real engine: order, failures, and what is left out."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import ModelUnavailable, UsageError
from secondlook.library.retriever import LibraryRetriever
from secondlook.passage import Hit, Passage
from secondlook.reading.port import Choose, Reading, glimpse
from secondlook.retrieval.chunk import ChunkOptions
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry, Filter, Scored
from secondlook.retrieval.parse.source import ParseLimits
from secondlook.retrieval.search import Fused, Searcher, SearchOptions, blended, fuse, rerank
from secondlook.retrieval.terms import language_name, query_terms, terms
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


TOPICS = ("cat feline pet", "dog canine hound", "ship boat sea", "bread loaf bake")


class TopicEmbedder:
    """Knows a few synonyms, so that meaning and words can disagree."""

    name = "topics@1"
    dimensions = len(TOPICS) + 1
    max_tokens = 512

    def token_starts(self, text: str) -> list[int]:
        return [found.start() for found in re.finditer(r"\w+", text)]

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        words = re.findall(r"\w+", text.lower())
        counts = [sum(word in topic.split() for word in words) for topic in TOPICS]
        vector = np.array([*counts, 0.1], dtype=np.float32)
        unit: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return unit


class WordReader:
    """Finds a passage relevant that has the question's last word, and points at it."""

    name = "words@1"

    def __init__(self) -> None:
        self.given: list[str] = []

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        self.given = list(passages)
        word = re.findall(r"\w+", question)[-1].lower()
        return [self._read(word, passage) for passage in passages]

    def _read(self, word: str, passage: str) -> Reading:
        start = passage.lower().find(word)
        end = start + len(word) if start >= 0 else 0
        relevance = 6.0 if start >= 0 else -6.0
        return Reading(relevance, relevance, max(start, 0), end, relevance, 0.0)


PASSAGES = {
    "cats": "The cat sat here.",
    "pets": "A feline pet likes to sleep.",
    "dogs": "The dog barks at the cat.",
    "ships": "A ship sails.",
    "loaves": "Bake a loaf.",
}


def entry(name: str, text: str, *, document: str = "", start: int = 0) -> Entry:
    return Entry(name, document or f"d-{name}", text, terms(text), start, start + len(text))


def stored(path: Path, entries: list[Entry]) -> Searcher:
    embedder = TopicEmbedder()
    index = LanceIndex.open(path / "index", dimensions=embedder.dimensions, create=True)
    index.add(entries, embedder.embed_passages([item.text for item in entries]))
    return Searcher(index, embedder)


@pytest.fixture
def searcher(tmp_path: Path) -> Searcher:
    return stored(tmp_path, [entry(name, text) for name, text in PASSAGES.items()])


def found(
    searcher: Searcher, query: str, where: Filter | None = None, **options: object
) -> list[str]:
    chosen = SearchOptions(**options)  # type: ignore[arg-type]
    hits = searcher.search(query, chosen, where) if where else searcher.search(query, chosen)
    return [hit.entry.id for hit in hits]


def test_each_search_alone_and_both_together(searcher: Searcher) -> None:
    assert found(searcher, "cat", dense=0, lexical=1) == ["cats", "dogs"]
    assert found(searcher, "cat", dense=1, lexical=0, k=2) == ["cats", "pets"]
    assert set(found(searcher, "cat", k=3)) == {"cats", "pets", "dogs"}


def test_the_reader_lifts_what_answers(searcher: Searcher) -> None:
    reading = replace(searcher, reader=WordReader())
    query = "a cat that barks"
    assert found(searcher, query, dense=1, lexical=0)[0] == "cats"
    assert found(reading, query, dense=1, lexical=0)[0] == "dogs"
    assert found(reading, query, dense=1, lexical=0, rerank=False)[0] == "cats"
    assert found(reading, query, dense=1, lexical=0, blend=0)[0] == "cats"
    best, *_ = reading.search("cat")
    assert (best.dense_rank, best.lexical_rank, best.fusion_score) == (1, 1, 1.0)
    assert best.rerank_score == 6.0
    assert best.reading is not None
    assert best.entry.text[best.reading.start : best.reading.end] == "cat"


class GlancingReader(WordReader):
    """At first sight the longer passage is the better one."""

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        looks = super().read(question, passages)
        first = [float(len(passage)) for passage in passages]
        chosen = set(range(len(first)) if choose is None else choose(first))
        return [look if at in chosen else glimpse(first[at]) for at, look in enumerate(looks)]


def test_the_best_by_the_glance_are_looked_at_and_come_first(searcher: Searcher) -> None:
    glancing = replace(searcher, reader=GlancingReader())
    options = SearchOptions(candidates=4, looks=2, blend=1.0, dense=1.0, lexical=0.0)
    hits = glancing.search("cat", options)
    readings = [hit.reading for hit in hits]
    assert [one.looked if one else None for one in readings] == [True, True, False, False, None]
    assert {hit.entry.id for hit in hits[:2]} == {"dogs", "pets"}  # the longest
    assert hits[0].entry.id == "dogs"  # and it has the word
    assert [hit.rerank_score for hit in hits[2:4]] == [17.0, 13.0]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def missing() -> WordReader:
    raise ModelUnavailable("no weights")


def test_a_reader_that_fails_leaves_the_order_of_fusion(
    searcher: Searcher, caplog: pytest.LogCaptureFixture
) -> None:
    expected = found(searcher, "cat")
    with caplog.at_level(logging.WARNING):
        hits = replace(searcher, reader=missing).search("cat")
    assert [hit.entry.id for hit in hits] == expected
    assert all(hit.rerank_score is None and hit.score == hit.fusion_score for hit in hits)
    assert "not reranked" in caplog.text


def test_neighbours_stay_and_repetitions_go(tmp_path: Path) -> None:
    searcher = stored(
        tmp_path,
        [
            entry("1", "The cat sat. " * 4, document="d", start=0),
            entry("2", "The cat sat. " * 4, document="d", start=40),
            entry("3", "The cat sat. " * 3, document="d", start=5),
            entry("4", "The cat sat. " * 4, document="other", start=0),
        ],
    )
    assert sorted(found(searcher, "cat")) == ["1", "2", "4"]


def test_the_reader_sees_where_a_passage_stands_and_spans_still_fit(tmp_path: Path) -> None:
    placed = replace(entry("a", "It purrs when fed."), heading=("Pets", "Cats"))
    searcher = stored(tmp_path, [placed])
    reader = WordReader()

    def titles(documents: Collection[str]) -> dict[str, str]:
        return dict.fromkeys(documents, "Handbook")

    told = replace(searcher, reader=reader, titles=titles)
    (hit,) = told.search("what is it that purrs")
    assert reader.given == ["Handbook. Pets > Cats. It purrs when fed."]
    assert hit.reading is not None
    assert hit.entry.text[hit.reading.start : hit.reading.end] == "purrs"
    (hit,) = told.search("handbook")
    assert hit.reading is not None
    assert hit.reading.start == hit.reading.end == 0


def scored(*ids: str) -> list[Scored]:
    return [Scored(name, 1.0 - rank / 100) for rank, name in enumerate(ids)]


def test_scores_ranks_and_order_follow_the_formula() -> None:
    fused = fuse(scored("a", "b"), scored("b", "c"), dense_weight=1, lexical_weight=3, k=60)
    assert [entry.id for entry in fused] == ["b", "c", "a"]
    b, c, a = fused
    assert b.score == pytest.approx((1 / 62 + 3 / 61) / (4 / 61))
    assert c.score == pytest.approx((3 / 62) / (4 / 61))
    assert a.score == pytest.approx((1 / 61) / (4 / 61))
    assert (b.dense_rank, b.lexical_rank, b.dense_score, b.lexical_score) == (2, 1, 0.99, 1.0)
    assert (c.dense_rank, c.dense_score, c.lexical_rank) == (None, None, 2)


def fused(*scores: float) -> list[Fused]:
    return [Fused(chr(ord("a") + at), score) for at, score in enumerate(scores)]


def order(entries: list[tuple[Fused, float]]) -> str:
    return "".join(entry.id for entry, _ in entries)


def test_a_model_gone_wrong_does_not_scramble_the_order() -> None:
    assert order(rerank(fused(1.0, 0.9), {"a": math.nan, "b": -1.0}, blend=0.1)) == "ab"
    assert blended(0.5, math.inf, 1.0) == 1.0
    assert blended(0.5, -math.inf, 1.0) == 0.0


# A library as a LangChain retriever.


class Shelf:
    """Answers like a library and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def search(self, query: str, **options: Any) -> list[Hit]:
        self.asked.append((query, options))
        passages = [
            Passage(
                f"d.{n}", "d", "ab" * 32, "Title", f"Text {n} on {query}", n, n + 6, 3, ("A", "B")
            )
            for n in range(options.get("k", 2))
        ]
        return [Hit(p, 0.9 - p.start / 10, 0.8, 1, 0.7, None, None, 2.5) for p in passages]


def test_documents_carry_text_and_place() -> None:
    first, _ = LibraryRetriever(library=Shelf()).invoke("cats")
    assert first.page_content == "Text 0 on cats"
    assert first.id == "d.0"
    place = {"document": "d", "title": "Title", "page": 3, "start": 0, "heading": ["A", "B"]}
    assert first.metadata.items() >= (place | {"score": 0.9, "rerank_score": 2.5}).items()


def test_options_are_kept_and_a_call_may_override_them() -> None:
    shelf = Shelf()
    retriever = LibraryRetriever(library=shelf, options={"k": 3, "dense": 0.9})
    assert len(retriever.invoke("cats")) == 3
    assert len(asyncio.run(retriever.ainvoke("cats", k=1))) == 1
    assert shelf.asked == [("cats", {"k": 3, "dense": 0.9}), ("cats", {"k": 1, "dense": 0.9})]


# Settings lie below the rooms they set, so their defaults are written twice; they must agree.


def test_search_defaults_agree() -> None:
    chosen, settings = SearchOptions(), Settings().search
    for option in fields(SearchOptions):
        if option.name in {"rrf_k", "pool"}:  # no setting
            continue
        assert getattr(chosen, option.name) == getattr(settings, option.name), option.name


def test_chunking_and_ingest_defaults_agree() -> None:
    settings = Settings()
    chunking = ChunkOptions()
    assert (chunking.tokens, chunking.overlap) == (
        settings.chunking.tokens,
        settings.chunking.overlap,
    )
    limits, ingest = ParseLimits(), settings.ingest
    assert limits.ocr == ingest.ocr
    assert limits.file_bytes == ingest.max_file_mb << 20


# Words as terms: what finds what.


def finds(query: str, passage: str, language: str = "english") -> bool:
    return bool(set(query_terms(query, language)) & set(terms(passage, language)))


ENGLISH = {
    "run": "They were running.", "resume": "Two résumés", "NAÏVE": "naive", "email": "an e-mail!",
    "e-mail": "by email", "information": "the infor-\nmation age", "art": "state-of-the-art",
    "USA": "the U.S.A. and Canada", "1000000": "1,000,000 people", "3.5": "version 3.5, released",
    "c++": "written in C++.", "army": "the army\u2019s men", "H2O": "H₂O", "file": "ﬁle",
    "snake": "snake_case_name", "coop\u00aderate": "cooperate", "2024": "2024-05-17",
}  # fmt: skip
OTHERS = [
    ("Haus", "die Häuser", "german"), ("strasse", "Straße", "de"), ("amour", "l'amour", "french"),
    ("canción", "canciones", "es"), ("istanbul", "İSTANBUL", "tr"), ("книга", "книги", "ru"),
    ("東京", "東京都に住む", "ja"), ("猫", "猫。", "ja"), ("한국", "한국어로", "ko"),
    ("学习", "mixed text 机器学习 and more", "english"), ("हिन्दी", "हिन्दी भाषा", "hi"),
    ("ภาษา", "ภาษาไทย", "th"), ("Ångström", "angstrom", "none"),
]  # fmt: skip


def test_a_query_finds_what_a_person_expects() -> None:
    for query, passage in ENGLISH.items():
        assert finds(query, passage), query
    for query, passage, language in OTHERS:
        assert finds(query, passage, language), query


def test_passages_keep_stop_words_and_queries_drop_them() -> None:
    assert terms("The cat of the house") == ("the", "cat", "of", "the", "hous")
    assert query_terms("The cat of the house?") == ("cat", "hous")
    assert query_terms("Who doesn't?") == ("who", "doesnt")


def test_a_query_of_stop_words_alone_still_finds() -> None:
    assert query_terms("To be, or not to be") == ("to", "be", "or", "not", "to", "be")
    assert finds("to be or not to be", "Hamlet: To be, or not to be")


def test_encoded_data_makes_no_terms() -> None:
    assert terms("x" * 65) == terms("ab1" * 5000) == ()
    assert terms("x" * 64) == ("x" * 64,)
    assert terms("a.b." * 100) == ()


def test_languages_by_code_or_name_in_any_case() -> None:
    assert language_name("EN") == language_name(" English ") == "english"
    with pytest.raises(UsageError, match="'klingon'") as caught:
        terms("x", "klingon")
    assert "english" in str(caught.value.hint)


@given(st.text(max_size=200), st.sampled_from(["english", "french", "turkish", "ja", "hi", "none"]))
def test_any_text_gives_clean_terms(text: str, language: str) -> None:
    found = terms(text, language)
    assert found == terms(text, language)
    assert all(term and len(term) <= 70 and not any(map(str.isspace, term)) for term in found)
    assert set(query_terms(text, language)) <= set(found)
    assert bool(query_terms(text, language)) == bool(found)


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "a-" * 100_000, "a'" * 100_000, "1," * 100_000, "é\u0301" * 100_000]
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    terms(text)
    assert time.process_time() - started < 2
