"""`secondlook runs`: what was asked and what became of it, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import typer

from secondlook.answer import Answer, Trouble
from secondlook.cli import runs as runs_commands
from secondlook.cli.command import Common
from secondlook.engine.record import RunStore
from secondlook.events import (
    NodeFinished,
    NodeStarted,
    PassagesFound,
    Routed,
    RunStarted,
    Token,
    Warned,
)
from tests.support.memory_runs import full_answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Run = tuple[int, str, str]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "runs.db"
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(file))
    return file


@pytest.fixture
def secondlook(capsys: pytest.CaptureFixture[str], path: Path) -> Callable[..., Run]:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.add_typer(runs_commands.group(), name="runs")

    @app.callback()
    def root(ctx: typer.Context) -> None:
        ctx.obj = Common()

    def call(*arguments: str) -> Run:
        capsys.readouterr()
        code: Any = app([*arguments], standalone_mode=False)
        out, err = capsys.readouterr()
        return code or 0, out, err

    return call


@pytest.fixture
def recorded(path: Path) -> None:
    """Three runs: one answered, one that went on in steps, one that broke off."""
    with RunStore.open(path) as store:
        for number, run in enumerate(("20260101-aa11", "20260101-aa22", "20260102-bb33")):
            store.start(
                run,
                question=f"What of\nlamp {number}?",
                workflow="linear",
                created=f"2026-01-0{number + 1}T08:05:00+00:00",
            )
        store.finish(full_answer("20260101-aa11"))
        go_through("20260101-aa22", store)
        store.append(NodeStarted(run="20260102-bb33", at=0.5, node="retrieve"))
        store.leave("20260102-bb33")


def go_through(run: str, store: RunStore) -> None:
    answer = full_answer(run)
    store.append(RunStarted(run=run, question="What?", workflow="linear"))
    store.append(NodeStarted(run=run, at=0.1, node="retrieve"))
    store.append(PassagesFound(run=run, at=0.2, query="lamp", passages=answer.passages))
    store.append(NodeFinished(run=run, at=0.3, node="retrieve", said="found 1"))
    store.append(Routed(run=run, at=0.3, source="retrieve", to="answer", why="enough"))
    store.append(Token(run=run, at=0.4, text="The keeper"))
    trouble = Trouble(node="web", error="E", message="down", consequence="skipped")
    store.append(Warned(run=run, at=0.5, trouble=trouble))
    store.finish(answer, at=0.75)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("arguments", [("runs",), ("runs", "list")])
def test_the_list_for_programs(secondlook: Callable[..., Run], arguments: tuple[str, ...]) -> None:
    code, out, _ = secondlook(*arguments, "--limit", "2")
    assert code == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("20260102-bb33", "interrupted", "What of lamp 2?"),
        ("20260101-aa22", "answered", "What of lamp 1?"),
    ]
    listed = json.loads(secondlook(*arguments, "--json")[1])["runs"]
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
def test_an_answer_is_shown_as_it_was_given(secondlook: Callable[..., Run]) -> None:
    code, out, err = secondlook("runs", "show", "20260101-aa1")
    assert code == 0
    assert full_answer("r").text in out
    assert "Harbour" in out
    assert "What of lamp 0?" in err
    printed = secondlook("runs", "show", "20260101-aa11", "--json")[1]
    assert Answer.model_validate_json(printed) == full_answer("20260101-aa11")
    assert secondlook("runs", "-q", "show", "20260101-aa11")[2] == ""


@pytest.mark.usefixtures("recorded")
def test_the_way_to_an_answer(secondlook: Callable[..., Run]) -> None:
    code, out, _ = secondlook("runs", "show", "20260101-aa2", "--events")
    assert code == 0
    told = [line.split(" s  ", 1)[1].split(maxsplit=1) for line in out.splitlines()]
    assert told == [
        ["run_started", "linear: What?"],
        ["node_started", "retrieve"],
        ["passages_found", "1 passage for 'lamp'"],
        ["node_finished", "retrieve: found 1"],
        ["routed", "retrieve: answer: enough"],
        ["token", "The keeper"],
        ["warned", "web: down; skipped"],
        ["answered", f"answered (answered): {full_answer('r').text}"],
    ]
    form = json.loads(secondlook("runs", "show", "20260101-aa2", "--events", "--json")[1])
    assert (form["id"], form["status"]) == ("20260101-aa22", "answered")
    assert [event["type"] for event in form["events"]] == [kind for kind, _ in told]


@pytest.mark.usefixtures("recorded")
def test_removing(secondlook: Callable[..., Run], path: Path) -> None:
    assert secondlook("runs", "remove", "20260101-aa1", "nope")[0] == 2
    with RunStore.open(path) as store:
        assert len(store.list()) == 3
    code, out, err = secondlook("runs", "remove", "20260101-aa1", "20260101-aa11", "--yes")
    assert (code, out, err) == (0, "", "Removed 1 run.\n")
    removed = json.loads(secondlook("runs", "remove", "last", "--json")[1])
    assert removed == {"removed": ["20260102-bb33"]}
    with RunStore.open(path) as store:
        assert [item.run for item in store.list()] == ["20260101-aa22"]
