"""How every chart looks: a quiet background, named axes, colours that all can tell apart."""

from __future__ import annotations

import copy
from typing import Any, Final

OKABE_ITO: Final = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
"""Okabe and Ito, "Color Universal Design" (2008): told apart with any colour vision."""
_GRID: Final = "#E5E5E5"


def styled() -> dict[str, Any]:
    """The look of Plotly's `plotly_white`, as plain values."""
    axis = {"gridcolor": _GRID, "linecolor": "#999999", "zerolinecolor": _GRID, "automargin": True}
    return {
        "colorway": list(OKABE_ITO),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "font": {"color": "#2A3F5F", "size": 13},
        "margin": {"t": 60},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }


def polished(figure: Any, *, title: str = "", axes: tuple[str, str] | None = None) -> Any:
    """A figure of generated code with what it left out: look, title, names of the axes. Its data
    and whatever it chose itself stay."""
    if not isinstance(figure, dict) or not isinstance(figure.get("data"), list):
        return figure
    made = copy.deepcopy(figure)
    chosen = made.get("layout")
    layout: dict[str, Any] = chosen if isinstance(chosen, dict) else {}
    look = {} if _has_template(layout) else styled()
    look.setdefault("colorway", list(OKABE_ITO))
    if title:
        look["title"] = {"text": title}
    for name, text in zip(("xaxis", "yaxis"), axes or (), strict=False):
        look.setdefault(name, {}).setdefault("title", {"text": text})
    made["layout"] = _filled(layout, look)
    return made


def _has_template(layout: dict[str, Any]) -> bool:
    """More than the empty one that a figure gets where none was chosen."""
    template = layout.get("template")
    return isinstance(template, dict) and bool(template.get("layout"))


def _filled(chosen: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """What was chosen, and the default for what was not."""
    found = dict(chosen)
    for name, value in default.items():
        if name not in found or found[name] is None:
            found[name] = value
        elif isinstance(found[name], dict) and isinstance(value, dict):
            found[name] = _filled(found[name], value)
    return found
