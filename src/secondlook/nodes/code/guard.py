"""Code is looked at before it runs: it must use the tables, and nothing else."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from secondlook.nodes.code.flow import MODULES, ROOTS, Flow, root_of
from secondlook.reading.numbers import numbers
from secondlook.tables.understand.charts import asks_for_chart

_WANTED: Final = ("result", "fig")
_FRAMES_GIVEN = 'the supplied frames (`tables["name"]`, or `df` where there is one table)'
USE_TABLES = f"The data is already loaded: use {_FRAMES_GIVEN} and nothing else."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why code is not run."""

    rule: str
    message: str  # For the model: what is wrong, and what to do instead
    line: int | None = None  # Of the code, from 1


def check(
    code: str, tables: Mapping[str, Collection[str]], *, question: str = ""
) -> Refusal | None:
    """`tables`: the columns of each supplied table. `question`: its numbers may be repeated. None
    where the code may run."""
    if not code.strip():
        return Refusal("syntax", "There is no code. Reply with Python code only.")
    tree = parsed(code)
    if isinstance(tree, Refusal):
        where = "" if tree.line is None else f" in line {tree.line}"
        last = tree.line is not None and tree.line >= len(code.rstrip().splitlines())
        advice = " If it was cut off, write it shorter." if last else ""
        said = f"This is not Python{where}: {tree.message}.{advice}"
        return Refusal("syntax", said, tree.line)
    return (
        _forbidden(tree)
        or _invented(tree, {name.casefold() for names in tables.values() for name in names})
        or _not_from_tables(tree, may_draw=asks_for_chart(question))
        or _written_value(tree, question)
    )


def _not_from_tables(tree: ast.Module, *, may_draw: bool) -> Refusal | None:
    flow = Flow()
    flow.follow(tree.body)
    bound = [name for name in _WANTED if name in flow.bound]
    # What is drawn with matplotlib needs no name: it keeps the chart itself.
    if flow.opaque or (may_draw and not bound and "plt" in flow.dependent):
        return None
    if not bound:
        said = "Assign the value that answers the question to `result`, and a chart to `fig`"
        return Refusal("no_result", f"{said}, outside of any function.")
    free = [name for name in bound if name not in flow.dependent]
    if not free:
        return None
    assigned = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == free[0] for target in node.targets)
    ]
    # Beside a chart, `result` may be a text without figures, or nothing.
    says_nothing = assigned and all(
        isinstance(one.value, ast.Constant)
        and isinstance(one.value.value, str | None)
        and not any(map(str.isdigit, str(one.value.value)))
        for one in assigned
    )
    if len(bound) > len(free) and says_nothing:
        return None
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    built = next((one for one in calls if _builder(one) and _of_literals(one)), None)
    if built is not None:
        said = f"`{free[0]}` comes from values that the code writes out. Compute it from"
        return Refusal("invented", f"{said} {_FRAMES_GIVEN}.", built.lineno)
    said = f"`{free[0]}` does not depend on the tables. Compute it from {_FRAMES_GIVEN}"
    line = max((one.lineno for one in assigned), default=None)
    return Refusal("not_from_tables", f"{said}; never write a value in.", line)


# Code that reaches for files, the network or Python's insides.

