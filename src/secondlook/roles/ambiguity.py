"""Words of a question that stand for something which the question itself does not name. "How does
a plant make its food?" names the plant; "When did she leave her group?" names nobody."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from secondlook.retrieval.terms import STOP_WORDS
from secondlook.roles.follow_up import LONGEST, WORDS, Turn, names, stand_alone
from secondlook.roles.sentences import sentence_bounds
from secondlook.roles.wants import wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Passage

Kind = Literal["person", "group", "thing", "place", "noun"]
"""What is looked for: `noun` is a thing of the kind that the word itself says, as an album."""


@dataclass(frozen=True, slots=True)
class Unclear:
    word: str
    start: int
    end: int
    kind: Kind
    noun: str = ""  # Of kind `noun`: the noun alone, in small letters
    owns: bool = False  # Whether something of its own follows: "her group"


_KINDS: dict[str, Kind] = {
    "he": "person", "she": "person", "him": "person", "his": "person", "her": "person",
    "hers": "person", "they": "group", "them": "group", "their": "group", "theirs": "group",
}  # fmt: skip
_OWNERS = frozenset({"his", "their", "its"})
_OWNED = re.compile(r"\s+(?P<next>\w+)")


def unresolved(question: str) -> Unclear | None:
    """By the understander; None where every word is clear. A question of several parts is as
    unclear as the first of them."""
    if not question.strip() or len(question) > LONGEST:
        return None
    want = wanted(question.capitalize() if question.isupper() else question)
    want = wanted(want.split.parts[0]) if want.split else want
    if want.kind != "unclear":
        return None
    found = re.search(rf"(?<!\w){re.escape(want.about)}(?!\w)", question, re.IGNORECASE)
    if found is None:
        return None
    word, (first, _, noun) = found[0], found[0].casefold().partition(" ")
    kind: Kind = "place" if first == "there" else _KINDS.get(first, "thing")
    owned = _OWNED.match(question, found.end())
    owns = first in _OWNERS or bool(first == "her" and owned and owned["next"] not in WORDS.split())
    return Unclear(word, *found.span(), "noun" if noun else kind, noun, owns)


def in_full(question: str, turns: Sequence[Turn]) -> str:
    """The question said in full from the turns before it. Where only its first part can be, the
    word that is unclear there stands for the same in the whole."""
    asked, unclear, split = (
        stand_alone(question, turns),
        unresolved(question),
        wanted(question).split,
    )
    part = split.parts[0] if split else ""
    own = unresolved(part)
    if asked != question or unclear is None or own is None:
        return asked
    full, before, after = stand_alone(part, turns), part[: own.start], part[own.end :]
    if full == part or not (full.startswith(before) and full.endswith(after)):
        return question
    meant = full[len(before) : len(full) - len(after)]
    return f"{question[: unclear.start]}{meant}{question[unclear.end :]}"


# What an unclear word may stand for by the evidence, and whether one reading leads.

LEADING_SHARE = 0.45
"""Of all weight: the first reading is assumed from here on, if it also leads by `LEADING_RATIO`.
Both were chosen by looking at questions whose name code had put away, 300 of SQuAD's training part
and 112 of `squad2-dev`, with an earlier reader; the ratio was 1.8 there. The shipped reader's
probabilities lie further apart."""
LEADING_RATIO = 3.0
RIVAL_SHARE = 0.12  # A reading with less is none that anybody would mean
MOST_READINGS = 4

_AGAINST = 0.05
_NO_SIGN = 0.35
_DATE = re.compile(
    r"(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December)(?: \d+)?"
)
_REACH = 40
_NAMING = r"[\s:\"\u201c'(]+(?:called|titled|entitled|named)?[\s\"\u201c'(]*"
_BEING = (
    r"[\"\u201d')]*(?:\s*\([^)]*\))?(?:,|\s+(?:is|was|are|were|became|remains))\s+"
    r"(?:the|a|an|his|her|their|its)\s+"
)


@dataclass(frozen=True, slots=True)
class Witness:
    """A passage, how likely it is to hold the answer, and where it seems to stand in it."""

    passage: Passage
    weight: float
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Rival:
    name: str
    share: float
    passages: tuple[str, ...]  # Those that mention it, the one that speaks most for it first
    takes_the: bool = False  # Whether it is written with an article, as "the Rhine"


def rivals(unclear: Unclear, question: str, witnesses: Sequence[Witness]) -> list[Rival]:
    """What the word may stand for, the likeliest first; shares add up to 1."""
    spoken: dict[str, list[tuple[Mentioned, str, float]]] = {}
    total = sum(witness.weight for witness in witnesses) or 1.0
    known = frozenset[str]().union(*(name_words(one.passage.text) for one in witnesses))
    for witness in witnesses:
        for one, worth in _worths(unclear, question, witness, known).items():
            # The same name under which an earlier passage has it: "knowles" for "beyoncé knowles".
            words = set(one.key.split())
            alike = [key for key in spoken if words < set(key.split()) or set(key.split()) < words]
            key = alike[0] if one.key not in spoken and len(alike) == 1 else one.key
            part = worth * witness.weight / total
            spoken.setdefault(key, []).append((one, witness.passage.id, part))
    found = []
    for said in spoken.values():
        parts: dict[str, float] = {}
        for _, passage, part in said:
            parts[passage] = parts.get(passage, 0.0) + part
        mentions = sum(len(one.places) for one, *_ in said)
        with_article = sum(one.with_article for one, *_ in said)
        ordered = tuple(sorted(parts, key=lambda name: (-parts[name], name)))
        takes_the = 2 * with_article > mentions
        name = max((one.name for one, *_ in said), key=len)
        found.append(Rival(name, sum(parts.values()), ordered, takes_the))
    everything = sum(one.share for one in found)
    found.sort(key=lambda one: (-one.share, one.name))
    return [replace(one, share=one.share / everything) for one in found]


def leader(found: Sequence[Rival]) -> Rival | None:
    if not found or found[0].share < LEADING_SHARE:
        return None
    second = found[1].share if len(found) > 1 else 0.0
    return found[0] if found[0].share >= LEADING_RATIO * second else None


def competing(found: Sequence[Rival]) -> list[Rival]:
    return [one for one in found if one.share >= RIVAL_SHARE][:MOST_READINGS]


def _worths(
    unclear: Unclear, question: str, witness: Witness, known: frozenset[str]
) -> dict[Mentioned, float]:
    """How far the passage speaks for each of its names, adding up to 1."""
    text, span = witness.passage.text, witness.span
    worths: dict[Mentioned, float] = {}
    for one in mentioned(text, witness.passage.title, known).values():
        if one.key in question.casefold() or _DATE.fullmatch(one.name):
            continue
        prominence = math.log2(1 + len(one.places)) + 2.0 * one.is_title
        if span and one.places and all(a < span[1] and span[0] < b for a, b in one.places):
            continue  # what seems to be asked for is not what the question is about
        worths[one] = prominence * _fit(unclear, one, text)
    total = sum(worths.values())
    return {one: worth / total for one, worth in worths.items() if worth > 0.0} if total else {}


def _fit(unclear: Unclear, one: Mentioned, text: str) -> float:
    if unclear.kind == "noun":
        return is_a(unclear.noun, one, text)
    if unclear.kind == "place":
        return min(1.0, 0.1 + one.as_place) if not one.goes_on["she"] + one.goes_on["he"] else 0.0
    signs = one.goes_on
    wanted = {"group": "they", "thing": "it"}.get(unclear.kind) or (
        "she" if unclear.word.casefold().startswith(("she", "her")) else "he"
    )
    for_it, against = signs[wanted], float(signs.total() - signs[wanted])
    if unclear.kind == "person":
        against = signs["he" if wanted == "she" else "she"] + 0.5 * (signs["it"] + signs["they"])
    elif signs["she"] + signs["he"] >= max(1, for_it):
        return 0.0
    if not for_it:
        return _AGAINST if against else _NO_SIGN * (2 if one.is_title else 1)
    return (for_it + 1) / (for_it + 1 + against)


def is_a(noun: str, one: Mentioned, text: str) -> float:
    """Whether the passage calls the name by the noun: it is in the name, stands beside it, or is
    what the name is said to be."""
    word = re.escape(noun.rsplit(maxsplit=1)[-1])
    if re.search(rf"\b{word}s?\b", one.name, re.IGNORECASE):
        return 1.0
    before = re.compile(rf"\b{word}{_NAMING}\Z", re.IGNORECASE)
    after = re.compile(rf"{_BEING}(?:[\w'\u2019-]+,?\s+){{0,4}}?{word}\b(?!-)", re.IGNORECASE)
    beside = (
        before.search(text, max(0, start - _REACH), start) or after.match(text, end)
        for start, end in one.places
    )
    return float(any(beside))


# Names in a passage, and what their surroundings tell of each: whether "she" goes on from it,
# whether it is a place, whether it is called an album.

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
_OF_A_PEOPLE = re.compile(r"\w+(?:an|ish|ese|ic|ch|ss)\Z")
_SMALL_NEXT = re.compile(r"\s+[a-z]")
_SMALL = frozenset(STOP_WORDS["english"]) | frozenset(
    """mr mrs ms dr sir phd bc ad however today nevertheless although
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_MOSTLY = 0.5  # Share of words that a title and the name it stands for have in common
_FOLLOWED = 600  # Characters after a name in which something may go on from it
_MOST_NAMES = 400  # In one passage: what has more is a list


