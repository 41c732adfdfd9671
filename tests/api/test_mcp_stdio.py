"""`secondlook mcp` as an assistant starts it: the official client on standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters

from secondlook.cli.main import main
from secondlook.server.mcp_server import standard_input_that_ends_on_signals
from tests.support.protocols import harbour

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = (sys.executable, "-m", "secondlook", "mcp")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harbour(tmp_path_factory.mktemp("stdio"))


def environment(folder: Path) -> dict[str, str]:
    home = str(folder)
    return {**os.environ, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, "HOME": home}


def test_an_assistant_asks_adds_and_reads(folder: Path) -> None:
    async def used() -> tuple[Any, Any, Any, Any]:
        parameters = StdioServerParameters(
            command=COMMAND[0],
            args=[*COMMAND[1:], "--library", str(folder / "library")],
            env=environment(folder),
        )
        async with Client(parameters) as client:
            tools = (await client.list_tools()).tools
            given = {"question": "how deep is berth 4", "workflow": "linear"}
            asked = await client.call_tool("ask", given)
            text = "# Crabs\n\nCrabs hide under the slipway.\n"
            added = await client.call_tool("add", {"name": "crabs.md", "text": text})
            path = await client.call_tool("add", {"paths": [str(folder)]})
            return tools, asked, added, path

    tools, asked, added, path = asyncio.run(used())
    assert len(tools) == 5
    assert asked.structured_content["short"] == "7.8 metres"
    assert added.structured_content["files"][0]["status"] == "ready"
    assert path.is_error
    assert "serve.roots" in path.content[0].text


@pytest.mark.slow
def test_the_page_does_what_it_says(folder: Path, tmp_path: Path) -> None:
    """The Python of docs/api.md, as a program of its own."""
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
    page = page.partition("\n## MCP")[2].partition("\n## ")[0]
    (code,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    programs = str(Path(sys.executable).parent)
    given = {
        **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
        "HOME": str(tmp_path),
        "PATH": programs + os.pathsep + os.environ["PATH"],
    }
    for words in (["-m", "secondlook", "add", "-q", str(folder / "papers")], ["-c", code]):
        done = subprocess.run(
            [sys.executable, *words], env=given, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"^# prints: (.*)$", code, re.MULTILINE)


@dataclass(frozen=True)
class Ends:
    """What a client holds of a server that runs in this process."""

    to: int
    of: int


@contextmanager
def ends_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """Pipes in the place of this process's standard input and output. No fixture: pytest sets
    standard output anew between fixtures and test."""
    kept = os.dup(0), os.dup(1)
    given, to = os.pipe()
    of, out = os.pipe()
    os.dup2(given, 0)
    os.dup2(out, 1)
    os.close(given)
    os.close(out)
    with open(0, closefd=False) as stdin, open(1, "w", closefd=False) as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        yield Ends(to, of)
    for number, descriptor in enumerate(kept):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.close(of)


def test_it_ends_when_the_client_hangs_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bytes] = []

    def client() -> None:
        os.write(ends.to, f"{json.dumps(INITIALIZE)}\n".encode())
        said.append(os.read(ends.of, 1 << 16))
        os.close(ends.to)

    with ends_of(monkeypatch) as ends:
        talking = threading.Thread(target=client)
        talking.start()
        code = main(["mcp", "--library", str(folder / "library")])
        talking.join()
    assert code == 0
    assert json.loads(said[0])["result"]["serverInfo"]["name"] == "secondlook"


def test_a_signal_ends_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk() -> None:
        os.write(ends.to, b"line\n")
        assert os.read(0, 100) == b"line\n"
        signal.raise_signal(signal.SIGINT)
        assert os.read(0, 100) == b""
        os.write(ends.to, b"into the void\n")

    before = signal.getsignal(signal.SIGINT)
    with ends_of(monkeypatch) as ends:
        with pytest.raises(KeyboardInterrupt), standard_input_that_ends_on_signals():
            talk()
        os.close(ends.to)
    assert signal.getsignal(signal.SIGINT) is before


def test_without_the_extra_it_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["mcp"]) == 2
    errors = capsys.readouterr().err
    assert "the MCP server is not installed" in errors
    assert "pip install mcp" in errors
