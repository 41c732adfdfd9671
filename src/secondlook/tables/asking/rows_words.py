"""The words of a question or a cell: tokens with their places, stems and numbers."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from secondlook.tables.asking.rows_vocabulary import IRREGULAR, NUMBER_WORDS

TOKEN = re.compile(
    r"[<>!=]=|<>|[<>=\u2264\u2265\u2260]|(?<!\S)-(?=\d)(?:\d+\.\d+|\d+)|\d+(?:st|nd|rd|th)\b|\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[^\w\s]"
)
_STRAIGHT = str.maketrans({"\u2019": "'", "\u2013": "-", "\u2014": "-"})
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_SIGNS = frozenset("<>=\u2264\u2265\u2260")
SHORTEST = 4
"""Letters of a word whose ending is cut."""
FIRST_YEAR, LAST_YEAR = 1000, 2100


@dataclass(frozen=True, slots=True)
class Token:
    start: int
    end: int
    text: str
    """In lower case, without accents."""
    stem: str


@lru_cache(maxsize=20_000)
def plain(text: str) -> str:
    """In lower case, without accents, quotes and dashes made straight."""
    lowered = text.lower().translate(_STRAIGHT)
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFKD", lowered)
    return "".join(one for one in decomposed if not unicodedata.combining(one))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Without the endings of plurals and possessives."""
    word = word.removesuffix("'s").removesuffix("'")
    if word[:1].isdigit():
        return _ORDINAL.sub(r"\1", word)
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) > SHORTEST and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > SHORTEST and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) >= SHORTEST and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=50_000)
def tokens(text: str) -> tuple[Token, ...]:
    """Words and numbers of a text in order, punctuation left out."""
    found = []
    for match in TOKEN.finditer(text):
        if match[0].isalnum() or len(match[0]) > 1 or match[0] in _SIGNS:
            word = plain(match[0])
            found.append(Token(match.start(), match.end(), word, stem(word)))
    return tuple(found)


@lru_cache(maxsize=50_000)
def number(word: str) -> float | None:
    """`three`, `1,200` or `4.5` as a number."""
    if word in NUMBER_WORDS:
        return float(NUMBER_WORDS[word])
    if not word.removeprefix("-")[:1].isdigit():
        return None
    try:
        return float(word.replace(",", ""))
    except ValueError:
        return None


def is_year(value: float | None) -> bool:
    return value is not None and value == int(value) and FIRST_YEAR <= value <= LAST_YEAR
