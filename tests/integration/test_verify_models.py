"""Whatever a model says over real documents, the answer that is made of it stands, or admits
where it does not."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from secondlook.verify import examine
from tests.support.function_model import FunctionModel, models_of

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

QUESTIONS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "examples" / "questions.json").read_text("utf-8")
)["answered"]
INVENTIONS = [
    "The mayor of Paris paid 77,777 crowns for it [1].",
    "It never happened [2][9].",
    "Nobody knows",
    "In 1911 there were 12.5 ships [3]!",
    "# Heading\n- a list [1]\n- of things [2]",
    "[1][2][3]",
    "As an AI model I cannot [1].",
]


def half_true(request: ChatRequest) -> str:
    """Sentences of the evidence, some in other words or with other numbers, between inventions."""
    prompt = request.messages[-1].content
    chance = random.Random(len(prompt))
    found = re.findall(r"[A-Z][^.\n\[\]<>]{20,160}\.", prompt)
    said = [f"{one} [{chance.randint(1, 5)}]." for one in chance.sample(found, min(3, len(found)))]
    said += [f"{one[:-1]} [1]." for one in found[:2]]
    said += [re.sub(r"\d", "8", one[:-1]) + " [1]." for one in found[2:4]]
    said += [one.lower().replace(" is ", " is not ") + " [2]" for one in found[4:6]]
    said += chance.sample(INVENTIONS, 3)
    chance.shuffle(said)
    return " ".join(said)


@pytest.fixture(scope="module")
def folder(samples: Library) -> Path:
    return samples.path


def test_answers_of_an_unreliable_model_stand_or_admit_it(folder: Path, tmp_path: Path) -> None:
    chosen = load(
        {
            "library.path": folder,
            "runs.path": tmp_path / "runs.db",
            # One draft a question: others have what fails written again and again.
            "answer.workflow": "linear",
        }
    ).settings
    library = Library.open(settings=chosen, create=False)
    written = claims = 0
    with Secondlook(library, settings=chosen, models=models_of(FunctionModel(half_true))) as engine:
        for asked in QUESTIONS[::6]:
            answer = engine.ask(asked["question"])
            report = examine(answer, library)
            assert [str(problem) for problem in report.problems] == [], answer.text
            written += answer.method == "generative"
            claims += len(answer.claims)
    assert written >= 2
    assert claims >= 2 * written
