"""A question taken apart until only what it asks is left.

Wordings that mean the same become one (`wording`), and the rest is cut into parts: the words
around the verb, and one part behind each word that relates something to it (in, before, without,
if ...). Parts may stand anywhere: "in 1974, who sued Brandt" is "who sued Brandt in 1974". Within
a part the order counts, because it tells who does what to whom.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from secondlook.nodes.remembering.wording import (
    ARTICLES,
    AUXILIARIES,
    BE,
    GET,
    HAVE,
    LEFT_OUT,
    MARKERS,
    MODALS,
    NEGATIONS,
    PAST,
    PREPOSITIONS,
    PRESENT,
    QUESTION_WORDS,
    REWRITES,
    denied,
    is_participle,
    lacking,
    stem_of,
)
from secondlook.reading.numbers import numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Tense = Literal["past", "present"]
Owning = Literal["near", "far"]
"""How much of what follows an "of" takes: a name or a word, or, where no verb can follow, all up to
the next part."""

NOT = "not"
PASSIVE = "(passive)"
_OF = "of"
_ARTICLE = "(the)"
_BY = "by"
_TOKEN = re.compile(r"[^\W_]+(?:[-.,'/][^\W_]+)*(?:\(\))?")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9\"'(])")
_FRONTED = re.compile(r"^([^,?]{3,200}),\s+(\S+)(.*)$", re.DOTALL)
_AMOUNT = re.compile(r"[\d,]+|[a-z]+-[a-z]+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth")


@dataclass(frozen=True, slots=True)
class Part:
    """Words that belong together, behind the word that relates them to the rest."""

    marker: str
    words: tuple[str, ...]
    aside: tuple[str, ...] = ()
    """What may stand anywhere in the part: not, and what may or must be; sorted."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a question asks."""

    parts: Counter[Part]
    tense: frozenset[Tense]

    def words(self) -> Counter[str]:
        """All that is said, wherever it stands."""
        counted: Counter[str] = Counter()
        for part, times in self.parts.items():
            for word in (part.marker, *part.words, *part.aside):
                counted[word] += times if word else 0
        return counted


def rewritten(question: str) -> str:
    """With one wording for those that are known to mean the same."""
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    for pattern, new in REWRITES:
        text = pattern.sub(new, text)
    return " ".join(text.split())


def names_of(text: str) -> frozenset[str]:
    """Words with a capital that no sentence gave them: of these no two are taken for one."""
    found = set[str]()
    for sentence in _SENTENCE.split(text):
        words = [_bare(token) for token in _TOKEN.findall(sentence)]
        found.update(word.casefold() for word in words[1:] if word[:1].isupper())
    return frozenset(found)


def stems_of(text: str) -> frozenset[str]:
    return frozenset(stem_of(_bare(token).casefold()) for token in _TOKEN.findall(text))


def form_of(text: str, names: Collection[str], known: Collection[str], owning: Owning) -> Form:
    """Of a text as `rewritten` leaves it. `known` are the stems of the question that it is held
    against: there "untaxed" is "not taxed"."""
    parts: Counter[Part] = Counter()
    tense = set[Tense]()
    for sentence in _SENTENCE.split(text):
        tokens = _TOKEN.findall(_with_front_behind(sentence))
        tense |= _tense({token.casefold() for token in tokens})
        gathering = _Gathering(names, known, owning)
        parts.update(gathering.parts_of(tokens))
    return Form(parts, frozenset(tense))


def _with_front_behind(sentence: str) -> str:
    """What is before the comma comes last, where the question begins after it."""
    found = _FRONTED.match(sentence)
    if not found:
        return sentence
    front, first, rest = found.groups()
    fronted = front.split()[0].casefold() in MARKERS
    if not fronted or first.casefold() not in QUESTION_WORDS | AUXILIARIES:
        return sentence
    return f"{first}{rest.rstrip(' ?.!')} {front[:1].lower()}{front[1:]}"


def _tense(words: Collection[str]) -> set[Tense]:
    found = set[Tense]()
    if not PAST.isdisjoint(words):
        found.add("past")
    if not PRESENT.isdisjoint(words):
        found.add("present")
    return found


@dataclass(slots=True)
class _Open:
    """A part while its words are gathered."""

    marker: str
    words: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    passive: bool = False
    is_all: bool = False
    """Whether a form of "to be" is its verb."""
    verb: int | None = None
    """Where the participle stands that makes it passive."""

    @property
    def has_no_verb(self) -> bool:
        return self.is_all or self.marker in PREPOSITIONS

    def made_active(self, doers: Sequence[str]) -> None:
        if self.verb is not None:
            verb = self.words.pop(self.verb)
            self.words = [*doers, verb, *self.words]
        self.passive = False

    def closed(self) -> Part:
        aside = [*self.aside, PASSIVE] if self.passive else self.aside
        return Part(self.marker, tuple(self.words), tuple(sorted(aside)))


