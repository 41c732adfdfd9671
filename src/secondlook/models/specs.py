"""`provider:model[@address]`: what a model is called in settings, and which model serves a role."""

import os
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from secondlook.errors import SettingsError
from secondlook.models.chat import OutputMode, Role
from secondlook.settings.addresses import hidden, plain, sent_to
from secondlook.settings.keys import kept_keys
from secondlook.settings.sections import ModelSettings, in_plain_words, nearest

NONE = "none"
FORMS = (
    *("none", "gguf:PATH", "ollama:MODEL", "ollama:MODEL@http://host:port"),
    *("openai:MODEL", "openai:MODEL@http://host:port/v1", "anthropic:MODEL"),
)
_OWN_PACKAGE = (
    "anthropic azure_ai baseten cohere deepseek fireworks google_genai google_vertexai groq "
    "huggingface ibm litellm mistralai ollama openai openrouter perplexity together upstage xai"
)
PACKAGES = {name: f"langchain-{name.replace('_', '-')}" for name in _OWN_PACKAGE.split()} | {
    "anthropic_bedrock": "langchain-aws",
    "azure_openai": "langchain-openai",
    "bedrock": "langchain-aws",
    "bedrock_converse": "langchain-aws",
    "google_anthropic_vertex": "langchain-google-vertexai",
    "nvidia": "langchain-nvidia-ai-endpoints",
}
"""Providers that LangChain's `init_chat_model` knows, and the package that brings each."""
_USUAL_KEY = (
    "anthropic azure_openai cohere deepseek fireworks groq nvidia openai openrouter together "
    "upstage xai"
)
KEY_VARIABLES = {name: f"{name.upper()}_API_KEY" for name in _USUAL_KEY.split()} | {
    "google_genai": "GOOGLE_API_KEY",
    "huggingface": "HUGGINGFACEHUB_API_TOKEN",
    "mistralai": "MISTRAL_API_KEY",
    "perplexity": "PPLX_API_KEY",
}
OLLAMA_ADDRESS = "http://127.0.0.1:11434"
_OLLAMA_PORT = 11434
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104  # compared only
_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    text: str
    provider: str
    model: str
    address: str | None = None

    @property
    def named(self) -> bool:
        return self.provider != NONE

    @property
    def local(self) -> bool:
        return self.provider == "gguf" or is_loopback(self.base_url)

    @property
    def base_url(self) -> str | None:
        """Where it is asked; None = where its provider says."""
        if self.provider == "ollama":
            return self.address or ollama_address()
        if self.provider == "openai":
            given = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
            return self.address or _plain(given, "OPENAI_BASE_URL")
        return self.address

    @property
    def path(self) -> Path:
        return Path(self.model).expanduser()

    @property
    def name(self) -> str:
        """As others may see it: without the address that it is asked at, of a file its name."""
        if self.provider == "gguf":
            plain = self.model.replace("\\", "/")
            return f"gguf:{plain.rpartition('/')[2]}"
        return f"{self.provider}:{self.model}" if self.named else NONE

    @property
    def key(self) -> str | None:
        """The provider's variable, else what is kept: that goes only where it was kept for."""
        given = os.environ.get(KEY_VARIABLES.get(self.provider, ""), "").strip()
        whom = f"{self.provider}@{self.base_url}" if self.base_url else self.provider
        return given or kept_keys().get(whom)


def parse_spec(text: str, *, place: str = "models.default") -> ModelSpec:
    """Read one; `place` is where it was written, for the error."""
    given = _plain(text.strip(), place) or ""
    if given.casefold() == NONE:
        return ModelSpec(NONE, NONE, "")
    provider, _, rest = given.partition(":")
    if provider == "gguf" and rest.strip():
        return ModelSpec(given, provider, rest.strip())
    model, *addresses = _ADDRESS.split(rest, maxsplit=1)
    if provider not in PACKAGES or not model.strip():
        meant = nearest(provider.casefold(), [*PACKAGES, "gguf", NONE])
        if given.endswith(".gguf"):
            meant, rest = "gguf", rest or given
        form = meant if meant == NONE else f"{meant}:{rest or 'MODEL'}"
        guess = f"Did you mean {form!r}? " if meant else ""
        known = provider in PACKAGES or not rest.strip()
        wrong = "is not of the form provider:model" if known else f"names no provider: {provider!r}"
        hint = f"{guess}Forms: {', '.join(FORMS)}."
        raise SettingsError(f"{place}: {given!r} {wrong}", hint=hint)
    if not addresses:
        return ModelSpec(given, provider, model.strip())
    address = addresses[0]
    try:
        parts = urlsplit(address)
        valid = bool(parts.hostname) and parts.port != 0 and not re.search(r"\s", address)
    except ValueError:
        valid = False
    if not valid:
        hint = "Write it as http://host:port, with /v1 for OpenAI-compatible servers."
        raise SettingsError(f"{place}: {address!r} in {given!r} is no address", hint=hint)
    if provider not in {"openai", "ollama"} and sent_to(address):
        hint = f"Set {KEY_VARIABLES.get(provider, 'the key of the provider')} instead."
        raise SettingsError(f"{place}: {given!r} takes no password in its address", hint=hint)
    return ModelSpec(given, provider, model.strip(), address.rstrip("/"))


def _plain(address: str | None, place: str) -> str | None:
    try:
        return plain(address) or None
    except ValueError as wrong:
        raise SettingsError(f"{place}: {in_plain_words(str(wrong))}") from wrong


