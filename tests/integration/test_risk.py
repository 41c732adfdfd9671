"""`--max-risk` with the real reader: in Python, on the command line, in a chat, for a summary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from secondlook.cli.main import main
from secondlook.errors import UsageError
from secondlook.library.library import Library
from secondlook.library.report import Text
from secondlook.reading.weights import find_weights
from secondlook.settings import load
from tests.support.risk import calibrated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.engine.secondlook import Secondlook
    from secondlook.settings.sections import Settings

QUESTION = "How deep is berth 4?"
TEXT = "Berth 4 remains the deepest berth, at 7.8 metres. It was dredged in 1987 by Lowland."


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("risk") / "library"
    with Library.open(folder) as library:
        library.add_texts([Text("survey", TEXT, title="Survey")])
    return folder


@pytest.fixture(autouse=True)
def _no_calibration_is_left(harbour: Path) -> Iterator[None]:
    yield
    (harbour / "calibration.json").unlink(missing_ok=True)


@pytest.fixture
def settings(harbour: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECONDLOOK_LIBRARY_PATH", str(harbour))
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))
    return load().settings


def own(harbour: Path, threshold: float, reader: str | None = None, *, known: bool = True) -> None:
    name = reader or find_weights("reader").identity
    file = harbour / "calibration.json"
    calibrated(file, name, threshold=threshold, known=known, min_answer=0.01)


def test_where_nobody_counted_wrong_answers_no_risk_can_be_named(
    engine: Secondlook, harbour: Path
) -> None:
    own(harbour, 0.5, known=False)
    with pytest.raises(UsageError, match="nobody has counted") as refused:
        engine.ask(QUESTION, max_risk=0.05)
    assert "secondlook calibrate" in str(refused.value.hint)


# On the command line


def test_ask_withholds_says_why_and_shows_the_passages(
    settings: Settings, harbour: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own(harbour, 0.98)
    assert main(["ask", QUESTION, "--max-risk", "0.05"]) == 3
    said = capsys.readouterr()
    assert "the risk allowed is 5 %" in said.out
    assert "The nearest passages:" in said.out
    assert "at 7.8 metres" in said.out
    assert "secondlook search" not in said.err
    assert main(["ask", QUESTION, "--max-risk", "0.5"]) == 0
    assert "The nearest passages:" not in capsys.readouterr().out
    assert main(["ask", QUESTION, "--max-risk", "0.05", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["stop_reason"] == "low_confidence"
