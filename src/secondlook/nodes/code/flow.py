"""Which names depend on the supplied tables when a program has run, by following its data. A
program's last word on a name counts: `result = df.a.mean(); result = 42.3` depends on nothing.
Wherever it cannot be told, dependence is assumed: to refuse honest code is the worse mistake. What
a condition on the tables decides depends on them too. In a branch or a loop a name may keep what it
held before, so there dependence only grows."""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

ROOTS: Final = frozenset({"tables", "datasets", "df"})  # What the sandbox binds to the tables
MODULES: Final = frozenset(
    {"pd", "np", "px", "go", "plt", "make_subplots", "scipy", "stats", "sklearn", "statsmodels"}
    | {"sm", "smf", "math", "re", "datetime", "plotly", "pandas", "numpy", "matplotlib"}
)
"""What it binds beside them, and what is commonly taken to be there."""
_DRAWING: Final = frozenset({"plt", "sns", "pylab"})
"""Modules that keep the figure that is being drawn."""
_DRAWS: Final = frozenset(
    {"plot", "hist", "boxplot", "bar", "barh", "scatter", "line", "pie", "area", "hexbin", "kde"}
    | {"density", "violinplot", "histplot", "barplot", "lineplot", "scatterplot", "heatmap"}
)
_BUILTINS: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
_PURE: Final = frozenset(
    {"print", "len", "round", "str", "float", "int", "bool", "min", "max", "sum", "sorted", "map"}
    | {"isinstance", "range", "zip", "enumerate", "list", "dict", "tuple", "set", "frozenset"}
    | {"abs", "any", "all", "format", "type", "repr", "reversed", "pow", "divmod", "filter"}
)
"""Builtins that put nothing into what they are given."""
_OPAQUE: Final = frozenset({"globals", "locals", "vars", "setattr"})
_DEEPEST_CALL = 6
_MOST_CALLS = 400
"""Calls of the program's own functions that are followed; beyond, dependence is assumed."""


