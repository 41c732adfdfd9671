"""Whether two questions ask the same, so that research may be used again."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from secondlook.reading.numbers import numbers
from secondlook.retrieval.terms import language_name, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from secondlook.settings.sections import Settings

_MOST_SHOWN = 4
_ENGLISH = "english"


@dataclass(frozen=True, slots=True)
class Verdict:
    same: bool
    why: str


def same_question(one: str, other: str, similarity: float, settings: Settings) -> Verdict:
    """`similarity` is the cosine of the two questions' vectors."""
    limit = settings.research.memory_similarity
    if not similarity >= limit:
        return Verdict(same=False, why=f"similarity {similarity:.3f} is below {limit:.3f}")
    if _plain(one) == _plain(other):
        return Verdict(same=True, why="the same words")
    if language_name(settings.library.language) != _ENGLISH:
        return Verdict(same=False, why="other words, and only English ones are compared")
    return compared(one, other)


def compared(one: str, other: str) -> Verdict:
    texts = [_rewritten(one), _rewritten(other)]
    names = _names(texts[0]) | _names(texts[1])
    (left, now), (right, then) = (_form(text, names) for text in texts)
    if now and then and now.isdisjoint(then):
        return Verdict(same=False, why="one asks about now, the other about the past")
    more, less = _words(left) - _words(right), _words(right) - _words(left)
    if more or less:
        return Verdict(same=False, why=_difference(more, less, names))
    if left != right:
        return Verdict(same=False, why="the same words in another order: who does what may differ")
    return Verdict(same=True, why="the same in other words")


def _words(parts: Counter[Part]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for part, times in parts.items():
        for word in filter(None, (part.marker, *part.words, *part.aside)):
            counted[word] += times
    return counted


def _difference(left: Counter[str], right: Counter[str], names: Collection[str]) -> str:
    changed = set(left) | set(right)
    kinds = (
        ("other numbers", any(word[:1].isdigit() for word in changed)),
        ("one denies what the other does not", not changed.isdisjoint((_NOT, "without"))),
        ("other names", not changed.isdisjoint(names)),
        ("what may be, must be or is", not changed.isdisjoint(_MODALS.values())),
        ("put together in another way", not changed.isdisjoint((*_MARKERS.values(), _PASSIVE))),
    )
    kind = next((name for name, holds in kinds if holds), "other words")
    shown = [
        ", ".join(map(repr, sorted(words)[:_MOST_SHOWN])) or "nothing" for words in (left, right)
    ]
    return f"{kind}: {shown[0]} against {shown[1]}"


def _plain(question: str) -> str:
    """Without what no question depends on: capitals at its start, white space, its last sign."""
    text = " ".join(unicodedata.normalize("NFKC", question).split()).rstrip(" ?.!")
    return text[:1].casefold() + text[1:]


# A question taken apart until only what it asks is left.

_NOT = "not"
_PASSIVE = "(passive)"
_BY = "by"
_TOKEN = re.compile(r"[^\W_]+(?:[-.,'/][^\W_]+)*(?:\(\))?")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9\"'(])")
_FRONTED = re.compile(r"^([^,?]{3,200}),\s+(\S+)(.*)$", re.DOTALL)
_AMOUNT = re.compile(r"[\d,]+|[a-z]+-[a-z]+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth")


class Part(NamedTuple):
    """Words that belong together, behind the word that relates them to the rest."""

    marker: str
    words: tuple[str, ...]
    aside: tuple[str, ...] = ()
    """What may stand anywhere in the part: not, and what may or must be; sorted."""


