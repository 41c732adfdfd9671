"""Questions over tables in plain words, read without a model."""

from __future__ import annotations
