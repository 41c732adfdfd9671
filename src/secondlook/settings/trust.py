"""What a settings file that came with a folder may say: who opens the folder did not write it.

It may choose how a search ranks, the language, and a library below its own folder. All else is
refused until the person trusts the file as it is (`secondlook trust FOLDER`): a changed file is
untrusted again. Where weights or code are loaded from only their own settings say, for the hash
of a settings file does not cover what lies beside it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from pathlib import Path

from secondlook.files import write_whole

ALLOWED = frozenset(
    """
    library.path library.language chunking.tokens chunking.overlap ingest.ocr
    search.k search.dense search.candidates search.looks search.rerank search.blend
    adaptive.enable_adaptive_retrieval adaptive.check adaptive.min_quality
    adaptive.min_rerank_score adaptive.dense answer.workflow answer.k
    """.split()  # noqa: SIM905  # as words they are easier to read
)
_LOADING = re.compile(r"(?:^|=)\s*(?:gguf|huggingface|sentence-transformers)\s*:", re.IGNORECASE)


def why_refused(file: Path, key: str, value: object, *, trusted: bool) -> str | None:
    """Why this file may not say so, if it may not."""
    if trusted:
        said = value if isinstance(value, list) else [value]
        loads = any(_LOADING.search(one) for one in said if isinstance(one, str))
        return "may not name weights or code to load, trusted or not" if loads else None
    if key not in ALLOWED:
        return "may not set it"
    if key == "library.path" and isinstance(value, str):
        folder, place = file.parent.resolve(), Path(value)
        with contextlib.suppress(RuntimeError, OSError, ValueError):
            below = (folder / place.expanduser()).resolve().is_relative_to(folder)
            if below and not str(place).startswith("s3:"):
                return None
        return "may only name a library below that folder"
    return None


# Files trusted, each with the hash of what was in it then.


def is_trusted(file: Path, data: bytes, *, record: Path) -> bool:
    return _held(record).get(str(file.resolve())) == hashlib.sha256(data).hexdigest()


def remember(file: Path, data: bytes | None, *, record: Path) -> bool:
    """Trust the file as it is in `data`, or no more; whether it was trusted before."""
    held, name = _held(record), str(file.resolve())
    before = held.pop(name, None)
    if data is not None:
        held[name] = hashlib.sha256(data).hexdigest()
    write_whole(record, json.dumps(held, indent=2).encode())
    return before is not None


def _held(record: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        held = json.loads(record.read_bytes())
        return held if isinstance(held, dict) else {}
    return {}
