"""How a statistic is to be computed, where the question names it: tests, methods, limits."""

import re
from dataclasses import dataclass
from typing import Literal

NUMBER = r"[-+\u2212]?\d+(?:\.\d+)?"


def _pattern(words: str) -> re.Pattern[str]:
    """A name with what people put after it: `IQR method`, `Shapiro-Wilk test`."""
    after = r"(?: (?:rank |correlation |normality )*(?:method|test))?"
    return re.compile(rf"(?:{words}){after}", re.IGNORECASE)


_TESTS = (
    ("shapiro", _pattern(r"shapiro(?:[- ]wilk)?")),
    ("ks", _pattern(r"kolmogorov(?:[-\u2013 ]smirnov)?|\bk-?s(?= test)")),
    ("anderson", _pattern(r"anderson(?:[- ]darling)?")),
    ("dagostino", _pattern(r"d['\u2019]agostino(?:[- ](?:and )?pearson)?|\bnormaltest\b")),
    ("jarque_bera", _pattern(r"jarque[- ]bera")),
)
_METHODS = (
    ("spearman", _pattern(r"\bspearman\w*")),
    ("kendall", _pattern(r"\bkendall\w*")),
    ("pearson", _pattern(r"\bpearson\w*")),
)
_BY_Z = _pattern(r"\bz[- ]?scores?\b|standard deviations? (?:away )?from the mean")
_BY_IQR = _pattern(r"\biqr\b|inter-?quartile(?: range)?(?: \(iqr\))?")
_TESTED = re.compile(
    r"\b(?:normality|hypothesis|statistical|significance) test\b|\btest (?:for|of|whether|if)\b",
    re.IGNORECASE,
)
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
    limit: float | None = None  # Of outliers: standard deviations, or interquartile ranges
    population: bool = False
    said: str = ""  # The words that say so


def methods_in(text: str) -> Methods:
    said: list[str] = []

    def find(words: re.Pattern[str]) -> re.Match[str] | None:
        found = words.search(text)
        said.extend([found[0]] if found else [])
        return found

    def named(names: tuple[tuple[str, re.Pattern[str]], ...], usual: str) -> str:
        return next((one for one, words in names if find(words)), usual)

    find(_TESTED)

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
