"""The forms of a model's reply where it judges passages, answers or sentences, and the small
labelled set that a model is measured by."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from secondlook.passage import Passage
from secondlook.roles.prompts import Prompt, load

SaidYesOrNo = Literal["yes", "no"]
SaidGrade = Literal["answers", "about", "no"]
_WORDS = {True: "yes", False: "no", "true": "yes", "false": "no"}


def _plain(value: Any) -> Any:
    """What a model means: `Yes.`, `true` and `"no"` are verdicts too."""
    said = value.strip(" .!\n").casefold() if isinstance(value, str) else value
    return _WORDS.get(said, said) if isinstance(said, str | bool) else said


def _readable(number: str, verdict: str, known: tuple[str, ...]) -> BeforeValidator:
    """Of a list the entries that hold a number and a verdict, unless none does: then the whole is
    refused."""

    def usable(value: Any) -> Any:
        entries = value if isinstance(value, list) else []
        return [
            entry
            for entry in entries
            if isinstance(entry, dict)
            and str(entry.get(number)).strip().isdecimal()
            and _plain(entry.get(verdict)) in known
        ] or value

    return BeforeValidator(usable)


class Verdict(BaseModel):
    verdict: Annotated[SaidYesOrNo, BeforeValidator(_plain)]


class SentenceVerdict(Verdict):
    number: int


class Verdicts(BaseModel):
    verdicts: Annotated[
        list[SentenceVerdict], _readable("number", "verdict", get_args(SaidYesOrNo))
    ] = Field(min_length=1)


class PassageGrade(BaseModel):
    passage: int
    grade: Annotated[SaidGrade, BeforeValidator(_plain)]


class Grades(BaseModel):
    grades: Annotated[list[PassageGrade], _readable("passage", "grade", get_args(SaidGrade))] = (
        Field(min_length=1)
    )


def _complete(name: str, count: int) -> ConfigDict:
    """Servers that hold a model to a schema make it judge each of so many things; of the others a
    short reply is taken."""

    def complete(schema: dict[str, Any]) -> None:
        schema["properties"][name.lower()] |= {"minItems": count, "maxItems": count}

    return ConfigDict(title=name, json_schema_extra=complete)


@cache
def verdicts_of(count: int) -> type[Verdicts]:

    class Complete(Verdicts):
        model_config = _complete("Verdicts", count)

    return Complete


@cache
def grades_of(count: int) -> type[Grades]:
    """The form for so many passages; it must grade one that was shown."""

    class Complete(Grades):
        model_config = _complete("Grades", count)

        @model_validator(mode="after")
        def _grades_something(self) -> Self:
            if not any(1 <= entry.passage <= count for entry in self.grades):
                raise ValueError(f"passages are numbered from 1 to {count}")
            return self

    return Complete


# The labelled set, and what a measurement of it belongs to.


@dataclass(frozen=True, slots=True)
class PassageCase:
    question: str
    passages: tuple[Passage, ...]
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class AnswerCase:
    question: str
    evidence: tuple[str, ...]
    answer: str
    right: bool


@cache
def passage_cases() -> tuple[PassageCase, ...]:
    cases = []
    for at, entry in enumerate(_content()["passages"]):
        passages = tuple(
            Passage(
                id=f"{at}.{place}",
                document=f"{at}.{place}",
                sha256="",
                title=one["title"],
                text=one["text"],
                start=0,
                end=len(one["text"]),
            )
            for place, one in enumerate(entry["passages"])
        )
        graded = zip(passages, entry["passages"], strict=True)
        relevant = frozenset(one.id for one, told in graded if told["grade"] != "no")
        cases.append(PassageCase(entry["question"], passages, relevant))
    return tuple(cases)


@cache
def answer_cases() -> tuple[AnswerCase, ...]:
    return tuple(
        AnswerCase(**entry | {"evidence": tuple(entry["evidence"])})
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


@cache
def _content() -> dict[str, Any]:
    file = files(__package__).joinpath("labelled.json")
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content
