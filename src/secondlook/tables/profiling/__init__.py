"""What a table is like, computed: nothing of it is guessed by a model."""

from __future__ import annotations

from secondlook.tables.profiling.cache import (
    PROFILE_VERSION,
    cached_profile,
    profile_file,
    profile_table,
)
from secondlook.tables.profiling.examining import examine
from secondlook.tables.profiling.joins import find_joins
from secondlook.tables.profiling.text import profile_text

__all__ = [
    "PROFILE_VERSION",
    "cached_profile",
    "examine",
    "find_joins",
    "profile_file",
    "profile_table",
    "profile_text",
]
