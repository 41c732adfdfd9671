"""However many questions are asked, recorded or evaluated: a workflow is compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation import evaluate
from secondlook.evaluation.report import plots
from secondlook.settings import load
from tests.support.compiling import counting_compilations
from tests.support.eval_set import write_set

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.library import Library


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    return counting_compilations(monkeypatch)


def test_runs_that_are_recorded_share_one_graph(
    samples: Library, tmp_path: Path, compiled: list[Any]
) -> None:
    for name in ("first", "second"):
        settings = load({"library.path": samples.path, "runs.path": tmp_path / f"{name}.db"})
        with Secondlook.open(settings=settings.settings) as engine:
            for question in ("How thick is the sheet piling?", "Who is the harbour master?"):
                engine.ask(question, workflow="linear")
    assert len(compiled) == 1


def test_an_evaluation_compiles_each_workflow_once(
    tmp_path: Path, compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    data = write_set(tmp_path / "harbour")
    found = evaluate(
        data, workflows=["linear", "adaptive"], out=tmp_path / "out", repeat=2, limit=3
    )
    assert len(found.rows) == 12
    assert len(compiled) == 2
    evaluate(data, workflows=["linear"], out=tmp_path / "again", limit=3)
    assert len(compiled) == 2
