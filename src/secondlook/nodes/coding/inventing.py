"""Data that code makes up instead of taking it from the tables.

Small helpers are no data: edges of intervals, labels, mappings, lists of columns, a short table to
look things up in. What looks like rows of the supplied tables is, and so is a long list of numbers
that becomes a frame.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.names import ROOTS, root_of
from secondlook.nodes.coding.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BUILDERS: Final = frozenset(
    {"DataFrame", "Series", "from_dict", "from_records", "array", "asarray", "Index"}
)
_FRAMES: Final = frozenset({"DataFrame", "from_dict", "from_records"})
_MANY_NUMBERS = 20
"""Numbers written out that make data of what is built from them."""
_SHARED_COLUMNS = 2
"""Written-out columns that the tables have too; one is shared by a table to look things up in."""
_MESSAGE = (
    "Do not write out data yourself: every row must come from the supplied frames "
    '(`tables["name"]`, or `df` where there is one table).'
)


def invented(tree: ast.Module, columns: Collection[str]) -> Refusal | None:
    known = {name.casefold() for name in columns}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _makes_up(node, known):
            return Refusal("invented", _MESSAGE, node.lineno)
        replaces = isinstance(node, ast.Assign) and any(map(_is_supplied, node.targets))
        if isinstance(node, ast.Assign) and replaces and _builds_from_literals(node.value):
            return Refusal("invented", _MESSAGE, node.lineno)
    return None


def builds_data(tree: ast.Module) -> int | None:
    """The line on which something is built from literals alone, however small."""
    lines = (
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _builder(node) and _builds_from_literals(node)
    )
    return next(lines, None)


def _makes_up(node: ast.Call, known: Collection[str]) -> bool:
    builder = _builder(node)
    if builder is None or not _builds_from_literals(node):
        return False
    if _numbers(node) >= _MANY_NUMBERS:
        return True
    shared = {key for key in _written_columns(node) if key.casefold() in known}
    return builder in _FRAMES and len(shared) >= _SHARED_COLUMNS


def _builder(node: ast.Call) -> str | None:
    """How it is built, where it is built of a value."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Name):
        name = node.func.id
    return name if name in _BUILDERS and (node.args or node.keywords) else None


def _builds_from_literals(node: ast.AST) -> bool:
    """Whether there are values written out in it, and no name that could stand for other data."""
    inner = list(ast.walk(node))
    has_values = any(isinstance(one, ast.List | ast.Tuple | ast.Dict) for one in inner)
    random = any(isinstance(one, ast.Attribute) and one.attr == "random" for one in inner)
    return (has_values and bool(_values(node)) and not _other_names(inner)) or (
        random and not _other_names(inner)
    )


def _other_names(inner: list[ast.AST]) -> bool:
    """Names that are neither modules nor builtins, nor the variables of comprehensions."""
    own = {one.id for one in inner if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    fine = own | {"pd", "np", "pandas", "numpy", "range", "list", "dict", "float", "int", "str"}
    return any(isinstance(one, ast.Name) and one.id not in fine for one in inner) or any(
        isinstance(one, ast.Lambda) for one in inner
    )


def _values(node: ast.AST) -> list[ast.Constant]:
    return [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and not isinstance(one.value, bool | None)
    ]


def _numbers(node: ast.AST) -> int:
    return sum(isinstance(one.value, int | float) for one in _values(node))


def _written_columns(node: ast.Call) -> Iterator[str]:
    """Keys of its mappings, and the names in `columns=`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Dict):
            yield from (
                key.value
                for key in one.keys
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )
        if isinstance(one, ast.keyword) and one.arg == "columns":
            yield from (each.value for each in _values(one) if isinstance(each.value, str))


def _is_supplied(target: ast.expr) -> bool:
    """`df = ...`, `tables = ...`, `tables["sales"] = ...`; a column of `df` is none."""
    if isinstance(target, ast.Name):
        return target.id in ROOTS
    return isinstance(target, ast.Subscript) and root_of(target) in ROOTS - {"df"}
