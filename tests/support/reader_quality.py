"""A small store of questions that two made-up readers have read; one of them is the better one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.readings import Found, Passage, Question, Store
from secondlook.reading.port import Reading, glimpse

if TYPE_CHECKING:
    from pathlib import Path

SKILL = {"shipped": ("new@0000/8", 4.0), "reader-12": ("old@0000/all", 1.0)}
"""How far each reader's scores tell answers from other passages."""
ARTICLES = 8
_FOUND = 12
_LOOKS = 8
_TEXT = "The ferry leaves at {hour} from pier {pier}, and nobody waits for it."


def made_store(file: Path, *, questions: int = 120) -> Store:
    store = Store(file)
    for data in ("squad2-dev", "hotpot-train", "hotpot", "scifact", "shift-new_wiki", "clapnq"):
        for place in range(questions if data == "squad2-dev" else questions // 4):
            question = _asked(data, place)
            store.add(place, question, [_passage(one.passage, question) for one in question.found])
            for label in SKILL:
                _read(store, question, place, label)
    for label, (identity, _) in SKILL.items():
        store.name_reader(label, identity)
    return store


def _asked(data: str, place: int) -> Question:
    found = 1 if data == "clapnq" else _FOUND
    names = [f"{data}-{place}-{at}" for at in range(found)]
    gold = names[0 if place % 3 or found == 1 else 1]
    return Question(
        data=data,
        id=f"q{place}",
        question="When does the ferry leave?",
        answers=("7:45",),
        gold={gold: 1},
        answerable=data not in ("squad2-dev", "clapnq") or place % 2 == 0,
        article=f"article {place % ARTICLES}",
        found=tuple(
            Found(name, name, (name,), 0, 60, 1 / (at + 1), at + 1, at + 1 if at < 6 else None)
            for at, name in enumerate(names)
        ),
    )


def _passage(name: str, question: Question) -> Passage:
    hour = "7:45" if name in question.gold else "9:15"
    return Passage(name, "Ferries", (), _TEXT.format(hour=hour, pier=len(name)))


def _read(store: Store, question: Question, place: int, label: str) -> None:
    identity, skill = SKILL[label]
    rng = np.random.default_rng([place, len(label), len(question.data)])
    readings = [
        _reading(skill * _truth(question, at) + rng.normal(), glanced=at >= _LOOKS and skill > 2)
        for at in range(len(question.found))
    ]
    store.keep(identity, question, readings)


def _truth(question: Question, at: int) -> float:
    is_gold = question.found[at].passage in question.gold
    return (1.0 if question.answerable else 0.2) if is_gold else -1.0


def _reading(score: float, *, glanced: bool) -> Reading:
    if glanced:
        return glimpse(score)
    right = score > 0
    start = _TEXT.index("{hour}") if right else 4
    return Reading(
        relevance=score,
        answerable=score - 0.5,
        start=start,
        end=start + 4,
        span_score=score + 1,
        null_score=1.0,
    )
