"""A question asked again in other words: what a rewrite must obey, and one made by code."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.terms import STOP_WORDS, language_name, query_terms, terms
from secondlook.roles.follow_up import names
from secondlook.roles.prompts.marks import CONTROL_MARK, without_evidence_marks
from secondlook.roles.screen import screened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.passage import Passage

# Decides whether what a model made of a question may be searched for.

Reason = Literal[
    "empty", "several lines", "too long", "marks", "instruction", "repeat", "drift", "new words",
    "answers",
]  # fmt: skip
"""Why a rewrite is refused. `drift`: it lost what the question is about; `new words`: most of it is
from elsewhere; `answers`: it brings a name or number that nobody gave."""

_LABEL = re.compile(
    r"\A[\s*_#>-]*(?:[\w'’-]+,?\s+){0,6}"  # noqa: RUF001
    r"(?:query|question|search|rewrite|keywords|terms)[*_ ]*(?:\s+is)?\s*:[\s*_]*",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’`«»*_ "  # noqa: RUF001
_MARKUP = re.compile(r"https?://|```|[{}]|</?\w+[^<>]*>", re.IGNORECASE)
_PRINTED_SIGNS = frozenset("\t\u200c\u200d")


@dataclass(frozen=True, slots=True)
class Verdict:
    query: str | None
    reason: Reason | None = None
    words: int = 0
    kept: float = 0.0
    """Share of what the question is about that the rewrite keeps, names and numbers twice;
    0 where its form alone is wrong."""

    @property
    def is_accepted(self) -> bool:
        return self.query is not None


def accepted(
    reply: str, question: str, earlier: Sequence[str], *, known: str = "", language: str = "english"
) -> Verdict:
    """The query that a model's reply is, or why it is none. `question` is the user's own, `earlier`
    the queries that were searched with, and `known` what else the model was given: names and
    numbers may come from it."""
    query = bare(reply)
    words = word_count(query)
    marks = CONTROL_MARK.search(query) or without_evidence_marks(query) != query
    unseen = any(
        unicodedata.category(sign)[0] == "C" and sign not in _PRINTED_SIGNS for sign in query
    )
    wrong: Reason | None = None
    if not words:
        wrong = "empty"
    elif len([line for line in reply.splitlines() if line.strip()]) > 1:
        wrong = "several lines"
    elif marks or unseen or _MARKUP.search(query):  # no plain text
        wrong = "marks"
    elif words > most_words(question):
        wrong = "too long"
    if wrong:
        return Verdict(None, wrong, words)
    reason = _fault_of_content(query, question, earlier, known=known, language=language)
    kept = subject(question, language).kept_by(query, language)
    return Verdict(None if reason else query, reason, words, kept)


def bare(reply: str) -> str:
    return _LABEL.sub("", reply.strip(), count=1).strip(_QUOTES)


def _fault_of_content(
    query: str, question: str, earlier: Sequence[str], *, known: str, language: str
) -> Reason | None:
    if not _is_harmless(query) and _is_harmless(question):
        return "instruction"
    if normalised(query, language) in {normalised(one, language) for one in (question, *earlier)}:
        return "repeat"
    if not subject(question, language).is_kept_by(query, language):
        return "drift"
    if brings_facts(query, question, known, language):
        return "answers"
    # Whether it is more new words than words that the question, or what is known, has.
    given = Stems(terms(f"{question} . {known}", language))
    telling = content(query, language)
    new = sum(stem not in given for stem in telling)
    return "new words" if new > max(_FREE_WORDS, len(telling) - new) else None


def _is_harmless(text: str) -> bool:
    return screened(text, kind="question").verdict == "safe"


# Whether a query still asks what the question asks, told by the words they share.

MIN_KEPT = 0.5
_NAME_WEIGHT = 2
_FREE_WORDS = 2  # New words that a query may bring even where it keeps fewer
_WORD = re.compile(r"[^\W\d_][\w'’-]*")  # noqa: RUF001
_AND = re.compile(r"\s+(?:and|&)\s+")
_OPENING = "\"'([“‘"  # noqa: RUF001
_FEWEST_CAPITALS = 3  # From so many words on a query can be seen to be written Like a Headline


@dataclass(frozen=True, slots=True)
class Name:
    stems: frozenset[str]


@dataclass(frozen=True, slots=True)
class Subject:
    names: tuple[Name, ...]
    words: frozenset[str]

    def kept_by(self, query: str, language: str) -> float:
        """Share of it that a query keeps, by weight; 1 where there is nothing to keep."""
        names, words = self._kept(query, language)
        weight = _NAME_WEIGHT * len(self.names) + len(self.words)
        return (_NAME_WEIGHT * names + words) / weight if weight else 1.0

    def is_kept_by(self, query: str, language: str) -> bool:
        names, words = self._kept(query, language)
        if (self.names and not names) or (len(self.words) > 1 and not words):
            return False
        return self.kept_by(query, language) >= MIN_KEPT

    def _kept(self, query: str, language: str) -> tuple[int, int]:
        """How many names and words. Half of a name is enough: people go by one of theirs."""
        stems = terms(query, language)
        there = Stems({*stems, *numbers(query)})
        names = sum(
            2 * sum(stem in there for stem in name.stems) >= len(name.stems) for name in self.names
        )
        held = Stems(stems)
        return names, sum(word in held for word in self.words)


def subject(question: str, language: str) -> Subject:
    told = [*_names(question, language), *(Name(frozenset({one})) for one in numbers(question))]
    found = tuple(dict.fromkeys(name for name in told if name.stems))
    named = frozenset[str]().union(*(name.stems for name in found))
    return Subject(found, content(question, language) - named)


def brings_facts(query: str, question: str, known: str, language: str) -> bool:
    """Whether it holds a number or a name that nobody gave: most likely an answer."""
    told = f"{question} . {known}"
    if numbers(query) - numbers(told):
        return True
    words = [word for word in _WORD.findall(query) if any(map(is_telling, terms(word)))]
    headline = len(words) >= _FEWEST_CAPITALS and all(word[0].isupper() for word in words)
    if not _has_names(language) or headline:
        return False
    given = Stems(terms(told, language))
    return any(
        is_telling(stem, language) and stem not in given
        # The first word has its capital from where it stands.
        for word in query.split()[1:]
        if word.lstrip(_OPENING)[:1].isupper()
        for stem in terms(word, language)
    )


def _names(question: str, language: str) -> Iterator[Name]:
    if not _has_names(language):
        return
    # The first word has its capital from where it stands, unless a name goes on after it.
    first, _, rest = question.strip().partition(" ")
    for name in names(question if rest[:1].isupper() else rest or first):
        for part in _AND.split(name):
            stems = frozenset(stem for stem in terms(part, language) if is_telling(stem, language))
            yield Name(stems)


def _has_names(language: str) -> bool:
    """German writes every noun with a capital."""
    return language_name(language) != "german"


# A query by code, without a model: the question's own words and the terms that set the best
# passages apart (a relevance model, as in RM3: Lavrenko and Croft 2001; Abdul-Jaleel et al.
# 2004).

MOST_TERMS = 4
_NAME_BONUS = 1.5
_SHORTEST = 3
_EXPANSION_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")  # noqa: RUF001


@dataclass(slots=True)
class _Term:
    weight: float = 0.0
    forms: Counter[str] = field(default_factory=Counter)
    capitals: int = 0

    @property
    def is_name(self) -> bool:
        return 2 * self.capitals > self.forms.total()

    @property
    def form(self) -> str:
        best = min(self.forms, key=lambda form: (-self.forms[form], form))
        return best if self.is_name else best.lower()


def expanded(
    question: str,
    passages: Sequence[str],
    weights: Sequence[float],
    *,
    earlier: Sequence[str] = (),
    others: Sequence[str] = (),
    language: str = "english",
) -> str | None:
    """The question's words and the best terms of the passages; None where nothing is new. `weights`
    say how much each passage counts, `earlier` are queries that were searched with (none of their
    terms comes again), and `others` passages that were found too: they tell which terms are
    common."""
    own = question.strip().rstrip(" ?!.")
    room = min(MOST_TERMS, most_words(question) - word_count(own))
    used = Stems(stem for one in (question, *earlier) for stem in terms(one, language))
    found = _weighed(question, passages, weights, language)
    # How few of the passages have a term: 0 for one that stands in all of several.
    every = [*passages, *others]
    having = Counter(stem for passage in every for stem in set(terms(passage, language)))
    worths = {
        stem: term.weight
        * math.log((1 + len(every)) / (having[stem] or 1))
        * (_NAME_BONUS if term.is_name else 1.0)
        for stem, term in found.items()
    }
    chosen: list[str] = []
    for stem in sorted(found, key=lambda stem: (-worths[stem], stem)):
        # Without those that say the same as a better one.
        if len(chosen) < room and stem not in used and stem not in Stems(chosen):
            chosen.append(stem)
    query = " ".join([own, *(found[stem].form for stem in chosen)]).strip()
    tried = {normalised(one, language) for one in (question, *earlier)}
    return None if normalised(query, language) in tried else query


def _weighed(
    question: str, passages: Sequence[str], weights: Sequence[float], language: str
) -> dict[str, _Term]:
    asked = set(terms(question, language))
    found: defaultdict[str, _Term] = defaultdict(_Term)
    whole = math.fsum(weights) or 1.0
    for passage, weight in zip(passages, weights, strict=True):
        bounds = [0, *sentence_starts(passage), len(passage)]
        pieces = (passage[start:end] for start, end in itertools.pairwise(bounds))
        sentences = [list(_words(piece, language)) for piece in pieces]
        length = max(1, sum(map(len, sentences)))
        for words in sentences:
            shared = len(asked.intersection(stem for stem, _, _ in words))
            for stem, form, capital in words:
                if is_telling(stem, language) and len(stem) >= _SHORTEST:
                    found[stem].weight += weight / whole * (1 + shared) / length
                    found[stem].forms[form] += 1
                    found[stem].capitals += capital
    return found


def _words(sentence: str, language: str) -> Iterator[tuple[str, str, bool]]:
    """Stem, word as written, and whether it has a capital that no sentence gave it."""
    begun = False
    for word in _EXPANSION_WORD.findall(sentence):
        stems = terms(word, language)
        if len(stems) == 1:
            yield stems[0], re.sub(r"['’]s\Z", "", word), begun and word[0].isupper()  # noqa: RUF001
        begun = True


# Other wordings of a question by code.

LONG: Final = 30  # Words from which on a question is searched for by its telling words too
_BEST: Final = 5
"""Passages whose terms a wording is made of; the others tell which terms are common."""
_VARIANTS_WORD = re.compile(r"\d[\d.,]*\d|\w(?:[\w'’.-]*\w)?")  # noqa: RUF001


def expansions(
    question: str, passages: Sequence[Passage], chosen: Sequence[str], *, most: int, language: str
) -> list[str]:
    """At most so many wordings that none of the `chosen` has; fewer where there are no more."""
    # The question without the words that any question has, at most `LONG` of them.
    bounds = [0, *sentence_starts(question), len(question)]
    sentences = [question[start:end] for start, end in itertools.pairwise(bounds)]
    words: dict[str, str] = {}
    for sentence in [*sentences[-1:], *sentences[:-1]]:
        for word in _VARIANTS_WORD.findall(sentence):
            stems = terms(word, language)
            if any(is_telling(stem, language) for stem in stems):
                words.setdefault(" ".join(stems), word)
    short = " ".join(list(words.values())[:LONG])
    is_long = word_count(question) > LONG
    made = [short] if is_long and short not in chosen else []
    asked = short if is_long else question
    while len(made) < most and passages:
        best, others = passages[:_BEST], passages[_BEST:]
        one = expanded(
            asked,
            [passage.text for passage in best],
            [1 / rank for rank in range(1, len(best) + 1)],
            earlier=[*chosen, *made],
            others=[passage.text for passage in others],
            language=language,
        )
        if one is None:
            break
        made.append(one)
    there = {one.rstrip(" ?.!").casefold() for one in chosen}
    if not made and short and short.casefold() not in there:
        made.append(short)
    return made[:most]


# The words of questions and queries: how many, which of them tell something, which are alike.

MOST_WORDS = 15
MORE_WORDS = 5  # By which a query may be longer than the question, where that has many words itself
_TOKEN = re.compile(r"\S*\w\S*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that are written without spaces: about two make a word."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SHORTEST_ALIKE = 4


def word_count(text: str) -> int:
    return sum(max(1, len(_UNSPACED.findall(token)) // 2) for token in _TOKEN.findall(text))


def most_words(question: str) -> int:
    return max(MOST_WORDS, word_count(question) + MORE_WORDS)


def numbers(text: str) -> frozenset[str]:
    return frozenset(found.replace(",", "") for found in _NUMBER.findall(text))


def content(text: str, language: str = "english") -> frozenset[str]:
    """The stems that tell what is asked for; empty where the text has none."""
    return frozenset(query_terms(text, language)) - _function_words(language_name(language))


def is_telling(stem: str, language: str = "english") -> bool:
    return stem not in _function_words(language_name(language))


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
    least = max(_SHORTEST_ALIKE, -(-2 * max(len(one), len(other)) // 3))
    return min(len(one), len(other)) >= least and one[:least] == other[:least]


@lru_cache(maxsize=8)
def _function_words(language: str) -> frozenset[str]:
    return frozenset(terms(" ".join(STOP_WORDS.get(language, ())), language))
