"""`secondlook eval` over tables as a person uses it, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.evaluation.report import plots
from tests.support.table_sets import dabench_set

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _here(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path_factory.getbasetemp() / "table-cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    monkeypatch.chdir(tmp_path)


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["eval", *arguments, "--json", "-q", "--model", "none"]) == 0
    return json.loads(capsys.readouterr().out)


def test_named_values_are_compared_and_asked_once_and_what_is_withheld_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(dabench_set(tmp_path / "da"))
    found = evaluated(capsys, folder, "--out", "out", "--workflow", "analyst")
    metrics = found["summaries"]["analyst"]["metrics"]
    assert metrics["values_accuracy"]["value"] == 0.5
    assert metrics["answered"]["value"] == 0.5
    assert metrics["wrong_among_answered"]["value"] == 0.0
    assert metrics["computed"]["value"] == 0.5
    assert "f1" not in metrics
    assert "faithfulness" not in metrics
    assert set(found["summaries"]["analyst"]["by_type"]) == {"easy", "hard"}
    assert found["data"]["tables"] == 1
    rows = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))["rows"]
    assert [row["analysed"]["parts"] for row in rows] == [{"mean_depth": True}, {"poem": False}]
    ask = "secondlook.engine.secondlook.Secondlook.astream"
    monkeypatch.setattr(ask, lambda *_, **__: pytest.fail("asked again"))
    again = evaluated(capsys, folder, "--out", "out", "--workflow", "analyst")
    assert again["summaries"] == found["summaries"]


def test_each_step_that_needs_no_model_is_tried_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = evaluated(capsys, str(dabench_set(tmp_path / "da")), "--ablate", "--margin", "0.9")
    assert found["ablation"]["reference"] == "analyst"
    assert found["ablation"]["metric"] == "values_accuracy"
    tried = [name for name in found["summaries"] if name.startswith("analyst without ")]
    assert "analyst without arithmetic" in tried
    assert "analyst.enable_code_check" in found["ablation"]["left_out"]
