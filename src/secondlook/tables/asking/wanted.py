"""The form in which a question wants its values: `@mean_fare[value]`, rounded to two places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.asking.port import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMED = re.compile(r"@(\w+)\s*\[([^\]\n]*)\]?")
WRAPPED = re.compile(r"(?<=[a-z,]) *\n *(?=[\"'\u201c][a-zA-Z])")
"""A line that goes on with a quoted word."""
INSTEAD = re.compile(r"[\"'](?:\w+ ){2,}\w+[.!]?[\"']")
"""A sentence to be said in place of the values."""
TEXT = re.compile(
    r"\b(?:strings?|names?|ids?|dates?|data ?frames?|lists?|descriptions?|csv|separated by)\b",
    re.IGNORECASE,
)
AND = re.compile(
    r",?\s+and\s+(?=[\"'\u201c]\w)|,\s*(?=[\"'\u201c]\w[\w ]*[\"'\u201d] (?:is|are|should)\b)"
)
VERB = re.compile(
    r"\b(?:is|are|should|must|can|represents?|denotes?|rounded|stands?)\b", re.IGNORECASE
)
CLAUSES = re.compile(r"\n|;|\.\s+|\.$|\bwhere\b")
NUMBERS = {
    "zero": 0,
    "no": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
}
PLACES = re.compile(
    r"\b(\d+|zero|one|two|three|four|five|six)\s*[- ]?(?:decimals?\b|digits? after)", re.IGNORECASE
)
WHOLE = re.compile(
    r"\b(?:nearest|closest) (?:integer|whole number)\b|\bto an integer\b", re.IGNORECASE
)
QUOTED = re.compile(r"[\"“]([^\"“”\n]{1,60})[\"”]|'([^'\n]{1,60})'")
WORDS_FOLLOW = re.compile(
    r"\b(?:string|word|either|one of|can be|is|are|be|values?|labels?|categor\w+|returns?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A question and the form it wants."""

    body: str
    form: str


def parts(question: str) -> Parts:
    """The form begins with the line, or sentence, that holds the first `@name[`."""
    question = WRAPPED.sub(" ", question.replace("\\n", "\n"))
    first = NAMED.search(question)
    if first is None:
        return Parts(question, "")
    start = max(question.rfind("\n", 0, first.start()) + 1, 0)
    if not question[start : first.start()].strip(" \t{"):
        return Parts(question[: first.start()].rstrip(" {\n\t"), question[first.start() :])
    stop = max(question.rfind(mark, start, first.start()) for mark in (". ", "? ", "! "))
    cut = stop + 1 if stop >= start else start
    return Parts(question[:cut].rstrip(" {\n\t"), question[cut:])


def wanted_of(question: str) -> Wanted:
    cut = parts(question)
    named = NAMED.findall(cut.form)
    named = [one for one in named if not INSTEAD.fullmatch(one[1].strip())] or named
    held = {name: inside.strip(" \"'") for name, inside in named}
    explained = _explained(cut.form, held)
    words = {name: allowed(said, held) for name, said in explained.items()}
    places = {name: decimals_in(said) for name, said in explained.items()}
    of_all = decimals_in(cut.form)
    return Wanted(
        names=tuple(held),
        decimals=of_all if of_all is not None else decimals_in(cut.body),
        forms={name: some for name, some in words.items() if some},
        each={name: count for name, count in places.items() if count is not None},
        texts=frozenset(one for one, said in explained.items() if TEXT.search(said)),
        quoted=frozenset(name for name, inside in named if inside.strip().startswith('"')),
        held=held,
    )


def _explained(form: str, held: Mapping[str, str]) -> dict[str, str]:
    """What the form says of each name: the clauses that speak of what its brackets hold."""
    tail = NAMED.sub(" ", form)
    clauses = [one for whole in CLAUSES.split(tail) for one in _statements(whole)]
    said: dict[str, str] = {}
    for name, inside in held.items():
        keys = {inside.casefold(), name.casefold()} - {""}
        about = [one for one in clauses if any(_speaks_of(one, key) for key in keys)]
        said[name] = ". ".join([inside, *about])
    return said


def _statements(clause: str) -> list[str]:
    """`"a" is a string and "b" is a number` says two things, `"a" and "b" are numbers` one."""
    found: list[str] = []
    pending = ""
    for part in AND.split(clause):
        pending = f"{pending} and {part}" if pending else part
        if VERB.search(pending):
            found.append(pending)
            pending = ""
    if pending.strip():
        found = [*found[:-1], f"{found[-1]} and {pending}"] if found else [pending]
    return [one for one in found if one.strip()]


def _speaks_of(clause: str, key: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", clause.casefold()) is not None


def decimals_in(text: str) -> int | None:
    found = PLACES.search(text)
    if found is not None:
        return int(found[1]) if found[1].isdigit() else NUMBERS[found[1].lower()]
    return 0 if WHOLE.search(text) else None


def allowed(text: str, held: Mapping[str, str]) -> tuple[str, ...]:
    """Words that a value may be: two or more in quotes, after what introduces them."""
    start = WORDS_FOLLOW.search(text)
    if start is None:
        return ()
    words = [one or other for one, other in QUOTED.findall(text[start.start() :])]
    named = {*held, *held.values()}
    different = tuple(dict.fromkeys(word for word in words if word not in named))
    return different if len(different) > 1 else ()
