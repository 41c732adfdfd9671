"""Exchanging a name, a number or a plain word for another of the same kind.

Names are told apart by form and by how the corpus uses them (behind `the`, behind `in`), so that
a place takes the place of a place and the sentence still reads well.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from training.data.texts import (
    CALENDAR,
    NUMBER_WORDS,
    QUESTION_WORDS,
    Found,
    is_stop_word,
    names,
    normalised,
    numbers,
    replaced,
    stem,
    words,
)
from training.data.wording import OPPOSITES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

T = TypeVar("T")
Kind: TypeAlias = tuple[object, ...]

_PLACE_WORDS = frozenset(("in", "at", "near", "from", "into", "throughout", "across"))
_OFTEN = 0.4
_SELDOM = 0.12
_OFTEN_ENOUGH = 2
_FEWEST_FOLLOWERS = 4
_LAST_YEAR = 2016
_GENERIC = frozenset(
    (
        *("type", "kind", "name", "number", "term", "part", "year", "time", "people", "area"),
        *(
            "word",
            "group",
            "world",
            "amount",
            "form",
            "things",
            "place",
            "person",
            "types",
            "result",
        ),
        *("early", "late", "well", "percentage", "percent", "date", "language", "main", "century"),
        *("period", "country", "city", "reason", "lack", "source", "idea", "process", "point"),
    )
)
"""Words that may change without changing what is asked for."""
_BEFORE_NOUNS = frozenset(
    (
        "the",
        "a",
        "an",
        "of",
        "what",
        "which",
        "many",
        "his",
        "her",
        "their",
        "its",
        "largest",
        "first",
    )
)
_DEMONYM = re.compile(r"\w+(?:an|ish|ese|ic|ist)s?$")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_FEWEST_LETTERS = 4
_ENDINGS = ("est", "er", "ion", "al", "s", "")
_VERBAL = ("ed", "ing", "ly")
_LINKING = frozenset(
    (
        "and",
        "or",
        "with",
        "between",
        "including",
        "nor",
        "as",
        "well",
        "the",
        "a",
        "an",
        "of",
        "for",
    )
)
_TRIES = 40


@dataclass
class NameUse:
    """How often names stand behind which word, over a whole corpus."""

    seen: Counter[str] = field(default_factory=Counter)
    with_article: Counter[str] = field(default_factory=Counter)
    as_place: Counter[str] = field(default_factory=Counter)

    def learn(self, found: Iterable[Found]) -> None:
        for name in found:
            self.seen[name.text] += 1
            self.with_article[name.text] += name.after == "the"
            self.as_place[name.text] += name.after in _PLACE_WORDS

    def kind(self, name: Found) -> Kind:
        """Names of one kind can stand for each other."""
        text = name.text
        times = max(1, self.seen[text])
        return (
            min(len(text.split()), 3),
            text.isupper(),
            " " not in text and _DEMONYM.fullmatch(text) is not None,
            self.with_article[text] / times > _OFTEN,
            self.as_place[text] / times > _OFTEN,
            self.is_person(text),
        )

    def fits(self, new: Found, target: Found) -> bool:
        """Whether the new name may follow the word before the target."""
        if self.seen[new.text] < _OFTEN_ENOUGH or (new.after == "the") != (target.after == "the"):
            return False
        return target.after not in _PLACE_WORDS or self.as_place[new.text] > 0

    def is_person(self, name: str) -> bool:
        """A first name that many last names follow, or a last name such a one precedes."""
        first, *rest = name.split()
        if not rest:
            return first in self.last_names
        return first in self.first_names

    @cached_property
    def first_names(self) -> frozenset[str]:
        """Words that begin names of two words, rarely behind `the` and rarely places."""
        followers: dict[str, set[str]] = {}
        other: Counter[str] = Counter()
        seen: Counter[str] = Counter()
        for name, times in self.seen.items():
            first, *rest = name.split()
            if len(rest) == 1:
                followers.setdefault(first, set()).add(rest[0])
                seen[first] += times
                other[first] += self.with_article[name] + self.as_place[name]
        return frozenset(
            first
            for first, found in followers.items()
            if len(found) >= _FEWEST_FOLLOWERS and other[first] / seen[first] < _SELDOM
        )

    @cached_property
    def last_names(self) -> frozenset[str]:
        pairs = (name.split() for name in self.seen if name.count(" ") == 1)
        return frozenset(last for first, last in pairs if first in self.first_names)


def swapped_name(
    text: str,
    *,
    targets: Sequence[Found],
    pool: Sequence[Found],
    avoid: str,
    use: NameUse,
    draw: Random,
) -> str | None:
    """The text with a name exchanged for one of the pool that shares no word with `avoid`."""
    taken = set(normalised(f"{text} {avoid}").split())
    for target in shuffled(targets, draw):
        kind = use.kind(target)
        for new in draw.sample(pool, min(_TRIES, len(pool))):
            if not use.fits(new, target) or use.kind(new) != kind:
                continue
            if not taken & set(normalised(new.text).split()) and _unlike(new, text):
                return replaced(text, target, new.text)
    return None


def _unlike(new: Found, text: str) -> bool:
    """Not the short form of a name of the text, nor the other way round (UN, United Nations)."""
    initials = "".join(word[0] for word in new.text.split() if word[0].isupper())
    known = {"".join(w[0] for w in n.text.split() if w[0].isupper()) for n in names(text)}
    spelled = {n.text for n in names(text)}
    return new.text not in known and not (len(initials) > 1 and initials in spelled)


def exchanged_names(sentence: str, *, use: NameUse, draw: Random) -> str | None:
    """Two names of one kind change places: who did what to whom is turned around."""
    found = names(sentence)
    pairs = [
        (one, other)
        for index, one in enumerate(found)
        for other in found[index + 1 :]
        if use.kind(one) == use.kind(other)
        and _ordered(sentence[one.end : other.start])
        and not set(one.text.split()) & set(other.text.split())
    ]
    if not pairs:
        return None
    one, other = draw.choice(pairs)
    turned = replaced(sentence, other, one.text)
    return replaced(turned, one, other.text)


def _ordered(between: str) -> bool:
    """Whether names with this between them may not change places: no mere list of them."""
    said = {word for word in re.findall(r"[\w&]+", between) if word.islower()} - _LINKING
    listing = re.search(r"\b(?:and|or)\b|,", between)
    return len(said) >= (3 if listing else 1)


def changed_number(
    text: str, *, targets: Sequence[Found], pool: Sequence[Found], avoid: str, draw: Random
) -> str | None:
    """The text with a number exchanged: for one of the pool that looks alike, or a near one."""
    able = [n for n in targets if n.after not in QUESTION_WORDS]
    if not able:
        return None
    target = draw.choice(able)
    form = "day" if target.after.capitalize() in CALENDAR else number_form(target.text)
    used = {n.text for n in numbers(f"{text} {avoid}")}
    alike = [n.text for n in pool if number_form(n.text) == form and n.text not in used]
    if alike and draw.random() < 0.7:  # noqa: PLR2004 mostly numbers that the reader also sees
        return replaced(text, target, draw.choice(alike))
    for _ in range(_TRIES):
        new = _nearby(target.text, form, draw)
        if new not in used:
            return replaced(text, target, new)
    return None


def number_form(number: str) -> str:
    if number in NUMBER_WORDS:
        return "word"
    if number.endswith("s"):
        return "decade"
    if _YEAR.fullmatch(number):
        return "year"
    return f"{len(number)} characters, {number.count('.')} points"


def _nearby(number: str, form: str, draw: Random) -> str:
    if form == "word":
        return draw.choice(NUMBER_WORDS)
    if form == "day":
        return str(draw.randint(1, 28))
    if form == "decade":
        return f"{max(0, int(number[:-1].replace(',', '')) + draw.choice((-20, -10, 10, 20)))}s"
    if form == "year":
        return str(min(int(number) + draw.choice((-1, 1)) * draw.randint(1, 25), _LAST_YEAR))
    digits = [place for place, letter in enumerate(number) if letter.isdigit()]
    place = draw.choice(digits[:2])
    low = 1 if place == 0 else 0
    return number[:place] + str(draw.randint(low, 9)) + number[place + 1 :]


@dataclass(slots=True)
class WordUse:
    """Which words stand between which two neighbours in questions."""

    between: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    frequent: dict[tuple[str, str], list[tuple[str, int]]] = field(default_factory=dict)
    """The most frequent ones, once they were asked for."""

    def learn(self, question: str) -> None:
        found = [word.text.lower() for word in words(question)]
        for left, middle, right in zip(found, found[1:], [*found[2:], "?"], strict=False):
            self.between.setdefault((left, right), Counter())[middle] += 1

    def instead(self, left: str, word: str, right: str) -> list[str]:
        """Words of the same ending that were seen in the same place, most frequent first."""
        if (left, right) not in self.frequent:
            seen = self.between.get((left, right), Counter())
            self.frequent[left, right] = seen.most_common(60)
        return [
            other
            for other, times in self.frequent[left, right]
            if times > 1 and _ending(other) == _ending(word) and _plain(other)
        ]


def swapped_word(
    question: str, *, known: frozenset[str], answering: str, use: WordUse, draw: Random
) -> str | None:
    """A word that the answering sentence has, exchanged for one that only the article has."""
    stated = {stem(word.text.lower()) for word in words(answering)}
    asked = {stem(word.text.lower()) for word in words(question)}
    found = words(question)
    places = range(1, len(found))
    for place in shuffled(places, draw):
        word = found[place]
        left = found[place - 1].text.lower()
        if left not in _BEFORE_NOUNS or not _plain(word.text) or stem(word.text) not in stated:
            continue
        right = found[place + 1].text.lower() if place + 1 < len(found) else "?"
        for new in use.instead(left, word.text, right):
            if new in known and stem(new) not in stated | asked:
                return replaced(question, word, new)
    return None


def _plain(word: str) -> bool:
    """A noun or adjective, as far as its form tells."""
    formed = word.isalpha() and word.islower() and len(word) >= _FEWEST_LETTERS
    return (
        formed
        and not is_stop_word(word)
        and word not in _GENERIC | OPPOSITES.keys()
        and not word.endswith(_VERBAL)
    )


def _ending(word: str) -> str:
    return next(ending for ending in _ENDINGS if word.endswith(ending))


def shuffled(items: Sequence[T], draw: Random) -> list[T]:
    return draw.sample(items, len(items))
