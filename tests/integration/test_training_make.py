"""A very small reader is made from rows to card on the processor, with the real commands."""

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest

from secondlook.reading.reader import OnnxReader
from secondlook.reading.weights import read_weights
from tests.support.random_mpnet import random_mpnet
from tests.support.training_sets import passage, write_sets
from training import make
from training.card import facts
from training.plan import RECIPES, TEACHER

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)
STAGES = [
    "rows",
    "base",
    "teacher",
    "arrays",
    "a",
    "b",
    "student-taught",
    "student",
    "score",
    "export",
    "card",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("training")


@pytest.fixture(scope="module")
def given(folder: Path) -> list[str]:
    """The tiny recipe, but both teachers are MPNets that start from the same seed."""
    recipe = json.loads((RECIPES / "reader-tiny.json").read_text("utf-8"))
    recipe["runs"]["a"]["start"] = TEACHER
    recipe["runs"]["a"]["options"]["rate"] = 0.01
    recipe["runs"]["b"] = recipe["runs"]["a"]
    (folder / "data").mkdir()
    return [
        "reader",
        *("--data", str(write_sets(folder / "data"))),
        *("--work", str(folder / "work")),
        *("--recipe", str(changed(folder, recipe))),
        *("--teacher", str(random_mpnet(folder / "model.safetensors"))),
    ]


def changed(folder: Path, recipe: dict[str, Any]) -> Path:
    file = folder / "recipe.json"
    file.write_text(json.dumps(recipe), "utf-8")
    return file


@pytest.fixture(scope="module")
def work(given: list[str], folder: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        # Other tests run on the other cores: threads that wait for each other would crawl.
        patch.setenv("OMP_NUM_THREADS", "1")
        assert make.main(given) == 0
    return folder / "work"


def lines(work: Path, stage: str) -> list[dict[str, Any]]:
    text = (work / "stages" / f"{stage}.log").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@needs_torch
@pytest.mark.parametrize("run", ["a", "student"])
def test_the_loss_goes_down(work: Path, run: str) -> None:
    spans = [line["span"] for line in lines(work, run) if "span" in line]
    assert len(spans) > 2
    assert spans[-1] < 0.8 * spans[0]


@needs_torch
def test_the_product_reads_with_what_was_exported(work: Path) -> None:
    weights = read_weights(work / "reader")
    assert weights.name == "reader-tiny"
    reader = OnnxReader(weights)
    texts = [passage(article, 0) for article in range(4)]
    readings = reader.read("Who built mill number 7?", texts)
    for reading, text in zip(readings, texts, strict=True):
        assert math.isfinite(reading.relevance + reading.answerable + reading.span_score)
        assert 0 <= reading.start <= reading.end <= len(text)
    looked = reader.read("Who built mill number 7?", texts, choose=lambda _: [2])
    assert [reading.looked for reading in looked] == [False, False, True, False]
    assert looked[2] == readings[2]
    assert len(reader.judge([("A mill was built.", texts[0])])) == 1


def test_the_embedder_is_trained_and_blended_with_what_it_was(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["embedder", "--data", str(folder), "--work", str(folder / "e"), "--dry-run"]
    assert make.main(given) == 1
    assert "--base" in capsys.readouterr().err
    assert make.main([*given, "--base", "gte.onnx"]) == 0
    told = capsys.readouterr().out.splitlines()
    stages = ["rows", "base", "arrays", "embed", "blend", "export", "card"]
    assert [line.partition(":")[0] for line in told] == stages
    assert "training.weights_in" in told[4]
    assert "--share 0.7" in told[4]


@needs_torch
def test_the_card_says_what_the_reader_was_made_of_and_names_no_place(work: Path) -> None:
    card = (work / "reader" / "card.md").read_text("utf-8")
    assert card.startswith("# reader-tiny, int8\n")
    assert facts(work / "reader") in card
    for wanted in (
        "SQuAD 1.1",
        "CC BY-SA 4.0",
        "HotpotQA",
        "| student | base | a, b | 2 | 3 | 8 steps | 768 |",
    ):
        assert wanted in card
    assert "Not measured yet" in card
    recipe = (work / "reader" / "recipe.json").read_text("utf-8")
    assert str(work) not in recipe + card
    assert json.loads(recipe)["held_out"]["ranking"]["squad"]["questions"] > 0


@needs_torch
def test_what_is_done_is_not_done_again(
    work: Path, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file: file.stat().st_mtime_ns for file in work.rglob("*") if file.is_file()}
    assert make.main(given) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name}: done before" for name in STAGES]
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_a_recipe_with_a_larger_teacher_asks_for_its_file(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert make.main(given[:-2]) == 1
    assert "--teacher" in capsys.readouterr().err


def test_a_stage_that_fails_says_where_its_output_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["reader", "--tiny", "--data", str(tmp_path), "--work", str(tmp_path / "work")]
    assert make.main(given) == 1
    said = capfd.readouterr().err
    assert "stage 'rows' failed" in said
    assert "rows.log" in said
    assert "no folder 'squad-train'" in (tmp_path / "work/stages/rows.log").read_text("utf-8")
