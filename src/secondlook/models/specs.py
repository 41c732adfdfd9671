"""`provider:model[@address]`: what a model is called in settings, and what was meant by a typo."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from secondlook.errors import SettingsError
from secondlook.models.chat import OutputMode, Role
from secondlook.settings.mistakes import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.settings.sections import ModelSettings

NONE = "none"
FORMS = (
    "none",
    "gguf:PATH",
    "ollama:MODEL",
    "ollama:MODEL@http://host:port",
    "openai:MODEL",
    "openai:MODEL@http://host:port/v1",
    "anthropic:MODEL",
)
PACKAGES = {
    "anthropic": "langchain-anthropic",
    "anthropic_bedrock": "langchain-aws",
    "azure_ai": "langchain-azure-ai",
    "azure_openai": "langchain-openai",
    "baseten": "langchain-baseten",
    "bedrock": "langchain-aws",
    "bedrock_converse": "langchain-aws",
    "cohere": "langchain-cohere",
    "deepseek": "langchain-deepseek",
    "fireworks": "langchain-fireworks",
    "google_anthropic_vertex": "langchain-google-vertexai",
    "google_genai": "langchain-google-genai",
    "google_vertexai": "langchain-google-vertexai",
    "groq": "langchain-groq",
    "huggingface": "langchain-huggingface",
    "ibm": "langchain-ibm",
    "litellm": "langchain-litellm",
    "mistralai": "langchain-mistralai",
    "nvidia": "langchain-nvidia-ai-endpoints",
    "ollama": "langchain-ollama",
    "openai": "langchain-openai",
    "openrouter": "langchain-openrouter",
    "perplexity": "langchain-perplexity",
    "together": "langchain-together",
    "upstage": "langchain-upstage",
    "xai": "langchain-xai",
}
"""Providers that LangChain's `init_chat_model` knows, and the package that brings each."""
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure_openai": "AZURE_OPENAI_API_KEY",
    "cohere": "COHERE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "huggingface": "HUGGINGFACEHUB_API_TOKEN",
    "mistralai": "MISTRAL_API_KEY",
    "nvidia": "NVIDIA_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "perplexity": "PPLX_API_KEY",
    "together": "TOGETHER_API_KEY",
    "upstage": "UPSTAGE_API_KEY",
    "xai": "XAI_API_KEY",
}
OLLAMA_ADDRESS = "http://127.0.0.1:11434"
_OLLAMA_PORT = 11434
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104  # compared only
_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_FAMILIES = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google_genai",
    "mistral": "mistralai",
    "command": "cohere",
    "grok": "xai",
    "sonar": "perplexity",
}
"""How names of hosted models begin, for those who left the provider out."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    text: str
    """As it was written."""
    provider: str
    model: str
    address: str | None = None

    @property
    def named(self) -> bool:
        return self.provider != NONE

    @property
    def local(self) -> bool:
        """It runs on this machine."""
        return self.provider == "gguf" or is_loopback(self.base_url)

    @property
    def base_url(self) -> str | None:
        """Where it is asked; None = where its provider says."""
        if self.provider == "ollama":
            return self.address or ollama_address()
        if self.provider == "openai":
            given = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
            return self.address or given or None
        return self.address

    @property
    def path(self) -> Path:
        """The file of a `gguf:` model."""
        return Path(self.model).expanduser()


def parse_spec(text: str, *, place: str = "models.default") -> ModelSpec:
    """Read one; `place` is where it was written, for the error."""
    given = text.strip()
    if given.casefold() == NONE:
        return ModelSpec(NONE, NONE, "")
    provider, colon, rest = given.partition(":")
    if not colon or not provider or not rest.strip():
        raise _malformed(given, place)
    if provider == "gguf":
        return ModelSpec(given, provider, rest.strip())
    if provider not in PACKAGES:
        raise _unknown_provider(given, provider, rest, place)
    model, *addresses = _ADDRESS.split(rest, maxsplit=1)
    address = _checked_address(addresses[0], given, place) if addresses else None
    if not model.strip():
        raise _malformed(given, place)
    return ModelSpec(given, provider, model.strip(), address)


def ollama_address() -> str:
    """Where Ollama listens, by OLLAMA_HOST as Ollama itself reads it."""
    host = os.environ.get("OLLAMA_HOST", "").strip()
    if not host:
        return OLLAMA_ADDRESS
    address = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as wrong:
        raise SettingsError(
            f"OLLAMA_HOST {host!r} is no address", hint="Write it as http://host:port."
        ) from wrong
    # A server may be told to listen everywhere (0.0.0.0); it is asked on this machine then.
    name = "127.0.0.1" if parts.hostname in {None, "0.0.0.0"} else parts.hostname  # noqa: S104
    shown = f"[{name}]" if ":" in str(name) else name
    default = _OLLAMA_PORT if parts.scheme == "http" else 443
    return f"{parts.scheme}://{shown}:{port or default}{parts.path.rstrip('/')}"


def is_loopback(address: str | None) -> bool:
    if address is None:
        return False
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return host in _LOOPBACK or host.startswith("127.")


def _checked_address(address: str, given: str, place: str) -> str:
    try:
        parts = urlsplit(address)
        hostname, _ = parts.hostname, parts.port
    except ValueError:
        hostname = None
    if not hostname or re.search(r"\s", address):
        raise SettingsError(
            f"{place}: {address!r} in {given!r} is no address",
            hint="Write it as http://host:port, with /v1 for OpenAI-compatible servers.",
        )
    return address.rstrip("/")


def _malformed(given: str, place: str) -> SettingsError:
    return SettingsError(
        f"{place}: {given!r} is not of the form provider:model",
        hint=f"{_meant(given)}Forms: {', '.join(FORMS)}.",
    )


def _unknown_provider(given: str, provider: str, rest: str, place: str) -> SettingsError:
    known = [*PACKAGES, "gguf", NONE]
    close = nearest(provider.casefold(), known)
    meant = f"Did you mean '{close}:{rest}'? " if close and close != NONE else _meant(given)
    return SettingsError(
        f"{place}: {given!r} names no provider that is known ({provider!r})",
        hint=f"{meant}Forms: {', '.join(FORMS)}.",
    )


def _meant(given: str) -> str:
    """The form that something without a provider most likely stands for."""
    bare = given.strip(":")
    if bare.casefold().endswith(".gguf"):
        return f"Did you mean 'gguf:{bare}'? "
    for beginning, provider in _FAMILIES.items():
        if bare.casefold().startswith(beginning):
            return f"Did you mean '{provider}:{bare}'? "
    if bare in PACKAGES:
        return f"Did you mean '{bare}:MODEL'? "
    close = nearest(bare.casefold(), [NONE, *PACKAGES])
    if close == NONE:
        return "Did you mean 'none'? "
    if close:
        return f"Did you mean '{close}:MODEL'? "
    return f"Did you mean 'ollama:{bare}'? " if bare else ""


# Who plays which role, and with what options: `models.default`, `models.roles`,
# `models.options`.

ROLES: tuple[Role, ...] = get_args(Role)
_MODES: tuple[OutputMode, ...] = ("json_schema", "tool", "prompted")
_HOTTEST = 2.0
ALL = "all"
"""Stands for every role in `models.options`."""


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """How a model is asked in one role. Every role is asked at temperature 0 unless told."""

    temperature: float = 0.0
    max_tokens: int | None = None
    """Tokens of a reply, instead of what the step asks for."""
    seed: int | None = None
    timeout: float = 120.0
    """Seconds one call may take."""
    retries: int = 2
    """Tries after a failed call."""
    context_tokens: int | None = None
    """How much the model can see, instead of what was probed or is known."""
    mode: OutputMode | None = None
    """How a reply is given its form, instead of what was probed."""


@dataclass(frozen=True, slots=True)
class Part:
    """One role as it is cast."""

    role: Role
    spec: ModelSpec
    options: RoleOptions


class Cast:
    """The roles of one process. Made once, so that a mistake in any of them shows at once."""

    def __init__(self, settings: ModelSettings) -> None:
        self._default = parse_spec(settings.default)
        self._specs = dict(map(_role_line, settings.roles))
        self._options: dict[str, dict[str, Any]] = {}
        for line in settings.options:
            target, name, value = _option_line(line)
            self._options.setdefault(target, {})[name] = value

    def part(self, role: Role, workflow: str = "") -> Part:
        names = [f"{workflow}.{role}", role, ALL]
        spec = next((self._specs[name] for name in names if name in self._specs), self._default)
        options = RoleOptions()
        for name in reversed(names):
            options = replace(options, **self._options.get(name, {}))
        return Part(role, spec, options)

    def specs(self) -> tuple[ModelSpec, ...]:
        """Every model that some role is served by."""
        return (self._default, *self._specs.values())

    @property
    def most_retries(self) -> int:
        """Of the role that is tried most often."""
        usual = self._options.get(ALL, {}).get("retries", RoleOptions().retries)
        return max(int(given.get("retries", usual)) for given in ({}, *self._options.values()))

    @property
    def own(self) -> tuple[str, ...]:
        """The roles, and roles of workflows, that have a model of their own."""
        return tuple(self._specs)


def window_of(settings: ModelSettings) -> int | None:
    """The option `all.context_tokens`."""
    text = settings.for_all("context_tokens")
    return int(text) if text else None


def _role_line(line: str) -> tuple[str, ModelSpec]:
    target, equals, spec = line.partition("=")
    if not equals:
        raise SettingsError(
            f"models.roles: {line!r} is not of the form role=provider:model",
            hint='For example: roles = ["grade=ollama:qwen2.5", "research.plan=openai:gpt-4o"].',
        )
    return _target(target, line), parse_spec(spec, place=f"models.roles, {target.strip()}")


def _target(target: str, line: str, *, option: bool = False) -> str:
    """`role` or `workflow.role`, checked."""
    workflow, _, role = target.strip().rpartition(".")
    if (role not in ROLES and not (option and target.strip() == ALL)) or "." in workflow:
        close = nearest(role, ROLES)
        meant = f"Did you mean {close!r}? " if close else ""
        raise SettingsError(
            f"models: {line!r} names no role that is known ({role!r})",
            hint=f"{meant}Roles: {', '.join(ROLES)}.",
        )
    return target.strip()


def _option_line(line: str) -> tuple[str, str, Any]:
    left, equals, text = line.partition("=")
    target, dot, name = left.strip().rpartition(".")
    if not equals or not dot:
        raise SettingsError(
            f"models.options: {line!r} is not of the form role.option=value",
            hint='For example: options = ["answer.temperature=0.3", "answer.max_tokens=800"].',
        )
    if name not in _READERS:
        close = nearest(name, _READERS)
        meant = f"Did you mean {close!r}? " if close else ""
        raise SettingsError(
            f"models.options: {line!r} names no option that is known ({name!r})",
            hint=f"{meant}Options: {', '.join(_READERS)}.",
        )
    return _target(target, line, option=True), name, _value(name, text.strip(), line)


def _value(name: str, text: str, line: str) -> Any:
    read, allowed = _READERS[name]
    try:
        return read(text)
    except ValueError as wrong:
        raise SettingsError(f"models.options: {line!r}: {name} must be {allowed}") from wrong


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= _HOTTEST:
        raise ValueError(text)
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(text)
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 10:  # noqa: PLR2004
        raise ValueError(text)
    return value


def _mode(text: str) -> OutputMode:
    if text not in _MODES:
        raise ValueError(text)
    return text


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "temperature": (_temperature, "a number from 0 to 2"),
    "max_tokens": (_positive, "a whole number above 0"),
    "seed": (int, "a whole number"),
    "retries": (_count, "a whole number from 0 to 10"),
    "timeout": (_seconds, "a number of seconds above 0"),
    "context_tokens": (_positive, "a whole number above 0"),
    "mode": (_mode, "one of json_schema, tool, prompted"),
}


# The ways to get an object out of a model, best first.

_LADDER: tuple[OutputMode, ...] = ("json_schema", "tool", "prompted")
_GRAMMAR: tuple[OutputMode, ...] = ("json_schema", "prompted")
"""Of models that are decoded here under a grammar: a tool call would add nothing."""


def ladder(spec: ModelSpec) -> tuple[OutputMode, ...]:
    return _GRAMMAR if spec.provider == "gguf" else _LADDER
