"""Signs, in code and question, of what a result may depend on."""

from __future__ import annotations

import ast
import re
from typing import Final

from secondlook.nodes.coding.parsing import parsed

_BY_ORDER: Final = frozenset(
    {"iloc", "iat", "head", "tail", "first", "last", "nth", "shift", "diff", "cumsum", "cumprod"}
    | {"cummax", "cummin", "cumcount", "rolling", "expanding", "ewm", "pct_change", "sample"}
    | {"ffill", "bfill", "pad", "interpolate", "drop_duplicates", "duplicated", "idxmax", "idxmin"}
    | {"argmax", "argmin", "argsort", "index", "iterrows", "itertuples", "enumerate", "autocorr"}
    | {"nlargest", "nsmallest", "rank", "factorize", "reset_index", "ngroup", "most_common", "at"}
    | {"merge_asof", "acf", "pacf", "adfuller", "ARIMA", "seasonal_decompose", "durbin_watson"}
    | {"ExponentialSmoothing", "cumulative_trapezoid", "islice", "pop", "next", "reduce"}
)
_BY_CHANCE: Final = frozenset(
    {"random", "random_state", "default_rng", "RandomState", "seed", "shuffle", "permutation"}
    | {"train_test_split", "KFold", "StratifiedKFold", "cross_val_score", "cross_validate"}
    | {"KMeans", "MiniBatchKMeans", "GaussianMixture", "GridSearchCV", "IsolationForest"}
    | {"RandomForestClassifier", "RandomForestRegressor", "GradientBoostingClassifier"}
    | {"GradientBoostingRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor"}
    | {"MLPClassifier", "MLPRegressor", "SGDClassifier", "SGDRegressor", "LogisticRegression"}
    | {"SVC", "SVR", "TSNE", "curve_fit", "minimize", "bootstrap", "PCA", "choice", "Logit"}
)
_FITS: Final = frozenset(
    {"fit", "LinearRegression", "OLS", "ols", "lstsq", "polyfit", "linregress", "curve_fit"}
    | {"Ridge", "Lasso", "skew", "kurtosis", "kurt", "shapiro", "corr"}
)
_OF_STRUCTURE: Final = frozenset(
    {"columns", "dtypes", "dtype", "memory_usage", "info", "keys", "__version__"}
)
_OF_COUNTS: Final = frozenset(
    {
        "len",
        "shape",
        "size",
        "count",
        "nunique",
        "isna",
        "isnull",
        "notna",
        "value_counts",
        "unique",
    }
    | {"min", "max", "mode", "idxmax", "idxmin", "year", "argmax"}
)
_ORDER_ASKED = re.compile(
    r"\b(?:first|last|next|previous|consecutive|streak|in a row|cumulative|running total|rolling|"
    r"moving|lag(?:ged)?|row \d|rows? number|\d+(?:st|nd|rd|th) row|top row|listed|before|after|"
    r"autocorrelat\w*|time series|forecast\w*|random\w*|train\w*|split|cluster\w*|predict\w*|"
    r"above|below|preced\w*|follow\w*)\b",
    re.IGNORECASE,
)
_STRUCTURE_ASKED = re.compile(
    r"\b(?:columns?|variables?|features?|fields?|data ?types?|shape|dimensions?|memory)\b",
    re.IGNORECASE,
)
_COUNT_ASKED = re.compile(
    r"\b(?:how many|number of|count\w*|rows|records|minimum|maximum|min|max|highest|lowest|year|"
    r"oldest|youngest|earliest|latest|largest|smallest|most|least|range|mode)\b",
    re.IGNORECASE,
)


class Signs:
    def __init__(self, question: str, code: str) -> None:
        used = _used(code)
        self.by_chance = bool(used & _BY_CHANCE)
        """Drawn at random, or found step by step."""
        self.by_order = (
            self.by_chance
            or bool(used & _BY_ORDER)
            or _ORDER_ASKED.search(question) is not None
            or _takes_by_place(code)
        )
        """Another order of rows may change it."""
        self.fitted = bool(used & _FITS)
        self.of_structure = bool(used & _OF_STRUCTURE) and bool(_STRUCTURE_ASKED.search(question))
        """The same whatever the values are."""
        self.of_counts = bool(used & _OF_COUNTS) or _COUNT_ASKED.search(question) is not None
        """Whole numbers that other values may well leave as they are."""


def _used(code: str) -> set[str]:
    """Names, attributes and options that occur in the code."""
    tree = parsed(code)
    if not isinstance(tree, ast.Module):
        return set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            used.add(node.arg)
        elif isinstance(node, ast.alias):
            used.update(node.name.split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            used.update({node.value} & (_BY_ORDER | _OF_COUNTS))  # agg("first")
    return used


def _takes_by_place(code: str) -> bool:
    """`values[0]`, a slice, or a loop that ends before the last row."""
    tree = parsed(code)
    if not isinstance(tree, ast.Module):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.Subscript) and _is_place(node.slice):
            return True
    return False


def _is_place(node: ast.expr) -> bool:
    if isinstance(node, ast.Slice):
        return node.lower is not None or node.upper is not None or node.step is not None
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
