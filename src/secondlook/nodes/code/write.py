"""Has a model write code for the question, looks at it first, and runs it in the sandbox."""

from __future__ import annotations

import asyncio
import difflib
import re
import textwrap
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable, SandboxError
from secondlook.models.replies import without_thoughts
from secondlook.nodes.code.guard import Refusal, check, does_something, is_python
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    after_remedy,
    ask,
    asked_tables,
    desk_of,
    fenced,
    harmless_text,
    is_order,
    keep,
    kept,
)
from secondlook.nodes.limits import hotter
from secondlook.nodes.state import Analysed, AttemptData, Coding, Trace, step, trouble
from secondlook.sandbox.port import Failure, Outcome, Supplied, limits_for
from secondlook.tables.understand.charts import asks_for_chart

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.tables.resolver import AskedTable

STOPPED = "stopped"  # Status of an attempt for which no model or no sandbox was to be had
SAME = "the same code was written again"
_SHORTEST_JOB = 0.1  # Seconds


class Coded(Coding, Trace):
    route: str


async def write_code(state: Analysed, runtime: Runtime[Context]) -> Coded:
    context = runtime.context
    tables = await asked_tables(context, state["question"])
    warnings: list[dict[str, Any]] = []
    try:
        attempt = await _attempted(context, state, tables)
    except (ModelError, BudgetExceeded, SandboxError) as error:
        stop: StopReason = "cannot_proceed"
        if isinstance(error, BudgetExceeded):
            stop = error.reason
        elif isinstance(error, ModelUnavailable):
            stop = "model_unavailable"
        attempt = AttemptData(
            code="", status=STOPPED, error=str(error), line=None, kept=None, stop=stop
        )
        warnings = [trouble("code", error, "no code was run")]
    tries, status = state["tries"] + 1, attempt["status"]
    way, why = "evaluate", f"{tries} tries failed"
    if status in {"ok", STOPPED}:
        why = "the code ran" if status == "ok" else "nothing can be run"
    elif attempt["error"] == SAME:
        why = "writing it again changes nothing"
    elif tries < context.settings.analyst.max_code_attempts:
        way, why = "code", "the code failed, and may be written once more"
    said = f"The code {'was not run' if status == 'refused' else 'failed'}: {attempt['error']}."
    if status == "ok":
        said = f"The code ran ({attempt['code'].count(chr(10)) + 1} lines)."
    told = step("code", said, status=status, tries=tries, route=(way, why))
    return {
        "attempts": [*state["attempts"], attempt],
        "tries": tries,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


async def _attempted(
    context: Context, state: Analysed, tables: tuple[AskedTable, ...]
) -> AttemptData:
    code = await _written(context, state, tables)
    refusal = None
    if any(code == one["code"] for one in state["attempts"]):
        refusal = Refusal("same", SAME)
    elif context.settings.analyst.enable_code_check or not code.strip():
        refusal = check(code, _columns(tables), question=state["question"])
    if refusal is not None:
        why, line = refusal.message, refusal.line
        return AttemptData(code=code, status="refused", error=why, line=line, kept=None)
    if (sandbox := context.sandbox) is None:
        raise SandboxError("generated code cannot be run here", hint="see docs/sandbox.md")
    desk, chosen = desk_of(context), context.settings.sandbox
    # A job that nobody waits for any more is not left running.
    left = context.ledger.remaining_seconds()
    seconds = chosen.seconds if left is None else max(_SHORTEST_JOB, min(chosen.seconds, left))
    limits = limits_for(seconds=seconds, megabytes=chosen.memory)

    def ran() -> Outcome:
        supplied = [Supplied(one.table.name, desk.file(one.table.id)) for one in tables]
        return sandbox().run(code, supplied, limits=limits)

    outcome = await asyncio.to_thread(ran)
    failure = outcome.failure
    return AttemptData(
        code=code,
        status=outcome.status,
        error=harmless_text(f"{failure.kind}: {failure.message}") if failure else None,
        line=failure.line if failure else None,
        kept=keep(context, code, outcome),
    )


def _columns(tables: Sequence[AskedTable]) -> dict[str, list[str]]:
    return {one.table.name: [column.name for column in one.table.columns] for one in tables}


async def _written(context: Context, state: Analysed, tables: tuple[AskedTable, ...]) -> str:
    # Seen as code, a small model does not invent the data again.
    loaded = [
        f'{"df" if len(tables) == 1 else one.table.name} = tables["{one.table.name}"]'
        f"  # {one.table.rows} rows"
        for one in tables
    ]
    wanted = state["requirements"]["wanted"] if state["requirements"] else []
    result = "what is asked for (one value, or a dict of named values if there are several)"
    if wanted:
        result = f"a dict with exactly the keys {', '.join(map(repr, wanted))}"
    chart = "Draw and print nothing."  # a model that is told of charts draws one, asked or not
    if asks_for_chart(state["question"]):
        chart = (
            "Put the chart, made with plotly, in the variable `fig`, with a title and axis names."
        )
    again = after_remedy(state)
    if state["tries"]:  # since the last remedy
        last = state["attempts"][-1]
        outcome = kept(context, last["kept"])
        failure = Failure("Refused", last["error"] or "", last["line"])
        failure = outcome.failure or failure if outcome else failure
        told = guidance_for(failure, last["code"], _columns(tables))
        code = fenced(last["code"])
        again += f"\n\nThis code failed:\n{code}\n{told}\nWrite it anew without that fault."
    reply = await ask(
        context,
        "code",
        "code",
        state,
        # As cold as before it would say the same again.
        temperature=hotter(context.models.temperature("code"), len(state["attempts"])),
        final=True,
        loaded="\n".join(loaded),
        result=result,
        chart=chart,
        again=again,
    )
    return code_of(reply.text)


# The code in what a model replied.

_LONGEST = 200_000
_FENCE = re.compile(
    r"^[ \t>]*(?P<mark>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>\w*)[^\n]*\n"
    r"(?P<code>.*?)(?:(?P=mark)[ \t]*$|(?=^[ \t>]*(?P=mark))|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PYTHON: Final = frozenset({"python", "py", "python3", "py3", "ipython", "jupyter", "tool_code"})
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)


def code_of(reply: str) -> str:
    """Empty where there is none."""
    reply = without_thoughts(reply[:_LONGEST]).replace("\r\n", "\n").replace("\r", "\n")
    blocks = [(one["language"].lower(), _tidied(one["code"])) for one in _FENCE.finditer(reply)]
    if not blocks:
        whole = _tidied(reply)
        return whole if does_something(whole) or "result =" in whole else ""
    # Those said to be Python; else those that are, whatever they are called.
    named = [code for language, code in blocks if language in _PYTHON]
    named = named or [code for _, code in blocks if does_something(code)]
    # In order; what is shown again is taken once, in its longest form.
    found: list[str] = []
    for code in named:
        if code and not any(_holds(other, code) for other in found):
            found = [*(other for other in found if not _holds(code, other)), code]
    return "\n\n".join(found)


def _holds(longer: str, shorter: str) -> bool:
    """Whether all statements of one stand in the other, in their order."""
    lines = iter(line.strip() for line in longer.split("\n"))
    wanted = (line.strip() for line in shorter.split("\n"))
    return all(line in lines for line in wanted if line and not line.startswith("#"))


def _tidied(code: str) -> str:
    """Without its indentation, and without a notebook's magics where those make it no Python."""
    code = textwrap.dedent(code.expandtabs(4) if "\t" in code else code).strip("\n").rstrip()
    if is_python(code):
        return code
    return _MAGIC.sub(lambda found: found[1] and f"{found[1]}pass", code).strip("\n")


# What a model is told of code that failed: the line, why, and the names that it may have meant.

_LONGEST_MESSAGE = 400
_LONGEST_NAME = 120
_LIKE_ENOUGH = 0.4
_QUOTED = re.compile(r"""["']([^"'\n]{1,120})["']""")
_NO_FILES = "There are no files. The data is in the supplied frames."
_ADVICE: Final[dict[str, str]] = {
    "NameError": "Only `tables`, `datasets`, `df` (where there is one table), pd, np, px, go, "
    "make_subplots, plt, scipy, sklearn and statsmodels are bound; define the rest.",
    "ModuleNotFoundError": "It is not installed. Use pandas, numpy, scipy, sklearn, statsmodels, "
    "plotly or matplotlib.",
    "FileNotFoundError": _NO_FILES,
    "PermissionError": _NO_FILES,
    "TimeoutError": "It took too long: use whole columns instead of loops over rows.",
    "MemoryError": "It took too much memory: select the columns that you need first.",
}


def guidance_for(failure: Failure, code: str, tables: Mapping[str, Sequence[str]]) -> str:
    """`tables`: the columns of each, by the names under which the code knows them."""
    lines, line = code.splitlines(), failure.code or ""
    if failure.line is not None and 0 < failure.line <= len(lines):
        line = lines[failure.line - 1]
    line = line.strip()[:_LONGEST_MESSAGE]
    said = harmless_text(failure.message)[:_LONGEST_MESSAGE]
    parts = [f"Line {failure.line}: `{line}`"] if line else []
    parts.append(f"{failure.kind}: {said}")
    if failure.kind in {"KeyError", "UndefinedVariableError"}:
        known = [column for columns in tables.values() for column in columns]
        names = _QUOTED.findall(failure.message) or [failure.message.strip()]
        lacking = [name for name in names if name not in known and not is_order(name)]
        if lacking:
            near = _nearest(lacking[0], known)
            told = (
                f"the nearest are {_listed(near)}" if near else f"there are {_listed(known[:12])}"
            )
            parts.append(f"No table has a column {lacking[0]!r}; {told}.")
        if len(tables) > 1:
            parts.append(f"The tables: {_listed(tables)}.")
    return "\n".join([*parts, *([_ADVICE[failure.kind]] if failure.kind in _ADVICE else [])])


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    """Without regard to case, blanks and underscores."""

    def key(text: str) -> str:
        return "".join(one for one in text.casefold()[:_LONGEST_NAME] if one.isalnum())

    by_key = {key(one): one for one in reversed(known)}
    close = difflib.get_close_matches(key(name), by_key, cutoff=_LIKE_ENOUGH)
    return [by_key[one] for one in close]


def _listed(names: Collection[str]) -> str:
    return ", ".join(repr(name[:_LONGEST_NAME]) for name in names if not is_order(name))
