"""The sets that readers are compared on, and what the product's searches find for them.

Each set is one library, indexed by the product as it indexes anyone's documents. `clapnq` names
the one passage that each question is asked of.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from benchmarks.eval_sets import CACHE as LIBRARIES
from benchmarks.eval_sets import data_folder, write_set
from benchmarks.reader_quality_store import FOLDER, Candidate, Passage, Question, Store
from benchmarks.reading_answers import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.library import EvaluatedLibrary
    from secondlook.evaluation.records import Case
    from secondlook.library.report import Progress
    from secondlook.passage import Hit
    from secondlook.settings.sections import Settings

QUESTIONS: Mapping[str, int] = {
    "squad2-dev": 5948,
    "shift-new_wiki": 1000,
    "hotpot": 944,
    "scifact": 300,
    "clapnq": 600,
    "hotpot-train": 400,
}
"""How many are read at most; together both readers take about 45 minutes on two quiet cores."""
TIMED: Mapping[str, int] = {"squad2-dev": 300}
"""Questions that all readers read once more, one after the other, to compare their times."""
_TELL_EVERY = 10.0
_DISTRACTORS = 20
"""Per question of `hotpot-train`: passages that words alone would find."""


def prepare(store: Store, wanted: Mapping[str, int], tell: Callable[[str], None]) -> None:
    """Index and search what was not yet; interrupted, it goes on where it was."""
    for name, most in wanted.items():
        if len(store.ids(name)) >= most:
            continue
        found = _given(name) if name == "clapnq" else _searched(name, most, store, tell)
        for place, question, passages in found:
            store.add(place, question, passages)
        tell(f"{name}: {len(store.ids(name))} questions searched")


def lot(name: str) -> str:
    """A key that puts questions in an order that has nothing to do with what they ask."""
    return hashlib.sha256(name.encode()).hexdigest()


Searched = tuple[int, Question, list[Passage]]


def _searched(
    name: str, most: int, store: Store, tell: Callable[[str], None]
) -> Iterator[Searched]:
    from secondlook.evaluation.datasets import load
    from secondlook.evaluation.library import names_by_document
    from secondlook.library.library import search_options
    from secondlook.settings.sections import Settings

    settings = Settings()
    data = load(_folder(name))
    library = _library(data, settings, tell)
    names, shelf, known = names_by_document(library, data), library.shelf(), store.ids(name)
    titles = {text.name: text.title or "" for text in data.texts()}
    options = search_options(settings.search, k=settings.answer.k)
    for place, case in enumerate(sorted(data.cases, key=lambda case: lot(case.id))[:most]):
        if case.id not in known:
            hits = shelf.find(case.question, options)[: options.candidates]
            article = titles.get(next(iter(case.gold), ""), "")
            yield place, _asked(name, case, article, hits, names), [_passage(hit) for hit in hits]
        if place % 500 == 0:
            tell(f"{name}: {place} of {min(most, len(data.cases))} questions searched")


def _asked(
    name: str,
    case: Case,
    article: str,
    hits: Sequence[Hit],
    names: Mapping[str, tuple[str, ...]],
) -> Question:
    return Question(
        data=name,
        id=case.id,
        question=case.question,
        answers=case.answers,
        gold=dict(case.gold),
        answerable=case.answerable,
        article=article,
        found=tuple(_candidate(hit, names) for hit in hits),
    )


def _candidate(hit: Hit, names: Mapping[str, tuple[str, ...]]) -> Candidate:
    return Candidate(
        passage=hit.passage.id,
        document=hit.passage.document,
        names=names[hit.passage.document],
        start=hit.passage.start,
        end=hit.passage.end,
        fusion_score=hit.fusion_score,
        dense_rank=hit.dense_rank,
        lexical_rank=hit.lexical_rank,
    )


def _passage(hit: Hit) -> Passage:
    one = hit.passage
    return Passage(one.id, one.title, one.heading, one.text)


def _library(data: EvalSet, settings: Settings, tell: Callable[[str], None]) -> EvaluatedLibrary:
    os.environ.setdefault("SECONDLOOK_CACHE", str(LIBRARIES))
    from secondlook.evaluation.cache import Memory
    from secondlook.evaluation.library import cache_folder, open_indexed

    last = time.monotonic()

    def told(now: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _TELL_EVERY:
            last = time.monotonic()
            tell(f"{data.name}: {now.files_done} of {now.files_total} passages indexed")

    return open_indexed(data, settings, Memory(cache_folder() / "memory.db"), progress=told)


def _given(name: str) -> Iterator[Searched]:
    """Each question with its one passage, answerable or not."""
    kinds = [(row, True) for row in rows(name, "answerable")]
    kinds += [(row, False) for row in rows(name, "unanswerable")]
    kinds.sort(key=lambda kind: lot(str(kind[0]["id"])))
    for place, (row, answerable) in enumerate(kinds):
        (given,) = row["passages"]
        passage = Passage(f"{name}-{row['id']}", given["title"], (), given["text"])
        at = Candidate(passage.id, passage.id, (passage.id,), 0, len(passage.text), 1.0, 1, 1)
        gold = {passage.id: 1}
        yield (
            place,
            Question(name, str(row["id"]), row["input"], (), gold, answerable, "", (at,)),
            [passage],
        )


def _folder(name: str) -> Path:
    return _part_of_hotpot_train() if name == "hotpot-train" else data_folder() / name


def _part_of_hotpot_train() -> Path:
    """So many questions over their gold passages and those that share their rarest words."""
    folder = FOLDER / "hotpot-train"
    if not (folder / "queries.jsonl").exists():
        corpus = {row["id"]: row for row in rows("hotpot-train", "corpus")}
        asked = sorted(rows("hotpot-train", "queries"), key=lambda row: lot(row["id"]))
        asked = [row for row in asked if corpus.keys() >= set(row["gold"])]
        asked = asked[: QUESTIONS["hotpot-train"]]
        chosen = {passage for row in asked for passage in row["gold"]}
        chosen.update(_likely(corpus, [row["question"] for row in asked]))
        write_set(folder, [corpus[passage] for passage in sorted(chosen)], asked)
    return folder


def _likely(corpus: Mapping[str, dict[str, Any]], questions: Sequence[str]) -> Iterator[str]:
    """Passages that share rare words with a question: distractors, as HotpotQA picks its own."""
    from secondlook.retrieval.terms import query_terms, terms

    holding: dict[str, list[str]] = defaultdict(list)
    for passage, row in corpus.items():
        for term in set(terms(f"{row['title']} {row['text']}")):
            holding[term].append(passage)
    for question in questions:
        weight: Counter[str] = Counter()
        for term in set(query_terms(question)):
            rarity = math.log(1 + len(corpus) / (1 + len(holding.get(term, ()))))
            for passage in holding.get(term, ()):
                weight[passage] += rarity  # type: ignore[assignment]
        yield from (passage for passage, _ in weight.most_common(_DISTRACTORS))
