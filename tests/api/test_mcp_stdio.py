"""`secondlook mcp` as an assistant starts it: the official client on standard input and output."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.support.protocols import harbour

COMMAND = (sys.executable, "-m", "secondlook", "mcp")
CLIENT = {"name": "test", "version": "1"}
GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING}


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


@pytest.mark.parametrize(("signalled", "code"), [(None, 0), (signal.SIGINT, 130)])
def test_it_ends_when_the_client_hangs_up_or_a_signal_comes(
    folder: Path, signalled: signal.Signals | None, code: int
) -> None:
    with subprocess.Popen(
        [*COMMAND, "--library", str(folder / "library")],
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(INITIALIZE)}\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        assert said["result"]["serverInfo"]["name"] == "secondlook"
        if signalled is None:
            process.stdin.close()
        else:
            process.send_signal(signalled)
        assert process.wait(60) == code
