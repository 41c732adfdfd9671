"""Whether a query still asks what the question asks, told by the words they share.

Names and numbers of the question weigh twice. A query keeps its subject where it keeps half of all
that weight, at least one of the names, and, where the question has several other words that tell
something, at least one of those: "in which decade did Ada become famous" is not "Ada in the
national consciousness". Synonyms have the other half.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes.follow_up import names
from secondlook.nodes.rewriting.wording import Stems, content, is_telling, numbers
from secondlook.retrieval.analyse import language_name, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_KEPT = 0.5
_NAME_WEIGHT = 2
_FREE_WORDS = 2
"""New words that a query may bring even where it keeps fewer."""
_ACRONYM = re.compile(r"\b[A-Z]{2,6}\b")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")  # noqa: RUF001
_AND = re.compile(r"\s+(?:and|&)\s+")
_OPENING = "\"'([“‘"  # noqa: RUF001
_FEWEST_CAPITALS = 3
"""From so many words on a query can be seen to be written Like a Headline."""


@dataclass(frozen=True, slots=True)
class Name:
    stems: frozenset[str]
    acronyms: frozenset[str] = frozenset()
    """What it is shortened to, or itself where it is short."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a question is about."""

    names: tuple[Name, ...]
    """Numbers are names too."""
    words: frozenset[str]

    def kept_by(self, query: str, language: str) -> float:
        """Share of it that a query keeps, by weight; 1 where there is nothing to keep."""
        weight = _NAME_WEIGHT * len(self.names) + len(self.words)
        kept = _NAME_WEIGHT * self._names_in(query, language) + self._words_in(query, language)
        return kept / weight if weight else 1.0

    def is_kept_by(self, query: str, language: str) -> bool:
        if self.names and not self._names_in(query, language):
            return False
        if len(self.words) > 1 and not self._words_in(query, language):
            return False
        return self.kept_by(query, language) >= MIN_KEPT

    def _names_in(self, query: str, language: str) -> int:
        """Half of a name is enough, for people are called by one of theirs."""
        there = Stems({*terms(query, language), *numbers(query)})
        short = _acronyms(query)
        return sum(
            not short.isdisjoint(name.acronyms)
            or 2 * sum(stem in there for stem in name.stems) >= len(name.stems)
            for name in self.names
        )

    def _words_in(self, query: str, language: str) -> int:
        there = Stems(terms(query, language))
        return sum(word in there for word in self.words)


def subject(question: str, language: str) -> Subject:
    told = [*_names(question, language), *(Name(frozenset({one})) for one in numbers(question))]
    found = tuple(dict.fromkeys(name for name in told if name.stems))
    named = frozenset[str]().union(*(name.stems for name in found))
    return Subject(found, content(question, language) - named)


def is_soup(query: str, question: str, known: str, language: str) -> bool:
    """Whether it is more new words than words that the question, or what is known, has."""
    given = _given(query, f"{question} . {known}", language)
    said = content(query, language)
    new = sum(stem not in given for stem in said)
    return new > max(_FREE_WORDS, len(said) - new)


def brings_facts(query: str, question: str, known: str, language: str) -> bool:
    """Whether it holds a number or a name that nobody gave: most likely an answer."""
    told = f"{question} . {known}"
    if numbers(query) - numbers(told):
        return True
    if not _has_names(language) or _is_headline(query, language):
        return False
    given = _given(query, told, language)
    return any(
        is_telling(stem, language) and stem not in given
        for word in _capitals(query)
        for stem in terms(word, language)
    )


def _given(query: str, told: str, language: str) -> Stems:
    """The stems of what was told, acronyms and what they stand for included."""
    short = _acronyms(told)
    spelled_out = " ".join(name for name in names(query) if not short.isdisjoint(_acronyms(name)))
    return Stems({*short, *terms(f"{told} {spelled_out}", language)})


def _capitals(query: str) -> list[str]:
    """Words with a capital, but for the first, which has it from where it stands."""
    return [word for word in query.split()[1:] if word.lstrip(_OPENING)[:1].isupper()]


def _names(question: str, language: str) -> Iterator[Name]:
    if not _has_names(language):
        return
    for name in names(_without_first(question)):
        for part in _AND.split(name):
            stems = frozenset(stem for stem in terms(part, language) if is_telling(stem, language))
            yield Name(stems, _acronyms(part))


def _without_first(question: str) -> str:
    """The first word has its capital from where it stands, unless a name goes on after it."""
    first, _, rest = question.strip().partition(" ")
    return question if rest[:1].isupper() else rest or first


def _acronyms(text: str) -> frozenset[str]:
    """The acronyms in a text, and those that its names would have."""
    initials = (
        "".join(word[0] for word in name.split() if word[0].isupper()) for name in names(text)
    )
    made = {short for short in initials if len(short) > 1}
    return frozenset(short.casefold() for short in made.union(_ACRONYM.findall(text)))


def _has_names(language: str) -> bool:
    """German writes every noun with a capital."""
    return language_name(language) != "german"


def _is_headline(query: str, language: str) -> bool:
    words = [
        word for word in _WORD.findall(query) if any(is_telling(s, language) for s in terms(word))
    ]
    return len(words) >= _FEWEST_CAPITALS and all(word[0].isupper() for word in words)
