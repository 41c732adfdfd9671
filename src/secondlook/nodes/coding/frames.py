"""Which names of a program certainly stand for a supplied table, with the columns it came with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, TypeAlias

from secondlook.nodes.coding.functions import Function, parameters
from secondlook.nodes.coding.names import names_in, root_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

Source: TypeAlias = "frozenset[str] | None"
"""The tables that it may be; None where it may be anything."""

COLLECTIONS: Final = frozenset({"tables", "datasets"})
_SAME_COLUMNS: Final = frozenset(
    {"copy", "dropna", "head", "tail", "query", "sort_values", "sort_index", "drop_duplicates"}
    | {"fillna", "sample", "astype", "replace", "nlargest", "nsmallest", "convert_dtypes"}
    | {"infer_objects", "round"}
)
_RENAMES_IN_PLACE: Final = frozenset({"rename", "reset_index", "set_axis", "rename_axis"})


class Frames:
    def __init__(self, tree: ast.Module, tables: Mapping[str, Collection[str]]) -> None:
        self._known: dict[str, Source] = {}
        if len(tables) == 1:
            self._known["df"] = frozenset(tables)
        self._tables = tables
        self._uncertain = _uncertain(tree)
        assigned = list(_assignments(tree))
        for _ in range(3):  # frame of a frame of a frame
            self._learn(assigned)

    def source(self, node: ast.AST) -> Source:
        if isinstance(node, ast.Name):
            return None if node.id in self._uncertain else self._known.get(node.id)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _SAME_COLUMNS:
                return self.source(node.func.value)
            return self._got(node, node.func)
        return None

    def _subscript(self, node: ast.Subscript) -> Source:
        name = _text(node.slice)
        if isinstance(node.value, ast.Name) and node.value.id in COLLECTIONS:
            return self._table(node.value.id, name)
        if isinstance(node.value, ast.Attribute) and node.value.attr == "loc":
            return None if isinstance(node.slice, ast.Tuple) else self.source(node.value.value)
        if name is not None or isinstance(node.slice, ast.Tuple):
            return None
        return self.source(node.value)

    def _got(self, node: ast.Call, method: ast.Attribute) -> Source:
        """`tables.get("sales")`."""
        of_tables = isinstance(method.value, ast.Name) and method.value.id in COLLECTIONS
        if not (of_tables and method.attr == "get" and len(node.args) == 1):
            return None
        return self._table(str(root_of(method)), _text(node.args[0]))

    def _table(self, collection: str, name: str | None) -> Source:
        sure = collection not in self._uncertain and name in self._tables
        return frozenset({name}) if sure and name is not None else None

    def _learn(self, assigned: list[tuple[str, ast.expr]]) -> None:
        found: dict[str, list[Source]] = {}
        for name, value in assigned:
            found.setdefault(name, []).append(self.source(value))
        for name, sources in found.items():
            before = self._known.get(name)
            certain = [one for one in sources if one is not None]
            if len(certain) < len(sources):
                self._known[name] = None
            else:
                self._known[name] = frozenset().union(*certain, before or ())


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def _uncertain(tree: ast.Module) -> set[str]:
    """Names bound in other ways than by assignment, or whose columns are changed unseen."""
    plain = {
        id(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    own = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            found.add(node.id)
        elif isinstance(node, Function):
            found |= parameters(node)
        elif isinstance(node, ast.Call):
            found |= _changed_by_call(node, own)
        elif isinstance(node, ast.Attribute | ast.Subscript) and _adds_unseen(node):
            found.add(str(root_of(node)))
    return found


def _changed_by_call(node: ast.Call, own: set[str]) -> set[str]:
    """By a function of the program, or by a method that renames in place."""
    if isinstance(node.func, ast.Name) and node.func.id in own:
        return {name for one in (*node.args, *node.keywords) for name in names_in(one)}
    in_place = any(one.arg == "inplace" for one in node.keywords)
    if isinstance(node.func, ast.Attribute) and in_place and node.func.attr in _RENAMES_IN_PLACE:
        return {str(root_of(node.func))}
    return set()


def _adds_unseen(node: ast.Attribute | ast.Subscript) -> bool:
    """`df[name] = ...`, `df.columns = ...`; under a name that stands there, it is seen."""
    if not isinstance(node.ctx, ast.Store):
        return False
    return isinstance(node, ast.Attribute) or not texts(node.slice)


def texts(node: ast.AST) -> list[ast.Constant]:
    """`"a"`, `["a", "b"]`, and the column in `mask, "a"`; nothing where one is no plain text."""
    if isinstance(node, ast.Tuple) and node.elts:
        return texts(node.elts[-1])
    inner = node.elts if isinstance(node, ast.List) else [node]
    found = [one for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return found if len(found) == len(inner) else []


def _text(node: ast.AST) -> str | None:
    found = texts(node) if isinstance(node, ast.Constant) else []
    return str(found[0].value) if found else None
