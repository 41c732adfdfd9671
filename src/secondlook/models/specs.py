"""`provider:model[@address]`: what a model is called in settings, and what was meant by a typo."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from secondlook.errors import SettingsError
from secondlook.settings.mistakes import nearest

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
