"""What a question asks of every document of a set: which set, which field, and what is made of the
values. The understander may write it as a form; until it does, a small head on its vectors tells
(training/understander/surveys.py). A form may also be given as it is written:
`survey list: rent? || start? || lease`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from secondlook.reading.languages import ENGLISH, other_language
from secondlook.reading.understander import understander
from secondlook.retrieval.terms import query_terms
from secondlook.roles.follow_up import names
from secondlook.roles.wants import LONGEST, Act, Survey, is_everything, read_form, wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    Vectors = Any

Kind = Literal["number", "date", "text", "items"]
"""`items` are all that the place lists where the answer stands."""
ACTS: Final[tuple[Act, ...]] = get_args(Act)
TAGS: Final = ("none", "which", "field", "condition")
KINDS: Final[dict[Act, tuple[Kind, ...]]] = {
    "sum": ("number",), "mean": ("number",), "earliest": ("date",), "latest": ("date",),
    "most": ("number",), "least": ("number",), "both": ("items",),
}  # fmt: skip
"""What a value must be for the act; texts will do for the others."""
SURE: Final = 0.8
"""From here on the head is believed. Fitted without one of `wants-12` and `wants-13` and tried on
it, it takes at most 1 % of the questions there that are none, and finds 36 to 48 % of those that
are; of `test-wants` it takes none."""
_MARKS: Final = ',;:?!()"'
_WORD: Final = re.compile(rf"([^\s{_MARKS}]+)[{_MARKS}]*")
_PAIR: Final = ("Alpha", "Beta")  # Two documents that a set is taken to have
_TOTALS: Final = ("What is the total amount due?", "What is the amount payable in total?")
"""What is asked where a sum names no field: what all the invoices come to."""
_OF_TOTALS: Final = frozenset(query_terms(" ".join(_TOTALS)))
_MOST: Final = 5  # Phrasings that are compared
_COMPARED: Final = frozenset({"earliest", "latest", "most", "least"})


@dataclass(frozen=True, slots=True)
class Field:
    """What each document is asked, in the words that most documents answer."""

    label: str
    phrasings: tuple[str, ...]
    kinds: tuple[Kind, ...] = ("text",)


@dataclass(frozen=True, slots=True)
class Plan:
    act: Act
    which: str  # The set, as the question calls it
    fields: tuple[Field, ...]
    names: tuple[str, ...] = ()  # Only documents that have these are meant
    conditions: tuple[str, ...] = ()  # Words that choose among them and that nobody can check
    most: int = 1
    likely: float = 1.0  # That the question is put to every document of a set at all


def planned(question: str) -> Plan | None:
    """None where nobody can tell what each document is to be asked."""
    form = read_form(question) or wanted(question)
    if form.survey is not None:
        return _of_form(form.survey)
    text = " ".join(question.split())
    head = _head()
    if head is None or not 0 < len(text) <= LONGEST or other_language(text, ENGLISH) is not None:
        return None
    words, vectors, whole = heard(text)
    if not words:
        return None
    likely = float(1 / (1 + np.exp(-_scores(head["gate"][None], whole)[0])))
    act = ACTS[int(np.argmax(_scores(head["act"], whole)))]
    scores = np.stack([_scores(head["tag"], one) for one in vectors])
    tags = [TAGS[at] for at in scores.argmax(axis=1)]
    if "which" not in tags:  # somebody must name the set: the word that most likely does
        tags[int(scores[:, TAGS.index("which")].argmax())] = "which"
    known = list(names(f"{text[:1].lower()}{text[1:]}"))
    sets, met = _runs(words, tags, "which"), _runs(words, tags, "condition")
    # A set is called by no name, and rather "minutes" than "the folder".
    which = min([*sets, *met], key=lambda one: (one in known, is_everything(one)))
    named = tuple(one for one in known if one not in which)
    fields = _runs(words, tags, "field")
    if not fields and act not in {"count", "list"}:
        fields = [one for one in met if one != which and one not in named][:1]
    told = set(query_terms(" ".join([which, *named, *fields])))
    left = [one for one in [*sets, *met] if set(query_terms(one)) - told]
    conditions = tuple(one for one in left if not is_everything(one))
    asked = _fields(act, which, text, fields)
    return Plan(act, which, asked, named, conditions, likely=likely)


def _of_form(survey: Survey) -> Plan:
    asked = [one for one in survey.fields if not one.sign]
    act: Act = "list" if survey.by else survey.act  # Groups are shown by their rows
    fields = tuple(
        Field(
            one.question.rstrip("?"),
            (f"What is the {one.question}", one.question)
            if len(one.question.split()) <= len(_PAIR)
            else (one.question,),
            KINDS.get(act, ("text",)),
        )
        for one in asked
    )
    conditions = tuple(f"{one.question} {one.value}" for one in survey.fields if one.sign)
    return Plan(act, survey.which, fields, (), conditions, survey.most)


def _fields(act: Act, which: str, text: str, runs: Sequence[str]) -> tuple[Field, ...]:
    if act == "count":
        return ()
    kinds = KINDS.get(act, ("text",))
    if act == "list" and len(runs) > 1:
        return tuple(Field(one, (f"What is the {one}?", one), kinds) for one in runs)
    own = [one for one in runs if set(query_terms(one)) - _OF_TOTALS]
    phrasings = [*_compared(act, which, text), *(f"What is the {one}?" for one in own)]
    if "number" in kinds and act not in _COMPARED:
        phrasings += [f"How much is the {one}?" for one in own]
    if "number" in kinds and not own:
        phrasings += _TOTALS
    if "number" not in kinds or not runs:
        phrasings.append(text)
    return (Field((own or runs or [act])[0], tuple(dict.fromkeys(phrasings))[:_MOST], kinds),)


def _compared(act: Act, which: str, text: str) -> list[str]:
    """What the understander would ask each of two: it knows how to compare two, and "which lease
    ends first, Alpha or Beta" asks of Alpha "when does the lease Alpha end?"."""
    if act not in _COMPARED:
        return []
    first, second = _PAIR
    split = wanted(f"{text.rstrip(' ?.!')}, {first} or {second}?").split
    if split is None or len(split.parts) != len(_PAIR) or first not in split.parts[0]:
        return []
    part = split.parts[0].replace(f"{which} {first}", which).replace(f"{first} {which}", which)
    return [part.replace(first, "it")]