@dataclass(frozen=True, slots=True)
class _Gathering:
    names: Collection[str]
    known: Collection[str]
    owning: Owning

    def parts_of(self, tokens: Sequence[str]) -> list[Part]:
        by_whom = [token.casefold() for token in tokens[:2]] == [_BY, "who"]
        gathered = self._gathered(tokens[1:] if by_whom else tokens)
        if by_whom and (asked := next((part for part in gathered if part.passive), None)):
            asked.made_active(())
        made = [part for part in _active(gathered) if _says_something(part)]
        for part in made:
            part.words = self._owned(part)
        return [part.closed() for part in made]

    def _gathered(self, tokens: Sequence[str]) -> list[_Open]:
        parts = [_Open("")]
        lowered = [_bare(token).casefold() for token in tokens]
        for at, word in enumerate(lowered):
            if at and tokens[at][:1].isupper():  # May is a month, and Will a man
                parts[-1].words.extend(self._canonical(word))
            elif word in MARKERS:
                _begin(parts, "when" if word == "when" and at == 0 else MARKERS[word])
            else:
                self._take(parts, word, lowered[:at], lowered[at + 1 :])
        return parts

    def _take(
        self, parts: list[_Open], word: str, before: Sequence[str], after: Sequence[str]
    ) -> None:
        part = parts[-1]
        if word in NEGATIONS:
            part.aside.append(NOT)
        elif word in MODALS and not (before and before[-1] in ARTICLES):  # a will is left, or read
            part.aside.append(MODALS[word])
        elif word in HAVE | GET and not _participle_follows(after):  # who has it is not who is it
            part.words.append(stem_of(word))
        elif word in BE | GET:
            part.passive = part.passive or _participle_follows(after)
            part.is_all = not part.passive
        elif thing := lacking(word):
            parts.insert(-1, _Open("without", [stem_of(thing)]))
        elif word in ARTICLES & LEFT_OUT:
            part.words.append(_ARTICLE)
        elif word not in LEFT_OUT:
            if part.passive and part.verb is None and is_participle(word):
                part.verb = len(part.words)
            part.words.extend(self._without_denial(part, word))

    def _without_denial(self, part: _Open, word: str) -> Iterator[str]:
        plain = denied(word)
        if plain and stem_of(plain) in self.known and stem_of(word) not in self.known:
            part.aside.append(NOT)
            return self._canonical(plain)
        return self._canonical(word)

    def _canonical(self, word: str) -> Iterator[str]:
        if _ORDINAL.fullmatch(word):
            yield f"{word}."
        elif word in self.names or any(sign.isdigit() for sign in word):
            yield _value(word)
        elif "-" in word and not numbers(word):
            for piece in word.split("-"):
                yield from self._canonical(piece)
        else:
            value = _value(word)
            yield value if value != word else stem_of(word)

    def _owned(self, part: _Open) -> list[str]:
        """ "The roof of the house" as "the house's roof"; then the articles go."""
        left = list(part.words)
        far = self.owning == "far" and part.has_no_verb
        while _OF in left:
            at = len(left) - 1 - left[::-1].index(_OF)
            start = _beginning(left, at)
            owner = [word for word in left[at + 1 :] if word != _ARTICLE]
            reach = len(owner) if far else self._reach(owner)
            left[start:] = [*owner[:reach], *left[start:at], *owner[reach:]]
        return [word for word in left if word != _ARTICLE]

    def _reach(self, words: Sequence[str]) -> int:
        """How many of the words an "of" takes: all of a name, or one."""
        run = 0
        while run < len(words) and (words[run] in self.names or words[run][:1].isdigit()):
            run += 1
        return max(1, run)


def _beginning(words: Sequence[str], end: int) -> int:
    """Where the words before an "of" begin: after their article, or with the last of them."""
    for at in range(end - 1, -1, -1):
        if words[at] == _ARTICLE:
            return at
    return max(0, end - 1)


def _begin(parts: list[_Open], marker: str) -> None:
    """Open a part; two markers in a row make one: than on, even if."""
    last = parts[-1]
    if last.marker and not (last.words or last.aside or last.passive):
        last.marker += f" {marker}"
    else:
        parts.append(_Open(marker))


def _active(parts: Sequence[_Open]) -> Iterator[_Open]:
    """ "B was sued by A" as "A sued B"."""
    passive: _Open | None = None
    for part in parts:
        if part.passive:
            passive = part
        if part.marker == _BY and passive is not None and passive.verb is not None:
            passive.made_active(part.words)
            passive = None
            part.words.clear()
            part.marker = ""
    return iter(parts)


def _says_something(part: _Open) -> bool:
    return bool(part.marker or part.words or part.aside or part.passive)


def _participle_follows(words: Sequence[str]) -> bool:
    """Whether a passive goes on here: the participle stands before the next part begins."""
    for word in words:
        if word in MODALS or (word in MARKERS and word != _BY):
            return False
        if is_participle(word):
            return True
    return False


def _bare(token: str) -> str:
    return re.sub(r"'s?\Z", "", token)


def _value(word: str) -> str:
    """One form for equal numbers; but 3.2 and 3.20 are two versions, 12 and 12A two sections."""
    if "." in word or not (word.isalpha() or _AMOUNT.fullmatch(word)):
        return word
    found = numbers(word)
    return min(found[0].readings) if len(found) == 1 else word
