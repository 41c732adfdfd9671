"""`secondlook runs export` and `prune`: what is exported is whole, what goes is what was meant."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.events import EVENT, NodeFinished
from secondlook.models.journal import JournalEntry
from secondlook.settings import load
from tests.support.memory_runs import entry, full_answer

if TYPE_CHECKING:
    from pathlib import Path

RUNS = ("20260101-aa11", "20260102-bb22", "20260103-cc33")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "runs.db"
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(file))
    return file


@pytest.fixture(autouse=True)
def recorded(path: Path) -> None:
    """Of 200, 100 and 0 days ago; the last one broke off."""
    address = "postgresql://me:swordfish@host/db"
    settings = load({"runs.store": address}).settings.model_dump(mode="json")
    settings["models"]["default"] = "openai:m@https://me:swordfish@host/v1"
    with RunStore.open(path) as store:
        for run, days in zip(RUNS, (200, 100, 0), strict=True):
            begun = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
            request = {"settings": settings, "asked": "What?"}
            store.start(run, question="What?", workflow="linear", created=begun, request=request)
            store.journal(run).put("k", entry("reply \N{SNOWMAN}\n"))
            store.put_passages(run, [{"id": "w1", "text": "a page"}])
            store.append(NodeFinished(run=run, at=0.5, node="retrieve", said="found 1"))
        for run in RUNS[:2]:
            store.finish(full_answer(run), at=0.75)
        store.leave(RUNS[2])


def listed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(["runs", "list", "--json"]) == 0
    return [item["id"] for item in json.loads(capsys.readouterr().out)["runs"]]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_export_holds_all_of_a_run_and_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.jsonl"
    assert main(["runs", "export", "20260101", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"exported": [RUNS[0]], "file": str(out), "bytes": out.stat().st_size}
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    text = out.read_text(encoding="utf-8")
    assert "swordfish" not in text
    (run,) = lines(text)
    assert (run["format"], run["version"], run["id"]) == ("secondlook-run", 1, RUNS[0])
    assert Answer.model_validate(run["answer"]) == full_answer(RUNS[0])
    assert [EVENT.validate_python(event).type for event in run["events"]] == ["node_finished"]
    (call,) = run["journal"]
    assert (call.pop("key"), JournalEntry(**call)) == ("k", entry("reply \N{SNOWMAN}\n"))
    assert run["passages"] == [{"id": "w1", "text": "a page"}]
    assert run["request"]["settings"]["models"]["default"] == "openai:m@https://host/v1"


def test_pruning_by_number_and_by_age(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "prune", "--keep", "1", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"pruned": [RUNS[1], RUNS[0]], "dry_run": True}
    assert main(["runs", "prune", "--older-than", "150d"]) == 0
    assert "1 run removed." in capsys.readouterr().err
    assert listed(capsys) == [RUNS[2], RUNS[1]]
    assert main(["runs", "prune", "--older-than", "1h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"pruned": [RUNS[1]], "dry_run": False}
    assert main(["runs", "prune", "--keep", "0"]) == 0
    assert listed(capsys) == []
    assert main(["runs", "prune", "--keep", "0"]) == 0