@dataclass(slots=True, eq=False)
class Mentioned:
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
    """The names of a passage by their small letters. `known` are words that other passages have in
    names: of these a title may be made that the passage itself does not mention."""
    found = _gathered(text)
    named = _ASIDE.sub("", title).strip()
    # What the document is about, by its title; a title may be a mere file name.
    wanted = _telling(named)
    shares = [
        (len(wanted & said) / max(1, len(wanted | said)), at)
        for at, said in enumerate(_telling(one.name) for one in found.values())
    ]
    most, at = max(shares, key=lambda one: (one[0], -one[1]), default=(0.0, 0))
    if most >= _MOSTLY:
        list(found.values())[at].is_title = True
    elif frozenset() < wanted <= known:
        # The passage may go on about what its document is about without a name: "She left in".
        every = Counter(one.lastgroup or "" for one in _GOES_ON.finditer(text))
        found[named.casefold()] = Mentioned(named, goes_on=every, is_title=True)
    return found


def _gathered(text: str) -> dict[str, Mentioned]:
    """From the end to the beginning, so that each name knows where the next one stands."""
    places = _places(text)
    found: dict[str, Mentioned] = {}
    until = len(text)
    for name, start, end in reversed(places):
        one = found.setdefault(name.casefold(), Mentioned(name))
        one.places.insert(0, (start, end))
        one.with_article += bool(_ARTICLE_BEFORE.search(text[max(0, start - 5) : start]))
        if _PLACE_BEFORE.search(text[max(0, start - 20) : start]):
            one.as_place += 1  # "Ada was born in London. She ...": it goes on from Ada
            continue
        # The pronouns that go on from it: the first of its sentence, the first of the next.
        rest = text[end:until][:_FOLLOWED]
        nearest = (_GOES_ON.search(rest, *bounds) for bounds in sentence_bounds(rest)[:2])
        one.goes_on.update(each.lastgroup for each in nearest if each and each.lastgroup)
        until = start
    return found


