"""How far texts from outside can steer an answer: attacks on four channels, tried on the engine
itself, with a model that does whatever they say."""

from __future__ import annotations

from secondlook.evaluation.injection.cases import CHANNELS, HALVES, Half
from secondlook.evaluation.injection.measuring import measured
from secondlook.evaluation.injection.running import Progress, Study, run
from secondlook.nodes.screening import Channel

__all__ = ["CHANNELS", "HALVES", "Channel", "Half", "Progress", "Study", "measured", "run"]
