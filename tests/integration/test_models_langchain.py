"""OpenAI's and Ollama's protocols over a real socket, with servers that behave in every way."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ContextOverflow, ModelError, ModelUnavailable
from secondlook.models.chat import ChatRequest, ModelBusy
from tests.support.chat_server import ChatServer, Said
from tests.support.langchain_chat import ASKED, SCHEMA, complete, opened, says, spec_of

if TYPE_CHECKING:
    from secondlook.models.langchain import LangChainChat

KINDS = ["openai", "ollama"]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    # A proxy that leads nowhere: this machine's own servers must be reached without it.
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_streamed_and_counted(kind: str) -> None:
    heard: list[str] = []
    with ChatServer(says("It is ", "seven ", "metres.", cached=5)) as server:
        chat = opened(kind, server)
        assert chat.local
        assert chat.spec == spec_of(kind, server)
        result = complete(chat, heard.append, temperature=0.3, seed=4, stop=("\n\n",))
    assert heard == ["It is ", "seven ", "metres."]
    assert (result.text, result.finish) == ("It is seven metres.", "stop")
    assert (result.tokens_in, result.tokens_out) == (11, 7)
    assert result.tokens_cached == (5 if kind == "openai" else 0)
    assert result.first_token_seconds is not None
    assert 0 < result.first_token_seconds <= result.seconds
    body = server.requests[-1].body
    sent = body if kind == "openai" else body["options"]
    assert (sent["temperature"], sent["seed"], sent["stop"]) == (0.3, 4, ["\n\n"])
    assert sent["max_tokens" if kind == "openai" else "num_predict"] == 50
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_goes_to_the_server(kind: str) -> None:
    with ChatServer(says('{"metres": 7}')) as server:
        complete(opened(kind, server), schema=SCHEMA, mode="json_schema")
    body = server.requests[-1].body
    if kind == "ollama":
        assert body["format"] == SCHEMA
        return
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("Depth_of_a_quay", True)
    assert form["schema"]["required"] == ["metres", "default"]
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["properties"]["metres"] == {"type": "number"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_call_is_a_reply(kind: str) -> None:
    heard: list[str] = []
    with ChatServer(lambda body: Said(tool='{"metres": 7.5}')) as server:
        chat = opened(kind, server)
        result = complete(chat, heard.append, schema=SCHEMA, mode="tool")
    assert json.loads(result.text) == {"metres": 7.5}
    assert "".join(heard) == result.text
    tool = server.requests[-1].body["tools"][0]["function"]
    assert tool["name"] == "Depth_of_a_quay"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("said", "error", "hint"),
    [
        (Said(status=429, error={"error": "slow down"}), ModelBusy, ""),
        (Said(status=503, error="<html>"), ModelBusy, ""),
        (Said(status=401, error={"error": "who?"}), ModelError, "Check the key"),
        (Said(status=404, error={"error": "no such model"}), ModelError, "m"),
        (Said(status=400, error={"error": "what?"}), ModelError, ""),
        (Said(["It is"], breaks=True), ModelUnavailable, ""),
    ],
)
def test_what_a_server_says_no_with(
    kind: str, said: Said, error: type[ModelError], hint: str
) -> None:
    with ChatServer(lambda body: said) as server, pytest.raises(error) as caught:
        complete(opened(kind, server))
    assert type(caught.value) is error
    assert spec_of(kind, server) in caught.value.message
    assert hint in str(caught.value.hint)


def test_a_busy_server_says_when_to_come_back() -> None:
    no = {"error": {"message": "slow down", "type": "rate_limit"}}
    with ChatServer(says(status=429, error=no, headers={"Retry-After": "2.5"})) as server:
        with pytest.raises(ModelBusy) as caught:
            complete(opened("openai", server))
        assert caught.value.wait == 2.5
        server.reply = says(status=429, error=no, headers={"Retry-After": "Tue, 1 Jan 2030"})
        with pytest.raises(ModelBusy) as caught:
            complete(opened("openai", server))
        assert caught.value.wait is None


@pytest.mark.parametrize(
    "no",
    [
        {"error": {"message": "too long", "code": "context_length_exceeded"}},
        {"error": {"message": "too long", "type": "exceed_context_size_error", "code": 400}},
    ],
)
def test_a_server_that_finds_a_prompt_too_long(no: dict[str, Any]) -> None:
    with ChatServer(says(status=400, error=no)) as server, pytest.raises(ContextOverflow):
        complete(opened("openai", server), schema=SCHEMA, mode="json_schema")


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_there(kind: str) -> None:
    with ChatServer(says("x")) as server:
        pass
    with pytest.raises(ModelUnavailable) as caught:
        complete(opened(kind, server))
    assert caught.value.retryable
    assert server.url in str(caught.value.hint)


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_hangs_up(kind: str) -> None:
    async def main(chat: LangChainChat) -> None:
        begun = asyncio.Event()
        request = ChatRequest(ASKED, max_tokens=100_000)
        asking = asyncio.ensure_future(chat.complete(request, lambda text: begun.set()))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await chat.aclose()

    with ChatServer(lambda body: Said(itertools.repeat("and so on "))) as server:
        asyncio.run(main(opened(kind, server)))
        assert server.hung_up.wait(10)


def test_a_model_that_takes_no_temperature_is_asked_without() -> None:
    def reply(body: dict[str, Any]) -> Said:
        for name in ("temperature", "seed", "stream_options"):
            if name in body:
                no = {"message": f"no {name} please", "param": name, "code": "unsupported_value"}
                return Said(status=400, error={"error": no})
        return Said(["seven"])

    async def main(chat: LangChainChat) -> None:
        for _ in range(2):
            result = await chat.complete(ChatRequest(ASKED, max_tokens=5, seed=3))
            assert result.text == "seven"
        await chat.aclose()

    with ChatServer(reply) as server:
        asyncio.run(main(opened("openai", server)))
    assert len(server.requests) == 4 + 1  # what it does not take is remembered


# Through the one door
