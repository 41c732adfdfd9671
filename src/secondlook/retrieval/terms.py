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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANALYSER_VERSION: Final = 1
"""Raised whenever the terms of some text change: a library made before must be indexed anew."""

_CODES = """
    none:none ar:arabic ca:catalan cs:czech da:danish de:german el:greek en:english eo:esperanto
    es:spanish et:estonian eu:basque fa:persian fi:finnish fr:french ga:irish hi:hindi hu:hungarian
    hy:armenian id:indonesian it:italian ja:japanese ko:korean lt:lithuanian ne:nepali nl:dutch
    no:norwegian pl:polish pt:portuguese ro:romanian ru:russian sr:serbian sv:swedish ta:tamil
    th:thai tr:turkish vi:vietnamese yi:yiddish zh:chinese"""
LANGUAGES: Final[dict[str, str]] = {
    code: name for code, _, name in (pair.partition(":") for pair in _CODES.split())
}
"""Languages by ISO 639-1 code. Codes and names are accepted, in any case."""
_NAMES = frozenset(LANGUAGES.values())
_UNSTEMMED = frozenset({"none", "japanese", "korean", "thai", "vietnamese", "chinese"})
_ELIDING = frozenset({"french", "italian", "catalan"})
"""Languages that write l'amour: what stands before the apostrophe is a word of its own."""

_LONGEST_TERM = 64  # a SHA-256 in hexadecimal is worth finding; what is longer is data, not words
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
    spoken = rf"{word}(?:[{_APOSTROPHES}]{word})*"
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

    remembered = lru_cache(maxsize=_CACHED_TOKENS)(analyse)
    # long tokens (sentences of Chinese, encoded data) do not come back: not worth the memory
    return lambda token: analyse(token) if len(token) > _LONGEST_CACHED else remembered(token)


def _words(token: str, language: str) -> Iterator[str]:
    for word in _parts(token, language):
        if 0 < len(word) <= _LONGEST_TERM:
            yield word


def _parts(token: str, language: str) -> Iterator[str]:
    if _RUN.match(token):  # overlapping pairs
        yield from [token[at : at + 2] for at in range(len(token) - 1)] or [token]
    elif token[0].isdigit() and _GROUPED_DIGITS.fullmatch(token):
        yield token.replace(",", "")
    elif token.endswith("."):
        yield token.replace(".", "")
    else:
        # Each part of a compound, and the whole as one word where people write it so (e-mail,
        # email) or where a line of the page ended inside a word.
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


# Function words that a query can do without, per language.

