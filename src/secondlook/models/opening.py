"""From a spec to the backend that serves it. Nothing of a provider is imported before that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import ModelError

if TYPE_CHECKING:
    from secondlook.models.port import Chat
    from secondlook.models.specs import ModelSpec
    from secondlook.settings import ModelSettings


def open_chat(spec: ModelSpec, settings: ModelSettings) -> Chat:
    if not spec.named:
        raise ModelError("there is no model to open: it is set to 'none'")
    if spec.provider == "gguf":
        from secondlook.models.gguf import GgufChat

        return GgufChat(spec.path, context_tokens=settings.context_tokens)
    from secondlook.models.langchain import LangChainChat

    return LangChainChat(spec, settings)
