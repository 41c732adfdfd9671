"""Chats over LangChain with a server on loopback, as tests of them need it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from secondlook.models.chat import ChatRequest, ChatResult, Message
from secondlook.models.langchain import LangChainChat
from secondlook.models.specs import parse_spec
from secondlook.settings.sections import ModelSettings
from tests.support.chat_server import ChatServer, Said
from tests.support.function_model import of_all_roles

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = {
    "title": "Depth of a quay",
    "type": "object",
    "properties": {"metres": {"type": "number", "default": 1}, "default": {"type": "string"}},
    "required": ["metres"],
}
ASKED = (Message("system", "Be brief."), Message("user", "How deep is it?"))


def spec_of(kind: str, server: ChatServer) -> str:
    return f"{kind}:m@{server.url}/v1" if kind == "openai" else f"{kind}:m@{server.url}"


def opened(kind: str, server: ChatServer, **settings: Any) -> LangChainChat:
    return LangChainChat(parse_spec(spec_of(kind, server)), ModelSettings(**of_all_roles(settings)))


def complete(
    chat: LangChainChat, on_text: Callable[[str], None] | None = None, **options: Any
) -> ChatResult:
    async def main() -> ChatResult:
        try:
            return await chat.complete(
                ChatRequest(ASKED, **{"max_tokens": 50, "timeout": 20.0, **options}), on_text
            )
        finally:
            await chat.aclose()

    return asyncio.run(main())


def says(*pieces: str, **more: Any) -> Callable[[Any], Said]:
    return lambda body: Said(pieces, **more)
