"""A real OpenAI-compatible server on loopback: xllamacpp's own, with a real model in it.

    with openai_server(smollm2()) as server:
        server.base_url   # http://127.0.0.1:PORT/v1
    with ollama_server(smollm2()) as server:
        server.base_url   # http://127.0.0.1:PORT, the shape of Ollama in front of the same

Each runs in a process of its own, which ends with the context manager or with its parent.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class LocalServer:
    base_url: str
    model: str
    """The name to ask for."""
    pid: int
    api_key: str | None


@contextlib.contextmanager
def openai_server(
    model: Path, *, context_tokens: int = 2048, api_key: str | None = None
) -> Iterator[LocalServer]:
    """The OpenAI API under `/v1`; with a key, requests without it get 401."""
    with _serve("openai", model, context_tokens, api_key) as server:
        yield server


@contextlib.contextmanager
def ollama_server(model: Path, *, context_tokens: int = 2048) -> Iterator[LocalServer]:
    """`/api/chat`, `/api/tags`, `/api/show` and `/api/version` as Ollama has them."""
    with _serve("ollama", model, context_tokens, None) as server:
        yield server


@contextlib.contextmanager
def _serve(
    shape: Literal["openai", "ollama"], model: Path, context_tokens: int, api_key: str | None
) -> Iterator[LocalServer]:
    name = model.stem.lower()
    launch = {
        "shape": shape, "path": str(model), "name": name, "context_tokens": context_tokens,
        "api_key": api_key,
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.gguf_server_process"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        base_url = _address(process, launch)
        yield LocalServer(base_url=base_url, model=name, pid=process.pid, api_key=api_key)
    finally:
        process.kill()
        process.communicate()


def _address(process: subprocess.Popen[str], launch: dict[str, object]) -> str:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the server has no pipes")
    process.stdin.write(json.dumps(launch) + "\n")
    process.stdin.flush()
    line = process.stdout.readline().strip()
    if not line.startswith("http://"):
        raise AssertionError(f"the server did not start: {line!r}, status {process.poll()}")
    return line
