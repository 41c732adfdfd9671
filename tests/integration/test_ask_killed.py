"""The command line killed and told to end in the middle of a question; two processes at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from tests.support.chat_server import ChatServer, Said
from tests.support.unprivileged import SECONDLOOK, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent so there")
QUESTION = "How deep is the deepest berth of the north quay?"
HARBOUR = """# Harbour survey

The north quay was measured in spring. Its deepest berth is 14.2 metres at low tide.
"""
SENTENCE = "Its deepest berth is 14.2 metres at low tide [1]."
TOLD_TO_END = 143
PATIENCE = 240
"""Seconds; a machine may have much else to do."""


class Slow:
    """A model that lets the first question wait until it is told to go on."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Said:
        self.asked.set()
        self.goes_on.wait(PATIENCE)
        return Said([SENTENCE])


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def server(slow: Slow) -> Iterator[ChatServer]:
    with ChatServer(slow) as running:
        yield running
        slow.goes_on.set()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("asked")
    (made / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    path = str(made / "library")
    assert main(["add", "-q", str(made / "harbour.md"), "--library", path]) == 0
    return path


@pytest.fixture
def asking(library: str, server: ChatServer, tmp_path: Path) -> list[str]:
    model = f"openai:slow@{server.url}/v1"
    runs = f"runs.path={tmp_path / 'runs.db'}"
    options = ["--library", library, "--workflow", "linear", "--model", model, "--set", runs]
    return ["ask", QUESTION, *options]


def started(arguments: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*SECONDLOOK, *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], dict[str, Any]]:
    def resume() -> dict[str, Any]:
        """As a person goes on after a kill: listed, and taken up."""
        monkeypatch.setenv("SECONDLOOK_RUNS_PATH", str(tmp_path / "runs.db"))
        capsys.readouterr()
        assert main(["runs", "list", "--json"]) == 0
        (listed,) = json.loads(capsys.readouterr().out)["runs"]
        assert (listed["question"], listed["status"]) == (QUESTION, "interrupted")
        assert main(["runs", "resume", listed["id"], "--json", "-q"]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return resume


def test_an_ask_that_was_killed_is_listed_and_resumed(
    asking: list[str], slow: Slow, server: ChatServer, resumed: Callable[[], dict[str, Any]]
) -> None:
    with started(asking) as process:
        assert slow.asked.wait(PATIENCE), process.communicate()
        process.kill()
    slow.goes_on.set()
    answer = resumed()
    assert answer["status"] == "answered"
    keys = [request.headers["idempotency-key"] for request in server.chats if request.body]
    assert len(keys) == 2
    assert len(set(keys)) == 1, "sent once more, as the same call"
    assert answer["usage"]["calls"] == 2, "and both may have been paid for"


def test_an_ask_that_is_told_to_end_finishes_its_step_and_is_resumed(
    asking: list[str], slow: Slow, server: ChatServer, resumed: Callable[[], dict[str, Any]]
) -> None:
    with started(asking) as process:
        assert slow.asked.wait(PATIENCE)
        process.send_signal(signal.SIGTERM)
        slow.goes_on.set()
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == TOLD_TO_END
    assert "runs resume" in said
    answer = resumed()
    assert answer["status"] == "answered"
    assert answer["usage"]["calls"] == 1
    assert sum(bool(request.body) for request in server.chats) == 1


AT_ONCE = """
import sys
from secondlook import Library, Secondlook
from secondlook.settings import Settings
library, runs, name = sys.argv[1:]
settings = Settings.model_validate({"library": {"path": library}, "runs": {"path": runs}})
print("ready", flush=True)
input()
with Secondlook.open(settings=settings) as engine:
    for number in range(4):
        answer = engine.ask("how deep is the deepest berth", workflow="linear")
        assert not answer.warnings, answer.warnings
        print(answer.run, answer.status, flush=True)
"""
ADDING = """
import sys
from pathlib import Path
from secondlook import Library
from secondlook.settings import Settings
library, folder, _ = sys.argv[1:]
settings = Settings.model_validate({"library": {"path": library}})
print("ready", flush=True)
input()
with Library.open(settings=settings) as opened:
    for number in range(4):
        page = Path(folder) / f"more-{number}.md"
        page.write_text(f"# Berth {number}\\n\\nIt is {number}.5 metres deep.\\n", "utf-8")
        opened.add([page])
        print(number, flush=True)
"""


@pytest.mark.slow
def test_processes_share_a_library_and_a_record_and_lose_nothing(
    library: str, tmp_path: Path
) -> None:
    """Two ask while a third adds: no lock is in the way, and every run is there afterwards."""
    runs = tmp_path / "shared" / "runs.db"
    told = [(AT_ONCE, runs, "one"), (AT_ONCE, runs, "two"), (ADDING, tmp_path, "three")]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, library, *map(str, more)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for code, *more in told
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = [process.communicate("go\n", timeout=PATIENCE)[0].split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    asked = [line.split() for lines in said[:2] for line in lines if line]
    assert {status for _, status in asked} == {"answered"}
    with RunStore.open(runs, create=False) as store:
        kept = {run.run: run.status for run in store.list(limit=None)}
    assert kept == dict(asked)
    assert len(kept) == 8
