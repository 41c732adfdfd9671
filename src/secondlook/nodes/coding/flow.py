"""Which names depend on the supplied tables when a program has run, by following its data.

A program's last word on a name counts: `result = df.a.mean(); result = 42.3` depends on nothing.
Wherever it cannot be told, dependence is assumed: to refuse honest code is the worse mistake, and
what runs is tried on changed data as well. What a condition on the tables decides depends on them
too.
"""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.functions import (
    Function,
    body_of,
    changed_names,
    declared_outer,
    defaults,
    own_names,
    parameters,
    read_names,
)
from secondlook.nodes.coding.names import DRAWING, Names, is_constant, names_in, root_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DEEPEST_CALL = 6
_MOST_CALLS = 400
"""Calls of the program's own functions that are followed; beyond, dependence is assumed."""
_PURE: Final = frozenset(
    {"print", "len", "round", "str", "float", "int", "bool", "min", "max", "sum", "sorted", "map"}
    | {"isinstance", "range", "zip", "enumerate", "list", "dict", "tuple", "set", "frozenset"}
    | {"abs", "any", "all", "format", "type", "repr", "reversed", "pow", "divmod", "filter"}
)
"""Builtins that put nothing into what they are given."""
_OPAQUE: Final = frozenset({"globals", "locals", "vars", "setattr"})
_DRAWS: Final = frozenset(
    {"plot", "hist", "boxplot", "bar", "barh", "scatter", "line", "pie", "area", "hexbin", "kde"}
    | {"density", "violinplot", "histplot", "barplot", "lineplot", "scatterplot", "heatmap"}
)


