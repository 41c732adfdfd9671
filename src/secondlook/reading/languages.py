"""Whether a text is in a language that a reader was not trained for: there its scores were never
measured. What cannot be told (a row of names or figures, code) counts as known. Most texts are told
by their little words; only the rest goes to py3langid, which loads slowly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Collection

    from secondlook.reading.port import Reader

ENGLISH: Final = ("english",)  # What a reader that does not say was trained for

_NAMES: Final = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech",
    "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian",
    "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian",
    "kk": "Kazakh", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ky": "Kyrgyz", "lo": "Lao",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam",
    "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese",
    "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian", "no": "Norwegian", "or": "Odia",
    "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "so": "Somali",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil",
    "te": "Telugu", "tg": "Tajik", "th": "Thai", "tk": "Turkmen", "tl": "Tagalog",
    "tr": "Turkish", "tt": "Tatar", "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu",
    "uz": "Uzbek", "vi": "Vietnamese", "xh": "Xhosa", "yo": "Yoruba", "zh": "Chinese",
    "zu": "Zulu",
}  # fmt: skip
"""The languages that are told apart. Smaller ones that py3langid knows are left out: it takes
English terms of science for Latin and lists of names for Aragonese."""

_ENGLISH_WORDS: Final = frozenset(
    """
    a about after all also an and any are as at be because been before being between both but by
    can could did do does during each for from had has have he her here him his how if in into is
    it its many more most much no not of on one only or other our out over she should so some such
    than that the their them then there these they this those through to under until up was we
    were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905  # a hundred quoted words are harder to read
)
_OTHER_WORDS: Final = (
    frozenset(
        # Little words of languages in Latin letters that are no English words nor parts of names.
        """
    auch auf bei dem ein eine einem einen einer für im ist mit nach nicht sich sind und viel wann
    warum welche welcher welches wer werden wie wird wo wurde wurden zu zum zur
    avec aux cette combien dans elle est et il les où par pas quand que quel quelle quelles quels
    qui sont une été
    con cuál cuáles cuándo cuánta cuánto cómo dónde es está fue fueron los las para por que qué
    quién quiénes se su sus una
    che chi dove gli il nel nella per perché quale quali quando quanti quanto sono una è
    com em foi não onde os para por quais qual quando quanto quem são uma é
    een het heeft hoeveel met niet voor waar waarom wanneer wat welke werd wie wordt zijn
    att av det för hur inte med när och på som till vad vem vilka vilken är
    af hva hvad hvem hvilken hvor hvordan hvornår ikke og når
    että joka ja kuinka kuka mikä milloin missä mitä oli
    czy gdzie ile jak jaki jest kiedy kto która który nie się
    jak je kde kdo kdy kedy kolik koľko která který
    gde gdje kada kako koliko ko su tko kdaj kje
    care când cine cât câte câți este și unde în
    az egy és hogyan hol mennyi mikor nem
    bir bu için ile kaç kim nerede ve zaman
    apa bagaimana berapa dan dengan itu kapan siapa untuk yang
    bao các của gì không là nhiêu nào và đã đâu được
    amb els és on què quan són
    kes kui kus millal mis
    ir kad kas kiek kur yra cik
    ang kailan mga saan sino
    kwa lini nani ngapi wapi
    estas kiam kie kio kiom kiu
    """.split()  # noqa: SIM905
    )
    - _ENGLISH_WORDS
)

_ENOUGH_ENGLISH = 0.25
"""Share of English little words above which a text is English. Of English passages 1 in 200 has
fewer, of sentences in other languages 1 in 200 has more (docs/models.md)."""
_UNSURE = 0.1  # Probability of a known language above which a text counts as one
_UNSURE_DESPITE_OTHERS = 0.5  # The same for a text that has little words of another language
_FEW_WORDS = 5
"""A text with fewer must show a little word of another language, or a letter that English does not
have: "hotel rules" are two words of which nobody can tell the language."""
_PROSE = 0.3  # Share of words in small letters below which a text is names, figures or code
_OTHER_SCRIPT = 0.5
_SEEN = 2000  # Characters of a text that are looked at

