"""Words of questions, names and cells: how they are cut, what they are reduced to, word lists."""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from secondlook.reading.numbers import MONTHS as MONTH_NAMES

SHORTEST_PREFIX = 3
SHORTEST_STEM = 4  # Letters of a word whose ending is cut
ATOM = re.compile(r"[^\W\d_]+|\d+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLAIN = re.compile(r"[\w.]+")
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

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
NUMBER_WORDS = {word: number for number, word in enumerate(_TO_TWENTY.split())} | {
    "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12,
}  # fmt: skip
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


def without_names(text: str, names: list[str]) -> str:
    """What is left of a question beside the columns that it names: a column called "growth" asks
    for no trend."""
    listed = "|".join(map(re.escape, sorted(filter(None, names), key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{listed})(?!\w)", " ", text, flags=re.IGNORECASE) if listed else text


@dataclass(frozen=True, slots=True)
class Atom:
    start: int
    end: int
    text: str  # In small letters


def atoms(text: str) -> list[Atom]:
    """Runs of letters or of digits, camel case taken apart."""
    found = []
    for run in ATOM.finditer(text):
        cuts = [0, *(one.start() for one in CAMEL.finditer(run[0])), len(run[0])]
        for low, high in pairwise(cuts):
            piece = run[0][low:high]
            found.append(Atom(run.start() + low, run.start() + high, piece.casefold()))
    return found


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


def stems(*texts: str) -> set[str]:
    """Of the words that are no stop words, where there are others."""
    words = {atom.text for text in texts for atom in atoms(text)}
    return {stem(word) for word in words - STOP_WORDS or words}


def plain(text: str) -> str:
    """Its words alone, in small letters, with a blank before and after each."""
    return f" {' '.join(_PLAIN.findall(text.casefold()))} "
