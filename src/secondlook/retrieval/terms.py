"""Words of a text as terms: the one place of lexical analysis, for passages and queries, so that
every engine ranks alike. Queries drop stop words unless nothing else is left: "to be or not to be"
still finds Hamlet."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

from secondlook.errors import UsageError

ANALYSER_VERSION: Final = 1  # raised whenever the terms of some text change

_CODES = """
    none:none ar:arabic ca:catalan cs:czech da:danish de:german el:greek en:english eo:esperanto
    es:spanish et:estonian eu:basque fa:persian fi:finnish fr:french ga:irish hi:hindi hu:hungarian
    hy:armenian id:indonesian it:italian ja:japanese ko:korean lt:lithuanian ne:nepali nl:dutch
    no:norwegian pl:polish pt:portuguese ro:romanian ru:russian sr:serbian sv:swedish ta:tamil
    th:thai tr:turkish vi:vietnamese yi:yiddish zh:chinese"""
LANGUAGES: Final[dict[str, str]] = {
    code: name for code, _, name in (pair.partition(":") for pair in _CODES.split())
}
_NAMES = frozenset(LANGUAGES.values())
_UNSTEMMED = frozenset({"none", "japanese", "korean", "thai", "vietnamese", "chinese"})
_ELIDING = frozenset({"french", "italian", "catalan"})  # l'amour is two words

_LONGEST_TERM = 64  # a SHA-256 in hexadecimal is worth finding; what is longer is data, not words
_LONGEST_PREFIX = 5  # compounds that begin so are also one word: e-mail, non-linear
_LONGEST_CACHED = 32

_APOSTROPHES = {0x2019: "'", 0x2BC: "'"}
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
    name = language_name(language)
    return tuple(chain.from_iterable(map(_analyser(name), _tokens(text, name))))


def query_terms(text: str, language: str = "english") -> tuple[str, ...]:
    name = language_name(language)
    words = [word for token in _tokens(text, name) for word in _words(token, name)]
    stop_words = STOP_WORDS.get(name, frozenset())
    telling = [word for word in words if word not in stop_words]
    return tuple(map(_stemmer(name), telling or words))


def language_name(language: str) -> str:
    asked = language.strip().lower()
    name = LANGUAGES.get(asked, asked)
    if name not in _NAMES:
        raise UsageError(
            f"Unknown language {language!r}", hint=f"Use one of: {', '.join(sorted(_NAMES))}."
        )
    return name


def _tokens(text: str, language: str) -> list[str]:
    """Stretches of text to be analysed one by one: words, compounds, numbers, runs of CJK."""
    if language == "turkish":
        text = text.replace("I", "\u0131").replace("İ", "i")
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():  # casefold can undo the composition that NFKC made
        folded = unicodedata.normalize("NFKC", folded).translate(_INVISIBLE)
    return _token_pattern().findall(folded)


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    # Vowel signs and accents: `\\w` leaves them out and would tear Hindi words apart.
    marks = "".join(
        chr(code)
        for code in (*range(0x300, 0xE00), *range(0xF00, 0x1E00), *range(0xA660, 0xABF0))
        if unicodedata.category(chr(code)) in {"Mn", "Mc"}
    )
    word = rf"(?:[^\W_{_NO_SPACES}]++[{marks}]*+)++"
    spoken = rf"{word}(?:['\u2019\u02bc]{word})*"
    return re.compile(
        rf"[{_NO_SPACES}]+"
        r"|\d+(?:[.,:]\d+)+"  # 3.5, 1,000, 12:30
        r"|\b[a-z](?:\+\+|\#)(?!\w)"  # c++, c#
        r"|\b(?:[^\W\d_]\.){2,}"  # u.s.a.
        rf"|{spoken}(?:{_HYPHENS.pattern}{spoken})*"
    )


@lru_cache(maxsize=8)
def _analyser(language: str) -> Callable[[str], tuple[str, ...]]:
    """What a token becomes: cached, for most tokens of a text have been seen before."""
    stem = _stemmer(language)

    def analyse(token: str) -> tuple[str, ...]:
        return tuple(map(stem, _words(token, language)))

    remembered = lru_cache(maxsize=50_000)(analyse)
    # long tokens (sentences of Chinese, encoded data) do not come back: not worth the memory
    return lambda token: analyse(token) if len(token) > _LONGEST_CACHED else remembered(token)


def _words(token: str, language: str) -> Iterator[str]:
    if _RUN.match(token):  # overlapping pairs
        found = [token[at : at + 2] for at in range(len(token) - 1)] or [token]
    elif token[0].isdigit() and _GROUPED_DIGITS.fullmatch(token):
        found = [token.replace(",", "")]
    elif token.endswith("."):
        found = [token.replace(".", "")]
    else:
        # Each part of a compound, and the whole as one word where people write it so (e-mail,
        # email) or where a line of the page ended inside a word.
        parts = _HYPHENS.split(token.translate(_APOSTROPHES))
        if len(parts) == 2 and (len(parts[0]) <= _LONGEST_PREFIX or "\n" in token):  # noqa: PLR2004
            parts.append("".join(parts))
        if language in _ELIDING:
            found = [word for part in parts for word in part.split("'")]
        else:
            found = [part.removesuffix("'s").replace("'", "") for part in parts]
    return (word for word in found if 0 < len(word) <= _LONGEST_TERM)


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


# Function words that a query can do without. Other languages have no list.

_ENGLISH = """
    a about after again all am an and any are arent as at be because been before being below
    between both but by can cannot cant could couldnt did didnt do does doesnt doing dont down
    during each few for from further had hadnt has hasnt have havent having he her here hers
    herself him himself his how i if im in into is isnt it its itself ive just me more most my
    myself no nor not of off on once only or other our ours ourselves out over own same she
    should shouldnt so some such than that the their theirs them themselves then there these
    they this those through to too under until up very was wasnt we were werent what when where
    which while who whom whose why will with wont would wouldnt you your yours yourself
    yourselves"""

STOP_WORDS: Final[dict[str, frozenset[str]]] = {"english": frozenset(_ENGLISH.split())}
