"""The tables of docs/scale.md, made from `benchmarks/results/scale.json`."""

from __future__ import annotations

from typing import Any


def table(result: dict[str, Any]) -> str:
    return str(result)