_ALLOWED: Final = frozenset(
    {"pandas", "numpy", "scipy", "sklearn", "statsmodels", "plotly", "matplotlib", "mpl_toolkits"}
    | {"patsy", "dateutil", "pytz"}
    | {"__future__", "abc", "array", "base64", "bisect", "calendar", "cmath", "collections", "copy"}
    | {"contextlib", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions"}
    | {"functools", "hashlib", "heapq", "io", "itertools", "json", "logging", "math", "numbers"}
    | {"operator", "pprint", "random", "re", "statistics", "string", "textwrap", "time", "types"}
    | {"typing", "unicodedata", "warnings", "zoneinfo"}
)
_OTHER_DATA: Final = ("sklearn.datasets", "statsmodels.datasets", "plotly.data", "scipy.datasets")
_FILES_WITHIN: Final = ("pandas.io", "numpy.ctypeslib", "numpy.lib.npyio", "scipy.io", "numpy.f2py")
_READERS: Final = frozenset(
    {"read_csv", "read_table", "read_excel", "read_json", "read_html", "read_xml", "read_parquet"}
    | {"read_feather", "read_orc", "read_pickle", "read_hdf", "read_sql", "read_sql_query"}
    | {"read_sql_table", "read_fwf", "read_clipboard", "read_spss", "read_stata", "read_sas"}
    | {"read_gbq", "ExcelFile", "HDFStore", "loadtxt", "genfromtxt", "fromfile", "memmap"}
    | {"read_text", "read_bytes", "urlopen", "urlretrieve", "loadmat", "imread"}
)
_READERS_OF_MODULES: Final = frozenset({"load", "DataSource", "open_memmap"})
_RUN_CODE: Final = frozenset({"exec", "eval", "compile", "__import__"})
_BUILTINS: Final = _RUN_CODE | {"open", "input", "breakpoint"}
_INSIDES: Final = frozenset(
    {"__subclasses__", "__globals__", "__builtins__", "__bases__", "__mro__", "__code__"}
    | {"__loader__", "__spec__", "__import__", "__getattribute__", "__reduce__", "__closure__"}
    | {"f_globals", "f_locals", "f_back", "gi_frame", "tb_frame", "func_globals"}
)
_THROUGH_MODULES: Final = frozenset(
    {"os", "sys", "subprocess", "socket", "shutil", "builtins", "importlib", "ctypes", "pathlib"}
)
_MAY_IMPORT = (
    "Only pandas, numpy, scipy, sklearn, statsmodels, plotly, matplotlib and modules such as math, "
    "re, datetime, collections and statistics may be imported."
)


def _forbidden(tree: ast.Module) -> Refusal | None:
    """The first such thing in the code."""
    nodes = list(ast.walk(tree))
    bound = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    imported = {
        (one.asname or one.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import)
        for one in node.names
    }
    modules = (MODULES | imported) - bound
    can_do_without = {
        inner
        for node in nodes
        if isinstance(node, ast.Try) and node.handlers
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: list[Refusal] = []
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in can_do_without:
            within = "" if isinstance(node, ast.Import) else f"{node.module or '.'}."
            for name in (f"{within}{one.name}" for one in node.names):
                if rule := _import_rule(name):
                    said = f"`{name}` is not available. {_MAY_IMPORT} {USE_TABLES}"
                    found.append(Refusal(rule, said, node.lineno))
        elif isinstance(node, ast.Name) and node.id in _BUILTINS - bound:
            rule = "insides" if node.id in _RUN_CODE else "files"
            found.append(Refusal(rule, f"Do not use `{node.id}`. {USE_TABLES}", node.lineno))
        elif isinstance(node, ast.Attribute) and (rule := _attribute_rule(node, modules)):
            said = f"`{node.attr}` is not available. {USE_TABLES}"
            found.append(Refusal(rule, said, node.lineno))
    return min(found, key=lambda one: one.line or 0, default=None)


def _import_rule(name: str) -> str | None:
    if any(f"{name}.".startswith(f"{one}.") for one in _OTHER_DATA):
        return "invented"
    if any(f"{name}.".startswith(f"{one}.") for one in _FILES_WITHIN):
        return "files"
    return None if name.partition(".")[0] in _ALLOWED else "import"


def _attribute_rule(node: ast.Attribute, modules: Collection[str]) -> str | None:
    inner = node.value
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    # Only attributes, from the name of a module on: `pd.io.common`.
    of_module = isinstance(inner, ast.Name) and inner.id in modules
    if node.attr in _INSIDES or (of_module and node.attr in _THROUGH_MODULES):
        return "insides"
    if node.attr in _READERS or (of_module and node.attr in _READERS_OF_MODULES):
        return "files"
    samples = node.attr == "datasets" or ast.unparse(node) == "px.data"
    return "invented" if of_module and samples else None


# Data that code makes up instead of taking it from the tables.

_FRAMES: Final = frozenset({"DataFrame", "from_dict", "from_records"})
_BUILDERS: Final = _FRAMES | {"Series", "array", "asarray", "Index"}
_MANY_NUMBERS = 20  # Numbers written out that make data of what is built from them
_SHARED_COLUMNS = 2
"""Written-out columns that the tables have too; one is shared by a table to look things up in."""


def _invented(tree: ast.Module, known: Collection[str]) -> Refusal | None:
    """`known`: the columns of the tables, in lower case."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            made_up = _makes_up(node, known)
        elif isinstance(node, ast.Assign):
            made_up = any(map(_is_supplied, node.targets)) and _of_literals(node.value)
        else:
            continue
        if made_up:
            said = f"Do not write out data yourself: every row must come from {_FRAMES_GIVEN}."
            return Refusal("invented", said, node.lineno)
    return None


def _makes_up(node: ast.Call, known: Collection[str]) -> bool:
    builder = _builder(node)
    if builder is None or not _of_literals(node):
        return False
    if sum(isinstance(one.value, int | float) for one in _values(node)) >= _MANY_NUMBERS:
        return True
    written: list[object] = []  # the keys of its mappings, and the names in `columns=`
    for one in ast.walk(node):
        if isinstance(one, ast.Dict):
            written += [key.value for key in one.keys if isinstance(key, ast.Constant)]
        elif isinstance(one, ast.keyword) and one.arg == "columns":
            written += [each.value for each in _values(one)]
    shared = {key for key in written if isinstance(key, str) and key.casefold() in known}
    return builder in _FRAMES and len(shared) >= _SHARED_COLUMNS


def _builder(node: ast.Call) -> str | None:
    """How it is built, where it is built of a value."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Name):
        name = node.func.id
    return name if name in _BUILDERS and (node.args or node.keywords) else None


def _of_literals(node: ast.AST) -> bool:
    """Whether values are written out in it, and no name could stand for other data."""
    inner = list(ast.walk(node))
    names = [one for one in inner if isinstance(one, ast.Name)]
    fine = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    fine |= {"pd", "np", "pandas", "numpy", "range", "list", "dict", "float", "int", "str"}
    has_lambda = any(isinstance(one, ast.Lambda) for one in inner)
    if has_lambda or any(one.id not in fine for one in names):
        return False
    written = any(isinstance(one, ast.List | ast.Tuple | ast.Dict) for one in inner)
    random = any(isinstance(one, ast.Attribute) and one.attr == "random" for one in inner)
    return random or (written and bool(_values(node)))


def _values(node: ast.AST) -> list[ast.Constant]:
    constants = (one for one in ast.walk(node) if isinstance(one, ast.Constant))
    return [one for one in constants if not isinstance(one.value, bool | None)]


def _is_supplied(target: ast.expr) -> bool:
    """`df = ...`, `tables = ...`, `tables["sales"] = ...`; a column of `df` is none."""
    if isinstance(target, ast.Name):
        return target.id in ROOTS
    return isinstance(target, ast.Subscript) and root_of(target) in ROOTS - {"df"}


# A figure written into one part of a result whose other parts are computed.

_TOLD_DIGITS = 3  # Digits from which on a number is a finding rather than a setting
_SETTING = re.compile(
    r"alpha|level|confidence|threshold|critical|cut_?off|limit|seed|random|window|degree|expected|"
    r"target|assum|param|bin|edge|weight|rate_used|year|version",
    re.IGNORECASE,
)


def _written_value(tree: ast.Module, question: str) -> Refusal | None:
    """`result = {"mean": 42.37, "n": len(df)}`: the mean is no finding of the code."""
    used = Counter(str(node.value) for node in ast.walk(tree) if _is_figure(node))
    asked = {reading for number in numbers(question) for reading in number.readings}
    for key, value in _parts_of_result(tree):
        figure = value.operand if isinstance(value, ast.UnaryOp) else value
        if not _is_figure(figure) or _SETTING.search(key):
            continue
        shown = str(figure.value)
        digits = re.sub(r"\D", "", shown).strip("0")
        if used[shown] == 1 and shown not in asked and len(digits) >= _TOLD_DIGITS:
            said = f"The value of {key!r} is written into `result`. Compute it from the tables."
            return Refusal("not_from_tables", said, value.lineno)
    return None


def _parts_of_result(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Keys and values of `result = {...}`, and of `result["key"] = ...`."""
    for node in ast.walk(tree):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            value = node.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Name) and target.id == "result":
                if isinstance(value, ast.Dict):
                    for key, inner in zip(value.keys, value.values, strict=True):
                        if isinstance(key, ast.Constant):
                            yield str(key.value), inner
            elif isinstance(target, ast.Subscript) and ast.unparse(target.value) == "result":
                yield ast.unparse(target.slice).strip("'\""), value


def _is_figure(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


# Python as a tree, whatever a model wrote.

LONGEST = 60_000  # Characters of code that are looked at; nobody needs so many to answer a question
DEEPEST = 120  # Levels of a tree; beyond, walking it would itself run out of stack


def parsed(code: str) -> ast.Module | Refusal:
    """Never raises."""
    if len(code) > LONGEST:
        return Refusal("syntax", f"The code is longer than {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a string is no concern of ours
            tree = ast.parse(code)
    except SyntaxError as error:
        return Refusal("syntax", str(error.msg or "invalid syntax"), error.lineno)
    except (ValueError, RecursionError, MemoryError, SystemError) as error:
        return Refusal("syntax", str(error) or type(error).__name__)
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST + 1):
        if not (level := [child for node in level for child in ast.iter_child_nodes(node)]):
            return tree
    return Refusal("syntax", "The code is nested too deeply")


def is_python(code: str) -> bool:
    return isinstance(parsed(code), ast.Module)


def does_something(code: str) -> bool:
    """Whether it is Python that is more than bare words and numbers, as `Sure` would be."""

    def acts(statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.Expr):
            return not isinstance(statement, ast.AnnAssign) or statement.value is not None
        return isinstance(statement.value, ast.Call | ast.NamedExpr)

    tree = parsed(code)
    return isinstance(tree, ast.Module) and any(map(acts, tree.body))
