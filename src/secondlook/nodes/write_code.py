"""Has a model write code for the question, looks at it first, and runs it in the sandbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable, SandboxError
from secondlook.nodes.analysing.again import after_remedy, fenced
from secondlook.nodes.analysing.at_hand import asked_tables, desk_of, meant
from secondlook.nodes.analysing.outcomes import keep, kept
from secondlook.nodes.analysing.requiring import wants_chart
from secondlook.nodes.analysing.showing import shared_by
from secondlook.nodes.checking.attempts import hotter
from secondlook.nodes.coding.guard import check
from secondlook.nodes.coding.mending import with_real_names
from secondlook.nodes.coding.reply import code_of
from secondlook.nodes.coding.telling import harmless
from secondlook.nodes.coding.traceback import guidance_for
from secondlook.prompts import load
from secondlook.sandbox import Failure, Outcome, Supplied, limits_for
from secondlook.state import (
    Alignment,
    AttemptData,
    Coding,
    Judged,
    LookedAt,
    Question,
    Remedies,
    Required,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from secondlook.answer import StopReason
    from secondlook.sandbox import Variation
    from secondlook.tables.resolving import AskedTable

STOPPED = "stopped"
"""Status of an attempt for which no model or no sandbox was to be had."""
SAME = "the same code was written again"
_SHORTEST_JOB = 0.1
"""Seconds."""


class ToCode(Question, Required, LookedAt, Alignment, Coding, Judged, Remedies):
    pass


class Coded(Coding, Trace):
    route: str


async def write_code(state: ToCode, runtime: Runtime[Context]) -> Coded:
    context = runtime.context
    tables = await asked_tables(context, state["question"])
    try:
        attempt = await _attempted(context, state, tables)
        warnings: list[dict[str, Any]] = []
    except (ModelError, BudgetExceeded, SandboxError) as error:
        attempt = _stopped(error)
        warnings = [trouble("code", error, "no code was run")]
    tries = state["tries"] + 1
    way, why = _way(attempt, tries, most=context.settings.analyst.max_code_attempts)
    told = step("code", _said(attempt), status=attempt["status"], tries=tries, route=(way, why))
    return {
        "attempts": [*state["attempts"], attempt],
        "tries": tries,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


def _way(attempt: AttemptData, tries: int, *, most: int) -> tuple[str, str]:
    if attempt["status"] in {"ok", STOPPED}:
        return "evaluate", "the code ran" if attempt["status"] == "ok" else "nothing can be run"
    if attempt["error"] == SAME:
        return "evaluate", "writing it again changes nothing"
    if tries < most:
        return "code", "the code failed, and may be written once more"
    return "evaluate", f"{tries} tries failed"


async def _attempted(
    context: Context, state: ToCode, tables: tuple[AskedTable, ...]
) -> AttemptData:
    names = {one.table.name: [c.name for c in one.table.columns] for one in tables}
    code = with_real_names(await _written(context, state, tables), names)
    if any(code == one["code"] for one in state["attempts"]):
        return _refused(code, SAME)
    if context.settings.analyst.enable_code_check:
        if (refusal := check(code, names, question=state["question"])) is not None:
            return _refused(code, refusal.message, refusal.line)
    elif not code.strip():
        return _refused(code, "the reply holds no code")
    outcome = await asyncio.to_thread(run_code, context, state["question"], code)
    failure = outcome.failure
    return AttemptData(
        code=code,
        status=outcome.status,
        error=harmless(f"{failure.kind}: {failure.message}") if failure else None,
        line=failure.line if failure else None,
        kept=keep(context, code, outcome),
    )


async def _written(context: Context, state: ToCode, tables: tuple[AskedTable, ...]) -> str:
    prompt = load("analyst_code")
    holes = await shared_by(context, state)
    reply = await context.models.ask(
        prompt.role,
        prompt.render(
            **holes,
            loaded=_loaded(tables),
            result=_result(state),
            chart=_chart(state["question"]),
            again=after_remedy(state["remedies"], state["attempts"], state["issues"])
            + _after_failure(context, state, tables),
        ),
        node="code",
        max_tokens=prompt.max_tokens,
        # As cold as before it would say the same again.
        temperature=hotter(context.models.temperature("code"), len(state["attempts"])),
        final=True,
    )
    return code_of(reply.text)


def _loaded(tables: tuple[AskedTable, ...]) -> str:
    """Seen as code, a small model does not invent the data again."""
    if len(tables) == 1:
        only = tables[0].table
        return f'df = tables["{only.name}"]  # {only.rows} rows'
    return "\n".join(
        f'{one.table.name} = tables["{one.table.name}"]  # {one.table.rows} rows' for one in tables
    )


def _result(state: ToCode) -> str:
    wanted = state["requirements"]["wanted"] if state["requirements"] else []
    if wanted:
        return f"a dict with exactly the keys {', '.join(map(repr, wanted))}"
    return "what is asked for (one value, or a dict of named values if there are several)"


def _chart(question: str) -> str:
    """Whoever is told of charts draws one, asked or not."""
    if wants_chart(question):
        return (
            "Put the chart, made with plotly, in the variable `fig`, with a title and axis names."
        )
    return "Draw and print nothing."


def _after_failure(context: Context, state: ToCode, tables: tuple[AskedTable, ...]) -> str:
    """What the last try since a remedy died of: its line, and the columns involved."""
    if not state["tries"]:
        return ""
    last = state["attempts"][-1]
    outcome = kept(context, last["kept"])
    failure = outcome.failure if outcome else Failure("Refused", last["error"] or "", last["line"])
    profiles = {one.table.name: one.profile for one in tables}
    told = guidance_for(failure, last["code"], profiles) if failure else last["error"]
    return (
        f"\n\nThis code failed:\n{fenced(last['code'])}\n{told}\nWrite it anew without that fault."
    )


def run_code(
    context: Context, question: str, code: str, *, vary: Variation | None = None, seed: int = 0
) -> Outcome:
    """Raises SandboxError where no sandbox works here."""
    if context.sandbox is None:
        raise SandboxError("generated code cannot be run here", hint="see docs/sandbox.md")
    desk, chosen = desk_of(context), context.settings.sandbox
    supplied = [
        Supplied(table.name, desk.file(table.id)) for table in meant(desk.tables(), question)
    ]
    limits = limits_for(seconds=_seconds(context), megabytes=chosen.memory)
    return context.sandbox().run(code, supplied, limits=limits, vary=vary, seed=seed)


def _seconds(context: Context) -> float:
    """A job that nobody waits for any more is not left running."""
    most, left = context.settings.sandbox.seconds, context.ledger.remaining_seconds()
    return most if left is None else max(_SHORTEST_JOB, min(most, left))


def _refused(code: str, why: str, line: int | None = None) -> AttemptData:
    return AttemptData(code=code, status="refused", error=why, line=line, kept=None)


def _stopped(error: Exception) -> AttemptData:
    return AttemptData(
        code="", status=STOPPED, error=str(error), line=None, kept=None, stop=_reason(error)
    )


def _reason(error: Exception) -> StopReason:
    if isinstance(error, BudgetExceeded):
        return error.reason
    return "model_unavailable" if isinstance(error, ModelUnavailable) else "cannot_proceed"


def _said(attempt: AttemptData) -> str:
    if attempt["status"] == "ok":
        return f"The code ran ({attempt['code'].count(chr(10)) + 1} lines)."
    if attempt["status"] == "refused":
        return f"The code was not run: {attempt['error']}."
    return f"The code failed: {attempt['error']}."
