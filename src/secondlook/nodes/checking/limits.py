"""Where the judges of an answer are sure, and where they are not."""

from __future__ import annotations

from typing import Final

MIN_LIKENESS: Final = 0.65
"""The cosine that a sentence and a place that it cites must reach."""
GREY: Final = 0.25
"""The reader is unsure of a sentence whose support is no further than this from `min_support`."""
