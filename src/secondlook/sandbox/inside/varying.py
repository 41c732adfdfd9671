"""The same table with other rows, to see whether a result follows from its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from secondlook.sandbox.port import Variation

_FEW = 12
"""A column of whole numbers with at most so many different ones is likely a code or a flag."""
_LEAST, _MOST = 0.01, 0.05
"""How far a number moves, as a share of it."""


def varied(frame: pd.DataFrame, how: Variation, seed: int) -> pd.DataFrame:
    import numpy as np

    random = np.random.default_rng(seed)
    if how == "perturbed":
        return _perturbed(frame, random)
    with_replacement = how == "resampled"
    chosen = random.choice(len(frame), size=len(frame), replace=with_replacement)
    return frame.iloc[chosen].reset_index(drop=True)


def _perturbed(frame: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    changed = frame.copy()
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        changed.isetitem(position, _perturbed_column(column, random))
    return changed


def _perturbed_column(column: pd.Series, random: np.random.Generator) -> pd.Series:
    from pandas.api import types

    if types.is_bool_dtype(column) or not types.is_numeric_dtype(column):
        return _swapped(column, random)
    whole = types.is_integer_dtype(column) or _holds_whole_numbers(column)
    if whole and column.nunique() <= _FEW:
        return _drawn(column, random)
    return _moved(column, random, whole=whole)


def _swapped(column: pd.Series, random: np.random.Generator) -> pd.Series:
    if column.dtype == bool:
        return _drawn(column, random)
    mixed = column.iloc[random.permutation(len(column))]
    mixed.index = column.index
    return mixed


def _drawn(column: pd.Series, random: np.random.Generator) -> pd.Series:
    """Other values of the same column: a flag stays a flag, but its share changes."""
    known = column.dropna()
    if known.empty:
        return column
    drawn = known.iloc[random.integers(len(known), size=len(known))]
    drawn.index = known.index
    return drawn.reindex(column.index).astype(column.dtype)


def _moved(column: pd.Series, random: np.random.Generator, *, whole: bool) -> pd.Series:
    import numpy as np
    import pandas as pd

    values = column.to_numpy(dtype="float64", na_value=np.nan)
    share = random.uniform(_LEAST, _MOST, len(values)) * random.choice((-1.0, 1.0), len(values))
    steps = values * share
    if whole:  # by one at least; only nothing stays nothing
        steps = np.sign(steps) * np.maximum(1.0, np.round(np.abs(steps)))
    return _as_before(pd.Series(values + steps, index=column.index), column.dtype)


def _as_before(moved: pd.Series, dtype: Any) -> pd.Series:
    import numpy as np

    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        # The largest numbers of 64 bits have no float of their own; the next below has.
        most = (
            float(bounds.max) if int(float(bounds.max)) == bounds.max else float(bounds.max - 2047)
        )
        moved = moved.clip(float(bounds.min), most)
    return moved.astype(dtype)


def _holds_whole_numbers(column: pd.Series) -> bool:
    """Whole numbers with gaps come as floats."""
    known = column.dropna()
    return bool(len(known)) and bool((known % 1 == 0).all())
