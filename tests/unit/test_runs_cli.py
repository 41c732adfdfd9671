"""`secondlook runs`: what was asked and what became of it, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.events import NodeStarted
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
    def call(*arguments: str) -> Run:
        capsys.readouterr()
        code = main(arguments)
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def recorded(path: Path) -> None:
    """Three runs: two answered, one that broke off."""
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
