"""Names in a passage, and what their surroundings tell of each: whether "she" goes on from it,
whether it is a place, whether it is called an album."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.nodes.follow_up import names
from secondlook.nodes.places import sentence_bounds
from secondlook.retrieval.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WORD = re.compile(r"[^\W_]+(?:[-'\u2019.&][^\W_]+)*")
_GOES_ON = re.compile(
    r"\b(?:(?P<she>she|her|hers|herself)|(?P<he>he|him|his|himself)|(?P<they>they|them|their)|"
    r"(?P<it>it|its|itself))\b",
    re.IGNORECASE,
)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|at|near|throughout|across|within|outside)\s+(?:the\s+)?\Z", re.IGNORECASE
)
_ARTICLE_BEFORE = re.compile(r"\bthe\s+\Z", re.IGNORECASE)
_ACTS = re.compile(
    r"(?:['\u2019]s\b|\s+(?:is|was|has|had|did|does|won|left|began|became|made|wrote|led|said|and|who|"
    r"which|[a-z]+ed)\b|\s*\()"
)
_OF_A_PEOPLE = re.compile(r"\w+(?:an|ish|ese|ic|ch|ss)\Z")
_SMALL_NEXT = re.compile(r"\s+[a-z]")
_SMALL = frozenset(STOP_WORDS["english"]) | frozenset(
    """mr mrs ms dr sir phd bc ad however today nevertheless although
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_MOSTLY = 0.5
"""Share of words that a title and the name it stands for have in common."""
_FOLLOWED = 600
"""Characters after a name in which something may go on from it."""
_MOST_NAMES = 400
"""In one passage: what has more is a list."""


@dataclass(slots=True, eq=False)
class Mentioned:
    """One name in one passage."""

    name: str
    places: list[tuple[int, int]] = field(default_factory=list)
    goes_on: Counter[str] = field(default_factory=Counter)
    """How often `she`, `he`, `they` or `it` comes next, with no other name between."""
    as_place: int = 0
    with_article: int = 0
    is_title: bool = False

    @property
    def key(self) -> str:
        return self.name.casefold()


def mentioned(text: str, title: str, known: frozenset[str] = frozenset()) -> dict[str, Mentioned]:
    """The names of a passage by their small letters; the longer form stands for its parts, so
    that "Knowles" counts as "Beyonc\u00e9 Knowles" where that is said as well.

    `known` are words that other passages have in names: of these a title may be made that the
    passage itself does not mention.
    """
    found = _gathered(text, title)
    topic, named = topic_of(title, found.values()), _ASIDE.sub("", title).strip()
    if topic:
        found[topic].is_title = True
    elif frozenset() < _telling(named) <= known:
        # The passage may go on about what its document is about without a name: "She left in".
        every = Counter(one.lastgroup or "" for one in _GOES_ON.finditer(text))
        found[named.casefold()] = Mentioned(named, goes_on=every, is_title=True)
    return found


def _gathered(text: str, title: str) -> dict[str, Mentioned]:
    """From the end to the beginning, so that each name knows where the next one stands."""
    places = _places(text)
    whole = _wholes([name for name, *_ in places], title)
    found: dict[str, Mentioned] = {}
    until = len(text)
    for name, start, end in reversed(places):
        full = whole.get(name.casefold(), name)
        one = found.setdefault(full.casefold(), Mentioned(full))
        one.places.insert(0, (start, end))
        one.with_article += bool(_ARTICLE_BEFORE.search(text[max(0, start - 5) : start]))
        if _PLACE_BEFORE.search(text[max(0, start - 20) : start]):
            one.as_place += 1  # "Ada was born in London. She ...": it goes on from Ada
            continue
        one.goes_on.update(_next_words(text[end:until]))
        until = start
    return found


def name_words(text: str) -> frozenset[str]:
    """Words of the names that stand within sentences, where a capital means something."""
    return frozenset(
        word for first, last in sentence_bounds(text) for word in _name_words(text[first:last])
    )


