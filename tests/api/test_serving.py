"""The server as a whole: where it listens, how it starts, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import secondlook
from secondlook.cli import serve as cli
from secondlook.cli.main import main
from secondlook.errors import UsageError
from secondlook.graphs.registry import WORKFLOWS
from secondlook.settings import load
from secondlook.settings.sections import Settings
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.testclient import TestClient

SERVE = [sys.executable, "-m", "secondlook", "serve", "--port", "0", "--json"]
EVERYWHERE = "0.0.0.0"  # noqa: S104  # it is only read
TOKEN = "a token of sufficient length"  # noqa: S105  # of a test


# Ending


@contextmanager
def process(folder: Path, *more: str, **variables: str) -> Iterator[Any]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    source = str(Path(secondlook.__file__).parents[1])
    paths = {
        "SECONDLOOK_LIBRARY": str(folder / "library"),
        "SECONDLOOK_RUNS_PATH": str(folder / "runs.db"),
    }
    with subprocess.Popen(
        [*SERVE, *more],
        env={**kept, "PYTHONPATH": source, **paths, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent so there")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_the_command_serves_and_ends(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    with process(tmp_path, SECONDLOOK_TOKEN=TOKEN) as server:
        told = json.loads(server.stdout.readline())
        assert told["token"] is None  # it stands in the environment
        assert httpx.get(f"{told['url']}/api/health", timeout=30).status_code == 200
        assert httpx.get(f"{told['url']}/api/runs", timeout=30).status_code == 401
        headers = {"authorization": f"Bearer {TOKEN}"}
        ready = httpx.get(f"{told['url']}/api/ready", headers=headers, timeout=60)
        assert ready.json()["ready"] is True
        server.send_signal(sent)
        out, said = server.communicate(timeout=30)
    assert server.returncode == code
    assert out == ""
    assert "Traceback" not in said
    assert ("Stopped." in said) is (code == 130)


# Listening


def test_a_port_that_is_in_use_is_told_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        code = main(["serve", "--port", port, "--no-open", "--library", str(tmp_path / "library")])
    assert code == 2
    said = capsys.readouterr().err
    assert f"cannot listen on port {port}" in said
    assert "--port 0" in said


# Tokens


def test_a_token_is_needed_by_other_machines_and_made_up_or_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(host: str) -> str | None:
        return cli.chosen_token(Settings.model_validate({"serve": {"host": host}}), None)

    assert {made(host) for host in ("127.0.0.1", "localhost", "::1", "127.0.0.2")} == {None}
    tokens = {made(host) for host in (EVERYWHERE, "::", "192.168.0.7", "box.local")}
    assert len(tokens) == 4
    assert all(token is not None and len(token) >= 32 for token in tokens)
    monkeypatch.setenv("SECONDLOOK_TOKEN", TOKEN)
    settings = load().settings  # the variable is no unknown setting
    assert cli.chosen_token(settings, None) == TOKEN
    assert cli.chosen_token(settings, "another one of length") == "another one of length"
    for short in ("", "short", " " * 30):
        with pytest.raises(UsageError, match="16 characters at least"):
            cli.chosen_token(settings, short)


# What the server shows of itself


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(tmp_path_factory.mktemp("shown")) as made:
        yield made


def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    sections: dict[str, Any] = {
        "models": {"default": "openai:small@https://inside.example/v1"},
        "serve": {"libraries": [f"papers={tmp_path / 'papers'}"]},
    }
    with client_of(tmp_path, token="a token of some length", **sections) as client:  # noqa: S106
        headers = {"authorization": "Bearer a token of some length"}
        reply = client.get("/api/settings", headers=headers)
    told = reply.json()
    assert told["model"] == "openai:small"
    assert told["libraries"] == ["default", "papers"]
    assert told["token_required"] is True
    assert told["limits"]["question_characters"] == 4000
    assert {item["name"] for item in told["workflows"]} == set(WORKFLOWS)
    assert told["workflow"] in WORKFLOWS
    for secret in ("inside.example", str(tmp_path), "a token"):
        assert secret not in reply.text


# The API to read


def test_the_docs_need_no_other_host(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "//" not in page.replace("<!doctype", "")
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', page):
        assert client.get(path).status_code == 200, path
    assert "<script>" not in page


def test_not_ready_where_a_library_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.json").write_text("{", encoding="utf-8")
    with client_of(tmp_path) as client:
        answer = client.get("/api/ready")
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
