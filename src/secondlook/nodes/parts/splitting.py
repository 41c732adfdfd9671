"""What a question is split into, and how the answers are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Combining = Literal[
    "last", "years", "difference", "sum", "earliest", "latest", "least", "most", "same", "both"
]
"""`last`: the answer is that of the last part. `years`: years between two dates. `difference` and
`sum`: of numbers. `earliest` and `latest`: whose date it is; `least` and `most`: whose number.
`same`: whether the answers are the same. `both`: whether each part is so."""


@dataclass(frozen=True, slots=True)
class Split:
    parts: tuple[str, ...]
    """In the order they are asked; {1} is what the first came to."""
    combining: Combining