class Flow:
    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.opaque = False
        """It reaches its names in ways that cannot be followed."""
        self._functions: dict[str, Function] = {}
        self._deciding = False
        """Whether what is followed is run only because of what is in the tables."""
        self._returned: list[bool] = []
        self._active: list[Function] = []
        self._calls = 0

    def follow(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    # Statements

    def _statement(self, node: ast.stmt) -> None:
        follow = getattr(self, f"_{type(node).__name__.lower()}", None)
        if follow is not None:
            follow(node)
        else:
            for child in ast.iter_child_nodes(node):
                self.depends(child)

    def _assign(self, node: ast.Assign) -> None:
        depends = self.depends(node.value)
        for target in node.targets:
            self._bind(target, node.value, depends=depends)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value, depends=self.depends(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        depends = self._any([node.value, node.target]) or self._deciding
        root = root_of(node.target)
        if root is None:
            return
        self.names.bound.add(root)
        if depends:
            self.names.constant.discard(root)
            self.names.fill(root)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.names.forget(target.id)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        depends = self.depends(node.iter)
        before = self.names.copy()
        for _ in range(2):  # what the first pass puts in, the second may take out
            self._bind(node.target, node.iter, depends=depends, linked=names_in(node.iter))
            with self._decided(depends=depends):
                self.follow(node.body)
        self.names.join(before)
        self.follow(node.orelse)

    _asyncfor = _for

    def _while(self, node: ast.While) -> None:
        before = self.names.copy()
        for _ in range(2):
            with self._decided(depends=self.depends(node.test)):
                self.follow(node.body)
        self.names.join(before)
        self.follow(node.orelse)

    def _if(self, node: ast.If) -> None:
        depends = self.depends(node.test)
        if isinstance(node.test, ast.Constant):
            self.follow(node.body if node.test.value else node.orelse)
            return
        self._fork([node.body, node.orelse], depends=depends)

    def _fork(self, ways: Sequence[Sequence[ast.stmt]], *, depends: bool) -> None:
        before = self.names
        after: Names | None = None
        for way in ways:
            self.names = before.copy()
            with self._decided(depends=depends):
                self.follow(way)
            if after is None:
                after = self.names
            else:
                after.join(self.names)
        self.names = after or before

    def _try(self, node: ast.Try) -> None:
        before = self.names.copy()
        self.follow(node.body)
        tried = any(self._reads_tables(one) for one in node.body)
        failed = self.names.copy()
        failed.join(before)
        self.follow(node.orelse)
        for handler in node.handlers:
            done, self.names = self.names, failed.copy()
            if handler.name:
                self.names.bind(handler.name, depends=True)
            with self._decided(depends=tried):
                self.follow(handler.body)
            self.names.join(done)
        self.follow(node.finalbody)

    _trystar = _try

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            depends = self.depends(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr, depends=depends)
        self.follow(node.body)

    _asyncwith = _with

    def _match(self, node: ast.Match) -> None:
        depends = self.depends(node.subject)
        for case in node.cases:
            for name in _captured(case.pattern):
                self.names.bind(name, depends=depends)
        self._fork([*(case.body for case in node.cases), []], depends=depends)

    def _import(self, node: ast.Import) -> None:
        for one in node.names:
            self._bind_module(one.asname or one.name.partition(".")[0])

    def _importfrom(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            self._bind_module(one.asname or one.name)

    def _bind_module(self, name: str) -> None:
        self.names.forget(name)
        self.names.modules.add(name)

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Where it will be called is not known yet: what it may change, it may fill."""
        self._functions[node.name] = node
        reads = self._reads_tables(node)
        self.names.bind(node.name, depends=reads)
        if reads or parameters(node):
            for name in changed_names(node) - self.names.modules:
                self.names.fill(name)
        for name in declared_outer(node):
            self.names.bind(name, depends=True)

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef) -> None:
        self.names.bind(node.name, depends=self._reads_tables(node))

    def _return(self, node: ast.Return) -> None:
        depends = node.value is not None and self.depends(node.value)
        self._returned.append(depends or self._deciding)

    # Expressions

    def depends(self, node: ast.AST) -> bool:
        """Also takes note of what evaluating it binds and changes."""
        if isinstance(node, ast.Name):
            self.opaque |= node.id in _OPAQUE
            return self.names.depends(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.NamedExpr):
            depends = self.depends(node.value)
            self._bind(node.target, node.value, depends=depends)
            return depends
        if isinstance(node, ast.Lambda):
            return self._reads_tables(node)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(node)
        found = self._any(ast.iter_child_nodes(node))
        if isinstance(node, ast.Yield | ast.YieldFrom):
            self._returned.append(found or self._deciding)
        return found

    def _any(self, nodes: Iterable[ast.AST]) -> bool:
        """All are looked at, whatever the first says: each may bind something."""
        return True in list(map(self.depends, nodes))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> bool:
        outer = self.names
        self.names = outer.copy()
        found = False
        for each in node.generators:
            depends = self.depends(each.iter)
            self._bind(each.target, each.iter, depends=depends)
            found |= depends | self._any(each.ifs)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        found |= self._any(made)
        inner, self.names = self.names, outer
        own = {name for each in node.generators for name in names_in(each.target)}
        for name in (inner.dependent & outer.bound) - own:
            self.names.fill(name)
        return found

    def _call(self, node: ast.Call) -> bool:
        given = [*node.args, *(one.value for one in node.keywords)]
        dependent = self._any(given)
        function = self._called(node.func)
        if function is not None:
            found = self._invoke(function, dependent=dependent)
            self._spread(node, given, filled=dependent)
            return found
        found = dependent | self.depends(node.func)
        self._spread(node, given, filled=found)
        return found

    def _spread(self, node: ast.Call, given: Sequence[ast.expr], *, filled: bool) -> None:
        """A call may put what it is given, or what it is a method of, into the rest."""
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if not filled or name in _PURE:
            return
        method = isinstance(node.func, ast.Attribute)
        for one in [*given, *([node.func] if method else [])]:
            root = root_of(one)
            if root is not None and (root in DRAWING or root not in self.names.modules):
                self.names.fill(root)
            self._called_back(one)
        if isinstance(node.func, ast.Attribute) and _is_drawing(node.func):
            for module in DRAWING & self.names.modules:
                self.names.fill(module)

    def _called(self, node: ast.expr) -> Function | None:
        """The function of the program that it stands for."""
        if isinstance(node, ast.Lambda):
            return node
        return self._functions.get(node.id) if isinstance(node, ast.Name) else None

    def _called_back(self, node: ast.expr) -> None:
        """A function that is handed over may be called with what is in the tables."""
        function = self._called(node)
        if function is not None:
            for name in changed_names(function) - self.names.modules:
                self.names.fill(name)
            for name in declared_outer(function):
                self.names.bind(name, depends=True)

    def _invoke(self, function: Function, *, dependent: bool) -> bool:
        """Whether what it returns depends on the tables, called like this."""
        self._calls += 1
        too_far = len(self._active) >= _DEEPEST_CALL or self._calls > _MOST_CALLS
        if function in self._active or too_far:
            return dependent or self._reads_tables(function)
        dependent |= self._any(defaults(function))
        outer, returned, deciding = self.names, self._returned, self._deciding
        self.names, self._returned = outer.copy(), []
        for name in own_names(function):
            self.names.forget(name)
            self.names.bound.add(name)
        for name in parameters(function):
            self.names.bind(name, depends=dependent)
        self._active.append(function)
        self.follow(body_of(function))
        self._active.pop()
        found = any(self._returned)
        self._leave(function, outer)
        self._returned, self._deciding = returned, deciding
        return found

    def _leave(self, function: Function, outer: Names) -> None:
        """Back outside: what it declared as outer is as it left it, the rest may be fuller."""
        inner, self.names = self.names, outer
        declared = declared_outer(function)
        for name in declared:
            outer.bind(name, depends=name in inner.dependent)
        for name in (inner.dependent & outer.bound) - own_names(function) - declared:
            outer.fill(name)

    def _bind(
        self,
        target: ast.expr,
        value: ast.expr,
        *,
        depends: bool,
        linked: set[str] | None = None,
    ) -> None:
        if isinstance(target, ast.Starred):
            self._bind(target.value, value, depends=depends, linked=linked)
        elif isinstance(target, ast.Tuple | ast.List):
            self._bind_each(target, value, depends=depends, linked=linked)
        elif isinstance(target, ast.Name):
            self._bind_name(target.id, value, depends=depends, linked=linked)
        elif depends | self._deciding | self.depends(target):
            root = root_of(target)
            if root is not None:
                self.names.fill(root)

    def _bind_name(
        self, name: str, value: ast.expr, *, depends: bool, linked: set[str] | None
    ) -> None:
        if isinstance(value, ast.Lambda):
            self._functions[name] = value
        else:
            self._functions.pop(name, None)
        others = names_in(value) if linked is None else linked
        seen = {one for one in others if one in DRAWING or one not in self.names.modules}
        constant = is_constant(value) and not self._deciding
        linked = {one for one in seen if one in self.names.bound or one in DRAWING} - {name}
        self.names.bind(name, depends=depends or self._deciding, constant=constant, linked=linked)

    def _bind_each(
        self,
        target: ast.Tuple | ast.List,
        value: ast.expr,
        *,
        depends: bool,
        linked: set[str] | None,
    ) -> None:
        """`a, b = 1, df` each by itself; what comes out of one call is linked."""
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            each = [self.depends(one) for one in value.elts]
            for one, source, its in zip(target.elts, value.elts, each, strict=True):
                self._bind(one, source, depends=its, linked=linked)
            return
        for one in target.elts:
            self._bind(one, value, depends=depends, linked=linked)
        names = [one.id for one in target.elts if isinstance(one, ast.Name)]
        for name in names[1:]:
            self.names.link(names[0], name)

    # Conditions

    @contextmanager
    def _decided(self, *, depends: bool) -> Iterator[None]:
        before = self._deciding
        self._deciding = before or depends
        yield
        self._deciding = before

    def _reads_tables(self, node: ast.AST) -> bool:
        return any(self.names.depends(name) for name in read_names(node))


def _is_drawing(node: ast.Attribute) -> bool:
    """`df.plot(...)`, `df["a"].plot.hist()`: they draw into the current figure."""
    if node.attr in _DRAWS:
        return True
    return isinstance(node.value, ast.Attribute) and node.value.attr == "plot"


def _captured(pattern: ast.AST) -> set[str]:
    captured: set[str] = set()
    for one in ast.walk(pattern):
        if isinstance(one, ast.MatchAs | ast.MatchStar) and one.name:
            captured.add(one.name)
        elif isinstance(one, ast.MatchMapping) and one.rest:
            captured.add(one.rest)
    return captured