def ollama_address() -> str:
    """Where Ollama listens, by OLLAMA_HOST as Ollama itself reads it."""
    host = os.environ.get("OLLAMA_HOST", "").strip()
    if not host:
        return OLLAMA_ADDRESS
    try:
        parts = urlsplit(host if "://" in host else f"http://{host}")
        port = parts.port
    except ValueError as wrong:
        hint = "Write it as http://host:port."
        raise SettingsError(f"OLLAMA_HOST {hidden(host)!r} is no address", hint=hint) from wrong
    # A server may be told to listen everywhere (0.0.0.0); it is asked on this machine then.
    name = "127.0.0.1" if parts.hostname in {None, "0.0.0.0"} else parts.hostname  # noqa: S104
    shown = f"[{name}]" if ":" in str(name) else name
    default = _OLLAMA_PORT if parts.scheme == "http" else 443
    return f"{parts.scheme}://{shown}:{port or default}{parts.path.rstrip('/')}"


def is_loopback(address: str | None) -> bool:
    try:
        host = urlsplit(address or "").hostname or ""
        return host in _LOOPBACK or ip_address(host).is_loopback
    except ValueError:  # a name such as 127.example.com is somebody else's
        return False


# Which model serves which role, and with what options: `models.default`, `models.roles`,
# `models.options`.

ROLES: tuple[Role, ...] = get_args(Role)
ALL = "all"  # stands for every role in `models.options`


class RoleOptions(BaseModel, frozen=True):
    """How a model is asked in one role. Every role is asked at temperature 0 unless told."""

    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int | None = Field(default=None, gt=0)  # of a reply; None = as the step asks
    seed: int | None = None
    timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    retries: int = Field(default=2, ge=0, le=10)
    context_tokens: int | None = Field(default=None, gt=0)  # that it sees; None = as probed
    mode: Literal["json_schema", "tool", "prompted"] | None = None  # instead of what was probed


@dataclass(frozen=True, slots=True)
class Part:
    role: Role
    spec: ModelSpec
    options: RoleOptions


class Cast:
    """The roles of one process. Made once, so that a mistake in any of them shows at once."""

    def __init__(self, settings: ModelSettings) -> None:
        self._default = parse_spec(settings.default)
        self._specs: dict[str, ModelSpec] = {}
        for line in settings.roles:
            target, equals, spec = line.partition("=")
            if not equals:
                said = f"models.roles: {line!r} is not of the form role=provider:model"
                raise SettingsError(said, hint='For example: roles = ["grade=ollama:qwen2.5"].')
            name = _target(target, line)
            self._specs[name] = parse_spec(spec, place=f"models.roles, {name}")
        self._options: dict[str, dict[str, Any]] = {}
        for line in settings.options:
            target, name, value = _option(line)
            self._options.setdefault(target, {})[name] = value

    def part(self, role: Role, workflow: str = "") -> Part:
        names = [f"{workflow}.{role}", role, ALL]
        spec = next((self._specs[name] for name in names if name in self._specs), self._default)
        options = RoleOptions()
        for name in reversed(names):
            options = options.model_copy(update=self._options.get(name))
        return Part(role, spec, options)

    def specs(self) -> tuple[ModelSpec, ...]:
        """Every model that some role is served by."""
        return (self._default, *self._specs.values())

    @property
    def own(self) -> tuple[str, ...]:
        """The roles, and roles of workflows, that have a model of their own."""
        return tuple(self._specs)


def window_of(settings: ModelSettings) -> int | None:
    text = settings.for_all("context_tokens")
    return int(text) if text else None


def _target(target: str, line: str, *, option: bool = False) -> str:
    workflow, _, role = target.strip().rpartition(".")
    if (role not in ROLES and not (option and target.strip() == ALL)) or "." in workflow:
        hint = f"{_guess(role, ROLES)}Roles: {', '.join(ROLES)}."
        raise SettingsError(f"models: {line!r} names no role that is known ({role!r})", hint=hint)
    return target.strip()


def _option(line: str) -> tuple[str, str, Any]:
    left, equals, text = line.partition("=")
    target, dot, name = left.strip().rpartition(".")
    if not equals or not dot:
        said = f"models.options: {line!r} is not of the form role.option=value"
        raise SettingsError(said, hint='For example: options = ["answer.temperature=0.3"].')
    known = tuple(RoleOptions.model_fields)
    if name not in known:
        hint = f"{_guess(name, known)}Options: {', '.join(known)}."
        raise SettingsError(f"models.options: {line!r} names no option ({name!r})", hint=hint)
    try:
        value = getattr(RoleOptions.model_validate_strings({name: text.strip()}), name)
    except ValidationError as wrong:
        said = in_plain_words(wrong.errors()[0]["msg"])
        raise SettingsError(f"models.options: {line!r}: {name} {said}") from wrong
    return _target(target, line, option=True), name, value


def _guess(name: str, known: tuple[str, ...]) -> str:
    close = nearest(name, known)
    return f"Did you mean {close!r}? " if close else ""


def ladder(spec: ModelSpec) -> tuple[OutputMode, ...]:
    """The ways to get an object out of a model, best first. A grammar gains nothing by a tool."""
    tool: tuple[OutputMode, ...] = () if spec.provider == "gguf" else ("tool",)
    return ("json_schema", *tool, "prompted")
