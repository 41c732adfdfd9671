"""What a run keeps beside its state because it is long, with its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.memory.recorder import Recorder


@dataclass(frozen=True, slots=True)
class RunKept:
    run: str
    recorder: Recorder

    def put(self, name: str, text: str) -> None:
        self.recorder.put_passages(self.run, [{"id": name, "text": text}])

    def get(self, name: str) -> str | None:
        held = self.recorder.passages(self.run, [name]).get(name)
        return None if held is None else str(held["text"])
