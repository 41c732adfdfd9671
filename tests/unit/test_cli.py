"""The command line on a machine of a test: what is printed, where, and the exit code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from secondlook.answer import Answer
from secondlook.cli.ask import OPTIONS, Asking, asking
from secondlook.cli.command import Call
from secondlook.cli.main import app
from secondlook.engine.record import RunStore
from secondlook.errors import SettingsError
from secondlook.events import NodeStarted
from secondlook.library.library import Library
from tests.support.memory_runs import full_answer
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
    names = listed(desk)
    assert len(names) <= 20
    program: Any = typer.main.get_command(app)
    shown = [name for name, one in program.commands.items() if not one.hidden]
    assert sorted(names) == sorted(shown)
    groups = [("library", "show"), ("library", "restore"), ("runs", "prune"), ("runs", "memory")]
    for name in (*((one,) for one in names), *groups, ("mcp",)):
        result = desk.run(*name, "--help")
        assert result.code == 0
        assert result.out.startswith(f"Usage: secondlook {' '.join(name)}")
        assert "secondlook" in result.out.partition("Options:")[2]
        assert "--debug" in result.out
        assert max(map(len, result.out.splitlines())) <= 84
        assert desk.run(*name, "-h") == result


def listed(desk: Desk) -> list[str]:
    chapters = desk.run("--help").out.split("Every day:\n")[1].split("Start here:")[0]
    return re.findall(r"^  (\w+)  ", chapters, re.MULTILINE)


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
        (["-", "--title", "T", "--name", "a.txt"], "- (standard input) stands alone"),
        (["https://a.example", "papers"], "web addresses are added by themselves"),
        (["papers", "--depth", "1"], "--depth is for web addresses"),
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
    for name in listed(desk):
        assert f"`{name}" in page


# Runs: what was asked and what became of it


def told(desk: Desk, *arguments: str) -> tuple[int, str, str]:
    result = desk.run(*arguments)
    return result.code, result.out, result.err


@pytest.fixture
def recorded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs: two answered, one that broke off."""
    path = desk.folder / "runs.db"
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(path))
    with RunStore.open(path) as store:
        for number, run in enumerate(("20260101-aa11", "20260101-aa22", "20260102-bb33")):
            store.start(
                run,
                question=f"What of\nlamp {number}?",
                workflow="linear",
                created=f"2026-01-0{number + 1}T08:05:00+00:00",
            )
        store.finish(full_answer("20260101-aa11"))
        store.finish(full_answer("20260101-aa22"))
        store.append(NodeStarted(run="20260102-bb33", at=0.5, node="retrieve"))
        store.leave("20260102-bb33")
    return path


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("arguments", [("runs",), ("runs", "list")])
def test_the_list_for_programs(desk: Desk, arguments: tuple[str, ...]) -> None:
    code, out, _ = told(desk, *arguments, "--limit", "2")
    assert code == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("20260102-bb33", "interrupted", "What of lamp 2?"),
        ("20260101-aa22", "answered", "What of lamp 1?"),
    ]
    listed = json.loads(told(desk, *arguments, "--json")[1])["runs"]
    assert listed[0] == {
        "id": "20260102-bb33",
        "started": "2026-01-03T08:05:00+00:00",
        "workflow": "linear",
        "status": "interrupted",
        "stop_reason": None,
        "question": "What of\nlamp 2?",
    }
    assert len(listed) == 3


@pytest.mark.usefixtures("recorded")
def test_an_answer_is_shown_as_it_was_given(desk: Desk) -> None:
    code, out, err = told(desk, "runs", "show", "20260101-aa1")
    assert code == 0
    assert full_answer("r").text in out
    assert "Harbour" in out
    assert "What of lamp 0?" in err
    printed = told(desk, "runs", "show", "20260101-aa11", "--json")[1]
    assert Answer.model_validate_json(printed) == full_answer("20260101-aa11")
    assert told(desk, "runs", "-q", "show", "20260101-aa11")[2] == ""


def test_removing(desk: Desk, recorded: Path) -> None:
    assert told(desk, "runs", "remove", "20260101-aa1", "nope")[0] == 2
    with RunStore.open(recorded) as store:
        assert len(store.list()) == 3
    code, out, err = told(desk, "runs", "remove", "20260101-aa1", "20260101-aa11", "--yes")
    assert (code, out, err) == (0, "", "Removed 1 run.\n")
    removed = json.loads(told(desk, "runs", "remove", "last", "--json")[1])
    assert removed == {"removed": ["20260102-bb33"]}
    with RunStore.open(recorded) as store:
        assert [item.run for item in store.list()] == ["20260101-aa22"]


# The options of `ask` and `chat`: what they set, and what has no effect is said.


def how(**given: Any) -> Asking:
    unset: dict[str, Any] = {
        name: getattr(one, "default", one) for name, (_, one) in OPTIONS.items()
    }
    return asking(Call(), **unset | given)


def test_any_setting_can_be_set_for_one_question() -> None:
    made = how(set_=["research.enable_screen=false", "answer.k=7"]).loaded.settings
    assert (made.research.enable_screen, made.answer.k) == (False, 7)


def test_a_setting_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(SettingsError, match="enable_scren"):
        how(set_=["research.enable_scren=false"])


def test_flags_are_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_BUDGET_CALLS", "7")
    made = how().loaded.settings.budget.model_dump()
    assert made == {"calls": 7, "tokens": 0, "money": 0.0, "seconds": 0.0}
    given = how(max_calls=3, max_tokens=8000, max_cost=0.02, timeout=20.0).loaded.settings.budget
    assert given.model_dump() == {"calls": 3, "tokens": 8000, "money": 0.02, "seconds": 20.0}
    assert how(max_calls=0).loaded.settings.budget.calls == 0, "0 takes a cap away"


@pytest.mark.parametrize(
    ("command", "flag", "value"),
    [
        ("ask", "--max-calls", "-1"),
        ("chat", "--max-tokens", "many"),
        ("ask", "--max-cost", "nan"),
        ("chat", "--timeout", "inf"),
    ],
)
def test_what_is_no_cap_is_told_by_the_name_of_its_flag(
    command: str, flag: str, value: str
) -> None:
    asked = ["how deep is it"] if command == "ask" else []
    told = CliRunner().invoke(app, [command, *asked, flag, value])
    assert flag in told.stderr
    assert not told.stdout
