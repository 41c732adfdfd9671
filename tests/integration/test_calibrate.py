"""`secondlook calibrate` over a real library with the real reader. All tests share one memory of
what was read, so that each passage is read once."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation import calibration as procedure
from secondlook.evaluation.calibration import Answering, Fitted, calibrate, fit
from secondlook.library.library import Library
from secondlook.reading.calibration import load_calibration
from tests.support.calibrating import documents, sheet
from tests.support.protocols import answer_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.evaluation.runner import Progress


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


@pytest.fixture(scope="module")
def questions(shared: Path) -> Path:
    return sheet(shared / "mine.csv")


@pytest.fixture
def own(towns: Path) -> Iterator[Path]:
    """The library's own calibration: gone after each test."""
    file = towns / "calibration.json"
    yield file
    file.unlink(missing_ok=True)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    return main(["calibrate", *arguments, "--json", "-q"]), json.loads(capsys.readouterr().out)


def test_a_library_is_calibrated_on_a_sheet_of_questions(
    towns: Path, questions: Path, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [str(questions), "--library", str(towns)]
    code, found = run(capsys, *options, "--dry-run")
    assert (code, found["source"], found["asked"]) == (0, "mine.csv", {"own": 64})
    assert not own.exists()
    assert main(["calibrate", *options, "--force"]) == 0
    said = capsys.readouterr()
    assert "ECE" in said.out
    assert "--max-risk 0.05" in said.out
    assert f"Stored: {own}" in said.err

    held = json.loads(own.read_text("utf-8"))
    assert held["reliability"]["after"]["questions"] == held["data"]["answered"]
    with Library.open(towns) as library:
        used = load_calibration(library.reader().name, own)
    assert used.source == "library"
    # No byte of a document or a question is kept with it.
    assert "lighthouse" not in own.read_text("utf-8")

    code, shown = run(capsys, "--library", str(towns), "--show")
    assert (code, shown["source"], shown["file"]) == (0, "library", str(own))
    assert shown["data"]["questions"] == "mine.csv"
    assert run(capsys, "--library", str(towns), "--remove") == (0, {"removed": True})
    assert run(capsys, "--library", str(towns), "--remove") == (0, {"removed": False})
    assert run(capsys, "--library", str(towns), "--show")[1]["source"] != "library"


def test_a_fit_that_is_no_better_is_refused_unless_forced(
    towns: Path,
    questions: Path,
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def worse(*given: Any, **options: Any) -> Fitted:
        return replace(fit(*given, **options), better=False)

    monkeypatch.setattr(procedure, "fit", worse)
    assert main(["calibrate", str(questions), "--library", str(towns)]) == 0
    assert "no better than the shipped one" in capsys.readouterr().err
    assert not own.exists()
    report = calibrate(towns, questions, force=True)
    assert report["stored"] == str(own)
    assert "stored all the same" in report["notes"][-1]
    assert own.exists()


def test_ctrl_c_changes_nothing(towns: Path, questions: Path, own: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    own.write_text("as it was", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        calibrate(towns, questions, progress=stop, force=True)
    assert own.read_text("utf-8") == "as it was"


def test_a_sheet_that_the_library_holds_answers_no_question(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "town.txt").write_text(documents()[0].text, encoding="utf-8")
    questions = sheet(papers / "questions.csv")
    with Library.open(tmp_path / "own") as library:
        library.add([papers])
        held = next(one.id for one in library.documents() if str(questions) in one.paths)
        answering = Answering(library, load_calibration(library.reader().name), questions)
        assert answering.where.documents is not None
        assert held not in answering.where.documents


def test_answers_that_a_person_judged_are_what_it_is_calibrated_on(
    towns: Path, questions: Path, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(csv.DictReader(questions.read_text("utf-8").splitlines()))
    wrong = "How deep is the harbour of Lessing?"
    with Secondlook.open(towns, model="none") as engine:
        real = engine.ask(wrong)
        runs = engine.settings.runs
        request = {"settings": {"library": {"path": str(engine.library.path)}}}
    assert real.short
    with RunStore(runs) as store:
        for at, row in enumerate(rows):
            right = {"short": row["answer"], "status": "answered", "tier": "sure"}
            silent = {
                "short": None,
                "text": "",
                "status": "abstained",
                "stop_reason": "no_evidence",
            }
            given = right if row["answer"] else silent
            store.start(
                f"r{at}", question="?", workflow="auto", created=f"2026-01-01T00:00:{at:02}"
            )
            store.begin(f"r{at}", request)
            store.finish(answer_of(f"r{at}", asked=row["question"], claims=(), **given))
            store.note(f"r{at}", feedback="right")
        store.note(real.run, feedback="wrong")
    sheet = tmp_path / "judged.csv"
    assert main(["eval", "feedback", str(sheet), "--library", str(towns), "-q"]) == 0
    assert sheet.stat().st_mode & 0o077 == 0
    held = {row["question"]: row for row in csv.DictReader(sheet.read_text("utf-8").splitlines())}
    assert {name: held[name]["answer"] for name in held if held[name]["answerable"] == "yes"} == {
        row["question"]: row["answer"] for row in rows if row["answer"]
    } | {wrong: ""}
    assert held[wrong]["wrong"] == real.short
    assert sum(row["answerable"] == "no" for row in held.values()) == 32

    capsys.readouterr()
    code, found = run(capsys, "--from", "feedback", "--library", str(towns), "--force")
    assert (code, found["source"], found["asked"]) == (0, "feedback.csv", {"own": 65})
    assert found["stored"] == str(own)
    assert main(["calibrate", "--from", "feedback", str(questions)]) == 2
    assert main(["eval", "feedback", str(sheet), "--library", str(towns)]) == 2
