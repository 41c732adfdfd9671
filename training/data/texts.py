"""Sentences, names and numbers of a text, found by their form alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from secondlook.retrieval.terms import STOP_WORDS, terms

if TYPE_CHECKING:
    from training.data.rows import Span

QUESTION_WORDS = frozenset(
    ("what", "who", "whom", "whose", "which", "when", "where", "why", "how", "name", "according")
)
CALENDAR = frozenset(
    (
        *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
        *("October", "November", "December", "Monday", "Tuesday", "Wednesday", "Thursday"),
        *("Friday", "Saturday", "Sunday"),
    )
)
NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")

_OPENERS = STOP_WORDS["english"] | QUESTION_WORDS
"""Capitalised at the start of a sentence without being part of a name."""
_ABBREVIATIONS = frozenset(
    (
        *("mr", "mrs", "ms", "dr", "st", "jr", "sr", "prof", "gen", "rev", "sgt", "vs", "no"),
        *("ca", "c", "fl", "etc", "e.g", "i.e", "u.s", "u.k", "u.n", "d.c", "b.c", "a.d"),
        *("inc", "ltd", "co"),
    )
)
_SENTENCE_END = re.compile(
    r"[.!?][\"'”\u2019)\]]*(?:\[[^\]]{1,12}\])*\s+(?=[\"'“\u2018(\[]?[A-Z0-9])"
)
_LAST_WORD = re.compile(r"([\w.]+)$")
_CAPITALISED = r"(?:[A-Z][\w&]*(?:[-'\u2019.][A-Za-z]\w*)*)"
_LINKS = "of|of the|de|la|von|van|del|du|bin"
_NAME = re.compile(rf"(?<![\w'\u2019]){_CAPITALISED}(?:(?: (?:{_LINKS}))? {_CAPITALISED})*")
_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_NUMBER = re.compile(
    r"(?<![\w.,:/\u2013-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?s?(?![\w/:\u2013-]|[.,]\d)"
)
_NUMBER_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(NUMBER_WORDS)})(?![\w-])")
_NOT_WORD = re.compile(r"[\W_]+")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b ?")
_NO_NAME = re.compile(r"-[a-z]|\b(?:Ltd|Inc|Co|Jr|Sr|Mr|Mrs|Dr|St)$|^\w$")
_POSSESSIVE = re.compile(r"['\u2019]s?$")


@dataclass(frozen=True, slots=True)
class Found:
    """A piece of a text and where it stands."""

    start: int
    end: int
    text: str
    after: str = ""
    """The word before it, in lower case; empty at the start of a sentence."""


def normalised(text: str) -> str:
    """Lower case, words only, no articles, with a space at both ends: search with `in`."""
    words = _NOT_WORD.sub(" ", text.casefold())
    return f" {_ARTICLES.sub('', words).strip()} "


def holds(text_normalised: str, text_lower: str, answer: str) -> bool:
    """Does a text hold an answer as words, or (from four letters on) as any piece of it?"""
    wanted = _wanted(answer)
    whole = bool(wanted.strip()) and wanted in text_normalised
    return whole or (len(answer) > len("any") and answer.lower() in text_lower)


_wanted = lru_cache(maxsize=1024)(normalised)
"""One answer is looked for in many passages in a row."""


def sentences(text: str) -> list[Span]:
    """Where the sentences of a text stand; spaces between them belong to none."""
    cuts = [m for m in _SENTENCE_END.finditer(text) if not _abbreviated(text[: m.start()])]
    starts = [0, *(m.end() for m in cuts)]
    ends = [*(m.start() + len(m.group().rstrip()) for m in cuts), len(text.rstrip())]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _abbreviated(before: str) -> bool:
    last = _LAST_WORD.search(before)
    return last is not None and (
        last.group().lower() in _ABBREVIATIONS or re.fullmatch(r"[A-Z]", last.group()) is not None
    )


def sentence_at(spans: list[Span], start: int, end: int) -> Span:
    """From the first to the last sentence that [start, end) touches."""
    touched = [span for span in spans if span[0] < end and start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)


def names(text: str) -> list[Found]:
    """Capitalised phrases, without what is capitalised only because a sentence starts."""
    beginnings = {start for start, _ in sentences(text)}
    found = (_name(text, match, beginnings) for match in _NAME.finditer(text))
    return [name for name in found if name is not None]


def _name(text: str, match: re.Match[str], beginnings: set[int]) -> Found | None:
    start, phrase = match.start(), match.group()
    first, _, rest = phrase.partition(" ")
    opens = start in beginnings or text[start - 1 : start] in {'"', "“", "("}
    if first.lower() in _OPENERS and len(first) > 1:
        start, phrase, opens = start + len(first) + 1, rest, False
    phrase = _POSSESSIVE.sub("", phrase).rstrip(".")
    if not phrase or _NO_NAME.search(phrase) or CALENDAR & set(phrase.split()):
        return None
    if opens and " " not in phrase:
        return None
    return Found(start, start + len(phrase), phrase, word_before(text, start))


def word_before(text: str, position: int) -> str:
    words = text[max(0, position - 40) : position].split()
    return words[-1].lower() if words else ""


def numbers(text: str) -> list[Found]:
    """Numbers in digits, years and decades among them, and small numbers in words."""
    found = [*_NUMBER.finditer(text), *_NUMBER_WORD.finditer(text)]
    found.sort(key=re.Match.start)
    return [Found(m.start(), m.end(), m.group(), word_before(text, m.start())) for m in found]


def words(text: str) -> list[Found]:
    return [Found(m.start(), m.end(), m.group()) for m in _WORD.finditer(text)]


def word_count(text: str) -> int:
    return len(text.split())


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """How our own search knows the word."""
    return " ".join(terms(word))


def replaced(text: str, found: Found, new: str) -> str:
    return text[: found.start] + new + text[found.end :]


def is_stop_word(word: str) -> bool:
    return word.lower() in _OPENERS
