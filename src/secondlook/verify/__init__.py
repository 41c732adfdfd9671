"""Does an answer still stand? Checked offline against the stored texts, with no language model: at
most the embedded reader is asked whether what a claim cites supports it. What was computed from
tables is computed again, and code of a model is run again in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.reading.support import DEFAULT_MIN_SUPPORT, load_support, stands_in
from secondlook.verify.analysis import check_analysis, needs_tables
from secondlook.verify.choice import check_choice
from secondlook.verify.computed import check_computed
from secondlook.verify.evidence import check_evidence, evidence_of
from secondlook.verify.kinds import apart
from secondlook.verify.loading import load_answer, parse_answer, read_answer
from secondlook.verify.places import check_places, needs_library
from secondlook.verify.report import Kind, Problem, Report
from secondlook.verify.research import check_research
from secondlook.verify.standing import rests_on
from secondlook.verify.wording import check_wording

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.library import Library
    from secondlook.reading.support import Support
    from secondlook.settings import Settings

__all__ = [
    "Kind",
    "Problem",
    "Report",
    "evidence_of",
    "examine",
    "load_answer",
    "needs_library",
    "needs_tables",
    "parse_answer",
    "read_answer",
    "verify",
]


def verify(
    answer: Answer,
    library: Library | None,
    *,
    min_support: float = DEFAULT_MIN_SUPPORT,
    support: Support | None = None,
    settings: Settings | None = None,
) -> list[Problem]:
    """Everything about the answer that does not hold; an empty list when it stands."""
    report = examine(answer, library, min_support=min_support, support=support, settings=settings)
    return report.problems


def examine(
    answer: Answer,
    library: Library | None,
    *,
    min_support: float = DEFAULT_MIN_SUPPORT,
    support: Support | None = None,
    settings: Settings | None = None,
) -> Report:
    """Like `verify`, with notes on what is not wrong but worth knowing.

    `settings` say where runs keep their tables and how code is confined; an answer over tables is
    computed again.
    """
    report = Report()
    judge = support or load_support()
    for one in apart(answer, report):
        _examine(one, library, report, settings=settings)
        if one.claims and rests_on(one) == "sources" and (why := stands_in(judge)):
            report.note("support", "answer", why)
        check_evidence(one, report, support=judge, min_support=min_support)
    check_places(answer, library, report)
    return report


def _examine(
    answer: Answer, library: Library | None, report: Report, *, settings: Settings | None
) -> None:
    check_wording(answer, report)
    check_computed(answer, report)
    check_research(answer, report)
    check_choice(answer, report)
    check_analysis(answer, report, library=library, settings=settings)
