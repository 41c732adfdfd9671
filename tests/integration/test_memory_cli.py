"""The record of runs and the memory of answers: listed, exported, forgotten, pruned; bad disks."""

import json
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.events import EVENT, NodeFinished
from secondlook.models.journal import JournalEntry
from secondlook.settings import load
from secondlook.settings.sections import RunSettings
from secondlook.store.answers import AnswerMemory
from tests.support.answer_memory import ASKED, put
from tests.support.memory_runs import CREATED, entry, full_answer
from tests.support.unprivileged import environment, unprivileged

Printed = tuple[int, str, str]
NORTH = [1.0, 0.0]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))
    monkeypatch.setenv("SECONDLOOK_LIBRARY_PATH", str(tmp_path / "papers"))
    return RunSettings(path=tmp_path / "runs.db")


@pytest.fixture
def memory(runs: RunSettings, tmp_path: Path) -> Iterator[AnswerMemory]:
    with AnswerMemory.own(runs, tmp_path / "papers") as opened:
        yield opened


@pytest.fixture
def secondlook(capsys: pytest.CaptureFixture[str], runs: RunSettings) -> Callable[..., Printed]:
    def call(*arguments: str) -> Printed:
        capsys.readouterr()
        code = main(["memory", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, *, agrees: bool) -> None:
    def asked(text: str, **_: Any) -> bool:
        assert text.startswith("Forget ")
        if not agrees:
            raise typer.Abort
        return True

    monkeypatch.setattr("secondlook.cli.command.is_terminal", lambda _: True)
    monkeypatch.setattr("typer.confirm", asked)


def test_the_list_has_a_line_for_each(
    secondlook: Callable[..., Printed], memory: AnswerMemory
) -> None:
    put(memory, "who\nowns the quay", NORTH)
    number = put(memory, ASKED, NORTH)
    code, out, err = secondlook("list")
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == [str(number), "2026-01-02T03:04:05+00:00", "run-1", ASKED]
    assert lines[1][-1] == "who owns the quay"


def test_a_person_is_asked_before_anything_is_forgotten(
    secondlook: Callable[..., Printed], memory: AnswerMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [str(put(memory, f"question {number}", NORTH)) for number in range(7)]
    at_a_terminal(monkeypatch, agrees=False)
    assert secondlook("forget", *numbers)[0] == 130
    assert secondlook("clear")[0] == 130
    assert len(memory.list()) == 7
    at_a_terminal(monkeypatch, agrees=True)
    assert secondlook("forget", *numbers[:2])[2] == "Forgot 2 questions.\n"
    assert secondlook("clear")[2] == "Forgot 5 questions.\n"


RUNS = ("20260101-aa11", "20260102-bb22", "20260103-cc33")


@pytest.fixture
def recorded(runs: RunSettings) -> None:
    """Of 200, 100 and 0 days ago; the last one broke off."""
    address = "postgresql://me:swordfish@host/db"
    settings = load({"runs.store": address}).settings.model_dump(mode="json")
    settings["models"]["default"] = "openai:m@https://me:swordfish@host/v1"
    with RunStore.open(runs.path) as store:
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


@pytest.mark.usefixtures("recorded")
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
    run = json.loads(text)
    assert (run["format"], run["version"], run["id"]) == ("secondlook-run", 1, RUNS[0])
    assert Answer.model_validate(run["answer"]) == full_answer(RUNS[0])
    assert [EVENT.validate_python(event).type for event in run["events"]] == ["node_finished"]
    (call,) = run["journal"]
    assert (call.pop("key"), JournalEntry(**call)) == ("k", entry("reply \N{SNOWMAN}\n"))
    assert run["passages"] == [{"id": "w1", "text": "a page"}]
    assert run["request"]["settings"]["models"]["default"] == "openai:m@https://host/v1"


@pytest.mark.usefixtures("recorded")
def test_pruning_by_number_and_by_age(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "prune", "--keep", "1", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"pruned": [RUNS[1], RUNS[0]], "dry_run": True}
    assert main(["runs", "prune", "--older-than", "150d"]) == 0
    assert "1 run removed." in capsys.readouterr().err
    assert listed(capsys) == [RUNS[2], RUNS[1]]
    assert main(["runs", "prune", "--older-than", "1h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"pruned": [RUNS[1]], "dry_run": False}
    assert main(["runs", "prune", "--keep", "0"]) == 0
    assert listed(capsys) == []
    assert main(["runs", "prune", "--keep", "0"]) == 0


# A disk that is full, or may only be read: it is said plainly, and what was stored is whole.

ROOM = "2M"
# In a view of the machine of its own: a disk that is full there is full for nobody else.
_SMALL_DISK = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
user = os.geteuid()
if c.unshare(0x10020000 if user else 0x20000):
    sys.exit("no view of its own")
if user:
    with open("/proc/self/uid_map", "w") as owners:
        owners.write(f"0 {user} 1")
if c.mount(None, b"/", None, ctypes.c_ulong(0x44000), None):
    sys.exit("no view of its own")
if c.mount(b"tmpfs", sys.argv[1].encode(), b"tmpfs", ctypes.c_ulong(0), sys.argv[2].encode()):
    sys.exit("no disk of its own")
os.execv(sys.argv[3], sys.argv[3:])
"""
_FILL = """
import sqlite3, sys
from pathlib import Path
from secondlook.errors import RunError
from secondlook.models.journal import JournalEntry
from secondlook.engine.record import RunStore
path = Path(sys.argv[1])
store = RunStore.open(path)
store.start("r", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
kept = 0
try:
    for kept in range(1_000):
        store.journal("r").put(str(kept), JournalEntry("t" * 20_000, "stop", "n", "r", "m", 1, 1))
except RunError as error:
    print(error)
    print(error.hint)
assert [key for key, _ in store.journal("r").entries()] == [str(n) for n in range(kept)]
ballast = path.with_name("ballast")
if ballast.exists():
    ballast.unlink()
store.journal("r").put("room again", JournalEntry("t", "stop", "n", "r", "m", 1, 1))
store.close()
with sqlite3.connect(path) as db:
    print(db.execute("PRAGMA integrity_check").fetchone()[0], kept > 10)
"""


def ran(command: Sequence[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a disk is mounted")
def test_a_full_disk_is_told_and_the_record_is_whole(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    fill = "from pathlib import Path; import sys; Path(sys.argv[1]).with_name('ballast')"
    code = f"{fill}.write_bytes(bytes(500_000))\n{_FILL}"
    inside = [sys.executable, "-c", code, str(disk / "runs.db")]
    said = ran([sys.executable, "-c", _SMALL_DISK, str(disk), f"size={ROOM}", *inside])
    assert "cannot be written" in said[0]
    assert "full" in said[0]
    assert "has room" in said[1]
    assert said[2] == "ok True"


_WRITE_AND_READ = """
import sys
from pathlib import Path
from secondlook.errors import RunError
from secondlook.engine.record import RunStore
path = Path(sys.argv[1])
try:
    store = RunStore.open(path)
    store.start("new", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
except RunError as error:
    print(error)
with RunStore.open(path, create=False) as store:
    print(store.get("last").status)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="root is let in elsewhere")
def test_a_disk_that_may_only_be_read_is_told_and_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "record"
    path = folder / "runs.db"
    with RunStore.open(path) as store:
        store.start("r", question="q", workflow="linear", created=CREATED)
        store.journal("r").put("k", entry())
        store.finish(full_answer("r"))
    before = path.read_bytes()
    path.chmod(0o400)
    folder.chmod(0o500)
    try:
        said = ran(unprivileged([sys.executable, "-c", _WRITE_AND_READ, path]))
    finally:
        folder.chmod(0o700)
        path.chmod(0o600)
    assert "cannot be written" in said[0]
    assert said[1] == "answered"
    assert path.read_bytes() == before