def _rewritten(question: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    return " ".join(text.split())


def _names(text: str) -> frozenset[str]:
    """Words with a capital that no sentence gave them: of these no two are taken for one."""
    return frozenset(
        _bare(token).casefold()
        for sentence in _SENTENCE.split(text)
        for token in _TOKEN.findall(sentence)[1:]
        if token[:1].isupper()
    )


def _form(text: str, names: Collection[str]) -> tuple[Counter[Part], set[str]]:
    """The parts of a rewritten text, and its tenses."""
    parts: Counter[Part] = Counter()
    tense = set[str]()
    for sentence in _SENTENCE.split(text):
        # What is before the comma comes last, where the question begins after it.
        if found := _FRONTED.match(sentence):
            front, first, rest = found.groups()
            asks = first.casefold() in _QUESTION_WORDS | _AUXILIARIES
            if asks and front.split()[0].casefold() in _MARKERS:
                sentence = f"{first}{rest.rstrip(' ?.!')} {front[:1].lower()}{front[1:]}"  # noqa: PLW2901
        tokens = _TOKEN.findall(sentence)
        words = {token.casefold() for token in tokens}
        tense |= {"past"} if words & _PAST else set()
        tense |= {"present"} if words & _PRESENT else set()
        parts.update(_parts(tokens, names))
    return parts, tense


@dataclass(slots=True)
class _Open:
    marker: str
    words: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    passive: bool = False
    verb: int | None = None  # Where the participle stands that makes it passive

    def make_active(self, doers: Sequence[str]) -> None:
        if self.verb is not None:
            self.words = [*doers, self.words.pop(self.verb), *self.words]
        self.passive = False


def _parts(tokens: Sequence[str], names: Collection[str]) -> Iterator[Part]:
    by_whom = [token.casefold() for token in tokens[:2]] == [_BY, "who"]
    parts = _opened(tokens[1:] if by_whom else tokens, names)
    if by_whom and (asked := next((part for part in parts if part.passive), None)):
        asked.make_active(())
    passive: _Open | None = None
    for part in parts:  # "B was sued by A" as "A sued B"
        if part.passive:
            passive = part
        if part.marker == _BY and passive is not None and passive.verb is not None:
            passive.make_active(part.words)
            passive, part.words, part.marker = None, [], ""
    for part in parts:
        if part.marker or part.words or part.aside or part.passive:
            aside = [*part.aside, _PASSIVE] if part.passive else part.aside
            yield Part(part.marker, tuple(part.words), tuple(sorted(aside)))


def _opened(tokens: Sequence[str], names: Collection[str]) -> list[_Open]:
    parts = [_Open("")]
    lowered = [_bare(token).casefold() for token in tokens]
    for at, word in enumerate(lowered):
        last, after = parts[-1], lowered[at + 1 :]
        if at and tokens[at][:1].isupper():  # May is a month, and Will a man
            last.words.extend(_canonical(word, names))
        elif word in _MARKERS:
            # Open a part; two markers in a row make one: than on, even if.
            marker = "when" if word == "when" and at == 0 else _MARKERS[word]
            if last.marker and not (last.words or last.aside or last.passive):
                last.marker += f" {marker}"
            else:
                parts.append(_Open(marker))
        elif word in _ASIDE and not (at and lowered[at - 1] in _ARTICLES):  # a will is left
            last.aside.append(_ASIDE[word])
        elif word in _HAVE and not _participle_follows(after):  # who has it is not who is it
            last.words.append("have")
        elif word in _BE:
            last.passive = last.passive or _participle_follows(after)
        elif word not in _LEFT_OUT:
            if last.passive and last.verb is None and word.endswith("ed"):
                last.verb = len(last.words)
            last.words.extend(_canonical(word, names))
    return parts


def _canonical(word: str, names: Collection[str]) -> Iterator[str]:
    if _ORDINAL.fullmatch(word):
        yield f"{word}."
    elif word in names or any(sign.isdigit() for sign in word):
        yield _value(word)
    elif "-" in word and not numbers(word):
        for piece in word.split("-"):
            yield from _canonical(piece, names)
    else:
        value = _value(word)
        yield value if value != word else next(iter(terms(word)), word)


def _participle_follows(words: Sequence[str]) -> bool:
    """Whether a passive goes on here: the participle stands before the next part begins."""
    for word in words:
        if word in _MODALS or (word in _MARKERS and word != _BY):
            return False
        if word.endswith("ed"):
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


# Which wordings of a question mean the same. What is not listed here counts as a difference, so
# a gap costs a miss and never a wrong hit.

_NUMBER = r"(?=(?:[$€£]\s?)?\d|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
_WH = r"(?:what|which)"
_AUXILIARY = r"(?:do|does|did|can|could|may|must|should|shall|will|would|am|are|have)"

# Applied in this order.
_REWRITES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), new)
    for pattern, new in (
        # Short forms.
        (r"[’ʼ]", "'"),  # noqa: RUF001
        (r"\b(?:can't|cannot)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(what|who|where|when|why|how|it|that|there|here)'s\b", r"\1 is"),
        # What asks for an answer, and is no part of the question.
        (r"^\s*(?:can|could|would|will) you (?:please )?(?=tell|explain|show)", ""),
        (r"^\s*(?:please )?(?:tell|explain to|show) (?:me|us)\s*(?:if|whether|about)?\b", ""),
        (r"^\s*(?:is|was) it (?:true|the case|correct) that\b", ""),
        (r"\b(who|when|where|why|how|what|which \w+) (?:is|was) it that\b", r"\1"),
        # What is asked for.
        (rf"\bfor (?:{_WH}) reasons?\b", "why"),
        (rf"\b{_WH} (?:is|was) (?:the )?reason (?:that\b|why\b)?(?!of |for )", "why "),
        (rf"\b(?:in {_WH} (?:year|month|week)|(?:at|on) {_WH} (?:date|day|time))\b", "when"),
        (rf"\bunder {_WH} (?:circumstances?|conditions?)\b", "when"),
        (rf"\bin {_WH} (?:way|manner)s?\b", "how"),
        (rf"\b{_WH} (?:person|people|party)\b", "who"),
        (r"\bwhom\b", "who"),
        (rf"\b{_WH} number of\b", "how many"),
        # Whoever asks may mean anybody; but who else is named with "you" or "me" counts.
        (rf"^((?:\w+ ){{0,3}}?{_AUXILIARY}) (?:i|you|we)\b", r"\1"),
        # What may and what must be.
        (r"\b(?:allowed|permitted|able) to\b", "may"),
        (r"\b(?:required|obliged|have|has|need|needs) to\b", "must"),
        # Numbers and units.
        (rf"\b(?:over|above|exceeding|older than|longer than) {_NUMBER}", "more than "),
        (rf"\b(?:under|below|younger than|shorter than|fewer than) {_NUMBER}", "less than "),
        (r"[$]\s?([\d.,]*\d)", r"\1 dollars"),
        (r"€\s?([\d.,]*\d)", r"\1 euros"),
    )
)
_MODALS: Final = (
    {"can": "may", "must": "must", "need": "must", "shall": "must"}
    | dict.fromkeys(("may", "allowed", "permitted"), "may")
    | {name: name for name in ("should", "could", "might", "would", "will")}
)
_ASIDE: Final = _MODALS | {"not": _NOT, "no": _NOT}
_LEFT_OUT: Final = frozenset(
    """a an the is are was were am be been being do does did has have had having that there it its
    one one's so then also just really actually exactly""".split()  # noqa: SIM905
)
_BEGINNING = (
    "to from for with without by before after until since under over between through into "
    "inside outside against about above below beyond than if unless because while except as "
    "per via and or but towards toward across along among around behind despite near off onto "
    "upon whether although though where why how who what whose in"
)
_MARKERS: Final = {name: name for name in _BEGINNING.split()} | {
    "on": "in", "at": "in", "during": "in", "within": "inside", "when": "if", "once": "if",
    "which": "what",
}  # fmt: skip
"""Words that begin a part of a question, by what they mean there."""
_QUESTION_WORDS: Final = frozenset({"who", "what", "which", "when", "where", "why", "how", "whose"})
_ARTICLES: Final = frozenset({"a", "an", "the", "his", "her", "their", "its", "this", "last"})
_HAVE: Final = frozenset({"has", "have", "had"})
_PAST: Final = frozenset({"was", "were", "did", "had"})
_PRESENT: Final = frozenset({"is", "are", "am", "do", "does", "has", "have"})
_BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being"})
_AUXILIARIES: Final = frozenset({*_PAST, *_PRESENT, *_MODALS, "be", "been"})
