"""The words of questions and queries: how many, which of them tell something, which are alike."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from secondlook.retrieval.analyse import language_name, query_terms, terms
from secondlook.retrieval.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_WORDS = 15
MORE_WORDS = 5
"""By which a query may be longer than the question, where that has many words itself."""
_TOKEN = re.compile(r"\S*\w\S*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that are written without spaces: about two make a word."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# They ask for a kind of answer, or carry nothing but the grammar: no search is lost without them.
_LIGHT_WORDS = (
    "year years date name names named kind kinds type types sort many much long old often far "
    "called known happen happened happens occur occurred become became becomes becoming get got "
    "gets take took make made makes go went thing things anything something else ever also "
    "another else any tell give describe explain find list show"
)
_SHORTEST_ALIKE = 4


def word_count(text: str) -> int:
    return sum(max(1, len(_UNSPACED.findall(token)) // 2) for token in _TOKEN.findall(text))


def most_words(question: str) -> int:
    """What a query for this question may have."""
    return max(MOST_WORDS, word_count(question) + MORE_WORDS)


def numbers(text: str) -> frozenset[str]:
    return frozenset(found.replace(",", "") for found in _NUMBER.findall(text))


def content(text: str, language: str = "english") -> frozenset[str]:
    """The stems that tell what is asked for; empty where the text has none."""
    telling = frozenset(query_terms(text, language)) - _function_words(language_name(language))
    return (telling - _light_words()) or telling


def is_telling(stem: str, language: str = "english") -> bool:
    return stem not in _function_words(language_name(language)) and stem not in _light_words()


def normalised(text: str, language: str = "english") -> frozenset[str]:
    """What makes two queries the same: case, signs, order and function words do not count."""
    return frozenset(query_terms(text, language))


class Stems:
    """Stems in which one is found in a kindred form too: marry in marriage."""

    def __init__(self, stems: Iterable[str]) -> None:
        self._held = frozenset(stems)
        self._begun: defaultdict[str, list[str]] = defaultdict(list)
        for stem in self._held:
            if stem.isalpha():
                self._begun[stem[:_SHORTEST_ALIKE]].append(stem)

    def __contains__(self, stem: str) -> bool:
        if stem in self._held:
            return True
        return stem.isalpha() and any(
            _alike(stem, other) for other in self._begun.get(stem[:_SHORTEST_ALIKE], ())
        )


def _alike(one: str, other: str) -> bool:
    """Two thirds of the longer one are the same."""
    least = max(_SHORTEST_ALIKE, -(-2 * max(len(one), len(other)) // 3))
    return min(len(one), len(other)) >= least and one[:least] == other[:least]


@lru_cache(maxsize=8)
def _function_words(language: str) -> frozenset[str]:
    return frozenset(terms(" ".join(STOP_WORDS.get(language, ())), language))


@lru_cache(maxsize=1)
def _light_words() -> frozenset[str]:
    return frozenset(terms(_LIGHT_WORDS))
