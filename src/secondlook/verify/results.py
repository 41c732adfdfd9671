"""Whether what an answer says is what its analysis comes to when it is done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.nodes.analysing.answering import named_values
from secondlook.nodes.analysing.presenting import as_json, figures_of, result_table
from secondlook.nodes.coding.numbers_said import stray_numbers, values_of
from secondlook.nodes.explain_result import short_form, told_by_code
from secondlook.tables.asking import wanted_of
from secondlook.verify.differing import difference
from secondlook.verify.report import Report, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Analysis, AnalysisFigure, Answer
    from secondlook.sandbox import Outcome, Plain


def check_results(answer: Answer, analysis: Analysis, again: Outcome, report: Report) -> None:
    values = named_values(again, wanted_of(answer.asked))
    _compare("result", "result", analysis.result, as_json(again.result), report)
    _compare("values", "result", answer.values, as_json(values), report)
    _compare("table", "result", _dumped(analysis.table), _dumped(result_table(again)), report)
    _check_figures(analysis.figures, figures_of(again), report)
    if analysis.stdout != again.stdout:
        report.note("result", "analysis", "its code prints something else when it is run again")
    _check_words(answer, analysis, again, values, report)


def _compare(name: str, kind: Any, recorded: Any, again: Any, report: Report) -> None:
    if found := difference(recorded, again):
        report.wrong(kind, name, found)


def _dumped(record: Any) -> Any:
    return None if record is None else record.model_dump(mode="json")


def _check_figures(
    recorded: Sequence[AnalysisFigure], again: Sequence[AnalysisFigure], report: Report
) -> None:
    if len(recorded) != len(again):
        message = f"{len(recorded)} were recorded, {len(again)} come out"
        report.wrong("figure", "figures", message)
        return
    for at, (one, other) in enumerate(zip(recorded, again, strict=True), 1):
        found = difference(_dumped(one), _dumped(other))
        if found and one.kind == other.kind == "png":
            # Another font or another version of matplotlib draws the same otherwise.
            report.note("figure", f"figure {at}", "the picture is not drawn the same again")
        elif found:
            report.wrong("figure", f"figure {at}", found)


def _check_words(
    answer: Answer,
    analysis: Analysis,
    again: Outcome,
    values: dict[str, Plain],
    report: Report,
) -> None:
    """What code said, it says again; of a model's words every number is in the result."""
    if answer.short != short_form(values):
        message = f"the short form is {shown(answer.short)}, not {shown(short_form(values))}"
        report.wrong("text", "answer", message)
    columns = [one.column for one in analysis.columns]
    by_code = told_by_code(analysis.reading, columns, again, values)
    said = [claim.text for claim in answer.claims]
    if said == by_code:
        return
    if not any(call.node == "explain" for call in answer.usage.by_node):
        message = f"the result says {shown(' '.join(by_code))}, not {shown(' '.join(said))}"
        report.wrong("text", "answer", message)
    _check_numbers(said, again, [answer.asked, *columns], report)


def _check_numbers(
    said: Sequence[str], again: Outcome, allowed: Sequence[str], report: Report
) -> None:
    held = values_of(again)
    for at, text in enumerate(said, 1):
        if stray := stray_numbers(text, held, allowed=allowed):
            listed = ", ".join(dict.fromkeys(stray))
            report.wrong("number", f"claim {at}", f"{shown(listed)} is not in the result")
