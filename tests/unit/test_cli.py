"""The command line over a library in memory: what is printed, where, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondlook.settings import ENV_NAMES
from tests.support import model_desk
from tests.support.fake_library import FakeLibrary, Shelf


class Desk(model_desk.Desk):
    """With the library in memory."""

    def __init__(self, folder: Path, shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder, capsys)
        self.shelf = shelf

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, "utf-8")
        return str(self.folder / name)


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    shelf = Shelf()
    monkeypatch.setattr(
        "secondlook.library.library.Library", type("L", (FakeLibrary,), {"shelf": shelf})
    )
    monkeypatch.setattr("secondlook.settings.user_file", lambda: tmp_path / "none" / "config.toml")
    for name in (*ENV_NAMES, "SECONDLOOK_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, shelf, capsys)


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
    good, empty = desk.write("a.txt", "bees"), desk.write("b.txt", "")
    result = desk.run("add", good, empty)
    assert result.code == 0
    assert result.out == "1 added, 1 failed; 1 passage in 1.2 s\n"
    assert result.err == f"failed: {empty}: it is empty\n"


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
    assert not desk.shelf.exists


def test_dry_run_shows_the_difference_and_makes_no_library(desk: Desk) -> None:
    good, empty = desk.write("a.txt", "bees"), desk.write("b.txt", "")
    library = desk.folder / "library"
    result = desk.run("add", "--dry-run", good, empty, "--library", str(library))
    assert result.code == 0
    assert result.out.splitlines() == [
        f"added {good}",
        f"failed {empty}  (it is empty)",
        "1 added, 1 failed (dry run: nothing was changed)",
    ]
    assert not desk.shelf.documents
    assert desk.shelf.settings[-1].library.path != library


# Searching


def test_search_prints_rank_title_page_place_and_quote(desk: Desk) -> None:
    bees = desk.write("bees.md", "# Bees\n\nBees find their way\f by polarised light.")
    assert desk.run("add", bees).code == 0
    result = desk.run("search", "polarised bee")
    assert result.code == 0
    assert result.out.splitlines() == [
        " 1  Bees, p. 1  0.750",
        f"    {bees}  Top > Sub",
        "    # Bees Bees find their way by polarised light.",
        "",
    ]


# Settings


def test_a_wrong_setting_stops_every_command(desk: Desk) -> None:
    desk.write("secondlook.toml", "[search]\nkk = 1\n")
    result = desk.run("status")
    assert result.code == 2
    assert "'search.kk'" in result.err
    assert "Did you mean 'search.k'?" in result.err


# Failures


def test_library_missing_and_library_before_the_command(desk: Desk) -> None:
    result = desk.run("--library", "elsewhere", "search", "bees")
    assert result.code == 1
    assert "elsewhere" in result.err
    assert result.err.splitlines()[1] == "hint: secondlook add"
    assert "nearer" in desk.run("--library", "x", "status", "--library", "nearer").err


def test_failure_as_json(desk: Desk) -> None:
    result = desk.run("search", "bees", "--json")
    assert result.code == 1
    assert result.json["error"]["code"] == "LibraryMissing"
    assert result.json["error"]["hint"] == "secondlook add"
    assert result.err.startswith("error: there is no library")
    result = desk.run("search", "--json")
    assert result.code == 2
    assert result.json["error"]["code"] == "UsageError"


def test_unexpected_failure_is_one_line_and_a_hint(desk: Desk) -> None:
    desk.shelf.raises = ZeroDivisionError("a / b\nwent wrong")
    result = desk.run("add", desk.write("a.txt", "x"))
    assert result.code == 1
    assert result.err.splitlines() == [
        "error: ZeroDivisionError: a / b went wrong",
        "hint: Run again with --debug to see where.",
    ]
    desk.shelf.raises = AssertionError()
    assert desk.run("list").err.startswith("error: AssertionError\n")


def test_ctrl_c_is_one_line(desk: Desk) -> None:
    desk.shelf.exists = True
    desk.shelf.raises = KeyboardInterrupt()
    assert desk.run("list") == model_desk.Result(130, "", "Stopped.\n")


# Demonstration


def test_the_documentation_lists_every_command(desk: Desk) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    for line in listed(desk).splitlines():
        assert f"`{line.split()[0]}" in page
