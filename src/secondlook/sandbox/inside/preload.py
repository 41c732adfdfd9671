"""Imports once what every job needs, so that a fork has it at no cost."""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import re
import sys
import sysconfig
import warnings
from importlib.abc import MetaPathFinder
from typing import Any

from secondlook.sandbox.port import PACKAGES

_MODULES = (
    *("numpy", "pandas", "pyarrow.parquet", "scipy.stats"),
    *("scipy.optimize", "scipy.cluster.hierarchy", "scipy.interpolate", "scipy.signal"),
    *("sklearn.cluster", "sklearn.compose", "sklearn.decomposition", "sklearn.ensemble"),
    *("sklearn.feature_selection", "sklearn.impute", "sklearn.linear_model", "sklearn.metrics"),
    *("sklearn.model_selection", "sklearn.naive_bayes", "sklearn.neighbors", "sklearn.pipeline"),
    *("sklearn.preprocessing", "sklearn.svm", "sklearn.tree"),
    *("statsmodels.api", "statsmodels.formula.api", "statsmodels.stats.multicomp"),
    *("statsmodels.stats.outliers_influence", "statsmodels.tsa.api"),
    *("plotly.express", "plotly.figure_factory", "plotly.graph_objects", "plotly.subplots"),
    "matplotlib.pyplot",
)
_BOUND = {
    **{name: name for name in ("plotly", "scipy", "sklearn", "statsmodels")},
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "stats": "scipy.stats",
    "px": "plotly.express",
    "go": "plotly.graph_objects",
    "sm": "statsmodels.api",
    "smf": "statsmodels.formula.api",
    "make_subplots": "plotly.subplots:make_subplots",
}
SYSTEM_PATHS = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types"),
    *("/usr/share/fonts", "/usr/share/zoneinfo"),
)


class _KeepOut(MetaPathFinder):
    """polars, which statsmodels would import: its threads do not survive a fork."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname.partition(".")[0] == "polars":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def preload() -> None:
    sys.meta_path.insert(0, _KeepOut())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _MODULES:
            importlib.import_module(name)
        _quieten()
        # Much of these libraries is imported or built when first used: here, not in every job.
        import matplotlib.pyplot as plt
        import pandas as pd
        import plotly.express as px
        from sklearn.cluster import KMeans

        days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"])
        frame = pd.DataFrame({"place": ["a", "b", "a"], "day": days, "value": [1.5, 2.0, None]})
        frame.describe()
        frame.groupby("place")["value"].mean().sort_values().reset_index()
        frame.merge(frame, on="place").pivot_table(index="place", values="value_x")
        frame["day"].dt.strftime("%Y-%m").value_counts()
        frame["value"].corr(frame["value"])
        KMeans(2, n_init=1).fit(
            frame[["value"]].dropna()
        )  # looks for its libraries, by running others
        for figure in (px.bar(frame, x="place", y="value"), px.scatter(frame, x="day", y="value")):
            figure.to_json()
        picture, axes = plt.subplots()
        axes.plot(frame["day"], frame["value"], label="value")
        axes.legend()
        picture.savefig(io.BytesIO(), format="png", bbox_inches="tight")
        plt.close("all")
    gc.collect()
    gc.freeze()


def readable() -> tuple[str, ...]:
    """Where modules that are imported late, their libraries and their data lie."""
    standard = sysconfig.get_path("stdlib")
    folders = [os.path.dirname(standard), sysconfig.get_path("platstdlib")]  # noqa: PTH120
    for name in ("numpy", *PACKAGES):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            folders.append(os.path.dirname(os.path.dirname(file)))  # noqa: PTH120
    present = [path for path in (*folders, *SYSTEM_PATHS) if os.path.exists(path)]  # noqa: PTH110
    return tuple(dict.fromkeys(present))


def readable_to_others(paths: tuple[str, ...]) -> bool:
    """Whether a user without any rights could open these."""
    for path in paths:
        steps = path
        while steps != "/":
            needed = 0o005 if os.path.isdir(steps) else 0o004  # noqa: PTH112
            if os.stat(steps).st_mode & needed != needed:  # noqa: PTH116
                return False
            steps = os.path.dirname(steps)  # noqa: PTH120
    return True


def bindings(code: str) -> dict[str, Any]:
    """What the code finds under its usual name without importing it, if it uses it."""
    used = set(re.findall(r"\w+", code))
    return {name: pkgutil.resolve_name(place) for name, place in _BOUND.items() if name in used}


def _quieten() -> None:
    """`show` has no screen to show on: what is left in `fig` is what is shown."""
    import matplotlib.pyplot as plt
    import plotly.io
    from plotly.basedatatypes import BaseFigure

    def show(*_: Any, **__: Any) -> None:
        return None

    plotly.io.show = BaseFigure.show = plt.show = show