def _name_words(sentence: str) -> list[str]:
    first = _WORD.search(sentence)
    return [
        word for name in names(sentence[first.end() :] if first else "") for word in _words(name)
    ]


def topic_of(title: str, found: Iterable[Mentioned]) -> str | None:
    """The name that a document is about, by its title; a title may be a mere file name."""
    wanted = _telling(_ASIDE.sub("", title))
    best, most = None, 0.0
    for one in found:
        said = _telling(one.name)
        alike = len(wanted & said) / max(1, len(wanted | said))
        if alike > most:
            best, most = one.key, alike
    return best if most >= _MOSTLY else None


def _next_words(text: str) -> list[str]:
    """The pronouns that go on from a name: the first of its sentence, the first of the next."""
    bounds = sentence_bounds(text[:_FOLLOWED])[:2]
    found = (_GOES_ON.search(text, start, end) for start, end in bounds)
    return [one.lastgroup for one in found if one and one.lastgroup]


def _places(text: str) -> list[tuple[str, int, int]]:
    """Each name and where it stands; a capital that only begins a sentence makes no name."""
    inside: list[tuple[str, int, int]] = []
    first_words: list[tuple[str, int, int]] = []
    for first, last in sentence_bounds(text):
        at = first
        for name in names(text[first:last]):
            start = text.find(name, at, last)
            if start < 0:
                continue
            at = start + len(name)
            begins = not _WORD.search(text, first, start)
            (first_words if begins else inside).append((name, start, at))
    sure = {word for name, *_ in inside for word in _words(name)}
    begun = [one for each in first_words if (one := _begun(each, text, sure))]
    found = sorted([*inside, *begun], key=lambda one: one[1])[:_MOST_NAMES]
    return [one for one in found if _is_name(one, text)]


def _is_name(one: tuple[str, int, int], text: str) -> bool:
    name, _, end = one
    if not any(sign.isalpha() for sign in name) or name.casefold() in _SMALL:
        return False
    adjective = " " not in name and _OF_A_PEOPLE.match(name) and _SMALL_NEXT.match(text, end)
    return not (adjective and not _ACTS.match(text, end))


def _begun(one: tuple[str, int, int], text: str, sure: set[str]) -> tuple[str, int, int] | None:
    """What is a name of the words that begin a sentence: "Today Warsaw" is Warsaw."""
    name, _, end = one
    first, _, rest = name.partition(" ")
    known = first.casefold() in sure and first.casefold() not in _SMALL
    if rest and not known and _words(rest)[0] in sure:
        return rest, end - len(rest), end
    if known or rest:
        return one
    alone = re.search(rf"\b{re.escape(name.lower())}\b", text) or name.endswith("ly")
    return one if _ACTS.match(text, end) and not alone else None


def _wholes(found: Sequence[str], title: str) -> dict[str, str]:
    """For each name that is part of exactly one longer name (or of the title's), that one."""
    counted = Counter(found)
    every = dict.fromkeys([*counted, *_titled(title, counted)])
    longer: dict[str, str] = {}
    for name in counted:
        part = _telling(name)
        wholes = [other for other in every if part < _telling(other) and _is_part(name, other)]
        if len({other.casefold() for other in wholes}) == 1:
            longer[name.casefold()] = wholes[0]
    return longer


def _is_part(name: str, other: str) -> bool:
    """Only people go by a part of their names: "Knowles", not "University" or "New"."""
    return bool(re.search(rf"(?:\A|\s){re.escape(name)}(?:\Z|\s)", other)) and not re.search(
        r"\b(?:of|the|and|for)\b", other
    )


def _titled(title: str, counted: Counter[str]) -> Iterator[str]:
    topic = _ASIDE.sub("", title).strip()
    said = {word for name in counted for word in _words(name)}
    if topic and list(names(topic)) == [topic] and set(_words(topic)) & said:
        yield topic


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _telling(text: str) -> frozenset[str]:
    return frozenset(_words(text)) - _SMALL
