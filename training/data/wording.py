"""Words whose exchange turns a statement around, and how to negate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from training.data.texts import Found, replaced

if TYPE_CHECKING:
    from random import Random

_PAIRS = """
the_most the_least; largest smallest; biggest smallest; highest lowest; oldest newest;
longest shortest; earliest latest; greatest smallest; best worst; strongest weakest;
fastest slowest; richest poorest; youngest oldest; first last; more_than fewer_than; more less;
larger smaller; higher lower; older younger; longer shorter; greater lesser; earlier later;
better worse; stronger weaker; faster slower; before after; above below; inside outside;
upper lower; north south; east west; northern southern; eastern western; northeast southwest;
northwest southeast; increase decrease; increased decreased; increasing decreasing; rise decline;
rose fell; gained lost; won lost; began ended; started stopped; beginning end; opened closed;
accepted rejected; supported opposed; permitted prohibited; allows forbids; included excluded;
public private; major minor; maximum minimum; male female; men women; king queen; father mother;
brother sister; son daughter; husband wife; positive negative; success failure;
successful unsuccessful; legal illegal; ancient modern; rural urban; domestic foreign;
internal external; early late; import export; imports exports; imported exported;
arrived departed; strengths weaknesses; advantages disadvantages; advantage disadvantage;
winter summer; hot cold; majority minority; always never; victory defeat; liberal conservative;
allies enemies; bought sold; built destroyed; created abolished; expanded reduced;
wealthy poor; similar different; acquired sold; agreed refused; joined left; strong weak
"""
_WEAK_IN_STATEMENTS = frozenset(("left", "late", "fall", "end", "first", "more", "close"))
"""Words with several meanings: reversed in a statement they often make no sense."""


def _opposites() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for pair in _PAIRS.split(";"):
        one, other = (word.replace("_", " ") for word in pair.split())
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return {word: tuple(others) for word, others in found.items()}


OPPOSITES = _opposites()
_OPPOSITE = re.compile(rf"\b(?:{'|'.join(sorted(OPPOSITES, key=len, reverse=True))})\b")

_IRREGULAR_PARTICIPLES = frozenset(
    (
        *("born", "built", "made", "known", "given", "taken", "held", "found", "written", "sung"),
        *("brought", "bought", "sold", "sent", "won", "lost", "led", "chosen", "seen", "shown"),
        *("begun", "broken", "driven", "drawn", "grown", "thrown", "worn", "paid", "said", "told"),
        *(
            "kept",
            "left",
            "met",
            "put",
            "set",
            "cut",
            "hit",
            "spent",
            "taught",
            "thought",
            "fought",
        ),
        *("caught", "spoken", "stolen", "struck", "understood", "hung", "read", "run", "been"),
    )
)
_IRREGULAR_PASTS = frozenset(
    (
        *("wrote", "won", "made", "led", "took", "gave", "became", "began", "built", "held", "ran"),
        *("brought", "bought", "sold", "sent", "lost", "chose", "saw", "came", "went", "left"),
        *("met", "fought", "taught", "spoke", "drew", "grew", "rose", "fell", "kept", "said"),
        *("found", "felt", "stood", "sang", "told", "paid", "spent", "struck", "wore", "broke"),
    )
)
_NO_PASTS = frozenset(("need", "seed", "speed", "breed", "bed", "red", "feed", "indeed", "shed"))
AUXILIARIES = frozenset(
    (
        *("is", "was", "are", "were", "has", "have", "had", "can", "could", "will", "would"),
        *("should", "may", "might", "must", "did", "does", "do"),
    )
)
_CONTRACTED = {
    "did": "didn't",
    "does": "doesn't",
    "do": "don't",
    "can": "can't",
    "could": "couldn't",
    "would": "wouldn't",
    "should": "shouldn't",
}
_QUESTION_AUXILIARY = re.compile(rf"\b({'|'.join(sorted(AUXILIARIES))}) (\w+)")
_WHO_DID = re.compile(r"^(Who|Which \w+|What \w+) (\w+)\b")
_NOT_ASKED_WHEN = re.compile(
    r"^(?:Who|What|Which|Where)\b(?! (?:year|time|date|day|month|century))"
)
_STATEMENT_AUXILIARY = re.compile(
    r"\b(is|was|are|were|has been|have been|had been|can|could|will|would|should|must)\b(?! not\b)"
)
_NEGATION = re.compile(r" not\b(?! only)")
_HEAD = 60
"""The auxiliary of a question stands in its first letters; later ones belong to clauses."""


def is_participle(word: str) -> bool:
    return word in _IRREGULAR_PARTICIPLES or _ends_as_past(word)


def is_past(word: str) -> bool:
    return word in _IRREGULAR_PASTS or _ends_as_past(word)


def _ends_as_past(word: str) -> bool:
    return word.islower() and word.endswith("ed") and word not in _NO_PASTS


def reversed_word(text: str, *, absent_from: str, draw: Random, question: bool) -> str | None:
    """The text with one word turned into an opposite that `absent_from` does not use."""
    options = [
        (match, opposite)
        for match in _OPPOSITE.finditer(text)
        if question or match.group() not in _WEAK_IN_STATEMENTS
        for opposite in OPPOSITES[match.group()]
        if not re.search(rf"\b{opposite}\b", absent_from, re.IGNORECASE)
    ]
    if not options:
        return None
    match, opposite = draw.choice(options)
    return replaced(text, Found(match.start(), match.end(), match.group()), opposite)


def negated_question(question: str) -> str | None:
    """`Who was not awarded ...`, `What didn't she sing ...`, `Who never joined ...`."""
    asked = _QUESTION_AUXILIARY.search(question[:_HEAD])
    if asked is None:
        return _never(question)
    auxiliary, following = asked.groups()
    end = asked.start() + len(auxiliary)
    if auxiliary not in _CONTRACTED and is_participle(following):
        return f"{question[:end]} not{question[end:]}"
    if auxiliary in _CONTRACTED and _NOT_ASKED_WHEN.match(question):
        return question[: asked.start()] + _CONTRACTED[auxiliary] + question[end:]
    return None


def _never(question: str) -> str | None:
    asked = _WHO_DID.match(question)
    if asked is None or not is_past(asked[2]):
        return None
    return f"{question[: asked.end(1)]} never {question[asked.start(2) :]}"


def negated_statement(sentence: str) -> str | None:
    """With `not` after its first auxiliary, or without the `not` it has."""
    negation = _NEGATION.search(sentence)
    if negation:
        return sentence[: negation.start()] + sentence[negation.end() :]
    auxiliary = _STATEMENT_AUXILIARY.search(sentence)
    if auxiliary is None:
        return None
    end = auxiliary.start() + len(auxiliary.group().split()[0])
    return f"{sentence[:end]} not{sentence[end:]}".replace(" can not ", " cannot ")
