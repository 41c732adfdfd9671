"""What passes between the program and a job: a request in, one reply out, both plain data."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from secondlook.sandbox.port import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Variation

LENGTH = struct.Struct(">Q")
CODE_NAME = "<analysis>"
"""The file that tracebacks name for the code."""
MOST_FIGURES = 20


@dataclass(frozen=True, slots=True)
class Request:
    code: str
    tables: tuple[str, ...]
    """Their names; the descriptors come beside the request, in this order."""
    limits: Limits
    vary: Variation | None
    seed: int
    token: str
    """A reply without it was not made by us."""

    def encoded(self) -> bytes:
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def decoded(cls, data: bytes) -> Request:
        fields: dict[str, Any] = json.loads(data)
        limits = Limits(**fields.pop("limits"))
        return cls(tables=tuple(fields.pop("tables")), limits=limits, **fields)


def encode_reply(document: dict[str, Any], attachments: Sequence[bytes]) -> bytes:
    """Each part after its length: first the document, then the figures in its order."""
    # Digits enough to give the same float again; NaN and infinities under their own names.
    first = json.dumps(document, ensure_ascii=True, allow_nan=True).encode("ascii")
    return b"".join(LENGTH.pack(len(part)) + part for part in (first, *attachments))
