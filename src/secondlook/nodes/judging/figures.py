"""Whether a chart shows anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from secondlook.sandbox.port import Figure

_LONGEST = 24_000_000
_DATA: Final = (
    *("x", "y", "z", "values", "labels", "lat", "lon", "locations", "r", "theta", "a", "b", "c"),
    *("open", "close", "high", "low", "ids", "parents", "u", "v", "w", "dimensions", "cells"),
    *("node", "link", "intensity", "geojson", "carpet", "value", "text", "q1", "median", "real"),
)
_LOOKED_AT = 2_000


def has_data(figure: Figure) -> bool:
    """A picture is believed: what is on it cannot be told."""
    if figure.kind == "png":
        return bool(figure.data)
    return any(map(_has_points, traces(figure)))


def traces(figure: Figure) -> list[dict[str, Any]]:
    """Of a Plotly figure; none where it cannot be read within bounds."""
    if figure.kind != "plotly" or len(figure.data) > _LONGEST:
        return []
    try:
        whole = json.loads(figure.data)
    except (ValueError, RecursionError):
        return []
    found = whole.get("data") if isinstance(whole, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _has_points(trace: dict[str, Any]) -> bool:
    return any(_holds(trace.get(name)) for name in _DATA)


def _holds(value: Any) -> bool:
    if isinstance(value, list):
        return any(one is not None for one in value[:_LOOKED_AT])
    if isinstance(value, dict):  # numbers as Plotly packs them, or the parts of a table
        packed = value.get("bdata")
        return bool(packed) if isinstance(packed, str) else any(map(_holds, value.values()))
    return isinstance(value, int | float) and not isinstance(value, bool)
