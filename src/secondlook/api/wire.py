"""Data as it goes over the wire: JSON that every parser takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fastapi.responses import Response

if TYPE_CHECKING:
    from pydantic import BaseModel


def wire(model: BaseModel) -> str:
    """A number that is none (NaN) is kept by our own files, and is no JSON: it goes as null."""
    text = model.model_dump_json()
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)


def json_response(model: BaseModel, status: int = 200) -> Response:
    return Response(wire(model), status_code=status, media_type="application/json")
