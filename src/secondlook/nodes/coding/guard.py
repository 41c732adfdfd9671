"""Code is looked at before it runs: it must use the tables, and nothing else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.columns import unknown_column, unknown_table
from secondlook.nodes.coding.flow import Flow
from secondlook.nodes.coding.forbidden import forbidden
from secondlook.nodes.coding.inventing import builds_data, invented
from secondlook.nodes.coding.parsing import Unparsable, parsed
from secondlook.nodes.coding.refusal import Refusal
from secondlook.nodes.coding.written import written_value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import TypeGuard

_WANTED: Final = ("result", "fig")


def check(
    code: str, tables: Mapping[str, Collection[str]], *, question: str = ""
) -> Refusal | None:
    """`tables`: the columns of each supplied table. `question`: its numbers may be repeated.

    None where the code may run.
    """
    if not code.strip():
        return Refusal("syntax", "There is no code. Reply with Python code only.")
    tree = parsed(code)
    if isinstance(tree, Unparsable):
        return _unparsable(tree, code)
    columns = {name for names in tables.values() for name in names}
    return (
        forbidden(tree)
        or invented(tree, columns)
        or _not_from_tables(tree)
        or written_value(tree, question)
        or unknown_table(tree, tables)
        or unknown_column(tree, tables)
    )


def _unparsable(problem: Unparsable, code: str) -> Refusal:
    where = "" if problem.line is None else f" in line {problem.line}"
    last = problem.line is not None and problem.line >= len(code.rstrip().splitlines())
    advice = " If it was cut off, write it shorter." if last else ""
    return Refusal("syntax", f"This is not Python{where}: {problem.said}.{advice}", problem.line)


def _not_from_tables(tree: ast.Module) -> Refusal | None:
    flow = Flow()
    flow.follow(tree.body)
    if flow.opaque:
        return None
    bound = [name for name in _WANTED if name in flow.names.bound]
    if not bound:
        return _no_result(tree)
    free = [name for name in bound if name not in flow.names.dependent]
    if not free or (len(bound) > len(free) and _says_nothing(tree, free[0])):
        return None
    return _free_of_tables(tree, free[0])


def _no_result(tree: ast.Module) -> Refusal:
    within = any(
        isinstance(node, ast.Name) and node.id in _WANTED and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )
    where = " outside of any function" if within else ""
    return Refusal(
        "no_result",
        f"Assign the value that answers the question to `result`{where}, and a chart to `fig`.",
    )


def _free_of_tables(tree: ast.Module, name: str) -> Refusal:
    line = _last_assignment(tree, name)
    if (built := builds_data(tree)) is not None:
        return Refusal(
            "invented",
            f"`{name}` comes from values that the code writes out. Compute it from the supplied "
            'frames (`tables["name"]`, or `df` where there is one table).',
            built,
        )
    return Refusal(
        "not_from_tables",
        f"`{name}` does not depend on the tables. Compute it from the supplied frames "
        '(`tables["name"]`, or `df` where there is one table); never write a value in.',
        line,
    )


def _says_nothing(tree: ast.Module, name: str) -> bool:
    """Beside a chart, `result` may be a text without figures, or nothing."""
    values = [node.value for node in ast.walk(tree) if _assigns(node, name)]
    return bool(values) and all(
        isinstance(value, ast.Constant)
        and (value.value is None or isinstance(value.value, str))
        and not any(map(str.isdigit, str(value.value)))
        for value in values
    )


def _last_assignment(tree: ast.Module, name: str) -> int | None:
    return max((node.lineno for node in ast.walk(tree) if _assigns(node, name)), default=None)


def _assigns(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in node.targets
    )
