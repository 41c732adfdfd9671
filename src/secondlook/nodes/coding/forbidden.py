"""Code that reaches for files, the network or Python's insides.

The sandbox is what keeps such code harmless. This only saves a run, and says what to do instead.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.names import MODULES, root_of
from secondlook.nodes.coding.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCIENCE: Final = frozenset(
    {"pandas", "numpy", "scipy", "sklearn", "statsmodels", "plotly", "matplotlib", "mpl_toolkits"}
    | {"patsy", "dateutil", "pytz"}
)
_STANDARD: Final = frozenset(
    {"__future__", "abc", "array", "base64", "bisect", "calendar", "cmath", "collections", "copy"}
    | {"contextlib", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions"}
    | {"functools", "hashlib", "heapq", "io", "itertools", "json", "logging", "math", "numbers"}
    | {"operator", "pprint", "random", "re", "statistics", "string", "textwrap", "time", "types"}
    | {"typing", "unicodedata", "warnings", "zoneinfo"}
)
_OTHER_DATA: Final = frozenset(
    {"sklearn.datasets", "statsmodels.datasets", "plotly.data", "scipy.datasets", "seaborn.utils"}
)
_FILES_WITHIN: Final = frozenset(
    {"pandas.io", "numpy.ctypeslib", "numpy.lib.npyio", "scipy.io", "numpy.f2py"}
)
_READERS: Final = frozenset(
    {"read_csv", "read_table", "read_excel", "read_json", "read_html", "read_xml", "read_parquet"}
    | {"read_feather", "read_orc", "read_pickle", "read_hdf", "read_sql", "read_sql_query"}
    | {"read_sql_table", "read_fwf", "read_clipboard", "read_spss", "read_stata", "read_sas"}
    | {"read_gbq", "ExcelFile", "HDFStore", "loadtxt", "genfromtxt", "fromfile", "memmap"}
    | {"read_text", "read_bytes", "urlopen", "urlretrieve", "loadmat", "imread"}
)
_OF_MODULES: Final = frozenset({"load", "loads", "DataSource", "get", "post", "open_memmap"})
"""Readers by names that a frame's own methods have too: refused on a module only."""
_SAFE_MODULES_OF_THOSE: Final = frozenset({"json", "operator", "functools", "collections"})
_SAMPLES: Final = frozenset(
    {"load_dataset", "load_iris", "load_diabetes", "load_wine", "load_breast_cancer", "load_digits"}
    | {"fetch_openml", "fetch_california_housing", "make_classification", "make_regression"}
    | {"make_blobs", "get_rdataset"}
)
_BUILTINS: Final = frozenset(
    {"open", "exec", "eval", "compile", "__import__", "input", "breakpoint"}
)
_INSIDES: Final = frozenset(
    {"__subclasses__", "__globals__", "__builtins__", "__bases__", "__mro__", "__code__"}
    | {"__loader__", "__spec__", "__import__", "__getattribute__", "__reduce__", "__closure__"}
    | {"f_globals", "f_locals", "f_back", "gi_frame", "tb_frame", "func_globals"}
)
_THROUGH_MODULES: Final = frozenset(
    {"os", "sys", "subprocess", "socket", "shutil", "builtins", "importlib", "ctypes", "pathlib"}
)
USE_TABLES = (
    'The data is already loaded: use the supplied frames (`tables["name"]`, or `df` where there is '
    "one table) and nothing else."
)
_MAY_IMPORT = (
    "Only pandas, numpy, scipy, sklearn, statsmodels, plotly, matplotlib and modules such as math, "
    "re, datetime, collections and statistics may be imported."
)


def forbidden(tree: ast.Module) -> Refusal | None:
    """The first such thing in the code."""
    modules = set(MODULES) | _imported(tree)
    guarded = _guarded_imports(tree)
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = [
        refusal
        for node in ast.walk(tree)
        if node not in guarded and (refusal := _refused(node, modules - bound, bound)) is not None
    ]
    return min(found, key=lambda one: one.line or 0, default=None)


def _refused(node: ast.AST, modules: set[str], bound: set[str]) -> Refusal | None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return next(filter(None, (_import(name, node.lineno) for name in _modules_of(node))), None)
    if isinstance(node, ast.Name):
        return _builtin(node) if node.id not in bound else None
    if isinstance(node, ast.Attribute):
        return _attribute(node, modules)
    return None


def _modules_of(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
        return
    yield from (f"{node.module or '.'}.{one.name}" for one in node.names)


def _import(name: str, line: int) -> Refusal | None:
    top = name.partition(".")[0]
    if any(name == one or name.startswith(f"{one}.") for one in _OTHER_DATA):
        return Refusal("invented", f"`{name}` is other data. {USE_TABLES}", line)
    if any(name == one or name.startswith(f"{one}.") for one in _FILES_WITHIN):
        return Refusal("files", f"`{name}` is not available. {USE_TABLES}", line)
    if top in _SCIENCE or top in _STANDARD:
        return None
    if top == "seaborn":
        return Refusal("import", "seaborn is not available: draw with plotly or matplotlib.", line)
    return Refusal("import", f"`{top}` is not available. {_MAY_IMPORT} {USE_TABLES}", line)


def _builtin(node: ast.Name) -> Refusal | None:
    if node.id not in _BUILTINS:
        return None
    if node.id in {"exec", "eval", "compile", "__import__"}:
        return Refusal("insides", f"Do not use `{node.id}`: write the code itself.", node.lineno)
    return Refusal("files", f"Do not use `{node.id}`. {USE_TABLES}", node.lineno)


def _attribute(node: ast.Attribute, modules: set[str]) -> Refusal | None:
    root = root_of(node)
    of_module = root in modules and _is_plain_chain(node)
    if node.attr in _INSIDES or (of_module and node.attr in _THROUGH_MODULES):
        return Refusal("insides", f"`.{node.attr}` is not available. {USE_TABLES}", node.lineno)
    if node.attr in _READERS or (
        of_module and node.attr in _OF_MODULES and root not in _SAFE_MODULES_OF_THOSE
    ):
        return Refusal("files", f"Do not read data with `{node.attr}`. {USE_TABLES}", node.lineno)
    sample = node.attr in _SAMPLES or (root == "px" and _dotted(node).startswith("px.data."))
    if sample and of_module:
        return Refusal("invented", f"`{node.attr}` is other data. {USE_TABLES}", node.lineno)
    return None


def _is_plain_chain(node: ast.Attribute) -> bool:
    """Only attributes, from a name on: `pd.io.common`."""
    return bool(_dotted(node))


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _imported(tree: ast.Module) -> set[str]:
    return {
        (one.asname or one.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for one in node.names
    }


def _guarded_imports(tree: ast.Module) -> set[ast.AST]:
    """Imports that the code itself is ready to do without."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and node.handlers
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }
