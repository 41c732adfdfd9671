"""Other wordings of a question by code.

Where passages are at hand: the question's words with terms that set the best of them apart (a
relevance model, `rewriting.expansion`), each wording with terms that the one before does not have.
Else the telling words of the question alone, those of its last sentence first: that is where a long
question asks.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from secondlook.nodes.rewriting.expansion import expanded
from secondlook.nodes.rewriting.wording import is_telling, word_count
from secondlook.retrieval.analyse import terms
from secondlook.retrieval.sentences import sentence_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Passage

LONG: Final = 30
"""Words from which on a question is searched for by its telling words too."""
_BEST: Final = 5
"""Passages whose terms a wording is made of; the others tell which terms are common."""
_WORD = re.compile(r"\d[\d.,]*\d|\w(?:[\w'’.-]*\w)?")  # noqa: RUF001


def expansions(
    question: str,
    passages: Sequence[Passage],
    chosen: Sequence[str],
    *,
    most: int,
    language: str,
) -> list[str]:
    """At most so many wordings that none of the `chosen` has; fewer where there are no more."""
    short = telling_words(question, language)
    is_long = word_count(question) > LONG
    made = [short] if is_long and short not in chosen else []
    asked = short if is_long else question
    while len(made) < most and passages:
        one = _expanded(asked, passages, [*chosen, *made], language)
        if one is None:
            break
        made.append(one)
    if not made and short and not _is_there(short, chosen):
        made.append(short)
    return made[:most]


def telling_words(question: str, language: str) -> str:
    """The question without the words that any question has, at most `LONG` of them."""
    bounds = [0, *sentence_starts(question), len(question)]
    sentences = [question[start:end] for start, end in itertools.pairwise(bounds)]
    words: dict[str, str] = {}
    for sentence in [*sentences[-1:], *sentences[:-1]]:
        for word in _WORD.findall(sentence):
            stems = terms(word, language)
            if any(is_telling(stem, language) for stem in stems):
                words.setdefault(" ".join(stems), word)
    return " ".join(list(words.values())[:LONG])


def _expanded(
    question: str, passages: Sequence[Passage], chosen: Sequence[str], language: str
) -> str | None:
    best, others = passages[:_BEST], passages[_BEST:]
    return expanded(
        question,
        [passage.text for passage in best],
        [1 / rank for rank in range(1, len(best) + 1)],
        earlier=chosen,
        others=[passage.text for passage in others],
        language=language,
    )


def _is_there(words: str, chosen: Sequence[str]) -> bool:
    return words.casefold() in {one.rstrip(" ?.!").casefold() for one in chosen}
