"""A model that cannot be opened: the command that helps, and no call on the bill."""

from __future__ import annotations

import asyncio
import sys

import pytest

from secondlook.errors import ModelError
from secondlook.models.budget import Ledger
from secondlook.models.calls import Models
from secondlook.models.chat import Message
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from secondlook.settings.sections import Settings

AWAY = "http://127.0.0.1:9"
"""Nobody listens there."""


def failure_of(model: str) -> ModelError:
    """What asking it fails with; the ledger is looked at, too."""
    models = Models(
        Settings.model_validate({"models": {"default": model, "options": ("all.retries=0",)}})
    )
    ledger = Ledger(Caps())
    asker = models.asker(run="r", workflow="linear", ledger=ledger, journal=MemoryJournal())
    with pytest.raises(ModelError) as caught:
        asyncio.run(asker.ask("answer", [Message("user", "How deep?")], node="answer"))
    assert ledger.usage().calls == 0, "a call that was never made"
    return caught.value


@pytest.mark.parametrize("missing", ["langchain.chat_models", "the provider's own"])
@pytest.mark.parametrize(
    ("model", "module", "command"),
    [
        ("openai:gpt-4o", "langchain_openai", "pip install langchain langchain-openai"),
        (f"ollama:tiny@{AWAY}", "langchain_ollama", "pip install langchain langchain-ollama"),
        ("anthropic:c", "langchain_anthropic", "pip install langchain langchain-anthropic"),
        ("groq:x", "langchain_groq", "pip install langchain langchain-groq"),
    ],
)
def test_a_missing_package_is_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch, model: str, module: str, command: str, missing: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    gone = missing if missing == "langchain.chat_models" else module
    monkeypatch.setitem(sys.modules, gone, None)
    failed = failure_of(model)
    # A run that goes on without the model shows the message alone.
    told = f"{model!r} needs a package that is not installed: {command}"
    assert str(failed) == told
    assert failed.hint == command


def test_a_missing_key_costs_no_call_either(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    assert "OPENAI_API_KEY is not set" in str(failure_of("openai:gpt-4o"))