_LISTS: Final[dict[str, str]] = {
    "english": """
        a about after again all am an and any are arent as at be because been before being below
        between both but by can cannot cant could couldnt did didnt do does doesnt doing dont down
        during each few for from further had hadnt has hasnt have havent having he her here hers
        herself him himself his how i if im in into is isnt it its itself ive just me more most my
        myself no nor not of off on once only or other our ours ourselves out over own same she
        should shouldnt so some such than that the their theirs them themselves then there these
        they this those through to too under until up very was wasnt we were werent what when where
        which while who whom whose why will with wont would wouldnt you your yours yourself
        yourselves""",
    "german": """
        aber als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem
        den denn der des dessen deren die dies diese diesem diesen dieser dieses dir doch dort du
        durch ein eine einem einen einer eines er es etwas euch euer für gegen gewesen hab habe
        haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in
        indem ins ist ja jede jedem jeden jeder jedes jener jetzt kann kein keine können könnte man
        manche mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein
        seine seinem seinen seiner sich sie sind so soll sollte sondern sonst über um und uns unser
        unter vom von vor war waren warum was weil welche welchem welchen welcher welches wenn wer
        werde werden wessen wie wieder will wir wird wo wollen wurde wurden würde zu zum zur zwar
        zwischen""",
    "french": """
        à ai aie ait as au aux avait avec avez avons ayant c ce cela ces cet cette ceux chez comme
        comment d dans de des dont du elle elles en encore es est et était étaient étant été être eu
        eux fut furent il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne ni
        nos notre nous on ont ou où par pas pendant peut plus pour pourquoi qu quand que quel quelle
        quelles quels qui quoi s sa sans se sera seront ses si soit son sont sous sur t ta te tes
        toi ton tous tout toute toutes tu un une vos votre vous y""",
    "spanish": """
        a al algo algunas algunos ante antes como con contra cual cuál cuando cuándo cuánto cómo de
        del desde donde dónde durante e el él ella ellas ellos en entre era eran eres es esa esas
        ese eso esos esta está estaba estado están estas este esto estos fue fueron ha había habían
        han hasta hay he la las le les lo los más me mi mis mucho muy nada ni no nos nosotros
        nuestra nuestro o os otra otro para pero poco por porque qué que quien quién quienes se sea
        ser si sí sido sin sobre son su sus también tanto te tiene tienen todo todos tu tú tus un
        una uno unos vosotros y ya yo""",
    "italian": """
        a ad agli ai al all alla alle allo anche avere aveva c che chi ci coi col come con contro
        cosa cui d da dagli dai dal dall dalla dalle dallo degli dei del dell della delle dello di
        dove e è ed era erano essere fra fu furono gli ha hanno ho i il in io l la le lei li lo loro
        lui ma mi mia mio ne negli nei nel nell nella nelle nello noi non nostra nostro o per perché
        più quale quali quando quanto quella quelle quelli quello questa queste questi questo s se
        sei si sia sono su sua sue sugli sui sul sull sulla sulle sullo suo suoi ti tra tu tua tuo
        tutti tutto un una uno vi voi""",
    "portuguese": """
        a à ao aos aquela aquele as às até com como da das de dela dele deles depois do dos e é ela
        elas ele eles em entre era eram essa esse esta está estão este eu foi for foram há isso isto
        já lhe lhes mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa
        o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto que quê quem se
        sem ser será seu seus só sua suas são também te tem têm tinha tu um uma uns você vocês
        vos""",
    "dutch": """
        aan al als bij daar dan dat de der deze die dit doen door dus een en er ge geen had heb
        hebben heeft hem het hier hij hoe hun ik in is ja je kan kon kunnen maar me men met mij mijn
        naar niet niets nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit uw van
        veel voor waar waarom wanneer want waren was wat we wel welke werd werden wie wij wil worden
        wordt zal ze zelf zich zij zijn zo zonder zou""",
    "swedish": """
        alla allt än är att av blev bli blir de dem den denna deras dess dessa det detta dig din du
        där då efter ej eller en er ett från för ha hade han hans har henne hennes hon honom hur här
        i icke ingen inom inte jag ju kan kunde man med mellan men mig min mitt mot mycket ni nu när
        någon något några och om oss på samma sedan sig sin sina sitt själv skulle som så till under
        upp ut utan vad var varför vara vart vem vi vid vilka vilken vilket vår""",
    "danish": """
        af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din du
        efter eller en end er et for fra før ham han hans har havde have hende hendes her hos hun
        hvad hvem hver hvilken hvis hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kan kunne man
        mange med meget men mig min mod ned noget nogen nogle nu når og også om op os over på selv
        sig sin skal skulle som sådan til ud under var vi vil ville vor være været""",
    "norwegian": """
        alle at av ble bli blir da de deg dem den denne der deres det dette din du eller en enn er
        et etter for fra før ha hadde han hans har henne hennes her hos hun hva hvem hvilken hvis
        hvor hvordan hvorfor i ikke inn jeg kan kunne man mange med meg mellom men min mot mye ned
        noe noen nå når og også om opp oss over på seg selv sin skal skulle som så til ut under var
        ved vi vil ville vår være vært å""",
    "russian": """
        а без был была были было быть в вам вас весь во вот все всех вы где да для до его ее её если
        есть еще ещё же за и из или им их к как какая какие какой когда кто ли между меня мне мой мы
        на над не него нее неё нет ни них но ну о об он она они оно от по под после почему при про с
        свой себя со так также такой там тем то того тоже той только том ты у уже чего чем что чтобы
        эта эти это этого этой этот я""",  # noqa: RUF001
}

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}
