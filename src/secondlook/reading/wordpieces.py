"""Text to token ids and back to character offsets, safe for any string Python can hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CLS, SEP = 101, 102
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s")
_PIECE_CHARS = 8_192
_PIECES_AT_ONCE = 128
# A word of more than 100 characters is one unknown token, so beyond this no text adds tokens
# before a model's limit is reached, short of pages of white space.
_CHARS_PER_TOKEN = 100


class Wordpieces:
    """A WordPiece tokenizer. Never changed after loading, hence safe to share between threads."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def ids(self, texts: Sequence[str], *, limit: int) -> list[list[int]]:
        """Token ids without special tokens, at most `limit` per text."""
        heads = [printable(text)[: limit * _CHARS_PER_TOKEN] for text in texts]
        encoded = self._tokenizer.encode_batch_fast(heads, add_special_tokens=False)
        return [encoding.ids[:limit] for encoding in encoded]

    def with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """All token ids of each text with the characters [start, end) each one covers."""
        encoded = self._tokenizer.encode_batch(
            [printable(text) for text in texts], add_special_tokens=False
        )
        return [(encoding.ids, encoding.offsets) for encoding in encoded]

    def starts(self, text: str) -> list[int]:
        """Where each token of a text of any length starts."""
        found: list[int] = []
        pieces = list(_pieces(printable(text)))
        for first in range(0, len(pieces), _PIECES_AT_ONCE):
            group = pieces[first : first + _PIECES_AT_ONCE]
            encoded = self._tokenizer.encode_batch(
                [piece for _, piece in group], add_special_tokens=False
            )
            for (base, _), encoding in zip(group, encoded, strict=True):
                found.extend([base + start for start, _ in encoding.offsets])
        return found


def printable(text: str) -> str:
    """Half a surrogate pair cannot leave Python as UTF-8; a mark takes its place, one for one."""
    return _LONE_SURROGATE.sub("\ufffd", text) if _LONE_SURROGATE.search(text) else text


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut at white space, where no token can span the cut; elsewhere only if there is none."""
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARS
        if end < len(text):
            space = _SPACE.search(text, end, end + _PIECE_CHARS)
            end = space.start() if space else end
        yield start, text[start:end]
        start = end
