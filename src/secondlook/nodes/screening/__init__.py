"""Whether a text gives orders to a model: signs, found by code.

`plain` undoes disguises, `signs` joins what orders look like (`orders`, `replies`, `languages`),
`hidden` is what shows in how a text is written, `mention` tells words that are used from words that
are spoken of, and `score` joins it all. `asking` puts what stays unclear to a model.
"""

from __future__ import annotations

from secondlook.nodes.screening.score import REFUSED, UNCLEAR, Kind, Signals, Verdict, screened

__all__ = ["REFUSED", "UNCLEAR", "Kind", "Signals", "Verdict", "screened"]
