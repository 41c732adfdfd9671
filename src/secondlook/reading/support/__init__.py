"""How far a text carries a claim: the port, the judges behind it, and which of them to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from secondlook.errors import ModelUnavailable, UsageError
from secondlook.reading.support.coverage import (
    MISSING_NAME,
    MISSING_NUMBER,
    ONE_SIDED_NOT,
    CoverageSupport,
    denies,
)
from secondlook.reading.support.head import (
    SupportHead,
    SupportHeadError,
    read_head,
    save_head,
    shipped_head,
)
from secondlook.reading.support.judged import ReaderSupport
from secondlook.reading.support.port import (
    DEFAULT_JUDGE,
    DEFAULT_MIN_SUPPORT,
    JudgeName,
    Support,
    joined_evidence,
    without_marks,
)

if TYPE_CHECKING:
    from secondlook.reading.port import Judge

__all__ = [
    "DEFAULT_JUDGE",
    "DEFAULT_MIN_SUPPORT",
    "MISSING_NAME",
    "MISSING_NUMBER",
    "ONE_SIDED_NOT",
    "CoverageSupport",
    "JudgeName",
    "ReaderSupport",
    "Support",
    "SupportHead",
    "SupportHeadError",
    "denies",
    "joined_evidence",
    "load_support",
    "read_head",
    "save_head",
    "shipped_head",
    "sieve_of",
    "stands_in",
    "without_marks",
]


def load_support(spec: str = DEFAULT_JUDGE, *, threads: int | None = None) -> Support:
    """The judge that `spec` names: "reader", the trained one, or "coverage", which goes by words.

    Where the installed reader is not the one whose probabilities are known, coverage stands in and
    says why: see `stands_in`. The reader is opened when it is first needed.
    """
    if spec == "coverage":
        return CoverageSupport()
    if spec != "reader":
        names = " or ".join(f'"{name}"' for name in get_args(JudgeName))
        raise UsageError(f"unknown judge of support {spec!r}", hint=f"use {names}")
    if why := _why_not():
        return CoverageSupport(instead=why)

    def judge() -> Judge:
        from secondlook.reading import load_embedded_reader

        return load_embedded_reader(threads=threads)

    return ReaderSupport(judge, shipped_head())


def stands_in(judge: Support) -> str | None:
    """Why this judge is not the one that was asked for; None where it is."""
    return (judge.instead or None) if isinstance(judge, CoverageSupport) else None


def sieve_of(judge: Support) -> Support:
    """Who finds the few places that are worth asking the judge about: a pass of the reader costs
    a hundred times what counting words does."""
    return CoverageSupport() if isinstance(judge, ReaderSupport) else judge


def _why_not() -> str:
    from secondlook.reading.weights import find_weights

    head = shipped_head()
    try:
        reader = find_weights("reader").identity
    except ModelUnavailable as missing:
        return f"{missing.message}, so support is judged by words alone"
    if reader != head.reader:
        return (
            f"the judge of support was fitted for the reader {head.reader!r}, the installed one is "
            f"{reader!r}: support is judged by words alone"
        )
    return ""