def name_words(text: str) -> frozenset[str]:
    """Words of the names that stand within sentences, where a capital means something."""
    found: set[str] = set()
    for sentence in (text[first:last] for first, last in sentence_bounds(text)):
        if first_word := _WORD.search(sentence):
            found.update(
                word for name in names(sentence[first_word.end() :]) for word in _words(name)
            )
    return frozenset(found)


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
    begun = [one for each in first_words if (one := _begun(each, sure))]
    found = sorted([*inside, *begun], key=lambda one: one[1])[:_MOST_NAMES]
    return [(name, start, end) for name, start, end in found if _is_name(name, text, end)]


def _is_name(name: str, text: str, end: int) -> bool:
    if not any(sign.isalpha() for sign in name) or name.casefold() in _SMALL:
        return False
    return " " in name or not (_OF_A_PEOPLE.match(name) and _SMALL_NEXT.match(text, end))


def _begun(one: tuple[str, int, int], sure: set[str]) -> tuple[str, int, int] | None:
    """What is a name of the words that begin a sentence: "Today Warsaw" is Warsaw."""
    name, _, end = one
    first, _, rest = name.partition(" ")
    known = first.casefold() in sure and first.casefold() not in _SMALL
    if rest and not known and _words(rest)[0] in sure:
        return rest, end - len(rest), end
    return one if known or rest or not name.endswith("ly") else None


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _telling(text: str) -> frozenset[str]:
    return frozenset(_words(text)) - _SMALL


