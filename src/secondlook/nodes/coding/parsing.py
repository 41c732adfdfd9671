"""Python as a tree, whatever a model wrote."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

LONGEST = 60_000
"""Characters of code that are looked at; nobody needs so many to answer a question."""
DEEPEST = 120
"""Levels of a tree; beyond, walking it would itself run out of stack."""


@dataclass(frozen=True, slots=True)
class Unparsable:
    said: str
    line: int | None = None


def parsed(code: str) -> ast.Module | Unparsable:
    """Never raises."""
    if len(code) > LONGEST:
        return Unparsable(f"The code is longer than {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a string is no concern of ours
            tree = ast.parse(code)
    except SyntaxError as error:
        return Unparsable(str(error.msg or "invalid syntax"), error.lineno)
    except (ValueError, RecursionError, MemoryError, SystemError) as error:
        return Unparsable(str(error) or type(error).__name__)
    if _depth(tree) > DEEPEST:
        return Unparsable("The code is nested too deeply")
    return tree


def is_python(code: str) -> bool:
    return isinstance(parsed(code), ast.Module)


def does_something(code: str) -> bool:
    """Whether it is Python that is more than bare words and numbers, as `Sure` would be."""
    tree = parsed(code)
    return isinstance(tree, ast.Module) and any(_acts(one) for one in tree.body)


def _acts(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return not isinstance(statement, ast.AnnAssign) or statement.value is not None
    return isinstance(statement.value, ast.Call | ast.NamedExpr)


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level and depth <= DEEPEST:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth
