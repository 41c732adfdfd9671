"""A person at a terminal on a machine of their own, with `models` and `doctor` at hand."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.cli.main import main
from secondlook.models.specs import KEY_VARIABLES
from secondlook.settings import user_file

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Desk:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def run(self, *arguments: str) -> Result:
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return Result(code, out, err)

    def configure(self, **models: Any) -> None:
        lines = [f"{name} = {json.dumps(value)}" for name, value in models.items()]
        text = "\n".join(["[models]", *lines])
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text(text, "utf-8")


def desk_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in (*KEY_VARIABLES.values(), "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{free_port()}")
    return Desk(here, capsys)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