# An unclear question in words: as it reads with its meaning filled in, and as a question back.


def with_meaning(question: str, unclear: Unclear, meant: Rival) -> str:
    """The question with the name in the word's place: "her group" is "Ada's group"."""
    name = f"the {meant.name}" if meant.takes_the else meant.name
    if unclear.start == 0:
        name = name[:1].upper() + name[1:]
    if unclear.owns:
        name += "'" if name.endswith("s") else "'s"
    if unclear.kind == "place":
        name = f"in {name}"
    return f"{question[: unclear.start]}{name}{question[unclear.end :]}"


def assumption(unclear: Unclear, meant: Rival) -> str:
    return f"{unclear.word.lower()} = {meant.name}"


def question_back(unclear: Unclear, names: Sequence[str]) -> str:
    if unclear.kind == "noun":
        return f"Which {unclear.noun} do you mean: {choices(names)}?"
    asking = {"person": "Whom", "place": "Which place"}.get(unclear.kind, "What")
    return f'{asking} do you mean by "{unclear.word.lower()}": {choices(names)}?'


def choices(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# A short reply to a question back: the unclear question as it reads with what was named.

_LONGEST = 60
_REPLY_PLACES = {
    "1": 0, "first": 0, "former": 0,
    "2": 1, "second": 1,
    "3": 2, "third": 2,
    "4": 3, "fourth": 3,
    "latter": -1, "last": -1,
}  # fmt: skip
_AROUND = frozenset(
    "the one i mean meant it its s that is please sorry ok okay yes no well".split()  # noqa: SIM905
)
_NO_NAMES = frozenset(
    "both cancel either hello help hi neither nobody none stop thanks".split()  # noqa: SIM905
)


def reading(reply: str, last: Turn) -> str | None:
    """The question of the turn before in the reading that the reply names; None where it names
    none, or nothing was asked back."""
    unclear = unresolved(last.asked) if last.asks_back else None
    words = _reply_words(reply) - _AROUND
    if unclear is None or len(reply) > _LONGEST or not words or words & _NO_NAMES:
        return None
    # The names of "... do you mean: A, B or C?": by place, or by words that only one of them has.
    listed = (last.asks_back or "").partition(": ")[2].rstrip("?")
    offered = re.split(r", | or ", listed) if listed else []
    if len(words) == 1 and words <= _REPLY_PLACES.keys():
        at = _REPLY_PLACES[words.pop()]
        fitting = offered[at:][:1]
    else:
        fitting = [name for name in offered if words <= _reply_words(name)]
        if len(fitting) != 1:  # a name that was not among those offered, and nothing else
            fitting = [name for name in names(reply) if words <= _reply_words(name)]
    return with_meaning(last.asked, unclear, Rival(fitting[0], 1.0, ())) if fitting else None


def _reply_words(text: str) -> set[str]:
    """Without accents: whoever replies in a hurry leaves them out."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return set(re.findall(r"\w+", bare))
