"""A result as text: for prompts, for sentences and for the short form."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from secondlook.nodes.coding.telling import WITHHELD, is_order

if TYPE_CHECKING:
    from secondlook.sandbox import Frame, Outcome, Plain

_LONGEST = 1500
_ROWS = 10
_DECIMALS = 4
_SMALL = 1e-3
_WHOLE = 1e15


def result_shown(outcome: Outcome) -> str:
    """For a model: JSON, or the first rows of a frame, without cells that give it orders."""
    if outcome.frame is not None and not outcome.has_result:
        return frame_shown(outcome.frame)
    plain = _without_orders(outcome.result)
    parts = [json.dumps(plain, ensure_ascii=False, default=str)[:_LONGEST]]
    parts += [frame_shown(outcome.frame)] if outcome.frame is not None else []
    return "\n".join(part for part in parts if part != "null") or "null"


def frame_shown(frame: Frame) -> str:
    lines = [", ".join(map(_said, frame.columns))]
    lines += [", ".join(map(_said, map(value_shown, row))) for row in frame.rows[:_ROWS]]
    if frame.total_rows > _ROWS:
        lines.append(f"... {frame.total_rows} rows")
    return "\n".join(lines)[:_LONGEST]


def _without_orders(value: Plain) -> Plain:
    if isinstance(value, dict):
        return {_said(name): _without_orders(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_orders(one) for one in value]
    return _said(value) if isinstance(value, str) else value


def _said(text: str) -> str:
    return WITHHELD if is_order(text) else text


def value_shown(value: Plain) -> str:  # noqa: PLR0911 - one line a kind
    """As a person reads it. Numbers keep four decimals, small ones four digits."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return ", ".join(map(value_shown, value))
    if isinstance(value, dict):
        return "; ".join(f"{name}: {value_shown(one)}" for name, one in value.items())
    return value


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    if abs(value) < _SMALL:
        return f"{value:.{_DECIMALS}g}"
    return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")
