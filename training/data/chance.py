"""Choices that are the same on every run: each row draws from its own seed."""

from __future__ import annotations

from hashlib import blake2b
from random import Random

BUCKETS = 10_000


def chance(seed: int, key: str) -> Random:
    return Random(f"{seed}:{key}")  # noqa: S311 training data, no secret


def is_dev(seed: int, key: str, share: float) -> bool:
    """Whether what this key names (an article, a premise, an item) is held out."""
    digest = blake2b(f"{seed}:{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % BUCKETS < share * BUCKETS
