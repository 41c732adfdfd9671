"""The extracted text of every document with its maps, so that each quote can be checked later.

One compressed file per document, named by the document's SHA-256 and the parser's version.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from secondlook.document import Extracted, Heading, Page
from secondlook.errors import LibraryDamaged, LibraryError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

MAKE_ROOM = "check that the disk has room and that you may write there; nothing stored is lost"


@dataclass(frozen=True, slots=True)
class TextKey:
    sha256: str
    parser: str


class TextStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, key: TextKey, extracted: Extracted) -> None:
        import zstandard

        target = self._file(key)
        if target.exists():
            return
        partial = target.with_suffix(f".partial-{os.getpid()}")
        data = json.dumps(asdict(extracted), ensure_ascii=False).encode()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as out:
                out.write(zstandard.compress(data, 3))
                out.flush()
                os.fsync(out.fileno())
            partial.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise LibraryError(
                f"the text {str(target)!r} cannot be written: {error.strerror or error}",
                hint=MAKE_ROOM,
            ) from error

    def read(self, key: TextKey) -> Extracted:
        import zstandard

        file = self._file(key)
        try:
            return _revive(json.loads(zstandard.decompress(file.read_bytes())))
        except (OSError, ValueError, LookupError, TypeError, zstandard.ZstdError) as error:
            raise LibraryDamaged(
                f"the stored text of document {key.sha256[:16]!r} cannot be read: {error}",
                hint="secondlook add --force PATH extracts it again",
            ) from error

    def delete(self, key: TextKey) -> None:
        self._file(key).unlink(missing_ok=True)

    def sweep(self, keep: Collection[TextKey]) -> None:
        """Delete what no document refers to: leftovers of interrupted work."""
        wanted = {self._file(key) for key in keep}
        for file in self._folder.glob("*/*"):
            if file not in wanted:
                file.unlink(missing_ok=True)

    def _file(self, key: TextKey) -> Path:
        return self._folder / key.sha256[:2] / f"{key.sha256}.{key.parser}.json.zst"


def _revive(raw: dict[str, Any]) -> Extracted:
    raw["pages"] = tuple(Page(**page) for page in raw["pages"])
    raw["headings"] = tuple(Heading(**heading) for heading in raw["headings"])
    raw["notes"] = tuple(raw["notes"])
    return Extracted(**raw)
