"""Charts of results that our own code computed, as Plotly's JSON; Plotly itself is not needed."""

from __future__ import annotations

from secondlook.nodes.charting.drawing import chart_of
from secondlook.nodes.charting.manners import polished

__all__ = ["chart_of", "polished"]
