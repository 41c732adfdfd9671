"""Output modes in LangChain's terms: how a schema is bound to a chat model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from secondlook.models.port import ModeRefused

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from secondlook.models.port import ChatRequest
    from secondlook.models.specs import ModelSpec

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 60
_UNSUPPORTED = frozenset(
    {"default", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"}
)
"""What OpenAI's own strict mode refuses; other servers hold a model to it. We validate it all."""


def bound(model: BaseChatModel, spec: ModelSpec, request: ChatRequest) -> Runnable[Any, Any]:
    """The model, made to answer in the form of the request."""
    if request.schema is None or request.mode in {"text", "prompted"}:
        return model
    if request.mode == "tool":
        return _with_tool(model, request.schema)
    if spec.provider == "ollama":
        return model.bind(format=request.schema)
    if spec.provider in {"openai", "azure_openai"}:
        return model  # see response_format()
    return _native(model, request.schema)


def response_format(spec: ModelSpec, request: ChatRequest) -> dict[str, Any]:
    """What an OpenAI-compatible server gets in the body of the request.

    Not as LangChain's own argument: its client would parse the stream and raise on a cut reply.
    """
    native = request.schema is not None and request.mode == "json_schema"
    if not native or spec.provider not in {"openai", "azure_openai"}:
        return {}
    schema = cast("dict[str, Any]", request.schema)
    without = _UNSUPPORTED if spec.base_url is None else frozenset({"default"})
    form = {"name": schema_name(schema), "schema": strict(schema, without), "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def schema_name(schema: dict[str, Any]) -> str:
    return _NOT_A_NAME.sub("_", str(schema.get("title") or "Reply"))[:_LONGEST_NAME]


def strict(schema: Any, without: frozenset[str] = frozenset({"default"})) -> Any:
    """Every field required and no others, as OpenAI's strict mode wants it."""
    if isinstance(schema, list):
        return [strict(item, without) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = schema.get("properties")
    made = {name: strict(value, without) for name, value in schema.items() if name not in without}
    if isinstance(fields, dict):
        # Here a word of schemas may be the name of a field.
        made["properties"] = {name: strict(value, without) for name, value in fields.items()}
        made |= {"required": list(fields), "additionalProperties": False}
    return made


def _with_tool(model: BaseChatModel, schema: dict[str, Any]) -> Runnable[Any, Any]:
    name = schema_name(schema)
    about = str(schema.get("description") or "Give the reply by calling this.")
    function = {"name": name, "description": about, "parameters": schema}
    try:
        return model.bind_tools([{"type": "function", "function": function}], tool_choice=name)
    except (NotImplementedError, TypeError, ValueError) as unable:
        raise ModeRefused(f"{type(model).__name__} does not call tools") from unable


def _native(model: BaseChatModel, schema: dict[str, Any]) -> Runnable[Any, Any]:
    """The bound model within what `with_structured_output` makes; we parse for ourselves."""
    try:
        made = model.with_structured_output(schema, method="json_schema")
    except (NotImplementedError, TypeError, ValueError) as unable:
        raise ModeRefused(f"{type(model).__name__} does not take a JSON schema") from unable
    return cast("Runnable[Any, Any]", getattr(made, "first", made))
