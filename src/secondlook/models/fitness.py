"""Whether a configured model could be asked right now, as far as can be told from here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.models.discover import asked, extras, find_ollama, is_gguf
from secondlook.models.providers import install_hint
from secondlook.models.specs import KEY_VARIABLES, PACKAGES, is_loopback

if TYPE_CHECKING:
    from secondlook.models.specs import ModelSpec


@dataclass(frozen=True, slots=True)
class Fitness:
    fit: bool
    said: str
    fix: str | None = None


def fitness(spec: ModelSpec) -> Fitness:
    """Looks only; nothing is loaded, and nobody outside this machine is asked."""
    if not spec.named:
        return Fitness(fit=True, said="no model: answers are extracted from the passages")
    if spec.provider == "gguf":
        return _gguf(spec)
    return _unpacked(spec) or _served(spec)


def _gguf(spec: ModelSpec) -> Fitness:
    engine = next(extra for extra in extras() if extra.name == "gguf")
    if not engine.installed:
        return Fitness(fit=False, said="the engine for GGUF files is missing", fix=engine.command)
    if not spec.path.is_file():
        return Fitness(
            fit=False,
            said=f"there is no file {str(spec.path)!r}",
            fix="give the path of a .gguf file; `secondlook doctor` lists those found",
        )
    if not is_gguf(spec.path):
        return Fitness(fit=False, said=f"{str(spec.path)!r} is no GGUF file", fix="fetch it again")
    return Fitness(fit=True, said="its file is there")


def _unpacked(spec: ModelSpec) -> Fitness | None:
    from importlib.util import find_spec

    package = PACKAGES[spec.provider]
    for module in ("langchain", package.replace("-", "_")):
        if find_spec(module) is None:
            fix = install_hint(spec.provider)
            return Fitness(fit=False, said=f"the package {package} is missing", fix=fix)
    return None


def _served(spec: ModelSpec) -> Fitness:
    if spec.provider == "ollama":
        return _ollama(spec)
    if spec.base_url and is_loopback(spec.base_url):
        if asked(f"{spec.base_url}/models") is None:
            return Fitness(
                fit=False,
                said=f"nobody answers at {spec.base_url}",
                fix="start the server; OpenAI-compatible addresses mostly end in /v1",
            )
        return Fitness(fit=True, said=f"{spec.base_url} answers")
    variable = KEY_VARIABLES.get(spec.provider)
    if variable and not spec.base_url and not os.environ.get(variable, "").strip():
        return Fitness(fit=False, said=f"{variable} is not set", fix=f"set {variable}")
    return Fitness(fit=True, said="configured; the provider is not asked from here")


def _ollama(spec: ModelSpec) -> Fitness:
    if spec.address is not None and not is_loopback(spec.address):
        return Fitness(fit=True, said=f"configured; {spec.address} is not asked from here")
    found = find_ollama(spec.address).models
    if found is None:
        return Fitness(
            fit=False, said=f"no Ollama answers at {spec.base_url}", fix="start it: ollama serve"
        )
    wanted = spec.model if ":" in spec.model else f"{spec.model}:latest"
    if wanted not in found:
        return Fitness(
            fit=False, said=f"Ollama has no {spec.model!r}", fix=f"ollama pull {spec.model}"
        )
    return Fitness(fit=True, said=f"Ollama at {spec.base_url} has it")
