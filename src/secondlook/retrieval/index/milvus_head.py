"""Which rows of a Milvus collection count: what makes a commit whole or not there at all.

Milvus stores rows, it does not commit several together. So every row carries the number of its
commit, and a collection beside them holds the head: the last commit that happened. Rows of a later
one are on their way and nobody sees them. The head that a commit writes names, too, the rows that
it does away with, so that they vanish in the same moment; they are deleted afterwards.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from secondlook.errors import LibraryFormat
from secondlook.retrieval.index.milvus_rows import MOST_BYTES, among

if TYPE_CHECKING:
    from secondlook.retrieval.index.milvus_server import Server

FORMAT = 1
_MOST_PARTS = 100_000


@dataclass(frozen=True, slots=True)
class Head:
    turn: int
    """Heads are written one after the other; the newest whole one is in force."""
    collection: str
    """Where the rows are."""
    commit: int
    """The last commit that happened."""
    dimensions: int
    gone: tuple[int, ...] = ()
    """Keys of rows that do not count any more and may still be there."""
    rows: int = 0
    added: int = 0
    """Rows since the last compaction, as are the next two."""
    removed: int = 0
    commits: int = 0
    format: int = FORMAT

    @property
    def visible(self) -> str:
        shown = f"commit <= {self.commit}"
        return f"{shown} and not ({among('key', self.gone)})" if self.gone else shown

    def shows_what(self, other: Head) -> bool:
        """Whether a reader of either sees the same rows."""
        return (self.collection, self.commit) == (other.collection, other.commit)

    def after(self, *, added: int, gone: tuple[int, ...]) -> Head:
        return replace(
            self,
            turn=self.turn + 1,
            commit=self.commit + 1,
            gone=gone,
            rows=self.rows + added - len(gone),
            added=self.added + added,
            removed=self.removed + len(gone),
            commits=self.commits + 1,
        )

    def cleared(self) -> Head:
        """What was named as gone is deleted."""
        return replace(self, turn=self.turn + 1, gone=())

    def rewritten(self, collection: str) -> Head:
        return replace(self.cleared(), collection=collection, added=0, removed=0, commits=0)


class HeadLog:
    """Every head is inserted before older ones are deleted: at any moment one can be read."""

    def __init__(self, server: Server, collection: str) -> None:
        self._server = server
        self.collection = collection

    def read(self) -> Head | None:
        fields = ["turn", "part", "parts", "said"]
        turns: dict[int, dict[int, dict[str, Any]]] = {}
        for row in self._server.query(self.collection, "turn >= 0", fields):
            turns.setdefault(row["turn"], {})[row["part"]] = row
        for turn in sorted(turns, reverse=True):
            parts = turns[turn]
            if len(parts) == next(iter(parts.values()))["parts"]:
                return _head("".join(parts[part]["said"] for part in sorted(parts)), turn)
        return None

    def write(self, head: Head) -> None:
        said = json.dumps(asdict(head))
        texts = [said[start : start + MOST_BYTES] for start in range(0, len(said), MOST_BYTES)]
        rows = [
            {
                "key": head.turn * _MOST_PARTS + part,
                "turn": head.turn,
                "part": part,
                "parts": len(texts),
                "said": text,
                "unused": [1.0, 0.0],
            }
            for part, text in enumerate(texts)
        ]
        self._server.insert(self.collection, rows)
        self._server.delete(self.collection, f"turn < {head.turn}")


def _head(said: str, turn: int) -> Head:
    try:
        raw = json.loads(said)
        found = raw.get("format")
        if found == FORMAT:
            return Head(**{**raw, "gone": tuple(raw["gone"])})
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise LibraryFormat(
            f"what Milvus holds of this library cannot be understood (turn {turn}): {error}",
            hint="secondlook rebuild makes it anew from the stored texts",
        ) from error
    raise LibraryFormat(
        f"what Milvus holds of this library has format {found!r}; this version reads {FORMAT}",
        hint="upgrade secondlook, or run secondlook rebuild to make it anew",
    )
