"""The words of names and questions: atoms with their places, stems, words that mean the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

ATOM = re.compile(r"[^\W\d_]+|\d+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
BREAK = re.compile(r"[\"“”;:!?()\n]|[.,]\s")
"""What no name is written across."""

_STOP = """a an the of in on at by for from to with without within into and or nor not no but if
then than that this these those there their its his her our your my it he she they we you i is are
was were be been being am do does did done has have had having can could will would shall should
may might must what which who whom whose when where why how each every all any some per as so such
also only just about over under between among out up down off until while during before after above
below again further here both few more most other same own too very s t please me us them him"""
STOP_WORDS = frozenset(_STOP.split())
_SAME: tuple[tuple[str, ...], ...] = (
    ("avg", "average", "mean"),
    ("num", "number", "count", "no", "nr"),
    ("max", "maximum", "highest"),
    ("min", "minimum", "lowest"),
    ("std", "sd", "stdev", "deviation"),
    ("pct", "percent", "percentage", "perc"),
    ("qty", "quantity"),
    ("amt", "amount"),
    ("yr", "year"),
    ("mo", "month"),
    ("hr", "hour"),
    ("dept", "department"),
    ("lat", "latitude"),
    ("lon", "lng", "longitude"),
    ("tel", "telephone", "phone"),
    ("addr", "address"),
    ("dob", "birthdate"),
    ("sex", "gender"),
    ("len", "length"),
    ("wt", "weight"),
    ("ht", "height"),
    ("vol", "volume"),
    ("diff", "difference"),
    ("sib", "sibling"),
    ("kid", "child"),
    ("salary", "wage"),
    ("revenue", "sale"),
    ("client", "customer"),
    ("item", "product"),
    ("nation", "country"),
)
MEANS = {word: group[0] for group in _SAME for word in group}
IRREGULAR = {"children": "child", "people": "person", "men": "man", "women": "woman"}
SHORTEST_STEM = 4


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


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Without the endings of English plurals and verbs; words that mean the same made one."""
    word = IRREGULAR.get(word, word)
    if word in MEANS:
        return MEANS[word]
    for ending, put in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return _known(word[: -len(ending)] + put)
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) >= SHORTEST_STEM:
        return _known(word[:-1])
    return _verb(word)


def _known(word: str) -> str:
    return MEANS.get(word, word)


def _verb(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            root = word[: -len(ending)]
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "ls" else root
    return word


def content(words: list[str]) -> list[str]:
    """Stems of the words that carry meaning."""
    return [stem(word) for word in words if word not in STOP_WORDS]


def squeezed(text: str) -> str:
    return "".join(atom.text for atom in atoms(text))
