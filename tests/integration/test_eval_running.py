"""An evaluation from end to end: real index, real reader, real files."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.evaluation import evaluate
from secondlook.evaluation import runner as running
from secondlook.evaluation.cache import RememberingModels
from secondlook.evaluation.report import plots
from secondlook.library.library import Shelf
from tests.support.eval_set import QUESTIONS, UNANSWERABLE, write_set
from tests.support.function_model import FunctionModel
from tests.support.table_sets import dabench_set

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.models.chat import ChatRequest

ALL = len(QUESTIONS) + len(UNANSWERABLE)
SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
POINTS = 2 * ALL - 1 if SOAK else 3
"""Where an evaluation is interrupted: with SOAK after every single answer."""
TIMINGS = re.compile(r"seconds|latency|^passes|^command|^price")


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots take longer than these few questions; the report's own tests look at them."""
    monkeypatch.setenv("SECONDLOOK_CACHE", str(shared_cache))
    monkeypatch.setattr(plots, "can_draw", lambda: False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_set(tmp_path / "harbour")


def without_timings(value: Any) -> Any:
    """The results but for what a clock says."""
    if isinstance(value, dict):
        return {
            key: without_timings(item) for key, item in value.items() if not TIMINGS.search(key)
        }
    return [without_timings(item) for item in value] if isinstance(value, list) else value


def on_disk(folder: Path) -> Any:
    return without_timings(json.loads((folder / "results.json").read_text("utf-8")))


def test_answers_are_found_right_and_withheld_where_there_is_none(
    data: Path, tmp_path: Path
) -> None:
    found = evaluate(data, workflows=["linear", "adaptive"], out=tmp_path / "out")
    metrics = found.summaries["linear"].metrics
    assert set(found.summaries) == {"linear", "adaptive"}
    assert len(found.rows) == 2 * ALL
    assert metrics["recall@5"].value == 1.0
    assert metrics["f1"].n == len(QUESTIONS)
    assert metrics["f1"].value is not None
    assert metrics["f1"].value > 0.5
    assert metrics["refused_unanswerable"].n == len(UNANSWERABLE)
    assert metrics["citation_precision"].value == 1.0
    assert metrics["latency_p50"].value
    assert found.comparisons[0].base == "linear"
    assert found.data["asked"] == ALL
    for file in ("results.json", "results.csv", "report.html"):
        assert (tmp_path / "out" / file).stat().st_size > 500


def test_a_second_run_of_it_reads_and_indexes_nothing(data: Path, tmp_path: Path) -> None:
    evaluate(data, workflows=["linear"], out=tmp_path / "first")
    again = evaluate(data, workflows=["linear", "adaptive"], out=tmp_path / "second")
    assert again.passes["reader_pairs"] == 0
    assert (again.passes["reader_remembered"] or 0) > 0
    assert again.passes["embedder_texts"] == 0
    assert on_disk(tmp_path / "first")["rows"] == [
        row for row in on_disk(tmp_path / "second")["rows"] if row["configuration"] == "linear"
    ]


@pytest.mark.parametrize("after", random.Random(5).sample(range(1, 2 * ALL), POINTS))
def test_interrupted_and_resumed_it_comes_to_the_same(
    data: Path, tmp_path: Path, after: int
) -> None:
    def stop(progress: running.Progress) -> None:
        if progress.indexed is None and progress.done == after:
            raise KeyboardInterrupt

    workflows = ["linear", "adaptive"]
    with pytest.raises(KeyboardInterrupt):
        evaluate(data, workflows=workflows, out=tmp_path / "stopped", progress=stop)
    assert not (tmp_path / "stopped" / "results.json").exists()
    resumed: list[running.Progress] = []
    evaluate(data, workflows=workflows, out=tmp_path / "stopped", progress=resumed.append)
    evaluate(data, workflows=workflows, out=tmp_path / "whole")
    assert resumed[-1].reused == after
    assert resumed[-1].done == 2 * ALL
    assert on_disk(tmp_path / "stopped") == on_disk(tmp_path / "whole")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_process_loses_no_finished_answer(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "secondlook", "eval", str(data), "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        rows = out / running.ROWS_FILE
        while process.poll() is None and not (rows.exists() and rows.read_text().count("\n") > 2):
            pass
        process.kill()
        process.communicate(timeout=60)
    done = rows.read_text().count("\n")
    resumed: list[running.Progress] = []
    evaluate(data, out=out, progress=resumed.append)
    assert resumed[-1].reused >= done >= 2
    evaluate(data, out=tmp_path / "whole")
    assert on_disk(out) == on_disk(tmp_path / "whole")


def test_a_line_that_was_cut_off_is_done_again(data: Path, tmp_path: Path) -> None:
    evaluate(data, out=tmp_path / "out")
    whole = on_disk(tmp_path / "out")
    rows = tmp_path / "out" / running.ROWS_FILE
    rows.write_bytes(rows.read_bytes()[:-40])
    resumed: list[running.Progress] = []
    evaluate(data, out=tmp_path / "out", progress=resumed.append)
    assert resumed[-1].reused == ALL - 1
    assert on_disk(tmp_path / "out") == whole
    assert all(json.loads(line) for line in rows.read_text().splitlines()[-1:])


def test_a_question_that_fails_is_listed_and_counts_as_wrong(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = Shelf.find

    def broken(self: Shelf, query: str, *args: Any) -> Any:
        if "berth" in query:
            raise OSError("the disk is gone")
        return find(self, query, *args)

    monkeypatch.setattr(Shelf, "find", broken)
    found = evaluate(data, out=tmp_path / "out")
    row = next(row for row in found.rows if row.case == "q1")
    assert row.status == "failed"
    assert "the disk is gone" in (row.error or "")
    assert found.summaries["linear"].failed == ("q1",)
    assert found.summaries["linear"].metrics["f1"].n == len(QUESTIONS)
    assert found.summaries["linear"].metrics["failed"].value == pytest.approx(1 / ALL)


def test_replies_of_a_model_are_asked_for_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FunctionModel(lambda _: "Berth 4 is the deepest berth, at 7.8 metres [1].")
    monkeypatch.setattr(
        running, "RememberingModels", partial(RememberingModels, open_chat=lambda _: model)
    )
    options: dict[str, Any] = {"settings": {"models.default": "ollama:test"}, "limit": 4}
    first = evaluate(data, workflows=["linear", "adaptive"], out=tmp_path / "a", **options)
    asked = len(model.requests)
    assert 4 <= asked < 8
    assert first.passes["model_calls"] == asked
    assert all(row.llm_calls == 1 for row in first.rows if row.tokens_out)
    again = evaluate(data, workflows=["linear", "adaptive"], out=tmp_path / "b", **options)
    assert len(model.requests) == asked
    assert [row.tokens_in for row in again.rows] == [row.tokens_in for row in first.rows]
    evaluate(data, workflows=["linear"], out=tmp_path / "c", repeat=2, **options)
    assert len(model.requests) == asked + 4  # a repetition is asked anew


# Research in an evaluation, by the real engine: its steps, its letters, its memory.

CHOICES = {"A": "Mars", "B": "Jupiter", "C": "Venus"}


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


# `secondlook eval` over tables as a person uses it, without a model.


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["eval", *arguments, "--json", "-q", "--model", "none"]) == 0
    return json.loads(capsys.readouterr().out)


def test_named_values_are_compared_and_asked_once_and_what_is_withheld_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
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
