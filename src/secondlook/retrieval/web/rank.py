"""Best passages first, by words: a page has dozens of passages, and the reader's time is dear.

BM25 over the passages at hand, with the analysis that the library's index uses. It only decides
which passages are read; how they rank against the library's is the reader's business.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.retrieval.analyse import query_terms, terms
from secondlook.retrieval.chunk import with_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.retrieval.web.port import WebPassage

_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_EACH_PAGE = 12


def best_first(
    passages: Sequence[WebPassage], query: str, *, language: str, keep: int
) -> list[WebPassage]:
    """At most `keep` passages with their scores; equal ones in the order given.

    No page crowds out the others: each may give its share, and twelve in any case.
    """
    counts = [Counter(terms(_words(passage), language)) for passage in passages]
    scores = _bm25(counts, set(query_terms(query, language)))
    scored = [replace(one, score=score) for one, score in zip(passages, scores, strict=True)]
    ordered = sorted(scored, key=lambda passage: -passage.score)
    return _shared_out(ordered, keep)[:keep]


def _shared_out(ordered: Sequence[WebPassage], keep: int) -> list[WebPassage]:
    pages = {passage.document for passage in ordered}
    share = max(_EACH_PAGE, keep // max(1, len(pages)))
    taken: Counter[str] = Counter()
    kept = []
    for passage in ordered:
        taken[passage.document] += 1
        if taken[passage.document] <= share:
            kept.append(passage)
    return kept


def _words(passage: WebPassage) -> str:
    return with_context(passage.title, passage.heading, passage.text)


def _bm25(counts: Sequence[Counter[str]], asked: set[str]) -> list[float]:
    lengths = [count.total() for count in counts]
    mean = max(1.0, sum(lengths) / max(1, len(lengths)))
    holders = {term: sum(term in count for count in counts) for term in asked}
    rarity = {
        term: math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
        for term, holding in holders.items()
    }
    return [
        # Sorted: sums of floats depend on their order, that of a set on the process.
        sum(rarity[term] * _frequency(count[term], length / mean) for term in sorted(asked))
        for count, length in zip(counts, lengths, strict=True)
    ]


def _frequency(times: int, relative_length: float) -> float:
    damped = times + _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * relative_length)
    return times * (_SATURATION + 1) / damped
