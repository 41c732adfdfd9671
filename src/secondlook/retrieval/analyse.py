"""Words of a text as terms to search by: the one place of lexical analysis.

Passages and queries go through the same steps, so every engine ranks alike. Passages keep
their stop words (`terms`), queries drop them unless nothing else is left (`query_terms`):
"to be or not to be" still finds Hamlet, and no question pays for its "of the".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain
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
_LONGEST_PREFIX = 5
"""Compounds that begin with so few letters are also written as one word: e-mail, non-linear."""
_CACHED_TOKENS = 50_000
_LONGEST_CACHED = 32

_APOSTROPHES = "'\u2019\u02bc"
_HYPHEN = r"[-\u2010\u2011]"
_LINE_BREAK = r"(?:[ \t]*\n[ \t]*)"
_LETTERS_WITHOUT_MARKS = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "\u0131": "i"}
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f"))
_NO_SPACES = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\u1100-\u11ff\uac00-\ud7af"  # Hangul
    r"\U00020000-\U0003ffff"
)
"""Scripts written without spaces between words, or (Hangul) with endings glued to them."""

_RUN = re.compile(rf"[{_NO_SPACES}]+")
_HYPHENS = re.compile(rf"{_HYPHEN}{_LINE_BREAK}?")
_GROUPED_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def terms(text: str, language: str = "english") -> tuple[str, ...]:
    """The terms of a passage, in order and with repetitions."""
    name = language_name(language)
    return tuple(chain.from_iterable(map(_analyser(name), _tokens(text, name))))


def query_terms(text: str, language: str = "english") -> tuple[str, ...]:
    """The terms of a query: like a passage's, without stop words unless it has nothing else."""
    name = language_name(language)
    words = [word for token in _tokens(text, name) for word in _words(token, name)]
    stop_words = STOP_WORDS.get(name, frozenset())
    telling = [word for word in words if word not in stop_words]
    return tuple(map(_stemmer(name), telling or words))


def language_name(language: str) -> str:
    """The name of a language given by name or ISO 639-1 code."""
    asked = language.strip().lower()
    name = LANGUAGES.get(asked, asked)
    if name not in _NAMES:
        raise UsageError(
            f"Unknown language {language!r}", hint=f"Use one of: {', '.join(sorted(_NAMES))}."
        )
    return name


_NAMES = frozenset(LANGUAGES.values())


def _tokens(text: str, language: str) -> list[str]:
    """Stretches of text to be analysed one by one: words, compounds, numbers, runs of CJK."""
    return _token_pattern().findall(_normalised(text, language))


def _normalised(text: str, language: str) -> str:
    if language == "turkish":
        text = text.replace("I", "\u0131").replace("İ", "i")
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():  # casefold can undo the composition that NFKC made
        folded = unicodedata.normalize("NFKC", folded).translate(_INVISIBLE)
    return folded


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    letter, mark = rf"[^\W_{_NO_SPACES}]", f"[{_combining_marks()}]"
    word = rf"(?:{letter}++{mark}*+)++"
    spoken = rf"{word}(?:[{_APOSTROPHES}]{word})*"
    return re.compile(
        rf"[{_NO_SPACES}]+"
        r"|\d+(?:[.,:]\d+)+"  # 3.5, 1,000, 12:30
        r"|\b[a-z](?:\+\+|\#)(?!\w)"  # c++, c#
        r"|\b(?:[^\W\d_]\.){2,}"  # u.s.a.
        rf"|{spoken}(?:{_HYPHENS.pattern}{spoken})*"
    )


def _combining_marks() -> str:
    """Vowel signs and accents: `\\w` leaves them out and would tear Hindi words apart."""
    return "".join(
        chr(code)
        for code in (*range(0x300, 0xE00), *range(0xF00, 0x1E00), *range(0xA660, 0xABF0))
        if unicodedata.category(chr(code)) in {"Mn", "Mc"}
    )


@lru_cache(maxsize=8)
def _analyser(language: str) -> Callable[[str], tuple[str, ...]]:
    """What a token becomes: cached, for most tokens of a text have been seen before."""
    stem = _stemmer(language)

    def analyse(token: str) -> tuple[str, ...]:
        return tuple(map(stem, _words(token, language)))

    remembered = lru_cache(maxsize=_CACHED_TOKENS)(analyse)
    # long tokens (sentences of Chinese, encoded data) do not come back: not worth the memory
    return lambda token: analyse(token) if len(token) > _LONGEST_CACHED else remembered(token)


def _words(token: str, language: str) -> Iterator[str]:
    for word in _parts(token, language):
        if 0 < len(word) <= _LONGEST_TERM:
            yield word


def _parts(token: str, language: str) -> Iterator[str]:
    if _RUN.match(token):
        yield from _overlapping_pairs(token)
    elif token[0].isdigit() and _GROUPED_DIGITS.fullmatch(token):
        yield token.replace(",", "")
    elif token.endswith("."):
        yield token.replace(".", "")
    else:
        yield from _compound(token, language)


def _overlapping_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _compound(token: str, language: str) -> Iterator[str]:
    """Each part, and the whole as one word where people write it so (e-mail, email) or where a
    line of the page ended inside a word."""
    parts = _HYPHENS.split(token)
    for part in parts:
        yield from _without_apostrophes(part, language)
    if len(parts) == 2 and (len(parts[0]) <= _LONGEST_PREFIX or "\n" in token):  # noqa: PLR2004
        yield from _without_apostrophes("".join(parts), language)


def _without_apostrophes(word: str, language: str) -> list[str]:
    for apostrophe in _APOSTROPHES[1:]:
        word = word.replace(apostrophe, "'")
    if language in _ELIDING:
        return word.split("'")
    return [word.removesuffix("'s").replace("'", "")]


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Callable[[str], str]:
    if language in _UNSTEMMED:
        return _without_accents
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer(language, 0).stemWord  # cached by _analyser
    if language == "english":  # its accents are foreign: naïve, résumé
        return lambda word: stem(_without_accents(word))
    return lambda word: _without_accents(stem(word))


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    kept = (char for char in parts if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS_WITHOUT_MARKS)
