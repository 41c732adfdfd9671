"""Puts the answer of an analysis together: text, values, and what it takes to do it again."""

from __future__ import annotations

import contextlib
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
from secondlook.nodes.desk import last_outcome, meant
from secondlook.nodes.explain import GENERAL
from secondlook.nodes.finish import Finished, assembled, finished
from secondlook.nodes.state import Analysed, Finishing, Readings
from secondlook.tables.understand.readings import wanted_of

if TYPE_CHECKING:
    from secondlook.answer import AnalysisKind, StopReason
    from secondlook.sandbox.port import Outcome

_WHY: dict[StopReason, str] = {
    "no_evidence": "The tables do not answer this.",
    "attempts_exhausted": "No answer: no result could stand.",
    "no_progress": "No answer: trying again changed nothing.",
    "cannot_proceed": "No answer: this cannot be computed here.",
}


class Analysing(Finishing, Analysed, Readings):
    """All that goes into the answer of an analysis."""


async def finish_analysis(state: Analysing, runtime: Runtime[Context]) -> Finished:
    return finished(await analysed(state, runtime.context))


async def analysed(state: Analysing, context: Context) -> Answer:
    """The answer that an analysis amounts to, also where it was cut short."""
    plain = await assembled(state, context)
    if state.get("work") == "concept":  # what the library does not explain is marked
        if plain.citations or not plain.claims:
            return plain.model_copy(update={"analysis": Analysis(kind="concept")})
        update = {
            "analysis": Analysis(kind="concept", grounded=False),
            "text": f"{' '.join(claim.text for claim in plain.claims)}\n\n{GENERAL}",
            "confidence": Confidence(reasons=plain.confidence.reasons),
        }
        return plain.model_copy(update=update)
    outcome = last_outcome(context, state.get("attempts", []))
    stands = bool(plain.claims) and outcome is not None
    analysis = _analysis(state, context, outcome if stands else None)
    values = named_values(outcome, wanted_of(state["question"])) if outcome and stands else {}
    status, text = plain.status, plain.text
    if not plain.claims and plain.stop_reason in _WHY:
        note = state["draft"]["note"]
        status = "abstained"
        text = f"{_WHY[plain.stop_reason]} {note}" if note else _WHY[plain.stop_reason]
    elif analysis.kind == "computed" and analysis.reading.casefold() not in text.casefold():
        text = f"{text}\n\nRead as: {analysis.reading}."
    known = plain.confidence.value is not None and bool(plain.claims)
    label = "calibrated" if known else "provisional"
    return plain.model_copy(
        update={
            "analysis": analysis,
            "values": as_json(values),
            "text": text,
            "status": status,
            "asks_back": state.get("asks_back"),
            "confidence": plain.confidence.model_copy(update={"label": label}),
            "attempts": max(1, len(state.get("attempts", []))),
            "model": context.models.name("code") if analysis.kind == "generated" else plain.model,
        }
    )


def _analysis(state: Analysing, context: Context, shown: Outcome | None) -> Analysis:
    """`shown`: the outcome of the last attempt where it stands."""
    attempts, requirements = state.get("attempts", []), state.get("requirements")
    kind: AnalysisKind = "limitation"
    if shown is not None:
        kind = "computed" if state.get("query") is not None else "generated"
    ran = next((one["code"] for one in reversed(attempts) if one["code"]), None)
    needed = None
    if requirements:
        told = {key: value for key, value in requirements.items() if key != "wanted"}
        needed = Requirements.model_validate(told)
    backend = None
    if kind == "generated" and context.sandbox is not None:
        with contextlib.suppress(SandboxError):  # it broke since: the result that it gave stands
            backend = context.sandbox().name
    return Analysis(
        kind=kind,
        reading=state.get("reading", ""),
        requirements=needed,
        columns=tuple(map(ResolvedColumn.model_validate, state.get("resolved", []))),
        query=as_json(state.get("query")),
        sql=ran if kind == "computed" else None,
        code=ran if kind != "computed" else None,
        result=as_json(shown.result) if shown else None,
        stdout=shown.stdout if shown else "",
        table=result_table(shown),
        figures=figures_of(shown),
        checks=tuple(map(AnalysisCheck.model_validate, state.get("checks", []))),
        attempts=tuple(
            AnalysisAttempt(code=one["code"], status=one["status"], error=one["error"])
            for one in attempts
        ),
        remedies=tuple(map(AnalysisRemedy.model_validate, state.get("remedies", []))),
        inputs=tuple(
            InputTable.model_validate(one.model_dump(include=set(InputTable.model_fields)))
            for one in (meant(context.desk, state["question"]) if context.desk else ())
        ),
        sandbox=backend,
    )
