"""What the reader found lately, so that a second search of the same run reads nothing twice.

A reading depends on nothing but the reader, the question and the passage: a remembered one is the
one that would be made again. One `Recent` belongs to one reader.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from secondlook.reading.port import Reading

_KEY_BYTES = 16


def key_of(question: str, passage: str) -> bytes:
    """Short for any text: long passages are not kept alive by what was found in them."""
    digest = hashlib.blake2b(digest_size=_KEY_BYTES)
    for part in (question, passage):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


class Recent:
    """At most `limit` readings, the latest used. Safe to call from several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[bool, bytes], Reading] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Iterable[bytes], *, looked: bool) -> dict[bytes, Reading]:
        """Those looked at, or those glanced at: the one does not stand for the other."""
        found: dict[bytes, Reading] = {}
        with self._lock:
            for key in keys:
                if (looked, key) in self._kept:
                    self._kept.move_to_end((looked, key))
                    found[key] = self._kept[looked, key]
        return found

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    def put(self, readings: Mapping[bytes, Reading]) -> None:
        with self._lock:
            for key, reading in readings.items():
                self._kept[reading.looked, key] = reading
                self._kept.move_to_end((reading.looked, key))
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