def _runs(words: Sequence[str], tags: Sequence[str], tag: str) -> list[str]:
    """Words in a row that are part of the same; a mark ends a row."""
    found: list[list[str]] = []
    for at, (word, own) in enumerate(zip(words, tags, strict=True)):
        if own == tag and at and tags[at - 1] == tag and words[at - 1][-1] not in _MARKS:
            found[-1].append(word)
        elif own == tag:
            found.append([word])
    return [" ".join(one).strip(_MARKS) for one in found]


# The head, and what it goes by.


def heard(question: str) -> tuple[list[str], Vectors, Vectors]:
    """The words of a question with the marks behind them, a vector of each, and one of all."""
    text = " ".join(question.split())
    text = f"wants: {text[:1].lower()}{text[1:]}"
    offsets, vectors = understander().vectors(text)
    words, each = [], []
    for found in _WORD.finditer(text, len("wants:")):
        start, end = found.span(1)
        at = [one for one, (a, b) in enumerate(offsets) if a < end and b > start and a < b]
        if at:
            words.append(found[0])
            each.append(vectors[at].mean(axis=0))
    return words, each, np.concatenate([vectors.mean(axis=0), vectors.max(axis=0)])


def _scores(weights: Vectors, vector: Vectors) -> Vectors:
    return weights[:, :-1] @ vector + weights[:, -1]


@cache
def _head() -> dict[str, Vectors] | None:
    """None where the understander is not the one that it was fitted to."""
    with files("secondlook.roles").joinpath("surveys.npz").open("rb") as file:
        held = np.load(file)
        made = {name: held[name] for name in held.files}
    return made if str(made["understander"]) == understander().name else None
