"""The full form of a reply, in JSON: the elements of the rule with their sources, and for each
option and element a verdict with the fact that decides it. Read tolerantly: what cannot be used
is left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from secondlook.answer import Met  # noqa: TC001  # pydantic reads it
from secondlook.models.jsonlike import objects
from secondlook.nodes.choosing.facts import fact_in
from secondlook.nodes.choosing.weighing import Weighing
from secondlook.nodes.choosing.words import letter_of, met_of, said_of
from secondlook.state import Cited, ElementData, OptionData, VerdictData

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.nodes.choosing.task import Task

_MOST_ELEMENTS = 8
_Model = TypeVar("_Model", bound=BaseModel)


def _numbers(value: Any) -> list[int]:
    """`2`, `"[2]"`, `[1, "2"]`: however sources are written."""
    return [int(number) for number in re.findall(r"(?<!\d)\d{1,3}(?!\d)", str(value))]


def _each(kind: type[_Model]) -> Callable[[Any], list[_Model]]:
    """The entries that have the form; the others are left out."""

    def usable(values: Any) -> list[_Model]:
        found = []
        for value in values if isinstance(values, list) else []:
            try:
                found.append(kind.model_validate(value))
            except ValidationError:
                continue
        return found

    return usable


def _by_letter(value: Any) -> Any:
    """`{"A": {...}}` as a list, for models that write it so."""
    if not isinstance(value, dict):
        return value
    return [{"letter": key, **one} for key, one in value.items() if isinstance(one, dict)]


def _in_order(value: Any) -> Any:
    """`["met", "not met"]` as verdicts on the elements in their order."""
    if not isinstance(value, list):
        return value
    return [
        {"element": at, "met": one} if isinstance(one, str) else one
        for at, one in enumerate(value, 1)
    ]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Element(_Lenient):
    element: Annotated[str, BeforeValidator(said_of)] = Field(min_length=1)
    sources: Annotated[list[int], BeforeValidator(_numbers)] = Field(default_factory=list)


class _Verdict(_Lenient):
    element: int
    met: Annotated[Met, BeforeValidator(met_of)]
    fact: Annotated[str, BeforeValidator(said_of)] = ""


class _Option(_Lenient):
    letter: str
    verdicts: Annotated[
        list[_Verdict], BeforeValidator(_each(_Verdict)), BeforeValidator(_in_order)
    ] = Field(default_factory=list)
    reason: Annotated[str, BeforeValidator(said_of)] = ""


class _Reply(_Lenient):
    elements: Annotated[list[_Element], BeforeValidator(_each(_Element))]
    options: Annotated[list[_Option], BeforeValidator(_each(_Option)), BeforeValidator(_by_letter)]
    answer: Annotated[str, BeforeValidator(said_of)] = ""


def read_full(text: str, task: Task) -> Weighing | None:
    """What the first object in the text says that judges an option; None where none does."""
    for found in objects(text):
        try:
            reply = _Reply.model_validate(found)
        except ValidationError:
            continue
        if weighing := _weighing(reply, task):
            return weighing
    return None


def _weighing(reply: _Reply, task: Task) -> Weighing | None:
    count = min(len(reply.elements), _MOST_ELEMENTS)
    by_letter: dict[str, _Option] = {}
    for option in reply.options:
        letter = letter_of(option.letter, task.options)
        if letter is not None:
            by_letter.setdefault(letter, option)
    judged = {
        letter: _first_of_each([one for one in option.verdicts if 1 <= one.element <= count])
        for letter, option in by_letter.items()
    }
    if not any(judged.values()):
        return None
    options = [
        _option(letter, task, judged.get(letter, []), by_letter.get(letter), count)
        for letter in task.options
    ]
    quoted = sum(bool(one.fact) for verdicts in judged.values() for one in verdicts)
    kept = sum(one["fact"] is not None for option in options for one in option["verdicts"])
    elements, unknown = _elements(reply.elements[:count], task)
    return Weighing(
        elements=elements,
        options=options,
        named=letter_of(reply.answer, task.options),
        facts_dropped=quoted - kept,
        sources_dropped=unknown,
    )


def _first_of_each(verdicts: list[_Verdict]) -> list[_Verdict]:
    """One verdict for each element: a second on the same one is not counted."""
    kept: dict[int, _Verdict] = {}
    for one in verdicts:
        kept.setdefault(one.element, one)
    return list(kept.values())


def _option(
    letter: str, task: Task, verdicts: list[_Verdict], said: _Option | None, count: int
) -> OptionData:
    """With a verdict on every element: what was not said is unknown."""
    known = {one.element: one for one in verdicts}
    return OptionData(
        letter=letter,
        text=task.options[letter],
        verdicts=[_verdict(at, known.get(at), letter, task) for at in range(1, count + 1)],
        reason=said.reason if said else "",
    )


def _verdict(at: int, said: _Verdict | None, letter: str, task: Task) -> VerdictData:
    if said is None:
        return VerdictData(element=at, met="unknown", fact=None)
    fact = fact_in(said.fact, (task.stem, task.options[letter])) if said.fact else None
    return VerdictData(element=at, met=said.met, fact=fact)


def _elements(said: list[_Element], task: Task) -> tuple[list[ElementData], int]:
    """With the places that their sources cite, and how many sources there are not."""
    made: list[ElementData] = []
    unknown = 0
    for one in said:
        numbers = [number for number in one.sources if 1 <= number <= len(task.research)]
        unknown += len(one.sources) - len(numbers)
        made.append(ElementData(text=one.element, cited=cited_by(numbers, task)))
    return made, unknown


def cited_by(numbers: list[int], task: Task) -> list[Cited]:
    """The places behind these sentences of the research, each once."""
    places = [place for number in numbers for place in task.research[number - 1]["cited"]]
    unlike = {(place["passage"], place["start"], place["end"]): place for place in places}
    return list(unlike.values())
