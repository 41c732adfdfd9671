"""Whether a text gives orders to a model: signs, found by code.

`plain` undoes disguises, `signs` joins what orders look like (`orders`, `replies`, `languages`),
`hidden` is what shows in how a text is written, `mention` tells words that are used from words that
are spoken of, and `score` joins it all. `channels` is the door: everything that others wrote goes
through `look`, by the way that it came. `asking` puts what stays unclear to a model. `mood` and
`code` are for `nodes.revalidating`, which looks at what an answer says.
"""

from __future__ import annotations

from secondlook.nodes.screening.channels import Channel, is_stopped, look, stops
from secondlook.nodes.screening.score import REFUSED, UNCLEAR, Kind, Signals, Verdict, screened

__all__ = [
    "REFUSED",
    "UNCLEAR",
    "Channel",
    "Kind",
    "Signals",
    "Verdict",
    "is_stopped",
    "look",
    "screened",
    "stops",
]
