"""How texts are taken apart to be compared: SQuAD's rules, ROUGE's, and runs of words."""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORD = re.compile(r"\w+")
_LETTERS_OR_DIGITS = re.compile(r"[^\W_]+")

# Scripts without spaces between words: Thai to Myanmar, Khmer, kana, Han, and Han beyond the first
# plane. There each character counts as a word, as evaluations of Chinese reading do.
_WITHOUT_SPACES = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)
_THEIR_PUNCTUATION = re.compile("[\u3000-\u303f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff65]")


def tokens(text: str) -> list[str]:
    """Words as SQuAD's evaluation sees them: small letters, no ASCII punctuation, no articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def pieces(text: str) -> list[str]:
    """The same, for what is looked up inside a longer text: where a script has no spaces between
    words, each character is one, or nothing would ever be found inside a sentence."""
    return tokens(_spaced(text))


def rouge_tokens(text: str) -> list[str]:
    """Runs of letters and digits, as ROUGE sees them; not of ASCII alone."""
    return _LETTERS_OR_DIGITS.findall(_spaced(text).lower())


def plain_words(text: str) -> list[str]:
    """All words, articles too, whatever their case."""
    return _WORD.findall(text.casefold())


def shared(found: Sequence[str], right: Sequence[str]) -> float:
    """F1 of two lists of words; nothing is like nothing and like nothing else."""
    if not found or not right:
        return float(list(found) == list(right))
    common = (Counter(found) & Counter(right)).total()
    return 2 * common / (len(found) + len(right))


def runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """Every `size` words that stand in a row."""
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def stands_in(run: Sequence[str], words: Sequence[str]) -> bool:
    """Whether `run` stands among the words without a gap; nothing stands in nothing alone."""
    if not run:
        return not words
    return f" {' '.join(run)} " in f" {' '.join(words)} "


def _spaced(text: str) -> str:
    if text.isascii():
        return text
    return _WITHOUT_SPACES.sub(r" \1 ", _THEIR_PUNCTUATION.sub(" ", text))
