"""Words of a text as terms to search by: the one place of lexical analysis.

Passages and queries go through the same steps, so every engine ranks alike. Passages keep
their stop words (`terms`), queries drop them unless nothing else is left (`query_terms`):
"to be or not to be" still finds Hamlet, and no question pays for its "of the".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from secondlook.errors import UsageError
from secondlook.retrieval.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANALYSER_VERSION: Final = 1
"""Raised whenever the terms of some text change: a library made before must be indexed anew."""

LANGUAGES: Final[dict[str, str]] = {
    "none": "none",
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "th": "thai",
    "tr": "turkish",
    "vi": "vietnamese",
    "yi": "yiddish",
    "zh": "chinese",
}
"""Accepted languages: ISO 639-1 code and name. Both are accepted, in any case."""

_UNSTEMMED = frozenset({"none", "japanese", "korean", "thai", "vietnamese", "chinese"})
_ELIDING = frozenset({"french", "italian", "catalan"})
"""Languages that write l'amour: what stands before the apostrophe is a word of its own."""

_LONGEST_TERM = 64
"""A SHA-256 in hexadecimal is worth finding; what is longer is data, not words."""
_CACHED_WORDS = 50_000
_LETTERS_WITHOUT_MARKS = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f"))

_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\U00020000-\U0003ffff"
)
"""Scripts written without spaces between words, or (Hangul) with endings glued to them."""


def terms(text: str, language: str = "english") -> tuple[str, ...]:
    """The terms of a passage, in order and with repetitions."""
    return tuple(term for term, _ in _analysed(text, language_name(language)))


def query_terms(text: str, language: str = "english") -> tuple[str, ...]:
    """The terms of a query: like a passage's, without stop words unless it has nothing else."""
    found = list(_analysed(text, language_name(language)))
    telling = tuple(term for term, is_stop_word in found if not is_stop_word)
    return telling or tuple(term for term, _ in found)


def language_name(language: str) -> str:
    """The name of a language given by name or ISO 639-1 code."""
    asked = language.strip().lower()
    name = LANGUAGES.get(asked, asked)
    if name not in LANGUAGES.values():
        raise UsageError(
            f"Unknown language {language!r}",
            hint=f"Use one of: {', '.join(sorted(LANGUAGES.values()))}.",
        )
    return name


def _analysed(text: str, language: str) -> Iterator[tuple[str, bool]]:
    """Each term, and whether it is a stop word."""
    analyse_word = _word_analyser(language)
    for found in _tokens().finditer(_normalised(text, language)):
        if found["run"]:
            yield from ((pair, False) for pair in _overlapping_pairs(found["run"]))
        elif found["compound"]:
            yield from _compound(found["compound"], analyse_word)
        elif len(found[0]) <= _LONGEST_TERM:
            yield from analyse_word(found[0])


def _normalised(text: str, language: str) -> str:
    if language == "turkish":
        text = text.replace("I", "ı").replace("İ", "i")
    folded = unicodedata.normalize("NFKC", text).casefold()
    # casefold can undo the composition that NFKC made
    return unicodedata.normalize("NFKC", folded).translate(_INVISIBLE)


def _compound(
    compound: str, analyse_word: Callable[[str], tuple[tuple[str, bool], ...]]
) -> Iterator[tuple[str, bool]]:
    """Each part of a hyphenated word, and a word of two parts also written as one: e-mail is
    found by email, and a word that a page broke at the end of a line by itself."""
    parts = _HYPHEN.split(compound)
    for part in parts:
        if len(part) <= _LONGEST_TERM:
            yield from analyse_word(part)
    if len(parts) == 2 and len(compound) <= _LONGEST_TERM:  # noqa: PLR2004
        yield from analyse_word("".join(parts))


def _overlapping_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


@lru_cache(maxsize=1)
def _tokens() -> re.Pattern[str]:
    marks = _combining_marks()
    letter = rf"(?:[^\W_{_NO_SPACES}]|[{marks}])"
    word = rf"{letter}+(?:['’]{letter}+)*"
    return re.compile(
        rf"(?P<run>[{_NO_SPACES}]+)"
        r"|(?P<number>\d+(?:[.,:]\d+)+)"
        r"|(?P<symbol>(?<!\w)(?:[a-z]\+\+|[a-z]\#)(?!\w))"
        rf"|(?P<compound>{word}(?:{_HYPHEN.pattern}{word})+)"
        rf"|(?P<word>{word})"
    )


_HYPHEN = re.compile(r"[-‐‑](?:[ \t]*\n[ \t]*)?")


def _combining_marks() -> str:
    """Vowel signs and accents: `\\w` leaves them out and would tear Hindi words apart."""
    return "".join(
        chr(code)
        for code in (*range(0x300, 0x1E00), *range(0xA660, 0xABF0))
        if unicodedata.category(chr(code)) in {"Mn", "Mc"}
    )


@lru_cache(maxsize=8)
def _word_analyser(language: str) -> Callable[[str], tuple[tuple[str, bool], ...]]:
    """What a word becomes: cached, for most words of a text have been seen before."""
    stem = _stemmer(language)
    stop_words = STOP_WORDS.get(language, frozenset())

    @lru_cache(maxsize=_CACHED_WORDS)
    def analyse_word(word: str) -> tuple[tuple[str, bool], ...]:
        made = ((part, part in stop_words) for part in _spoken_words(word, language))
        return tuple((stem(part), is_stop_word) for part, is_stop_word in made if part)

    return analyse_word


def _spoken_words(word: str, language: str) -> list[str]:
    plain = word.replace("’", "'")
    if plain[0].isdigit():
        return [plain.replace(",", "")] if _GROUPED.fullmatch(plain) else [plain]
    if language in _ELIDING:
        return plain.split("'")
    if plain.endswith("'s"):
        plain = plain[:-2]
    return [plain.replace("'", "")]


_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def _stemmer(language: str) -> Callable[[str], str]:
    if language in _UNSTEMMED:
        return _without_accents
    import Stemmer

    stem = Stemmer.Stemmer(language, 0).stemWord  # our own cache is in front of it
    if language == "english":  # its accents are foreign: naïve, résumé
        return lambda word: stem(_without_accents(word))
    return lambda word: _without_accents(stem(word))


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    kept = (char for char in parts if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS_WITHOUT_MARKS)
