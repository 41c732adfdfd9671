"""The command line killed and told to end in the middle of a question; two processes at once."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from secondlook.cli.main import main
from tests.support.chat_server import ChatServer, Said
from tests.support.unprivileged import SECONDLOOK, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent so there")
QUESTION = "How deep is the deepest berth of the north quay?"
HARBOUR = """# Harbour survey

The north quay was measured in spring. Its deepest berth is 14.2 metres at low tide.
"""
SENTENCE = "Its deepest berth is 14.2 metres at low tide [1]."
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
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.goes_on.set()


@pytest.fixture
def server(slow: Slow) -> Iterator[ChatServer]:
    with ChatServer(slow) as running:
        yield running


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


@pytest.mark.parametrize("ending", [("KILL", -9, 2), ("TERM", 143, 1)])
def test_an_ask_that_was_killed_or_told_to_end_is_listed_and_resumed(
    asking: list[str],
    slow: Slow,
    server: ChatServer,
    resumed: Callable[[], dict[str, Any]],
    ending: tuple[str, int, int],
) -> None:
    """Told to end, it finishes its step; killed, the call is sent once more, and paid perhaps."""
    ends, code, calls = ending
    with started(asking) as process:
        assert slow.asked.wait(PATIENCE), process.communicate()
        process.send_signal(signal.Signals[f"SIG{ends}"])
        if ends == "KILL":
            process.wait(PATIENCE)
        slow.goes_on.set()
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == code
    assert ("runs resume" in said) is (ends == "TERM")
    answer = resumed()
    assert answer["status"] == "answered"
    keys = [request.headers["idempotency-key"] for request in server.chats if request.body]
    assert len(keys) == answer["usage"]["calls"] == calls
    assert len(set(keys)) == 1, "sent as the same call"
