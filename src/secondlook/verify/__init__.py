"""Does an answer still stand? Checked offline against the stored texts, with no language model: at
most the embedded reader is asked whether what a claim cites supports it. What was computed from
tables is computed again, and code of a model is run again in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.reading.support import Support, load_support, stands_in
from secondlook.verify.analysis import check_analysis
from secondlook.verify.citations import check_evidence, check_places
from secondlook.verify.report import Problem, Report, rests_on
from secondlook.verify.wording import (
    apart,
    check_choice,
    check_computed,
    check_research,
    check_wording,
)

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.library.library import Library
    from secondlook.settings.sections import Settings


def verify(
    answer: Answer,
    library: Library | None,
    *,
    support: Support | None = None,
    settings: Settings | None = None,
) -> list[Problem]:
    """Everything about the answer that does not hold; an empty list when it stands."""
    return examine(answer, library, support=support, settings=settings).problems


def examine(
    answer: Answer,
    library: Library | None,
    *,
    support: Support | None = None,
    settings: Settings | None = None,
) -> Report:
    """Like `verify`, with notes on what is not wrong but worth knowing. `settings` say where runs
    keep their tables and how code is confined; an answer over tables is computed again."""
    report = Report()
    judge = support or load_support()
    for one in apart(answer, report):
        check_wording(one, report)
        check_computed(one, report)
        check_research(one, report)
        check_choice(one, report)
        check_analysis(one, report, library=library, settings=settings)
        if one.claims and rests_on(one) == "sources" and (why := stands_in(judge)):
            report.note("support", "answer", why)
        check_evidence(one, report, judge)
    check_places(answer, library, report)
    return report
