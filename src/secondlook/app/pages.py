"""The web pages of one run, kept with its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.memory.recorder import Recorder
    from secondlook.retrieval.web import WebPassage


@dataclass(frozen=True, slots=True)
class RunPages:
    run: str
    recorder: Recorder

    def put(self, passages: Sequence[WebPassage]) -> None:
        self.recorder.put_passages(self.run, [passage.as_dict() for passage in passages])

    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]:
        wanted = [name for name in ids if name.startswith("web-")]
        if not wanted:
            return {}
        from secondlook.retrieval.web import WebPassage

        held = self.recorder.passages(self.run, wanted)
        return {name: WebPassage.from_dict(item) for name, item in held.items()}
