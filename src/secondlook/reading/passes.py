"""The reader's graph, run whole or in two stages.

In two stages the first layers give a relevance of their own, the glance; the look goes on from
where the glance stopped. A look without a glance before it takes both steps at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from secondlook.reading.session import OnnxModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from secondlook.reading.session import Feed, Workers
    from secondlook.reading.weights import Weights

    State = NDArray[np.float32]
    Logits = dict[str, NDArray[np.float32]]


class Passes(Protocol):
    glances: bool

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what a look yields."""

    def glance(self, feed: Feed) -> tuple[float, State]:
        """The first relevance, and the state from which to look on."""

    def look(self, feed: Feed, state: State | None = None) -> Logits:
        """By name; the glance is among them where there is one and no state is given."""


class WholePass:
    """One graph that looks at once."""

    glances = False

    def __init__(self, model: OnnxModel) -> None:
        self._model = model

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._model.outputs

    def glance(self, feed: Feed) -> tuple[float, State]:
        raise NotImplementedError("a whole graph cannot be left half way")

    def look(self, feed: Feed, state: State | None = None) -> Logits:  # noqa: ARG002
        return dict(zip(self.outputs, self._model.run(feed), strict=True))


class TwoPasses:
    """Two graphs, the second of which continues the first."""

    glances = True

    def __init__(self, glance: OnnxModel, look: OnnxModel) -> None:
        self._glance = glance
        self._look = look

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._look.outputs

    def glance(self, feed: Feed) -> tuple[float, State]:
        made = dict(zip(self._glance.outputs, self._glance.run(feed), strict=True))
        return float(made["glance"][0]), made["state"]

    def look(self, feed: Feed, state: State | None = None) -> Logits:
        if state is None:
            made = dict(zip(self._glance.outputs, self._glance.run(feed), strict=True))
            return {"glance": made["glance"], **self.look(feed, made["state"])}
        looked = self._look.run({"state": state, "types": feed["types"]})
        return dict(zip(self.outputs, looked, strict=True))


def open_passes(weights: Weights, workers: Workers) -> Passes:
    if not weights.parted:
        return WholePass(OnnxModel(weights.model, workers=workers))
    return TwoPasses(
        OnnxModel(weights.glance, workers=workers), OnnxModel(weights.look, workers=workers)
    )
