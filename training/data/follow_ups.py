"""Follow-ups made by program: a question asked again of another value, and questions in which a
name that was just said gives way to a pronoun. What they mean in full is known."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from training.data.texts import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from training.data.asked import Drawn, Table

AGAIN = (
    "and {}", "and {}?", "what about {}", "what about {}?", "how about {}?", "{}?", "same for {}",
    "ok and {}", "and what about {}?",
)  # fmt: skip
PRONOUNS = {"one": ("he", "she", "it", "they"), "whom": ("him", "her", "it", "them")}
WHOSE = ("his", "her", "its", "their")
SILENT = "I found no answer to that."
ALONE, HALF = 0.25, 0.5
"""How often a question begins anew, and how often a value keeps its preposition."""
_SLOT = re.compile(r"\{[^{}]+\}")
_PREPOSITION = re.compile(r"\b(in|for|from|at|by|on|to|with|of|during) (?:the )?$")
_AFTER = re.compile(
    r"(?:[?,]|$| (?:in|of|to|for|on|at|with|by|from|have|has|had|was|were|is|are|did|does|do) )"
)
"""What may follow a name that is no part of a longer one."""
_SUBJECT = re.compile(r"(?:^|\b(?:did|does|do|was|were|is|are|has|had|have|can|could|would) )$")


class Talk(NamedTuple):
    about: str
    said: list[str]
    asked: str
    full: str


def asked_again(table: Table, drawn: Drawn, draw: Random) -> Iterator[Talk]:
    """`average salary in Sales`, `and in Support?`, `and for women?`: each says one value anew. Now
    and then comes a question that stands alone."""
    said: list[str] = []
    for line in table.lines:
        wording = draw.choice(line.wordings)
        slots = list(dict.fromkeys(_SLOT.findall(wording)))
        if any(slot.startswith("{n") or "!" in slot for slot in slots):
            continue
        values = {slot: drawn.filled(slot, "")[0] for slot in slots}
        question = _filled(wording, values)
        if said and draw.random() < ALONE:
            yield Talk("", said, question, question)
        said = [question, _answer(draw)]
        for _ in range(draw.randint(1, 3) if slots else 0):
            slot = draw.choice(slots)
            other = drawn.filled(slot, "")[0]
            if other.casefold() in map(str.casefold, values.values()):
                continue
            values[slot] = other
            full, head = _filled(wording, values), wording[: wording.index(slot)]
            preposition = _PREPOSITION.search(head)
            named = f"{preposition[1]} {other}" if preposition and draw.random() < HALF else other
            yield Talk("", list(said), draw.choice(AGAIN).format(named), full)
            said += [full, _answer(draw)]


def _filled(wording: str, values: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda found: values[found[0]], wording)


def _answer(draw: Random) -> str:
    number = draw.choice((draw.randint(2, 90), draw.randint(100, 9000), draw.uniform(1, 900)))
    figure = f"{number:,.2f}" if isinstance(number, float) else f"{number:,}"
    return draw.choice((figure, f"It is {figure}.", f"{figure} in all.", SILENT))


def with_pronouns(title: str, asked: Sequence[tuple[str, str]], draw: Random) -> Iterator[Talk]:
    """Questions of one page with their answers, in order: a name that the question before it, or
    its answer, has said gives way to a pronoun."""
    for (first, answer), (second, _) in pairwise(asked):
        told = f"{first} {answer} {title}"
        known = [one.text for one in names(second) if _is_said(one.text, told)]
        known += [title] if _is_said(title, second) else []
        name = max(known, key=len, default="")
        if not name:
            continue
        said = [first, answer]
        if draw.random() < ALONE:
            yield Talk(title, said, second, second)
        elif (pointing := _pointing(second, name, draw)) is not None:
            yield Talk(title, said, pointing, second)


def _is_said(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _pointing(question: str, name: str, draw: Random) -> str | None:
    whole = rf"(?<![\w-])(?:[Tt]he )?{re.escape(name)}(['’]s)?(?![\w'’-])"  # noqa: RUF001
    found = list(re.finditer(whole, question))
    if len(found) != 1 or len(question.split()) < 4:  # noqa: PLR2004
        return None
    at, which = found[0], draw.randrange(4)
    before = question[: at.start()]
    if at[1]:
        word = WHOSE[which]
    elif before.endswith(("and ", "or ")):
        return None
    elif _SUBJECT.search(before):
        word = PRONOUNS["one"][which]
    elif _AFTER.match(question, at.end()):
        word = PRONOUNS["whom"][which]
    else:
        return None
    word = word.capitalize() if at.start() == 0 else word
    return question[: at.start()] + word + question[at.end() :]


def by_page(
    questions: Sequence[Mapping[str, object]], pages: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """SQuAD's questions by the passage they are about, with its title."""
    held: dict[str, list[tuple[str, str]]] = {}
    for row in questions:
        gold, answers = row["gold"], row["answers"]
        if isinstance(gold, list) and isinstance(answers, list) and gold and answers:
            held.setdefault(gold[0], []).append((str(row["question"]).strip(), answers[0]))
    for passage, some in held.items():
        yield pages[passage], some
