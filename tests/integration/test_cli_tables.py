"""A table asked on the command line and taken up; the demo on the real sample documents."""

import tempfile
from pathlib import Path

import pytest

import secondlook
from secondlook.cli.main import main
from secondlook.settings import load
from secondlook.store.tables import tables_folder

SALES = "region,price\nnorth,10\nsouth,20\nnorth,30\n"


@pytest.fixture(autouse=True)
def _no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A person who has never added anything."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cli-tables") / "sales.csv"
    file.write_text(SALES, encoding="utf-8")
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_file_is_asked_without_a_library(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "ask", "what is the mean price", "--table", str(sales))
    assert code == 0, err
    assert out.startswith("20\n")
    settings = load().settings
    assert not settings.library.path.exists()
    assert len(list(tables_folder(settings.runs.path).iterdir())) >= 1


def test_a_run_over_tables_is_taken_up_though_its_library_is_gone(
    sales: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from secondlook.library.library import passing_library

    with (
        passing_library(load().settings, recorded=True) as library,
        secondlook.Secondlook(library) as engine,
    ):
        events = engine.stream("what is the mean price", tables={"sales": sales})
        assert next(events).type == "run_started"
        events.close()
    code, out, err = run(capsys, "runs", "resume", "last")
    assert code == 0, err
    assert out.startswith("20\n")
    code, _, err = run(capsys, "runs", "remove", "last", "--yes")
    assert code == 0
    assert list(tables_folder(load().settings.runs.path).iterdir()) == []


def test_the_demo_answers_two_questions_withholds_one_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["demo"]) == 0
    add, *asked = capsys.readouterr().out.split("\n$ secondlook ")[1:]
    assert add.startswith("add ")
    assert "7 added" in add
    thick, against, designed = asked
    assert "9.5 millimetres" in thick
    assert "[1] Halvermouth Harbour Survey 2024, p. 3" in thick
    assert "Councillor Whitlock" in against
    assert "I couldn't find a clear answer" in designed
    assert not (tmp_path / "data").exists()
    assert list(tmp_path.glob("secondlook-*")) == []
