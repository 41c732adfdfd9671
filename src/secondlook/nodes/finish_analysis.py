"""Puts the answer of an analysis together: text, values, and what it takes to do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import (
    Analysis,
    AnalysisAttempt,
    AnalysisCheck,
    AnalysisRemedy,
    Answer,
    Confidence,
    InputTable,
    Requirements,
    ResolvedColumn,
)
from secondlook.errors import SandboxError
from secondlook.nodes.compute import as_json, figures_of, named_values, result_table
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import last_outcome, meant, tables_of
from secondlook.nodes.explain import GENERAL
from secondlook.nodes.finish import Finished, assembled, finished
from secondlook.nodes.state import Analysed, Finishing, Readings
from secondlook.tables.understand.readings import wanted_of

if TYPE_CHECKING:
    from secondlook.answer import AnalysisKind, Status, StopReason
    from secondlook.sandbox.port import Outcome

_WHY: dict[StopReason, str] = {
    "no_evidence": "The tables do not answer this.",
    "attempts_exhausted": "No answer: no result could stand.",
    "no_progress": "No answer: trying again changed nothing.",
    "cannot_proceed": "No answer: this cannot be computed here.",
}
_ABSTAINED = frozenset(_WHY)


class Analysing(Finishing, Analysed, Readings):
    """All that goes into the answer of an analysis."""


async def finish_analysis(state: Analysing, runtime: Runtime[Context]) -> Finished:
    return finished(await analysed(state, runtime.context))


async def analysed(state: Analysing, context: Context) -> Answer:
    """The answer that an analysis amounts to, also where it was cut short."""
    plain = await assembled(state, context)
    if state.get("work") == "concept":
        return _concept(plain)
    outcome = last_outcome(context, state.get("attempts", []))
    stands = bool(plain.claims) and outcome is not None
    analysis = _analysis(state, context, outcome, stands=stands)
    values = named_values(outcome, wanted_of(state["question"])) if outcome and stands else {}
    return plain.model_copy(
        update={
            "analysis": analysis,
            "values": as_json(values),
            "text": _text(plain, analysis, state["draft"]["note"]),
            "status": _status(plain),
            "asks_back": state.get("asks_back"),
            "confidence": _confidence(plain),
            "attempts": max(1, len(state.get("attempts", []))),
            "model": _model(context, analysis, plain),
        }
    )


def _concept(plain: Answer) -> Answer:
    """What the library explains is cited; what it does not is marked."""
    if plain.citations or not plain.claims:
        return plain.model_copy(update={"analysis": Analysis(kind="concept")})
    return plain.model_copy(
        update={
            "analysis": Analysis(kind="concept", grounded=False),
            "text": f"{plain.text}\n\n{GENERAL}",
            "confidence": Confidence(reasons=plain.confidence.reasons),
        }
    )


def _status(plain: Answer) -> Status:
    return "abstained" if not plain.claims and plain.stop_reason in _ABSTAINED else plain.status


def _confidence(plain: Answer) -> Confidence:
    known = plain.confidence.value is not None and bool(plain.claims)
    return plain.confidence.model_copy(update={"label": "calibrated" if known else "provisional"})


def _model(context: Context, analysis: Analysis, plain: Answer) -> str | None:
    return context.models.name("code") if analysis.kind == "generated" else plain.model


def _text(plain: Answer, analysis: Analysis, note: str | None) -> str:
    if not plain.claims:
        return _abstention(plain, note)
    reading = analysis.reading if analysis.kind == "computed" else ""
    if reading.casefold() in plain.text.casefold():
        return plain.text
    return f"{plain.text}\n\nRead as: {reading}."


def _abstention(plain: Answer, note: str | None) -> str:
    if plain.stop_reason not in _ABSTAINED:
        return plain.text
    why = _WHY[plain.stop_reason]
    return f"{why} {note}" if note else why


def _kind(state: Analysing, *, stands: bool) -> AnalysisKind:
    if state.get("query") is not None and stands:
        return "computed"
    return "generated" if stands else "limitation"


def _analysis(
    state: Analysing, context: Context, outcome: Outcome | None, *, stands: bool
) -> Analysis:
    attempts, requirements = state.get("attempts", []), state.get("requirements")
    kind = _kind(state, stands=stands)
    shown = outcome if stands else None
    ran = next((one["code"] for one in reversed(attempts) if one["code"]), None)
    return Analysis(
        kind=kind,
        reading=state.get("reading", ""),
        requirements=Requirements.model_validate(
            {key: value for key, value in requirements.items() if key != "wanted"}
        )
        if requirements
        else None,
        columns=tuple(ResolvedColumn.model_validate(one) for one in state.get("resolved", [])),
        query=as_json(state.get("query")),
        sql=ran if kind == "computed" else None,
        code=ran if kind != "computed" else None,
        result=as_json(shown.result) if shown else None,
        stdout=shown.stdout if shown else "",
        table=result_table(shown),
        figures=figures_of(shown),
        checks=tuple(AnalysisCheck.model_validate(one) for one in state.get("checks", [])),
        attempts=tuple(
            AnalysisAttempt(code=one["code"], status=one["status"], error=one["error"])
            for one in attempts
        ),
        remedies=tuple(AnalysisRemedy.model_validate(one) for one in state.get("remedies", [])),
        inputs=_inputs(context, state["question"]),
        sandbox=_backend(context) if kind == "generated" else None,
    )


def _inputs(context: Context, question: str) -> tuple[InputTable, ...]:
    return tuple(
        InputTable(
            name=one.name,
            id=one.id,
            title=one.title,
            sha256=one.sha256,
            rows=one.rows,
            path=one.path,
        )
        for one in meant(tables_of(context), question)
    )


def _backend(context: Context) -> str | None:
    """None also where it broke since: the result that it gave stands."""
    try:
        return context.sandbox().name if context.sandbox is not None else None
    except SandboxError:
        return None
