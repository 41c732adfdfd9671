"""How a statistic is to be computed, where the question names it: tests, methods, limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

NUMBER = r"[-+\u2212]?\d+(?:\.\d+)?"
_TESTS = (
    ("shapiro", r"shapiro(?:[- ]wilk)?"),
    ("ks", r"kolmogorov(?:[-\u2013 ]smirnov)?|\bk-?s test\b"),
    ("anderson", r"anderson(?:[- ]darling)?"),
    ("dagostino", r"d['\u2019]agostino(?:[- ](?:and )?pearson)?|\bnormaltest\b"),
    ("jarque_bera", r"jarque[- ]bera"),
)
_METHODS = (
    ("spearman", r"\bspearman\w*"),
    ("kendall", r"\bkendall\w*"),
    ("pearson", r"\bpearson\w*"),
)
_BY_Z = re.compile(r"\bz[- ]?scores?\b|standard deviations? (?:away )?from the mean", re.IGNORECASE)
_BY_IQR = re.compile(r"\biqr\b|inter-?quartile", re.IGNORECASE)
_LIMIT_Z = re.compile(
    r"(?:threshold(?: value)?(?: of| is|:|=)?|(?:greater|more|higher|larger) than|above|exceed\w*"
    r"|>=?|outside (?:of )?(?:the )?(?:range )?(?:of )?|beyond|within)\s*(?:the )?"
    rf"(?:\u00b1|\+/-)?\s*({NUMBER})",
    re.IGNORECASE,
)
_DEVIATIONS = re.compile(rf"({NUMBER}|three|two) standard deviations?", re.IGNORECASE)
_LIMIT_IQR = re.compile(
    rf"({NUMBER})\s*(?:times|\*|x|\u00d7)\s*(?:the )?(?:iqr|inter-?quartile)", re.IGNORECASE
)
_POPULATION = re.compile(
    r"\bpopulation (?:standard deviation|std|variance)|\bddof\s*=\s*0", re.IGNORECASE
)
_WORDS = {"two": 2.0, "three": 3.0}


@dataclass(frozen=True, slots=True)
class Methods:
    correlation: Literal["pearson", "spearman", "kendall"] = "pearson"
    normality: str = "shapiro"
    outliers: Literal["outliers_z", "outliers_iqr"] | None = None
    limit: float | None = None
    """Of outliers: standard deviations, or interquartile ranges."""
    population: bool = False
    said: str = ""
    """The words that say so."""


def methods_in(text: str) -> Methods:
    said = ["method test"]

    def find(words: str | re.Pattern[str]) -> re.Match[str] | None:
        found = re.search(words, text, re.IGNORECASE if isinstance(words, str) else 0)
        said.append(found[0] if found else "")
        return found

    def named(names: tuple[tuple[str, str], ...], usual: str) -> str:
        return next((one for one, words in names if find(words)), usual)

    by_z, by_iqr, deviations = map(find, (_BY_Z, _BY_IQR, _DEVIATIONS))
    outliers, limit = None, None
    if by_z or (deviations and not by_iqr):
        outliers, limit = "outliers_z", deviations or find(_LIMIT_Z)
    elif by_iqr:
        outliers, limit = "outliers_iqr", find(_LIMIT_IQR)
    number = limit[1].lower().replace("\u2212", "-") if limit else ""
    return Methods(
        correlation=named(_METHODS, "pearson"),  # type: ignore[arg-type]
        normality=named(_TESTS, "shapiro"),
        outliers=outliers,  # type: ignore[arg-type]
        limit=abs(_WORDS.get(number) or float(number)) if number else None,
        population=find(_POPULATION) is not None,
        said=" ".join(said),
    )
