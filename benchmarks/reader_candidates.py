"""What the reader is given for a question: the candidates that the product's own search finds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.answer import library_folder
from benchmarks.reading_answers import SEED, rows
from secondlook.library import Library
from secondlook.reading.reader import QUESTION_TOKENS, window_starts
from secondlook.reading.weights import find_weights
from secondlook.reading.wordpieces import Wordpieces
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.rerank import best_looks
from secondlook.retrieval.search import SearchOptions

if TYPE_CHECKING:
    from benchmarks.reader_given import Pair
    from secondlook.reading.port import Choose

OPTIONS = SearchOptions()
_SPECIAL = 3


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the reader is given for one question, and the same as tokens."""

    question: str
    passages: list[str]
    fusion: list[float]
    pairs: list[Pair]
    owners: list[int]
    """To which passage each pair belongs."""

    @property
    def tokens(self) -> list[int]:
        return [len(question) + len(window) + _SPECIAL for question, window in self.pairs]

    def choose(self, looks: int) -> Choose:
        return best_looks(self.fusion, blend=OPTIONS.blend, looks=looks)


def collect(questions: int) -> list[Candidates]:
    """The candidates of some questions, as the product's search finds them."""
    asked = random.Random(SEED).sample(list(rows("squad2-dev", "queries")), questions)
    wordpieces = Wordpieces(find_weights("reader").tokenizer)
    with Library.open(library_folder(), create=False) as library:
        found = []
        for row in asked:
            ranked = library.searcher().find(row["question"], OPTIONS)
            hits = library.hits(ranked)[: OPTIONS.candidates]
            texts = [
                with_context(hit.passage.title, hit.passage.heading, hit.passage.text)
                for hit in hits
            ]
            fusion = [hit.fusion_score for hit in hits]
            found.append(_tokenised(wordpieces, row["question"], texts, fusion))
    return found


def _tokenised(
    wordpieces: Wordpieces, question: str, passages: list[str], fusion: list[float]
) -> Candidates:
    (asked,) = wordpieces.ids([question], limit=QUESTION_TOKENS)
    room = find_weights("reader").max_tokens - len(asked) - _SPECIAL
    pairs, owners = [], []
    for at, (ids, _) in enumerate(wordpieces.with_offsets(passages)):
        for start in window_starts(len(ids), room):
            pairs.append((asked, ids[start : start + room]))
            owners.append(at)
    return Candidates(question, passages, fusion, pairs, owners)
