"""Words of questions, names and cells: how they are cut, what they are reduced to, word lists.

`stem` and `atoms` are for names of columns and questions about measures; `base` and `tokens` keep
more of a word, for questions about rows, whose cells are compared word by word.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from secondlook.reading.numbers import MONTHS as MONTH_NAMES

SHORTEST_PREFIX = 3
SHORTEST_STEM = 4
"""Letters of a word whose ending is cut."""
FIRST_YEAR, LAST_YEAR = 1000, 2100
ATOM = re.compile(r"[^\W\d_]+|\d+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLAIN = re.compile(r"[\w.]+")
TOKEN = re.compile(
    r"[<>!=]=|<>|[<>=\u2264\u2265\u2260]|(?<!\S)-(?=\d)(?:\d+\.\d+|\d+)|\d+(?:st|nd|rd|th)\b"
    r"|\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[^\w\s]"
)
_SIGNS = frozenset("<>=\u2264\u2265\u2260")
_STRAIGHT = str.maketrans({"\u2019": "'", "\u2013": "-", "\u2014": "-"})
_STOP = """a an the of in on at by for from to with without within into and or nor not no but if
then than that this these those there their its his her our your my it he she they we you i is are
was were be been being am do does did done has have had having can could will would shall should
may might must what which who whom whose when where why how each every all any some per as so such
also only just about over under between among out up down off until while during before after above
below again further here both few more most other same own too very s t please me us them him"""
STOP_WORDS = frozenset(_STOP.split())
_ASKING = """many much name list tell one make made get got give show find table column row
according listed following total number amount less least ever"""
FUNCTION_WORDS = STOP_WORDS | set(_ASKING.split())
"""Words that name no value and no column of a row by themselves."""
_EMPTY = """a an the of in on at to for by with from as is was were are be been being do does did
has have had that this these those there their they he she it its his her them you i we us our your
my and or me please according listed list table column row chart so into also would will can could
ever shown given following all any each such out up s one ones"""
EMPTY_WORDS = frozenset(_EMPTY.split())
"""Words that a reading about rows need not account for."""

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
NUMBER_WORDS = {word: number for number, word in enumerate(_TO_TWENTY.split())} | {
    "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12,
}  # fmt: skip
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}

_SAME = """avg average mean; num number count no nr; max maximum highest; min minimum lowest;
std sd stdev deviation; pct percent percentage perc; qty quantity; amt amount; yr year; mo month;
hr hour; dept department; lat latitude; lon lng longitude; tel telephone phone; addr address;
dob birthdate; sex gender; len length; wt weight; ht height; vol volume; diff difference;
sib sibling; kid child; salary wage; revenue sale; client customer; item product; nation country"""
MEANS = {word: group.split()[0] for group in _SAME.split(";") for word in group.split()}
"""Words that mean the same in names of columns, as the first of them."""
_PEOPLE = "men:man women:woman people:person children:child"
IRREGULAR = dict(pair.split(":") for pair in _PEOPLE.split())
_FORMS = """won:win wins:win winner:win winners:win winning:win lost:loss lose:loss losses:loss
losing:loss drawn:draw tied:tie ties:tie series:series built:build written:writer wrote:writer
directed:director produced:producer elected:election scored:score movie:film movies:film"""
BASES = IRREGULAR | dict(pair.split(":") for pair in _FORMS.split())


@dataclass(frozen=True, slots=True)
class Atom:
    start: int
    end: int
    text: str
    """In small letters."""


def atoms(text: str) -> list[Atom]:
    """Runs of letters or of digits, camel case taken apart."""
    found = []
    for run in ATOM.finditer(text):
        cuts = [0, *(one.start() for one in CAMEL.finditer(run[0])), len(run[0])]
        for low, high in pairwise(cuts):
            piece = run[0][low:high]
            found.append(Atom(run.start() + low, run.start() + high, piece.casefold()))
    return found


def squeezed(text: str) -> str:
    return "".join(atom.text for atom in atoms(text))


def singular(word: str) -> str:
    if len(word) > SHORTEST_STEM and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > SHORTEST_STEM and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) >= SHORTEST_STEM and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Without the endings of English plurals and verbs; words that mean the same made one."""
    word = IRREGULAR.get(word, word)
    if word in MEANS:
        return MEANS[word]
    if (one := singular(word)) != word:
        return MEANS.get(one, one)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            root = word[: -len(ending)]
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "ls" else root
    return word


def same_word(one: str, other: str) -> bool:
    """The same, or one short for the other: `temp` for `temperature`."""
    short, long = sorted((one, other), key=len)
    is_short = len(short) >= SHORTEST_PREFIX and len(long) >= len(short) + 2
    return one == other or (is_short and long.startswith(short))


@dataclass(frozen=True, slots=True)
class Token:
    start: int
    end: int
    text: str
    """In lower case, without accents."""
    stem: str


@lru_cache(maxsize=50_000)
def tokens(text: str) -> tuple[Token, ...]:
    """Words and numbers of a text in order, punctuation left out."""
    found = []
    for match in TOKEN.finditer(text):
        if match[0].isalnum() or len(match[0]) > 1 or match[0] in _SIGNS:
            word = match[0].lower().translate(_STRAIGHT)
            if not word.isascii():
                decomposed = unicodedata.normalize("NFKD", word)
                word = "".join(one for one in decomposed if not unicodedata.combining(one))
            found.append(Token(match.start(), match.end(), word, base(word)))
    return tuple(found)


def bases(text: str) -> tuple[str, ...]:
    return tuple(token.stem for token in tokens(text))


@lru_cache(maxsize=50_000)
def base(word: str) -> str:
    """Without the endings of plurals, possessives and ordinals."""
    word = word.removesuffix("'s").removesuffix("'")
    if word[:1].isdigit():
        return re.sub(r"^(\d+)(?:st|nd|rd|th)$", r"\1", word)
    return BASES.get(word) or singular(word)


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


def stems(*texts: str) -> set[str]:
    """Of the words that are no stop words, where there are others."""
    words = {atom.text for text in texts for atom in atoms(text)}
    return {stem(word) for word in words - STOP_WORDS or words}


def plain(text: str) -> str:
    """Its words alone, in small letters, with a blank before and after each."""
    return f" {' '.join(_PLAIN.findall(text.casefold()))} "
