"""The small labelled set that a model is measured by, and what a measurement of it belongs to.

The texts are our own. A passage is labelled by the rule that the prompt tells the model. Half of
the pairs are right; those that are not share words with their question.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from secondlook.passage import Passage
from secondlook.prompts import load

if TYPE_CHECKING:
    from secondlook.prompts import Prompt

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
