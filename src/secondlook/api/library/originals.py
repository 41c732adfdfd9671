"""The file that a document was read from, given to a browser that must not trust it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fastapi.responses import FileResponse

from secondlook.api.library.listing import files_of
from secondlook.api.problems import Problem
from secondlook.library.uploads import sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library import DocumentInfo

_REMEMBERED = 256
_PDF = b"%PDF-"
_PDF_WITHIN = 1024
"""A PDF may begin a little late."""
_HEADERS: Final = {
    # Whatever it is, it runs nothing and loads nothing; browsers show a PDF all the same.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}


class Hashes:
    """Of files, computed again when one changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, int, int, int], str] = {}

    def of(self, file: Path) -> str:
        status = file.stat()
        key = (str(file), status.st_size, status.st_mtime_ns, status.st_ino)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = sha256_of(file)
            with self._lock:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[key] = known
        return known


def original_of(item: DocumentInfo, hashes: Hashes) -> FileResponse:
    """Only a place that the catalog has for this document, and only what was read there."""
    for file in files_of(item):
        with suppress(OSError):
            if hashes.of(file) == item.sha256:
                return _response(file, item)
    raise Problem(
        410,
        "original_gone",
        "the file of this document has changed or is gone since it was added",
        hint="its text is still here; add or upload the file again to have both in step",
    )


def _response(file: Path, item: DocumentInfo) -> FileResponse:
    shown = item.kind == "pdf" and _is_pdf(file)
    return FileResponse(
        file,
        media_type="application/pdf" if shown else "application/octet-stream",
        filename=file.name.encode("utf-8", "replace").decode(),
        content_disposition_type="inline" if shown else "attachment",
        headers=_HEADERS,
    )


def _is_pdf(file: Path) -> bool:
    with file.open("rb") as source:
        return _PDF in source.read(_PDF_WITHIN)
