"""`secondlook calibrate` over a real library with the real reader, from the command line and from
Python. All tests share one memory of what was read, so that each passage is read once."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.evaluation import calibration as procedure
from secondlook.evaluation.calibration import _of_sheet, calibrate
from secondlook.evaluation.confidence import fit
from secondlook.evaluation.generated_questions import Place, made_questions
from secondlook.evaluation.library import EvaluatedLibrary
from secondlook.library.library import Library
from secondlook.reading.calibration import load_calibration
from tests.support.calibrating import documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.evaluation.confidence import Fitted
    from secondlook.evaluation.generated_questions import Asked
    from secondlook.evaluation.runner import Progress

MOST = 60
SMALL = ["--questions", str(MOST)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calibrate")


@pytest.fixture(autouse=True)
def _here(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(shared / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def towns(shared: Path) -> Path:
    with Library.open(shared / "library") as library:
        library.add_texts(documents())
    return shared / "library"


@pytest.fixture
def own(towns: Path) -> Iterator[Path]:
    """The library's own calibration: gone after each test."""
    file = towns / "calibration.json"
    yield file
    file.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def made(towns: Path) -> list[Asked]:
    with Library.open(towns) as library:
        return made_questions(library, most=MOST, seed=0)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["calibrate", *arguments, "--json", "-q"])
    return code, json.loads(capsys.readouterr().out)


def sheet_of(made: list[Asked], file: Path) -> Path:
    """The made questions as a person would write them down."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["question", "answer", "answerable"])
        for one in made:
            known = one.answers[0] if one.answerable else ""
            writer.writerow([one.question, known, "yes" if one.answerable else "no"])
    return file


# Made questions


def test_half_have_no_answer_and_every_document_is_asked_about(made: list[Asked]) -> None:
    kinds = Counter(one.kind for one in made)
    assert kinds == {"made": 30, "swapped": 20, "left out": 10}
    assert sum(one.answerable for one in made) == 30
    groups = Counter(one.group for one in made)
    assert len(groups) == len(documents())
    assert max(groups.values()) - min(groups.values()) <= 4
    assert len({one.question for one in made}) == MOST
    assert all(one.left_out == (Place(one.group),) for one in made if one.kind == "left out")


# The command


def test_a_library_is_calibrated_on_its_own_documents(
    towns: Path, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "reliability.svg"
    options = ["--library", str(towns), *SMALL, "--force", "--plot", str(plot)]
    assert main(["calibrate", *options]) == 0
    said = capsys.readouterr()
    assert "ECE" in said.out
    assert "--max-risk 0.05" in said.out
    assert f"Stored: {own}" in said.err
    assert b"<svg" in plot.read_bytes()

    held = json.loads(own.read_text("utf-8"))
    assert held["data"]["asked"] == {"made": 30, "swapped": 20, "left out": 10}
    assert held["reliability"]["after"]["questions"] == held["data"]["answered"]
    with Library.open(towns) as library:
        used = load_calibration(library.reader().name, own)
    assert used.source == "library"
    # No byte of a document or a question is kept with it.
    assert "lighthouse" not in own.read_text("utf-8")

    code, shown = run(capsys, "--library", str(towns), "--show")
    assert (code, shown["source"], shown["file"]) == (0, "library", str(own))
    assert shown["data"]["questions"] == "the library's own documents"
    assert run(capsys, "--library", str(towns), "--remove") == (0, {"removed": True})
    assert run(capsys, "--library", str(towns), "--remove") == (0, {"removed": False})
    assert run(capsys, "--library", str(towns), "--show")[1]["source"] != "library"


def test_a_fit_that_is_no_better_is_refused_unless_forced(
    towns: Path, own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def worse(*given: Any, **options: Any) -> Fitted:
        return replace(fit(*given, **options), better=False)

    monkeypatch.setattr(procedure, "fit", worse)
    assert main(["calibrate", "--library", str(towns), *SMALL]) == 0
    assert "no better than the shipped one" in capsys.readouterr().err
    assert not own.exists()
    report = calibrate(towns, most=MOST, force=True)
    assert report.stored == str(own)
    assert "stored all the same" in report.notes[-1]
    assert own.exists()


def test_ctrl_c_changes_nothing(towns: Path, own: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    own.write_text("as it was", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        calibrate(towns, most=MOST, progress=stop, force=True)
    assert own.read_text("utf-8") == "as it was"


# Own questions


def test_a_sheet_of_questions_is_about_the_library(
    towns: Path, own: Path, made: list[Asked], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = sheet_of(made, tmp_path / "mine.csv")
    code, found = run(capsys, str(sheet), "--library", str(towns), *SMALL, "--dry-run")
    assert code == 0
    assert found["source"] == "mine.csv"
    assert found["asked"] == {"own": MOST}
    assert not own.exists()


def test_a_folder_that_the_library_holds_is_asked_there_and_its_sheet_is_left_out(
    tmp_path: Path, made: list[Asked]
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "town.txt").write_text(documents()[0].text, encoding="utf-8")
    sheet = sheet_of([one for one in made if one.answerable], papers / "questions.csv")
    with EvaluatedLibrary.open(tmp_path / "own") as library:
        library.add([papers])
        source = _of_sheet(sheet, library, most=MOST, seed=0)
        held = next(item for item in library.documents() if str(sheet) in item.paths)
        assert {one.left_out for one in source.asked} == {(Place(held.id),)}
        assert any("every question has an answer" in note for note in source.notes)


# What cannot be done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.csv", "--from-library"], "brings others"),
        (["--show", "--remove"], "do not go together"),
        (["--plot", "reliability.pdf"], "SVG or PNG"),
        (["--plot", "nowhere/reliability.svg"], "no folder"),
        (["--questions", "10"], "too few"),
        (["nowhere"], "cannot be read"),
    ],
)
def test_a_call_that_makes_no_sense_is_told(
    towns: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *arguments, "--library", str(towns)]) == 2
    assert message in capsys.readouterr().err
