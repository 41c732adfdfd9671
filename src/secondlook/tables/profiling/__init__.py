"""What a table is like, computed: nothing of it is guessed by a model."""

from __future__ import annotations
