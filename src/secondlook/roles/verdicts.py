"""The forms of a model's reply where it judges an answer or its sentences: yes or no."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from secondlook.passage import Passage
from secondlook.roles.prompts import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.roles.prompts import Prompt

# Lists that a model replies with: a number and a verdict for each thing it was shown.


def usable(value: Any, *, number: str, verdict: str, is_known: Callable[[Any], bool]) -> Any:
    """The list without the entries that are none, unless all are: then the whole is refused."""
    if not isinstance(value, list):
        return value
    return [
        entry
        for entry in value
        if isinstance(entry, dict)
        and _is_number(entry.get(number))
        and is_known(entry.get(verdict))
    ] or value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal())


SaidYesOrNo = Literal["yes", "no"]
_SAID: tuple[SaidYesOrNo, ...] = get_args(SaidYesOrNo)
_WORDS = {True: "yes", False: "no", "true": "yes", "false": "no"}


def _plain(value: Any) -> Any:
    """What a model means: `Yes.`, `true` and `"no"` are verdicts too."""
    said = value.strip(" .!\n").casefold() if isinstance(value, str) else value
    return _WORDS.get(said, said) if isinstance(said, str | bool) else said


def _is_known(value: Any) -> bool:
    return _plain(value) in _SAID


_readable = partial(usable, number="number", verdict="verdict", is_known=_is_known)


class Verdict(BaseModel):
    verdict: Annotated[SaidYesOrNo, BeforeValidator(_plain)]


class SentenceVerdict(BaseModel):
    number: int
    verdict: Annotated[SaidYesOrNo, BeforeValidator(_plain)]


class Verdicts(BaseModel):
    verdicts: Annotated[list[SentenceVerdict], BeforeValidator(_readable)] = Field(min_length=1)


@cache
def verdicts_of(count: int) -> type[Verdicts]:
    """The form for so many sentences. Servers that hold a model to a schema make it judge each of
    them; of the others a short reply is taken."""

    def complete(schema: dict[str, Any]) -> None:
        schema["properties"]["verdicts"] |= {"minItems": count, "maxItems": count}

    class Complete(Verdicts):
        model_config = ConfigDict(title="Verdicts", json_schema_extra=complete)

    return Complete


# The form of a model's reply: a grade by passage number.

SaidGrade = Literal["answers", "about", "no"]
_FORMS_SAID = get_args(SaidGrade)


def _forms_plain(value: Any) -> Any:
    return value.strip().casefold() if isinstance(value, str) else value


def _forms_is_known(value: Any) -> bool:
    return _forms_plain(value) in _FORMS_SAID


_forms_readable = partial(usable, number="passage", verdict="grade", is_known=_forms_is_known)


class PassageGrade(BaseModel):
    passage: int
    grade: Annotated[SaidGrade, BeforeValidator(_forms_plain)]


class Grades(BaseModel):
    grades: Annotated[list[PassageGrade], BeforeValidator(_forms_readable)] = Field(min_length=1)


@cache
def grades_of(count: int) -> type[Grades]:
    """The form for so many passages. Servers that hold a model to a schema make it grade each of
    them; of the others a short reply is taken, as long as it grades one that was shown."""

    def complete(schema: dict[str, Any]) -> None:
        schema["properties"]["grades"] |= {"minItems": count, "maxItems": count}

    class Complete(Grades):
        model_config = ConfigDict(title="Grades", json_schema_extra=complete)

        @model_validator(mode="after")
        def _grades_something(self) -> Self:
            if not any(1 <= entry.passage <= count for entry in self.grades):
                raise ValueError(f"passages are numbered from 1 to {count}")
            return self

    return Complete


# The small labelled set that a model is measured by, and what a measurement of it belongs to.

_FILE = "labelled.json"


@dataclass(frozen=True, slots=True)
class PassageCase:
    """A question, and passages that are about it or not."""

    question: str
    passages: tuple[Passage, ...]
    relevant: frozenset[str]
    """Ids of those that are about it, or answer it."""


@dataclass(frozen=True, slots=True)
class AnswerCase:
    question: str
    evidence: tuple[str, ...]
    answer: str
    right: bool


@cache
def passage_cases() -> tuple[PassageCase, ...]:
    return tuple(_case(at, entry) for at, entry in enumerate(_content()["passages"]))


@cache
def answer_cases() -> tuple[AnswerCase, ...]:
    return tuple(
        AnswerCase(entry["question"], tuple(entry["evidence"]), entry["answer"], entry["right"])
        for entry in _content()["answers"]
    )


@cache
def passages_identity() -> str:
    """Changes with the prompt and the set: figures hold for those they were measured with."""
    return _identity("passages", load("grade"), load("grade_few"))


@cache
def answers_identity() -> str:
    return _identity("answers", load("grade_answer"))


def _identity(part: str, *prompts: Prompt) -> str:
    said = [prompt.own_words for prompt in prompts]
    text = json.dumps([said, _content()[part]], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _case(at: int, entry: dict[str, Any]) -> PassageCase:
    passages = tuple(_passage(f"{at}.{place}", one) for place, one in enumerate(entry["passages"]))
    grades = {
        one.id: one_of["grade"] for one, one_of in zip(passages, entry["passages"], strict=True)
    }
    relevant = frozenset(name for name, grade in grades.items() if grade != "no")
    return PassageCase(entry["question"], passages, relevant)


def _passage(name: str, entry: dict[str, str]) -> Passage:
    return Passage(
        id=name,
        document=name,
        sha256="",
        title=entry["title"],
        text=entry["text"],
        start=0,
        end=len(entry["text"]),
    )


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath(_FILE).read_text("utf-8"))
    return content
