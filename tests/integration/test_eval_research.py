"""Research in an evaluation, by the real engine: its steps, its letters, its memory."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.evaluation import evaluate
from secondlook.evaluation import runner as running
from secondlook.evaluation.cache import RememberingModels
from secondlook.evaluation.report import plots
from tests.support.eval_set import write_set
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.models.chat import ChatRequest

CHOICES = {"A": "Mars", "B": "Jupiter", "C": "Venus"}


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path_factory.getbasetemp() / "eval-research"))
    monkeypatch.setattr(plots, "can_draw", lambda: False)


def exam(folder: Path) -> Path:
    """Questions of multiple choice, and nothing to search."""
    folder.mkdir()
    rows: list[dict[str, Any]] = [
        {
            "id": subject,
            "question": f"Of {subject}, which planet is the largest?",
            "choices": CHOICES,
            "choice": "B",
            "answers": ["Jupiter"],
            "subject": subject,
        }
        for subject in ("astronomy", "astrology")
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
    return folder


def knows_planets(request: ChatRequest) -> str:
    """Chooses by the words of the options; to all else it says nothing that could be used."""
    said = request.messages[-1].content
    line = next((one for one in said.splitlines() if one.endswith("Jupiter")), None)
    return "I cannot say." if line is None else f"Answer: {line[0]}"


def test_steps_and_passages_of_research_without_a_model(tmp_path: Path) -> None:
    data = write_set(tmp_path / "harbour")
    found = evaluate(data, workflows=["linear", "research"], out=tmp_path / "out", limit=4)
    rows = [row for row in found.rows if row.configuration == "research"]
    assert all(row.error is None and row.research is not None for row in rows)
    metrics = found.summaries["research"].metrics
    assert metrics["cycles"].value is not None
    assert metrics["cycles"].value >= 1
    assert metrics["memory_hit"].value == 0.0
    assert metrics["recall_shown"].value is not None
    assert metrics["recall_shown"].value > 0.5
    assert metrics["shown"].value
    assert metrics["llm_calls"].value == 0.0
    assert "cycles" not in found.summaries["linear"].metrics


def test_a_model_may_choose_where_there_is_no_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FunctionModel(knows_planets)
    monkeypatch.setattr(
        running, "RememberingModels", partial(RememberingModels, open_chat=lambda _: model)
    )
    settings = {"models.default": "ollama:test", "research.guess": True}
    found = evaluate(
        exam(tmp_path / "exam"), workflows=["research"], out=tmp_path / "out", settings=settings
    )
    metrics = found.summaries["research"].metrics
    assert (metrics["accuracy"].value, metrics["ungrounded"].value) == (1.0, 1.0)
    assert {row.chosen for row in found.rows} == {"B"}
    assert set(found.summaries["research"].by_type) == {"astronomy", "astrology"}
    assert found.data["documents"] == 0
    assert "nothing is searched" in found.data["notes"][0]
    assert sum(found.summaries["research"].calls_by_node.values()) == pytest.approx(
        metrics["llm_calls"].value
    )
