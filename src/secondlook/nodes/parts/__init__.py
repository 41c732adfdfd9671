"""Questions that need several facts: recognised, split, and put together again by code."""
