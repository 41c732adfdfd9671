"""A question and its answer as one statement, where the form of the question allows it."""

from __future__ import annotations

import re

from training.data.texts import NUMBER_WORDS
from training.data.wording import AUXILIARIES, is_participle, is_past

_BE = "is|was|are|were"
_WHO_DID = re.compile(r"^(?:Who|What) (\w+) (.+)$")
_WHICH_DID = re.compile(r"^(?:Which|What) ((?:[\w'-]+ ){1,4}?)(\w+) (.+)$")
_WHO_WAS_DONE = re.compile(rf"^(?:Who|What)((?: [\w'-]+){{0,4}}?) ({_BE}|has|had|have) (\w+) (.+)$")
_WHAT_IS_THE = re.compile(rf"^(?:Who|What) ({_BE}) ((?:the|his|her|their|its) .+)$")
_WHEN_WAS = re.compile(rf"^(?:When|Where|In what year|What year) ({_BE}) (.+)$")
_HOW_MANY = re.compile(rf"^How many (\w+) ({_BE}) (\w+)((?: .+)?)$")
_OPEN_END = re.compile(
    r"\b(?:of|in|on|at|for|to|by|with|from|about|as|called|named|known|like|is|was|are|were)$"
)
_BEGINS_WITH_PREPOSITION = re.compile(
    r"^(?:in|on|at|by|during|from|near|after|before|since|around|between|within|until|under)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"^(?:[A-Z][a-z]+ \d{1,2}\b|\d{1,2} [A-Z][a-z]+)")
_NO_SUBJECT = frozenset((*AUXILIARIES, *NUMBER_WORDS, "else", "exactly", "other"))
_LONGEST_ANSWER = 8
"""Words: a longer answer is a clause, which the forms below do not fit."""


def statement(question: str, answer: str) -> str | None:
    """`Who wrote it?` and `Ann` as `Ann wrote it.`; None where no form fits."""
    asked = " ".join(question.split()).rstrip("? .")
    said = answer.strip().rstrip(".")
    if not said or len(said.split()) > _LONGEST_ANSWER or "?" in asked:
        return None
    forms = (_counted, _placed, _named, _passive, _active, _active_of_kind)
    made = next(filter(None, (form(asked, said) for form in forms)), None)
    return None if made is None else f"{made[0].upper()}{made[1:]}."


def quoted(question: str, answer: str) -> str:
    """The form that fits every question."""
    return f'The answer to "{question.strip()}" is {answer.strip().rstrip(".")}.'


def _named(asked: str, said: str) -> str | None:
    """What is the capital of France? The capital of France is Paris."""
    match = _WHAT_IS_THE.match(asked)
    if match is None or _OPEN_END.search(asked) or "," in asked:
        return None
    return f"{match[2]} {match[1]} {said}"


def _passive(asked: str, said: str) -> str | None:
    """What album was released in 2003? X was released in 2003."""
    match = _WHO_WAS_DONE.match(asked)
    if match is None or not is_participle(match[3]) or _OPEN_END.search(asked):
        return None
    return f"{said} {match[2]} {match[3]} {match[4]}"


def _active(asked: str, said: str) -> str | None:
    """Who wrote it? Ann wrote it."""
    match = _WHO_DID.match(asked)
    if match is None or not is_past(match[1]) or _OPEN_END.search(asked):
        return None
    return f"{said} {match[1]} {match[2]}"


def _active_of_kind(asked: str, said: str) -> str | None:
    """Which team won the cup? The Reds won the cup."""
    match = _WHICH_DID.match(asked)
    if match is None or not is_past(match[2]) or _OPEN_END.search(asked):
        return None
    if _NO_SUBJECT & set(match[1].split()):
        return None
    return f"{said} {match[2]} {match[3]}"


def _counted(asked: str, said: str) -> str | None:
    """How many people were killed? 12 people were killed."""
    match = _HOW_MANY.match(asked)
    if match is None or not is_participle(match[3]):
        return None
    noun = "" if match[1] in said.split() or not said[-1].isalnum() else f" {match[1]}"
    return f"{said}{noun} {match[2]} {match[3]}{match[4]}"


def _placed(asked: str, said: str) -> str | None:
    """When was the dome built? The dome was built in 1879."""
    match = _WHEN_WAS.match(asked)
    words = match[2].split() if match and not _OPEN_END.search(asked) else []
    place = next((i for i, word in enumerate(words) if i and is_participle(word)), None)
    if match is None or place is None:
        return None
    if _BEGINS_WITH_PREPOSITION.match(said):
        where = said[0].lower() + said[1:]
    else:
        where = f"{'on' if _DATE.match(said) else 'in'} {said}"
    return " ".join((*words[:place], match[1], *words[place:], where))