_LATIN = "[a-zA-Z\u00aa-\u024f\u1e00-\u1eff]"
_WORD = re.compile(
    # No part of a number, a path, an address, an assignment, a tag or a call.
    rf"(?<![\w./\\@#$%=<>{{&]){_LATIN}+(?:['\u2019-]{_LATIN}+)*(?![\w(=/\\@%]|\.\w)"
)
_IDEOGRAPHS = (
    "\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_IN_OTHER_SCRIPTS = re.compile(
    # One letter by itself is a sign of mathematics; an ideograph is a word.
    rf"[\u0370-\u10ff\u1200-\u1cff\u1f00-\u1fff\ufb1d-\ufdff\ufe70-\ufefc]{{2,}}|[{_IDEOGRAPHS}]+"
)
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a reader is not trained to read, and the language it seems to be in."""

    what: Literal["passage", "question"]
    language: str
    trained: tuple[str, ...]

    @property
    def reason(self) -> str:
        trained = " and ".join(language.capitalize() for language in self.trained)
        return (
            f"the {self.what} is in {self.language}; the reader was trained for {trained}: "
            "how sure it is cannot be told"
        )


def trained_for(reader: Reader) -> tuple[str, ...]:
    """The languages that a reader says it was trained for."""
    languages: tuple[str, ...] = getattr(reader, "languages", ENGLISH)
    return languages


def foreign(question: str, passage: str, languages: Collection[str] = ENGLISH) -> Foreign | None:
    """Which of the two is in a language beside `languages`; None where neither seems to be."""
    trained = tuple(languages)
    what: Literal["passage", "question"]
    for what, text in (("passage", passage), ("question", question)):
        if language := other_language(text, trained):
            return Foreign(what, language, trained)
    return None


def knows(languages: Collection[str], code: str) -> bool:
    """Whether the language with this code is among them, by name or code."""
    known = frozenset(map(str.lower, languages))
    return code in known or _NAMES.get(code, code).lower() in known


def other_language(text: str, known: Collection[str] = ENGLISH) -> str | None:
    """The language of a text that is in none of the known ones; None where that is not certain.
    Languages are known by name or ISO 639-1 code, as settings write them."""
    known = frozenset(map(str.lower, known))
    seen = text[:_SEEN]
    if seen.isupper():
        seen = seen.lower()
    words = _WORD.findall(seen)
    # Whether more is written in other scripts than in Latin; an ideograph counts for two.
    runs = _IN_OTHER_SCRIPTS.findall(seen)
    others = sum(map(len, runs)) + len(_IDEOGRAPH.findall("".join(runs)))
    if others > 1 and others >= _OTHER_SCRIPT * (others + sum(map(len, words))):
        return _identified(" ".join(runs), known, at_least=_OTHER_SCRIPT)
    # Words in small letters, and the first one: what is left of a text without its names.
    prose = [word.lower() for at, word in enumerate(words) if word[0].islower() or at == 0]
    if len(prose) < _PROSE * len(seen.split()):
        return None
    little = sum(word in _ENGLISH_WORDS for word in prose)
    strange = sum(word in _OTHER_WORDS for word in prose)
    enough = max(strange + 1, _ENOUGH_ENGLISH * len(prose))
    if little >= enough and not known.isdisjoint(("english", "en")):
        return None
    # Single letters are names of variables, and what is said twice tells no more.
    few = len({word for word in prose if len(word) > 1}) < _FEW_WORDS
    if few and not strange and "".join(prose).isascii():
        return None
    unsure = _UNSURE_DESPITE_OTHERS if strange else _UNSURE
    return _identified(" ".join(prose), known, at_least=1 - unsure)


def _identified(text: str, known: frozenset[str], *, at_least: float) -> str | None:
    ranked: list[tuple[str, float]] = _identifier().rank(text)
    others = [(code, share) for code, share in ranked if not knows(known, code)]
    if not others or sum(share for _, share in others) < at_least:
        return None
    return _NAMES[others[0][0]]


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_NAMES)
    return identifier
