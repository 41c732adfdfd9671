"""A figure written into one part of a result whose other parts are computed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from secondlook.nodes.coding.refusal import Refusal
from secondlook.reading.numbers import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

_TOLD_DIGITS = 3
"""Digits from which on a number is a finding rather than a setting."""
_SETTING = re.compile(
    r"alpha|level|confidence|threshold|critical|cut_?off|limit|seed|random|window|degree|expected|"
    r"target|assum|param|bin|edge|weight|rate_used|year|version",
    re.IGNORECASE,
)


def written_value(tree: ast.Module, question: str) -> Refusal | None:
    """`result = {"mean": 42.37, "n": len(df)}`: the mean is no finding of the code."""
    used = Counter(_shown(node.value) for node in ast.walk(tree) if _is_figure(node))
    asked = {reading for number in numbers(question) for reading in number.readings}
    for key, value in _parts_of_result(tree):
        figure = value.operand if isinstance(value, ast.UnaryOp) else value
        if not _is_figure(figure) or _SETTING.search(key):
            continue
        shown = _shown(figure.value)
        if used[shown] == 1 and shown not in asked and len(_digits(shown)) >= _TOLD_DIGITS:
            return Refusal(
                "not_from_tables",
                f"The value of {key!r} is written into `result`. Compute it from the tables.",
                value.lineno,
            )
    return None


def _parts_of_result(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "result":
                yield from _entries(node.value)
            elif _is_part(target):
                yield ast.unparse(target.slice).strip("'\""), node.value


def _is_part(target: ast.expr) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id == "result"
    )


def _entries(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(value, ast.Dict):
        for key, inner in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), inner


def _is_figure(node: ast.AST) -> TypeGuard[ast.Constant]:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def _shown(value: object) -> str:
    return str(value)


def _digits(shown: str) -> str:
    return re.sub(r"\D", "", shown).strip("0")
