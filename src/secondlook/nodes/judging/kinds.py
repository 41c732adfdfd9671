"""What kind of figure a name or a question speaks of."""

from __future__ import annotations

import re
from typing import Final, Literal

from secondlook.nodes.judging.values import words_of

Kind = Literal["p_value", "r_squared", "correlation", "spread", "score", "share", "count", "middle"]
"""`spread`: deviations and variances. `score`: of a model, such as its accuracy. `middle`: what
lies between the least and the greatest value."""

_KINDS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("p_value", re.compile(r"\bp ?val(?:ue)?s?\b|^p$|\bpval\w*")),
    (
        "r_squared",
        re.compile(r"\br ?2\b|\br ?squared?\b|\brsq\w*|\bcoefficient of determination\b"),
    ),
    (
        "correlation",
        re.compile(
            r"\bcorr(?:elation)?s?\b|\bpearsonr?s?\b|\bspearman\w*|^r$|\br value\b|\bkendall\w*"
        ),
    ),
    ("spread", re.compile(r"\bstd\w*|\bstandard dev\w*|\bsd\b|\bstdev\w*|\bvariance\b|^var\b")),
    ("score", re.compile(r"\baccuracy\b|\bprecision\b|\brecall\b|\bf 1\b|\bf1\b|\broc\b|\bauc\b")),
    ("share", re.compile(r"\bshares?\b|\bpercent\w*|\bpct\b|\bproportions?\b|\bfractions?\b")),
    (
        "middle",
        re.compile(
            r"\bmeans?\b|\baverages?\b|\bavg\b|\bmedians?\b|\bquantiles?\b|\bpercentiles?\b"
            r"|\bquartiles?\b|\bq ?[123]\b|\b(?:25|50|75)%|\bmin(?:imum)?\b|\bmax(?:imum)?\b"
        ),
    ),
    (
        "count",
        re.compile(r"\bcounts?\b|^n\b|\bnum\b|\bnumber of\b|\bhow many\b|\bn (?:rows|records)\b"),
    ),
)
_OTHERWISE: Final[dict[Kind, re.Pattern[str]]] = {
    "correlation": re.compile(
        r"\bmatrix\b|\bstrongest\b|\bauto|\bcovariance\b|\bcount|\bnumber|\binterval\b|\brank\b"
        r"|\bp ?val|\bz\b|\bfisher\b|\bdifference\b|\bpairs?\b|\bt stat|\bn\b"
    ),
    "share": re.compile(
        r"\bchang\w*|\bgrowth\b|\bgrow|\bincreas\w*|\bdecreas\w*|\bdiff\w*|\berror\b|\breturns?\b"
        r"|\byoy\b|\bmom\b|\bmargin|\bdeviation\b|\bhigher\b|\blower\b|\bmore\b|\bless\b|\bratio\b"
        r"|\bprofit|\bgain|\bloss|\bimprov|\breduc|\bpoints?\b|\bcount\b|\bnumber\b|\bstd\b|\bskew"
        r"|\brelative to\b|\bpercentiles?\b|\bshareholders?\b|\bper share\b|\bvariance\b|\bcorr"
    ),
    "count": re.compile(
        r"\bmean\b|\baverages?\b|\bavg\b|\bmedian\b|\bstd\b|\bper\b|\bshare\b|\bpercent|\bratio\b"
        r"|\bproportion\b|\brate\b|\bdiff|\bchange\b|\bcorr|\bskew|\bvariance\b|\bexpected\b"
        r"|\btimes\b|\bpredict|\bestimat|\bforecast|\blog\b|\bnormali[sz]|\bscaled?\b"
    ),
    "spread": re.compile(
        r"\bno of\b|\bdiff|\bchange\b|\bratio\b|\blog\b|\bcovariance\b|\bexplained\b|\bnumber of\b"
        r"|\bcoefficient\b|\bdeviations? (?:from|above|below|away)\b|\bnormali[sz]|\bz ?score"
        r"|\bstandardi[sz]|\bthreshold|\boutlier"
    ),
    "middle": re.compile(
        r"\bdiff\w*|\bchang\w*|\bratio\b|\bgrowth\b|\bdelta\b|\bgap\b|\berrors?\b|\bresiduals?\b"
        r"|\bmse\b|\bmae\b|\brmse\b|\bsquared?\b|\bper\b|\btotals?\b|\bsums?\b|\bnumber\b|\bcounts?\b"
        r"|\blog\w*|\btransform\w*|\bnormali[sz]\w*|\bstandardi[sz]\w*|\bscal\w*|\bz ?scores?\b"
        r"|\bimput\w*|\bfill\w*|\breplac\w*|\bpredict\w*|\bforecast\w*|\bconver\w*|\brank\w*"
        r"|\bencod\w*|\bweight\w*|\bcumul\w*|\bmoving\b|\brolling\b|\brates?\b|\blength\w*"
        r"|\bduration\b|\bdistance\b|\bspeed\b|\btimes?\b|\bmultipl\w*|\bproduct of\b|\bfeature\b"
        r"|\bnew column\b|\binterval\b|\bproportion\b|\bpercent(?:age)?\b|\bshare\b|\bdeviation\b"
        r"|\bsum(?:med|ming)\b|\babs\w*|\breturns?\b|\bvolatil\w*|\bpivot\b|\bcorr\w*|\bconfidence\b"
        r"|\brevenue\b|\bhow many\b|\bfrequen\w*"
    ),
}
_ASKS_OTHERWISE = re.compile(
    r"^\W*(?:(?:in|on|at|for|during|from|by)\s+)?(?:which|who|whose|when|where|why|name|list)\b"
    r"|\b(?:what|which)\s+(?:\w+\s+)?(?:year|date|day|month|one|team|person|country|city|name|type)"
    r"|^\W*(?:year|years|date|month|team|country)\b|\bwho (?:has|had|is|was)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING: Final = frozenset({"", "result", "value", "answer", "output", "res", "0"})


def kind_of_name(name: str) -> Kind | None:
    """None also where the name speaks of a change, a ratio or the like: other bounds hold then."""
    return _first(" ".join(words_of(name)))


def kind_of_question(question: str) -> Kind | None:
    """Where it speaks of one kind only, and asks for it: `which year has the highest mean` asks for
    a year."""
    if _ASKS_OTHERWISE.search(question[:2_000]):
        return None
    text = " ".join(words_of(question[:2_000].replace("'", "")))
    found = [kind for kind, form in _KINDS if form.search(text)]
    if len(found) != 1:
        return None
    return _first(text)


def says_nothing(name: str) -> bool:
    return " ".join(words_of(name)) in _SAYS_NOTHING


def is_derived(text: str) -> bool:
    """Whether it speaks of values that were changed before they were measured."""
    return _OTHERWISE["middle"].search(" ".join(words_of(text[:4_000]))) is not None


def _first(text: str) -> Kind | None:
    for kind, form in _KINDS:
        if form.search(text):
            other = _OTHERWISE.get(kind)
            return None if other is not None and other.search(text) else kind
    return None
