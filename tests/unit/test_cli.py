"""The command line on a machine of a test: what is printed, where, and the exit code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from secondlook.library.library import Library
from tests.support.model_desk import Desk, Result, desk_in

HINT = "secondlook add FOLDER makes one; --library PATH names another"


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    return desk_in(tmp_path, monkeypatch, capsys)


def write(desk: Desk, name: str, text: str) -> str:
    (desk.folder / name).write_text(text, "utf-8")
    return str(desk.folder / name)


# Help and version


def test_there_are_few_commands_and_each_teaches_by_example(desk: Desk) -> None:
    names = [line.split()[0] for line in listed(desk).splitlines()]
    assert len(names) <= 16
    groups = [("library", "show"), ("library", "restore"), ("runs", "prune"), ("runs", "memory")]
    for name in (*((one,) for one in names), *groups, ("mcp",)):
        result = desk.run(*name, "--help")
        assert result.code == 0
        assert result.out.startswith(f"Usage: secondlook {' '.join(name)}")
        assert "secondlook" in result.out.partition("Options:")[2]
        assert "--debug" in result.out
        assert max(map(len, result.out.splitlines())) <= 84
        assert desk.run(*name, "-h") == result


def listed(desk: Desk) -> str:
    return desk.run("--help").out.split("Commands:\n")[1].split("\n\n")[0]


# Adding


def test_add_tells_what_became_of_each_file(desk: Desk) -> None:
    good, empty = write(desk, "a.txt", "bees"), write(desk, "b.txt", "")
    result = desk.run("add", good, empty)
    assert result.code == 0
    assert re.fullmatch(r"1 added, 1 failed; 1 passage in [\d.]+ s\n", result.out)
    assert result.err == f"failed: {empty}: the file is empty\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to add"),
        ([""], "nothing to add"),
        (["-", "--name", "a.txt", "--dry-run"], "- (standard input) stands alone"),
        (["typo"], "no such file or folder: 'typo'"),
        (["x", "--meta", "=3"], "'=3' is not of the form key=value"),
    ],
)
def test_add_explains_what_it_cannot_do(desk: Desk, arguments: list[str], message: str) -> None:
    result = desk.run("add", *arguments)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert message in result.err
    assert desk.run("status").code == 1, "there is no library"


def test_dry_run_shows_the_difference_and_makes_no_library(desk: Desk) -> None:
    file, library = write(desk, "a.txt", "bees"), desk.folder / "library"
    result = desk.run("add", "--dry-run", file, "--library", str(library))
    assert result.code == 0
    told = [f"added {file}", "1 added (dry run: nothing was changed)"]
    assert result.out.splitlines() == told
    assert not library.exists()


# Searching


def test_search_prints_rank_title_place_and_quote(desk: Desk) -> None:
    bees = write(desk, "bees.md", "# Bees\n\n## Homing\n\nBees find home by polarised light.")
    assert desk.run("add", bees).code == 0
    result = desk.run("search", "polarised bee")
    assert result.code == 0
    rank, place, quote, *_ = result.out.splitlines()
    assert re.fullmatch(r" 1  Bees  [\d.-]+", rank)
    assert place == f"    {bees}  Homing"
    assert quote.endswith("Bees find home by polarised light.")


# Settings


def test_a_wrong_setting_stops_every_command(desk: Desk) -> None:
    write(desk, "secondlook.toml", "[search]\nkk = 1\n")
    result = desk.run("status")
    assert result.code == 2
    assert "'search.kk'" in result.err
    assert "Did you mean 'search.k'?" in result.err


# Failures


def test_library_missing_and_library_before_the_command(desk: Desk) -> None:
    result = desk.run("--library", "elsewhere", "search", "bees")
    assert result.code == 1
    assert "elsewhere" in result.err
    assert result.err.splitlines()[1] == f"hint: {HINT}"
    assert "nearer" in desk.run("--library", "x", "status", "--library", "nearer").err


def test_failure_as_json(desk: Desk) -> None:
    result = desk.run("search", "bees", "--json")
    assert result.code == 1
    assert result.json["error"]["code"] == "LibraryMissing"
    assert result.json["error"]["hint"] == HINT
    assert result.err.startswith("error: there is no library")
    result = desk.run("search", "--json")
    assert result.code == 2
    assert result.json["error"]["code"] == "UsageError"


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def opened(*_: Any, **__: Any) -> Library:
        raise error

    monkeypatch.setattr(Library, "open", opened)


def test_unexpected_failure_is_one_line_and_a_hint(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, ZeroDivisionError("a / b\nwent wrong"))
    result = desk.run("add", write(desk, "a.txt", "x"))
    assert result.code == 1
    assert result.err.splitlines() == [
        "error: ZeroDivisionError: a / b went wrong",
        "hint: Run again with --debug to see where.",
    ]


def test_ctrl_c_is_one_line(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert desk.run("list") == Result(130, "", "Stopped.\n")


def test_the_documentation_lists_every_command(desk: Desk) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    for line in listed(desk).splitlines():
        assert f"`{line.split()[0]}" in page
