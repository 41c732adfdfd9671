"""Tables on the command line and through the Python doors."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import secondlook
from secondlook.cli import search as cli_tables
from secondlook.cli.main import main
from secondlook.cli.search import parse_tables, values_of
from secondlook.errors import LibraryMissing, UsageError
from secondlook.library.library import Library
from secondlook.settings import load
from secondlook.store.tables import tables_folder
from secondlook.tables.table import ColumnProfile, ValueCount
from tests.support.workbooks import write_workbook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.nodes.state import Scope

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


def test_a_person_sees_a_table(
    held: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_tables, "is_terminal", lambda _: True)
    code, out, _ = run(capsys, "tables", "--library", str(held.path))
    assert code == 0
    assert out.split()[:4] == ["name", "rows", "columns", "from"]


def test_what_is_in_each_column(held: Library, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("sales", "SALES", "sales.csv", held.tables()[0].id):
        code, out, _ = run(capsys, "tables", "show", name, "--library", str(held.path))
        assert code == 0
        assert "sales  sales.csv: 3 rows, 2 columns" in out
        assert "north (2), south (1)" in out
        assert "10 to 30, mean 20" in out
    _, out, _ = run(capsys, "tables", "show", "sales", "--json", "--library", str(held.path))
    assert json.loads(out)["profile"]["columns"][1]["mean"] == 20


def test_a_table_that_is_not_there(held: Library, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "tables", "show", "sale", "--library", str(held.path))
    assert code == 2
    assert "there is no table 'sale'" in err
    assert "Do you mean sales?" in err
    code, _, err = run(capsys, "tables", "show", "x", "--library", str(held.path))
    assert "secondlook library tables lists them" in err


def test_a_name_of_several_tables(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets = dict.fromkeys(("Q1", "Q2"), (("pieces",), (3,), (4,)))
    library.add(write_workbook(tmp_path / "book.xlsx", sheets))
    code, _, err = run(capsys, "tables", "show", "book.xlsx", "--library", str(library.path))
    assert code == 2
    assert "book_q1, book_q2" in err


def test_a_library_without_tables(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "tables", "--library", str(library.path))
    assert (code, out) == (0, "")
    assert "holds no table" in err


def test_documents_and_status_tell_of_tables(
    held: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "status", "--library", str(held.path))
    assert "tables     1\n" in out
    _, out, _ = run(capsys, "show", "sales.csv", "--library", str(held.path))
    assert "tables     sales\n" in out


def test_a_file_is_asked_without_a_library(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "ask", "what is the mean price", "--table", str(sales))
    assert code == 0, err
    assert out.startswith("20\n")
    settings = load().settings
    assert not settings.library.path.exists()
    assert len(list(tables_folder(settings.runs.path).iterdir())) >= 1


def test_a_table_is_asked_by_another_name(
    held: Library, sales: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(
        capsys, "ask", "--json", "highest price", "--table", f"turnover={sales}",
        "--library", str(held.path),
    )  # fmt: skip
    assert code == 0
    answer = json.loads(out)
    assert answer["workflow"] == "analyst"
    assert [item["name"] for item in answer["analysis"]["inputs"]] == ["turnover"]


def test_what_cannot_be_asked(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "ask", "mean price", "--table", "missing.csv")
    assert code == 2
    assert "does not exist" in err
    code, _, err = run(capsys, "ask", "m", "--table", str(sales), "--library", "/nowhere/at/all")
    assert code != 0
    assert "there is no library" in err
    code, _, err = run(capsys, "ask", "m", "--table", str(sales), "--workflow", "linear")
    assert code == 2
    assert "'linear' does not compute with tables" in err


def test_files_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b.csv").write_text(SALES, encoding="utf-8")
    assert parse_tables(None) is None
    assert parse_tables(["x/sales.csv", "y/sales.csv.gz", "old=z.csv"]) == {
        "sales": Path("x/sales.csv"),
        "sales_2": Path("y/sales.csv.gz"),
        "old": Path("z.csv"),
    }
    assert parse_tables(["a=b.csv"]) == {"a_b": Path("a=b.csv")}
    for wrong in (["=x.csv"], ["x="], [""], ["a=1.csv", "a=2.csv"]):
        with pytest.raises(UsageError):
            parse_tables(wrong)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (ColumnProfile(name="x", type="other", rows=1), ""),
        (ColumnProfile(name="x", type="integer", rows=1, minimum=1, maximum=2, key=True),
         "1 to 2, a key"),
        (ColumnProfile(name="x", type="date", rows=1, minimum="2024-01-01", maximum="2024-02-01"),
         "2024-01-01 to 2024-02-01"),
        (ColumnProfile(name="x", type="text", rows=1, top=(ValueCount(value="a\x1b[1m", count=2),)),
         "a\ufffd[1m (2)"),
    ],
)  # fmt: skip
def test_values_in_a_line(column: ColumnProfile, shown: str) -> None:
    assert values_of(column) == shown


def test_frames_are_asked_from_python(held: Library) -> None:
    rows = [{"region": "north", "price": 1}, {"region": "south", "price": 4}]
    answer = secondlook.ask("what is the mean price", tables={"sales": rows})
    assert (answer.workflow, answer.short) == ("analyst", "2.5")
    beside = secondlook.ask("what is the mean price", tables={"sales": rows}, library=held.path)
    assert beside.short == "2.5"
    own = secondlook.ask("what is the mean price", library=held.path, workflow="analyst")
    assert own.short == "20"


def test_frames_are_asked_from_async_code() -> None:
    async def asked() -> str | None:
        answer = await secondlook.aask("what is the mean price", tables={"s": [{"price": 3}]})
        return answer.short

    assert asyncio.run(asked()) == "3"


def test_without_tables_a_library_is_needed() -> None:
    with pytest.raises(LibraryMissing):
        secondlook.ask("what is the mean price")


def test_tables_of_the_library_lie_beside_those_handed_over_where_they_are_named(
    held: Library,
) -> None:
    from secondlook.engine.tables import desk_for, handed_over

    handed = handed_over({"sales": [{"price": 1}]}, "r1", held, held.settings)
    everything: Scope = {"documents": None, "labels": []}
    some: Scope = {"documents": [held.documents()[0].id], "labels": []}
    assert [table.rows for table in desk_for(held, everything, handed).tables()] == [1]
    both = desk_for(held, some, handed).tables()
    assert [(table.name, table.rows) for table in both] == [("sales", 1), ("sales_2", 3)]
    assert [table.rows for table in desk_for(held, everything, None).tables()] == [3]


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