class Flow:
    def __init__(self) -> None:
        self.dependent = set(ROOTS)
        self.bound = set(ROOTS)
        self.modules = set(MODULES)
        self.opaque = False
        """It reaches its names in ways that cannot be followed."""
        self._constant: set[str] = set()
        """Names of a number or a text: nothing can be put into them."""
        self._links: dict[str, set[str]] = {}
        """What is put into one may be seen through the other: `fig, ax = plt.subplots()`."""
        self._functions: dict[str, Function] = {}
        self._perhaps = False
        """Whether what is followed may not run at all."""
        self._deciding = False
        """Whether it is run only because of what is in the tables."""
        self._returned: list[bool] = []
        self._active: list[Function] = []
        self._calls = 0

    def follow(self, statements: Sequence[ast.stmt]) -> None:  # noqa: C901, PLR0912 - one case a kind
        for node in statements:
            match node:
                case ast.Assign() | ast.AnnAssign():
                    if node.value is not None:
                        depends = self.depends(node.value)
                        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                        for target in targets:
                            self._assign(target, node.value, depends=depends)
                case ast.AugAssign():
                    depends = self._any([node.value, node.target]) or self._deciding
                    if (root := root_of(node.target)) is not None:
                        self.bound.add(root)
                        if depends:
                            self._constant.discard(root)
                            self._fill(root)
                case ast.With() | ast.AsyncWith():
                    for item in node.items:
                        depends = self.depends(item.context_expr)
                        if item.optional_vars is not None:
                            self._assign(item.optional_vars, item.context_expr, depends=depends)
                    self.follow(node.body)
                case ast.Import() | ast.ImportFrom():
                    for one in node.names:
                        name = one.asname or one.name.partition(".")[0]
                        self._forget(name)
                        self.modules.add(name)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._functions[node.name] = node
                    reads = self._reads_tables(node)
                    self._bind(node.name, depends=reads)
                    self._may_be_called(node, filled=reads or bool(_parameters(node)))
                case ast.ClassDef():
                    self._bind(node.name, depends=self._reads_tables(node))
                case ast.Return():
                    depends = node.value is not None and self.depends(node.value)
                    self._returned.append(depends or self._deciding)
                case _:
                    self._branches(node)

    def _branches(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912 - one case a kind
        match node:
            case ast.If(test=ast.Constant(value=value)):
                self.follow(node.body if value else node.orelse)
            case ast.If():
                with self._inside(depends=self.depends(node.test)):
                    self.follow([*node.body, *node.orelse])
            case ast.For() | ast.AsyncFor():
                depends = self.depends(node.iter)
                with self._inside(depends=depends):
                    for _ in range(2):  # what the first pass puts in, the second may hand on
                        self._assign(node.target, node.iter, depends=depends)
                        self.follow(node.body)
                    self.follow(node.orelse)
            case ast.While():
                for _ in range(2):
                    with self._inside(depends=self.depends(node.test)):
                        self.follow([*node.body, *node.orelse])
            case ast.Try() | ast.TryStar():
                with self._inside(depends=False):
                    self.follow([*node.body, *node.orelse])
                with self._inside(depends=any(map(self._reads_tables, node.body))):
                    for handler in node.handlers:
                        if handler.name:
                            self._bind(handler.name, depends=True)
                        self.follow(handler.body)
                self.follow(node.finalbody)
            case ast.Match():
                depends = self.depends(node.subject)
                with self._inside(depends=depends):
                    for case in node.cases:
                        for one in ast.walk(case.pattern):
                            if captured := getattr(one, "name", None) or getattr(one, "rest", None):
                                self._bind(captured, depends=depends)
                        self.follow(case.body)
            case _:
                self._any(ast.iter_child_nodes(node))

    @contextmanager
    def _inside(self, *, depends: bool) -> Iterator[None]:
        before = self._perhaps, self._deciding
        self._perhaps, self._deciding = True, self._deciding or depends
        yield
        self._perhaps, self._deciding = before

    # Expressions

    def depends(self, node: ast.AST) -> bool:
        """Also takes note of what evaluating it binds and changes."""
        if isinstance(node, ast.Name):
            self.opaque |= node.id in _OPAQUE
            return self._is_dependent(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Lambda):
            return self._reads_tables(node)
        if isinstance(node, _Comprehension):
            found = False
            with self._scope({name for one in node.generators for name in _names_in(one.target)}):
                for each in node.generators:
                    depends = self.depends(each.iter)
                    self._assign(each.target, each.iter, depends=depends)
                    found |= depends | self._any(each.ifs)
                made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                return found | self._any(made)
        if isinstance(node, ast.NamedExpr):
            found = self.depends(node.value)
            self._assign(node.target, node.value, depends=found)
            return found
        found = self._any(ast.iter_child_nodes(node))
        if isinstance(node, ast.Yield | ast.YieldFrom):
            self._returned.append(found or self._deciding)
        return found

    def _any(self, nodes: Iterable[ast.AST]) -> bool:
        """All are looked at, whatever the first says: each may bind something."""
        return True in list(map(self.depends, nodes))

    def _call(self, node: ast.Call) -> bool:
        given = [*node.args, *(one.value for one in node.keywords)]
        filled = self._any(given)
        if (function := self._called(node.func)) is not None:
            found = self._invoke(function, dependent=filled)
        else:
            found = filled = filled | self.depends(node.func)
        if not filled or (isinstance(node.func, ast.Name) and node.func.id in _PURE):
            return found
        # A call may put what it is given, or what it is a method of, into the rest.
        method = node.func if isinstance(node.func, ast.Attribute) else None
        for one in [*given, *([method] if method else [])]:
            root = root_of(one)
            if root is not None and (root in _DRAWING or root not in self.modules):
                self._fill(root)
            if (handed_over := self._called(one)) is not None:
                self._may_be_called(handed_over, filled=True)
        # `df.plot(...)`, `df["a"].plot.hist()`: they draw into the current figure.
        of_plot = method and isinstance(method.value, ast.Attribute) and method.value.attr == "plot"
        if method and (of_plot or method.attr in _DRAWS):
            for module in _DRAWING & self.modules:
                self._fill(module)
        return found

    def _called(self, node: ast.expr) -> Function | None:
        """The function of the program that it stands for."""
        if isinstance(node, ast.Lambda):
            return node
        return self._functions.get(node.id) if isinstance(node, ast.Name) else None

    def _may_be_called(self, function: Function, *, filled: bool) -> None:
        """When and with what is not known: what it may change, it may fill."""
        changed: set[str | None] = set()
        for one in ast.walk(function) if filled else ():
            if isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store):
                changed.add(root_of(one))
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                changed.add(root_of(one.func))
        for name in changed - _own_names(function) - self.modules - {None}:
            self._fill(str(name))
        for name in _declared_outer(function):
            self._bind(name, depends=True)

    def _invoke(self, function: Function, *, dependent: bool) -> bool:
        """Whether what it returns depends on the tables, called like this."""
        self._calls += 1
        too_far = len(self._active) >= _DEEPEST_CALL or self._calls > _MOST_CALLS
        if function in self._active or too_far:
            return dependent or self._reads_tables(function)
        defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
        dependent |= self._any(defaults)
        returned, self._returned = self._returned, []
        perhaps, self._perhaps = self._perhaps, False
        self._active.append(function)
        with self._scope(_own_names(function), _declared_outer(function)):
            for name in _parameters(function):
                self._bind(name, depends=dependent)
            self.follow(
                [ast.Return(value=function.body)]
                if isinstance(function, ast.Lambda)
                else function.body
            )
            self._perhaps = perhaps
        self._active.pop()
        returned, self._returned = self._returned, returned
        return any(returned)

    @contextmanager
    def _scope(self, own: set[str], declared: Collection[str] = ()) -> Iterator[None]:
        """A function or a comprehension with names of its own. Afterwards, what it `declared` as
        outer is as it left it, and the rest may be fuller."""
        before = self.dependent, self.bound, self._constant
        self.dependent, self.bound, self._constant = map(set, before)
        for name in own:
            self._forget(name)
            self.bound.add(name)
        yield
        inner = self.dependent
        self.dependent, self.bound, self._constant = before
        for name in declared:
            self._bind(name, depends=name in inner)
        for name in (inner & self.bound) - own - set(declared):
            self._fill(name)

    # Names

    def _is_dependent(self, name: str) -> bool:
        """A name that nobody bound counts as dependent: running will tell."""
        known = name in self.bound or name in self.modules or name in _BUILTINS
        return name in self.dependent or not known

    def _reads_tables(self, node: ast.AST) -> bool:
        own = _own_names(node) if isinstance(node, Function) else set()
        return any(map(self._is_dependent, _names_in(node, ast.Load) - own))

    def _assign(self, target: ast.expr, value: ast.expr, *, depends: bool) -> None:
        if isinstance(target, ast.Starred):
            self._assign(target.value, value, depends=depends)
        elif isinstance(target, ast.Tuple | ast.List):
            self._assign_each(target.elts, value, depends=depends)
        elif isinstance(target, ast.Name):
            self._functions.pop(target.id, None)
            if isinstance(value, ast.Lambda):
                self._functions[target.id] = value
            self._bind(target.id, depends=depends, constant=_is_constant(value))
            for other in _names_in(value) & (self.bound - self.modules | _DRAWING):
                self._link(target.id, other)
        elif (root := root_of(target)) and depends | self._deciding | self.depends(target):
            self._fill(root)

    def _assign_each(self, targets: list[ast.expr], value: ast.expr, *, depends: bool) -> None:
        sources = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if len(sources) == len(targets):  # `a, b = 1, df`: each by itself
            each = list(map(self.depends, sources))
            for one, source, its in zip(targets, sources, each, strict=True):
                self._assign(one, source, depends=its)
            return
        for one in targets:
            self._assign(one, value, depends=depends)
        first, *others = [one.id for one in targets if isinstance(one, ast.Name)] or [""]
        for other in others:  # what comes out of one call is linked
            self._link(first, other)

    def _bind(self, name: str, *, depends: bool, constant: bool = False) -> None:
        """The name means something new."""
        if not self._perhaps:
            self._forget(name)
        constant = constant and not self._perhaps
        (self._constant.add if constant else self._constant.discard)(name)
        self.bound.add(name)
        self.modules.discard(name)
        if depends or self._deciding:
            self.dependent.add(name)

    def _link(self, one: str, other: str) -> None:
        if one != other and not {one, other} & self._constant:
            self._links.setdefault(one, set()).add(other)
            self._links.setdefault(other, set()).add(one)

    def _fill(self, name: str) -> None:
        """Something dependent was put into what it names."""
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in self.dependent and one not in self._constant:
                self.dependent.add(one)
                waiting.extend(self._links.get(one, ()))

    def _forget(self, name: str) -> None:
        for held in (self.dependent, self.bound, self._constant):
            held.discard(name)


def _parameters(function: Function) -> set[str]:
    given = function.args
    alone = [one for one in (given.vararg, given.kwarg) if one is not None]
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *alone)}


def _declared_outer(function: Function) -> set[str]:
    """Names that it says are not its own: `global result`."""
    inner = (one for one in ast.walk(function) if isinstance(one, ast.Global | ast.Nonlocal))
    return {name for one in inner for name in one.names}


def _own_names(function: Function) -> set[str]:
    return (_parameters(function) | _names_in(function, ast.Store)) - _declared_outer(function)


def root_of(node: ast.AST) -> str | None:
    """The name that a chain of attributes, subscripts and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_constant(node: ast.AST) -> bool:
    """A number, a text, or arithmetic on such."""
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant)


def _names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    inner = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in inner if isinstance(one.ctx, context)}
