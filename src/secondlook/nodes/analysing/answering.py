"""From an outcome to named values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.sandbox import Frame, Outcome, Plain
    from secondlook.tables.asking.port import Wanted

RESULT = "result"
_PAIR = 2
_MOST_NAMED = 50


def named_values(outcome: Outcome, wanted: Wanted) -> dict[str, Plain]:
    """Values by the names that the question gave them, else by those that the code did."""
    found = _found(outcome)
    if len(wanted.names) == 1 and len(found) == 1:
        found = {wanted.names[0]: next(iter(found.values()))}
    elif wanted.names:
        found = _renamed(found, wanted)
    return {name: _rounded(value, wanted.decimals) for name, value in found.items()}


def _found(outcome: Outcome) -> dict[str, Plain]:
    result = outcome.result
    if isinstance(result, dict):
        return dict(result)
    if result is not None:
        return {RESULT: result}
    return _of_frame(outcome.frame) if outcome.frame is not None else {}


def _of_frame(frame: Frame) -> dict[str, Plain]:
    """One row: a value a column. Two columns: the second by the first."""
    if len(frame.rows) == 1 == frame.total_rows:
        return dict(zip(frame.columns, frame.rows[0], strict=True))
    if len(frame.columns) == _PAIR and frame.total_rows <= _MOST_NAMED:
        return {str(row[0]): row[1] for row in frame.rows}
    if len(frame.columns) == 1 and frame.total_rows <= _MOST_NAMED:
        return {frame.columns[0]: [row[0] for row in frame.rows]}
    return {}


def _renamed(found: dict[str, Plain], wanted: Wanted) -> dict[str, Plain]:
    """Names that differ only in how they are written are the wanted ones."""
    plain = {_plain(name): value for name, value in found.items()}
    named = {name: plain[_plain(name)] for name in wanted.names if _plain(name) in plain}
    return named or found


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _rounded(value: Plain, decimals: int | None) -> Plain:
    if decimals is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return round(value, decimals)
    if isinstance(value, list):
        return [_rounded(one, decimals) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one, decimals) for name, one in value.items()}
    return value
