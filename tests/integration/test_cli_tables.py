"""Tables on the command line and through the Python doors."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING

import pytest

import secondlook
from secondlook.cli.main import main
from secondlook.library.library import Library
from secondlook.settings import load
from secondlook.store.tables import tables_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@pytest.fixture(scope="module")
def held(sales: Path) -> Iterator[Library]:
    """A library that all tests share: look, do not change."""
    with Library.open(sales.with_name("library")) as made:
        made.add(sales)
        yield made


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_tables_are_listed(held: Library, sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tables", "--library", str(held.path))
    assert (code, out, err) == (0, f"sales\t3\t2\t{sales}\n", "")
    code, out, _ = run(capsys, "tables", "--library", str(held.path), "--filter", "kind=pdf")
    assert (code, out) == (0, "")


def test_what_is_in_each_column(held: Library, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("sales", "SALES", "sales.csv", held.tables()[0].id):
        code, out, _ = run(capsys, "tables", "show", name, "--library", str(held.path))
        assert code == 0
        assert "sales  sales.csv: 3 rows, 2 columns" in out
        assert "north (2), south (1)" in out
        assert "10 to 30, mean 20" in out
    _, out, _ = run(capsys, "tables", "show", "sales", "--json", "--library", str(held.path))
    assert json.loads(out)["profile"]["columns"][1]["mean"] == 20


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
