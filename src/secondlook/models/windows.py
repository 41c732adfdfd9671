"""How much a served model can see, asked of its server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secondlook.models.specs import ModelSpec

OLLAMA_WINDOW = 8192
"""What we ask Ollama for where nobody says otherwise: its own default is half of that or less,
what a model was trained with is often more than a laptop has memory for."""
_SECONDS = 5.0
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def ollama_window(spec: ModelSpec, told: int | None) -> int:
    """What to ask for as `num_ctx`: as set, as the model file says, or our default; never more
    than the model was trained with."""
    shown = await _json(spec, "POST", f"{spec.base_url}/api/show", {"model": spec.model})
    wanted = told or _number_in(str(shown.get("parameters") or "")) or OLLAMA_WINDOW
    about = shown.get("model_info")
    trained = _trained_length(about if isinstance(about, dict) else {})
    return min(wanted, trained) if trained else wanted


async def server_window(spec: ModelSpec) -> int | None:
    """Of an OpenAI-compatible server: llama.cpp says it in /props, vLLM in its list of models."""
    address = str(spec.base_url)
    props = await _json(spec, "GET", f"{address.removesuffix('/v1')}/props")
    defaults = props.get("default_generation_settings")
    if isinstance(defaults, dict) and (found := _positive(defaults.get("n_ctx"))):
        return found
    listed = await _json(spec, "GET", f"{address}/models")
    data = listed.get("data")
    models = data if isinstance(data, list) else []
    for model in models:
        if isinstance(model, dict) and (len(models) == 1 or model.get("id") == spec.model):
            return _of_listed(model)
    return None


def _of_listed(model: dict[str, Any]) -> int | None:
    about = model.get("meta")
    trained = about.get("n_ctx_train") if isinstance(about, dict) else None
    named = (model.get(name) for name in ("max_model_len", "context_length", "context_window"))
    return next(filter(None, map(_positive, (*named, trained))), None)


def _trained_length(about: dict[str, Any]) -> int | None:
    found = (value for name, value in about.items() if name.endswith(".context_length"))
    return _positive(next(found, None))


def _number_in(parameters: str) -> int | None:
    found = _NUM_CTX.search(parameters)
    return int(found[1]) if found else None


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


async def _json(
    spec: ModelSpec, method: str, url: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What the server says, or nothing: whether it is there at all shows when it is asked."""
    import httpx

    try:
        async with httpx.AsyncClient(trust_env=not spec.local, timeout=_SECONDS) as client:
            reply = await client.request(method, url, json=body)
            content = reply.json() if reply.is_success else {}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
