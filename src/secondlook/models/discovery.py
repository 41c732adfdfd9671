"""What this machine offers in models: packages, keys, files, an Ollama. Looks, and loads nothing.

No network is reached beyond this machine, but for an Ollama whose address the user has set.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.models.langchain import install_hint
from secondlook.models.specs import KEY_VARIABLES, PACKAGES, is_loopback, ollama_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.models.specs import ModelSpec

EXTRAS: dict[str, tuple[str, ...]] = {
    "gguf": ("xllamacpp",),
    "ollama": ("langchain", "langchain-ollama"),
    "openai": ("langchain", "langchain-openai"),
    "web": ("ddgs",),
    "ocr": ("pillow",),
    "sentence-transformers": ("sentence-transformers",),
    "analyst": ("matplotlib", "pandas", "plotly", "scikit-learn", "scipy", "statsmodels"),
    "mcp": ("mcp",),
    "milvus": ("pymilvus",),
    "postgres": ("langgraph-checkpoint-postgres", "psycopg", "psycopg-pool"),
    "telemetry": ("opentelemetry-sdk", "prometheus-client"),
}
_SECONDS_TO_ANSWER = 1.5
_SECONDS_TO_SEARCH = 3.0
_DEEPEST = 6
_MOST_FILES = 50
_MAGIC = b"GGUF"
_LATER_PARTS = "-of-"


@dataclass(frozen=True, slots=True)
class Extra:
    name: str
    packages: dict[str, str | None]
    """Version of each package it needs; None = not installed."""

    @property
    def installed(self) -> bool:
        return None not in self.packages.values()

    @property
    def command(self) -> str:
        return f"pip install {' '.join(self.packages)}"


@dataclass(frozen=True, slots=True)
class OllamaFound:
    address: str
    models: tuple[str, ...] | None
    """None = nobody answers there."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    path: str
    bytes: int


def extras() -> list[Extra]:
    return [
        Extra(name, {package: _version(package) for package in packages})
        for name, packages in EXTRAS.items()
    ]


def keys_set() -> list[str]:
    """Names of the variables that hold a key; never a key."""
    return sorted(name for name in KEY_VARIABLES.values() if os.environ.get(name, "").strip())


def find_ollama(address: str | None = None) -> OllamaFound:
    """At an address, or where OLLAMA_HOST says, or where it usually is."""
    address = address or ollama_address()
    content = asked(f"{address}/api/tags")
    listed = content.get("models") if content is not None else None
    if not isinstance(listed, list):
        return OllamaFound(address, None)
    names = [str(item["name"]) for item in listed if isinstance(item, dict) and "name" in item]
    return OllamaFound(address, tuple(sorted(names)))


def find_gguf(folders: list[Path] | None = None) -> list[GgufFile]:
    """Model files in the usual places, within a few seconds however large those are."""
    ends = time.monotonic() + _SECONDS_TO_SEARCH
    found: dict[Path, GgufFile] = {}
    for folder in gguf_folders() if folders is None else folders:
        # The current folder may be the root of a disk: only it itself is looked at.
        for path in _walk(folder, 0 if folder == Path.cwd() else _DEEPEST, ends):
            real = path
            with contextlib.suppress(OSError, RuntimeError):
                real = (
                    path.resolve()
                )  # caches keep a model once and point at it from several places
            if len(found) < _MOST_FILES and real not in found and is_gguf(real):
                found[real] = GgufFile(str(path), real.stat().st_size)
    return list(found.values())


def gguf_folders() -> list[Path]:
    home, here = Path.home(), Path.cwd()
    hub = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    cache = os.environ.get("HF_HOME")
    return [
        here,
        here / "models",
        here / ".cache" / "models",
        home / "models",
        home / ".cache" / "lm-studio" / "models",
        home / ".lmstudio" / "models",
        Path(hub) if hub else Path(cache or home / ".cache" / "huggingface") / "hub",
    ]


def is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def asked(url: str) -> dict[str, Any] | None:
    """JSON from a server nearby; None when nobody answers, or not with an object."""
    from urllib.request import ProxyHandler, Request, build_opener

    # A proxy from the environment is for the outside, never for this machine's own services.
    opener = build_opener(*([ProxyHandler({})] if is_loopback(url) else []))
    try:
        with opener.open(Request(url), timeout=_SECONDS_TO_ANSWER) as reply:  # noqa: S310  # http
            content = json.load(reply)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _walk(folder: Path, depth: int, ends: float) -> Iterator[Path]:
    """Files that end in .gguf, down to a depth; of a model in parts the first."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if time.monotonic() > ends:
            return
        name = entry.name.casefold()
        if name.endswith(".gguf") and (_LATER_PARTS not in name or "-00001-of-" in name):
            yield Path(entry.path)
        elif depth:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(Path(entry.path), depth - 1, ends)


# Whether a configured model could be asked right now, as far as can be told from here.


@dataclass(frozen=True, slots=True)
class Fitness:
    fit: bool
    said: str
    fix: str | None = None


def fitness(spec: ModelSpec) -> Fitness:
    """Looks only; nothing is loaded, and nobody outside this machine is asked."""
    if not spec.named:
        return Fitness(fit=True, said="no model: answers are extracted from the passages")
    wrong = _gguf(spec) if spec.provider == "gguf" else _packages(spec)
    if wrong is not None:
        return Fitness(fit=False, said=wrong[0], fix=wrong[1])
    if spec.provider == "gguf":
        return Fitness(fit=True, said="its file is there")
    return _served(spec)


def _gguf(spec: ModelSpec) -> tuple[str, str] | None:
    engine = next(extra for extra in extras() if extra.name == "gguf")
    if not engine.installed:
        return "the engine for GGUF files is missing", engine.command
    if not spec.path.is_file():
        fix = "give the path of a .gguf file; `secondlook doctor` lists those found"
        return f"there is no file {str(spec.path)!r}", fix
    return None if is_gguf(spec.path) else (f"{str(spec.path)!r} is no GGUF file", "fetch it again")


def _packages(spec: ModelSpec) -> tuple[str, str] | None:
    package = PACKAGES[spec.provider]
    for module in ("langchain", package.replace("-", "_")):
        if find_spec(module) is None:
            return f"the package {package} is missing", install_hint(spec.provider)
    return None


def _served(spec: ModelSpec) -> Fitness:  # noqa: PLR0911
    address = spec.base_url
    if spec.provider == "ollama":
        if spec.address is not None and not is_loopback(spec.address):
            return Fitness(fit=True, said=f"configured; {spec.address} is not asked from here")
        found = find_ollama(spec.address).models
        if found is None:
            start = "start it: ollama serve"
            return Fitness(fit=False, said=f"no Ollama answers at {address}", fix=start)
        if (spec.model if ":" in spec.model else f"{spec.model}:latest") not in found:
            pull = f"ollama pull {spec.model}"
            return Fitness(fit=False, said=f"Ollama has no {spec.model!r}", fix=pull)
        return Fitness(fit=True, said=f"Ollama at {address} has it")
    if address and is_loopback(address):
        if asked(f"{address}/models") is not None:
            return Fitness(fit=True, said=f"{address} answers")
        start = "start the server; OpenAI-compatible addresses mostly end in /v1"
        return Fitness(fit=False, said=f"nobody answers at {address}", fix=start)
    variable = KEY_VARIABLES.get(spec.provider)
    if variable and not address and not os.environ.get(variable, "").strip():
        return Fitness(fit=False, said=f"{variable} is not set", fix=f"set {variable}")
    return Fitness(fit=True, said="configured; the provider is not asked from here")
