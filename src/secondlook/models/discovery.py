"""What this machine offers in models. Looks, loads nothing, and asks nobody beyond this machine."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from secondlook.models.hub import models_folder
from secondlook.models.langchain import install_hint
from secondlook.models.prices import Prices
from secondlook.models.specs import (
    KEY_VARIABLES,
    PACKAGES,
    Cast,
    ModelSpec,
    is_loopback,
    ollama_address,
    parse_spec,
)
from secondlook.settings.keys import kept_keys
from secondlook.settings.sections import ModelSettings

EXTRAS: dict[str, tuple[str, ...]] = {
    "gguf": ("xllamacpp",),
    "ollama": ("langchain", "langchain-ollama"),
    "openai": ("langchain", "langchain-openai"),
    "web": ("ddgs",),
    "ocr": ("pillow", "rapidocr"),
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


@dataclass(frozen=True, slots=True)
class Reachable:
    """A model that can be chosen; `fix` says what must be done first."""

    spec: ModelSpec
    fix: str | None = None
    size: int | None = None  # bytes of its file


def reachable(settings: ModelSettings, address: str | None = None) -> list[Reachable]:
    """Those in use, model files, Ollama's, what an address on this machine offers, and hosted ones
    of known price whose provider has a key. Takes a few seconds."""
    gguf, ollama, other = map(lacking, ("gguf", "ollama", "openai"))
    local = [(f"ollama:{one}", ollama) for one in find_ollama()[1] or ()]
    local += [(f"openai:{one}@{address}", other) for one in served_at(address or "")]
    prices = map(parse_spec, Prices(settings.prices).names())
    hosted = [spec for spec in prices if spec.key and not spec.base_url]
    used = [spec for spec in Cast(settings).specs() if spec.named]
    found = [Reachable(spec, fitness(spec)[1]) for spec in used]
    found += [Reachable(parse_spec(f"gguf:{path}"), gguf, size) for path, size in find_gguf()]
    found += [Reachable(parse_spec(text), fix) for text, fix in local]
    found += [Reachable(spec, fitness(spec)[1]) for spec in hosted]
    first: dict[tuple[str, str | None], Reachable] = {}
    for one in found:
        known = first.setdefault((one.spec.name, one.spec.address), one)
        if known.size is None and one.size:  # it is in use
            first[one.spec.name, one.spec.address] = replace(known, size=one.size)
    return list(first.values())


def served_at(address: str) -> list[str]:
    """Names of the models of an OpenAI-compatible server on this machine."""
    told = asked(f"{address}/models") if is_loopback(address) else None
    listed = told.get("data") if told else None
    held = listed[:_MOST_FILES] if isinstance(listed, list) else []
    return [str(one["id"]) for one in held if isinstance(one, dict) and one.get("id")]


def extras() -> dict[str, dict[str, str | None]]:
    """The version of each package that an extra needs; None = not installed."""
    return {name: {one: installed(one) for one in needed} for name, needed in EXTRAS.items()}


def lacking(extra: str) -> str | None:
    """The command that installs an extra; None = it is there."""
    return None if all(map(installed, EXTRAS[extra])) else f"pip install {' '.join(EXTRAS[extra])}"


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def keys_set() -> list[str]:
    """Names of the variables that hold a key, and of providers whose key is kept; never a key."""
    found = {name for name in KEY_VARIABLES.values() if os.environ.get(name, "").strip()}
    return sorted(found | set(kept_keys()))


def find_ollama(address: str | None = None) -> tuple[str, tuple[str, ...] | None]:
    """At an address, or where OLLAMA_HOST says, or where it usually is: where, and which models
    it has; None where nobody answers."""
    address = address or ollama_address()
    content = asked(f"{address}/api/tags")
    listed = content.get("models") if content is not None else None
    if not isinstance(listed, list):
        return address, None
    names = [str(item["name"]) for item in listed if isinstance(item, dict) and "name" in item]
    return address, tuple(sorted(names))


def find_gguf() -> list[tuple[str, int]]:
    """Model files of the usual places and their sizes, within a few seconds."""
    home, here = Path.home(), Path.cwd()
    hub = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    usual = Path(os.environ.get("HF_HOME") or home / ".cache/huggingface") / "hub"
    folders = [here, here / "models", here / ".cache/models", home / "models"]
    folders += [
        models_folder(),
        home / ".cache/lm-studio/models",
        home / ".lmstudio/models",
        Path(hub or usual),
    ]
    ends = time.monotonic() + _SECONDS_TO_SEARCH
    found: dict[Path, tuple[str, int]] = {}
    for folder in folders:
        # The current folder may be the root of a disk: only it itself is looked at.
        for path in _walk(folder, 0 if folder == here else _DEEPEST, ends):
            real = path
            with contextlib.suppress(OSError, RuntimeError):  # caches point at a model repeatedly
                real = path.resolve()
            if len(found) < _MOST_FILES and real not in found and is_gguf(real):
                found[real] = (str(path), real.stat().st_size)
    return list(found.values())


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
        if name.endswith(".gguf") and ("-of-" not in name or "-00001-of-" in name):
            yield Path(entry.path)
        elif depth:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(Path(entry.path), depth - 1, ends)


def is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def asked(url: str) -> dict[str, Any] | None:
    """JSON from a server nearby, empty where it refuses; None when nobody answers, or not with an
    object."""
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener

    # A proxy from the environment is for the outside, never for this machine's own services.
    opener = build_opener(*([ProxyHandler({})] if is_loopback(url) else []))
    try:
        with opener.open(Request(url), timeout=_SECONDS_TO_ANSWER) as reply:  # noqa: S310  # http
            content = json.load(reply)
    except HTTPError:
        return {}
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def fitness(spec: ModelSpec) -> tuple[str, str | None]:  # noqa: PLR0911
    """What is known of a configured model, and how to make it fit to be asked; None = it is. Looks
    only; nothing is loaded, and nobody outside this machine is asked."""
    if not spec.named:
        return "no model: answers are extracted from the passages", None
    if spec.provider == "gguf":
        if command := lacking("gguf"):
            return "the engine for GGUF files is missing", command
        if not spec.path.is_file():
            fix = "give the path of a .gguf file, or fetch one: secondlook models get"
            return f"there is no file {str(spec.path)!r}", fix
        if not is_gguf(spec.path):
            return f"{str(spec.path)!r} is no GGUF file", "fetch it again"
        return "its file is there", None
    package = PACKAGES[spec.provider]
    if any(find_spec(name) is None for name in ("langchain", package.replace("-", "_"))):
        return f"the package {package} is missing", install_hint(spec.provider)
    return _served(spec)


def _served(spec: ModelSpec) -> tuple[str, str | None]:  # noqa: PLR0911
    address = spec.base_url
    if spec.provider == "ollama" and (spec.address is None or is_loopback(spec.address)):
        found = find_ollama(spec.address)[1]
        if found is None:
            return f"no Ollama answers at {address}", "start it: ollama serve"
        if (spec.model if ":" in spec.model else f"{spec.model}:latest") not in found:
            return f"Ollama has no {spec.model!r}", f"ollama pull {spec.model}"
        return f"Ollama at {address} has it", None
    if address and is_loopback(address):
        if asked(f"{address}/models") is not None:
            return f"{address} answers", None
        start = "start the server; OpenAI-compatible addresses mostly end in /v1"
        return f"nobody answers at {address}", start
    variable = KEY_VARIABLES.get(spec.provider)
    if variable and not address and not spec.key:
        fix = f"secondlook models key {spec.provider}, or set {variable}"
        return f"{variable} is not set", fix
    return "configured; the provider is not asked from here", None
