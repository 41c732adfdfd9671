"""A real small model behind real servers: the protocols as llama.cpp speaks them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

import pytest
from pydantic import BaseModel, Field

from secondlook.errors import ContextOverflow, ModelError
from secondlook.models.budget import Ledger
from secondlook.models.calls import open_models
from secondlook.models.chat import Message
from secondlook.models.journal import NoJournal
from secondlook.models.langchain import LangChainChat
from secondlook.models.prices import Caps
from secondlook.models.specs import parse_spec
from secondlook.settings.sections import ModelSettings, Settings
from tests.support.gguf_models import smollm2
from tests.support.gguf_server import LocalServer, ollama_server, openai_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from secondlook.models.calls import Asker

CONTEXT = 1024
ASKED = (Message("system", "You answer in one word."), Message("user", "Which colour is snow?"))


class Ship(BaseModel):
    name: str = Field(max_length=20)
    kind: Literal["ferry", "tug"]
    built: int = Field(ge=1000, le=2100)


@pytest.fixture(scope="module")
def openai() -> Iterator[LocalServer]:
    with openai_server(smollm2(), context_tokens=CONTEXT) as server:
        yield server


@pytest.fixture(scope="module")
def ollama() -> Iterator[LocalServer]:
    with ollama_server(smollm2(), context_tokens=CONTEXT) as server:
        yield server


@pytest.fixture(params=["openai", "ollama"])
def spec(request: pytest.FixtureRequest) -> str:
    server: LocalServer = request.getfixturevalue(request.param)
    return f"{request.param}:{server.model}@{server.base_url}"


def run(spec: str, work: Callable[[Asker], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
    async def main() -> Any:
        models = open_models(Settings(models=ModelSettings(default=spec, **settings)))
        asker = models.asker(run="r", workflow="linear", ledger=Ledger(Caps()), journal=NoJournal())
        try:
            return await work(asker)
        finally:
            await models.aclose()

    return asyncio.run(main())


def test_text(spec: str) -> None:
    heard: list[str] = []
    reply = run(
        spec,
        lambda asker: asker.ask("answer", ASKED, node="n", max_tokens=12, on_text=heard.append),
    )
    assert reply.text == "".join(heard) != ""
    assert reply.usage.tokens_out > 0
    assert reply.usage.cost == 0.0


def test_counts_are_not_too_low(spec: str) -> None:
    async def both(asker: Asker) -> tuple[int, int]:
        counted = await asker.count("answer", ASKED)
        return counted, (await asker.ask("answer", ASKED, node="n", max_tokens=1)).usage.tokens_in

    counted, used = run(spec, both)
    assert used <= counted <= 3 * used


def test_objects_have_the_form_that_was_asked_for(spec: str) -> None:
    asked = [Message("user", "Describe the ferry Marit of 1987 as JSON.")]
    reply = run(spec, lambda asker: asker.ask("plan", asked, Ship, node="n", max_tokens=120))
    assert isinstance(reply.value, Ship)


def test_a_prompt_beyond_the_window_is_refused_here(spec: str) -> None:
    long = [Message("user", "The harbour was measured again. " * 400)]
    with pytest.raises(ContextOverflow, match="tokens that"):
        run(
            spec,
            lambda asker: asker.ask("answer", long, node="n", max_tokens=16),
            # Ollama gives each request the window that it asks for; this one has but one size.
            context_tokens=CONTEXT if spec.startswith("ollama") else 0,
        )


def test_the_window_is_the_servers(openai: LocalServer, ollama: LocalServer) -> None:
    told = f"openai:{openai.model}@{openai.base_url}"
    assert run(told, lambda asker: asker.room("answer", max_tokens=24)) == CONTEXT - 24 - 16
    trained = f"ollama:{ollama.model}@{ollama.base_url}"
    assert run(trained, lambda asker: asker.room("answer", max_tokens=24)) == 8192 - 24 - 16


def test_log_probabilities_are_there(openai: LocalServer) -> None:
    async def work(asker: Asker) -> bool:
        chat = asker.models.chat(parse_spec(asker.name("answer")))
        assert isinstance(chat, LangChainChat)
        return await chat.has_logprobs()

    assert run(f"openai:{openai.model}@{openai.base_url}", work)


def test_a_server_that_wants_a_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server(smollm2(), context_tokens=512, api_key="sk-right") as server:
        spec = f"openai:{server.model}@{server.base_url}"
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        with pytest.raises(ModelError, match="401") as caught:
            run(spec, lambda asker: asker.ask("answer", ASKED, node="n", max_tokens=4))
        assert caught.value.hint == "Check the key in OPENAI_API_KEY."
        assert "sk-" not in caught.value.message
        monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
        reply = run(spec, lambda asker: asker.ask("answer", ASKED, node="n", max_tokens=4))
        assert reply.text
