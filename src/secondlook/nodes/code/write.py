"""Has a model write code for the question, looks at it first, and runs it in the sandbox."""

from __future__ import annotations

import asyncio
import re
import textwrap
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable, SandboxError
from secondlook.models.replies import objects, without_thoughts
from secondlook.nodes.code.guard import check, does_something, is_python, listed, nearest
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
    meant,
    wants_chart,
)
from secondlook.nodes.limits import hotter
from secondlook.nodes.state import (
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
from secondlook.sandbox.port import Failure, Outcome, Supplied, limits_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.table import ColumnProfile, TableProfile

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
    way, why = _way(attempt, tries, most=context.settings.analyst.max_code_attempts)
    said = f"The code failed: {attempt['error']}."
    if status == "ok":
        said = f"The code ran ({attempt['code'].count(chr(10)) + 1} lines)."
    elif status == "refused":
        said = f"The code was not run: {attempt['error']}."
    told = step("code", said, status=status, tries=tries, route=(way, why))
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
    def refused(why: str, line: int | None = None) -> AttemptData:
        return AttemptData(code=code, status="refused", error=why, line=line, kept=None)

    code = await _written(context, state, tables)
    if any(code == one["code"] for one in state["attempts"]):
        return refused(SAME)
    if context.settings.analyst.enable_code_check:
        names = {one.table.name: [c.name for c in one.table.columns] for one in tables}
        if (refusal := check(code, names, question=state["question"])) is not None:
            return refused(refusal.message, refusal.line)
    elif not code.strip():
        return refused("the reply holds no code")
    outcome = await asyncio.to_thread(_run, context, state["question"], code)
    failure = outcome.failure
    return AttemptData(
        code=code,
        status=outcome.status,
        error=harmless_text(f"{failure.kind}: {failure.message}") if failure else None,
        line=failure.line if failure else None,
        kept=keep(context, code, outcome),
    )


async def _written(context: Context, state: ToCode, tables: tuple[AskedTable, ...]) -> str:
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
    if wants_chart(state["question"]):
        chart = (
            "Put the chart, made with plotly, in the variable `fig`, with a title and axis names."
        )
    again = after_remedy(state["remedies"], state["attempts"], state["issues"])
    if state["tries"]:  # since the last remedy
        last = state["attempts"][-1]
        outcome = kept(context, last["kept"])
        failure = Failure("Refused", last["error"] or "", last["line"])
        failure = outcome.failure or failure if outcome else failure
        told = guidance_for(failure, last["code"], {one.table.name: one.profile for one in tables})
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


def _run(context: Context, question: str, code: str) -> Outcome:
    """Raises SandboxError where no sandbox works here."""
    if context.sandbox is None:
        raise SandboxError("generated code cannot be run here", hint="see docs/sandbox.md")
    desk, chosen = desk_of(context), context.settings.sandbox
    supplied = [
        Supplied(table.name, desk.file(table.id)) for table in meant(desk.tables(), question)
    ]
    # A job that nobody waits for any more is not left running.
    left = context.ledger.remaining_seconds()
    seconds = chosen.seconds if left is None else max(_SHORTEST_JOB, min(chosen.seconds, left))
    limits = limits_for(seconds=seconds, megabytes=chosen.memory)
    return context.sandbox().run(code, supplied, limits=limits)


# The code in what a model replied.

_LONGEST = 200_000
_KEYS: Final = ("code", "python", "python_code", "script", "program")
_FENCE = re.compile(
    r"^[ \t>]*(?P<mark>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>\w*)[^\n]*\n"
    r"(?P<code>.*?)(?:(?P=mark)[ \t]*$|(?=^[ \t>]*(?P=mark))|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PYTHON: Final = frozenset({"python", "py", "python3", "py3", "ipython", "jupyter", "tool_code"})
_TAGGED = re.compile(
    r"<(?P<tag>code|python|execute|script)>(?P<code>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL
)
_CODE_LINE = re.compile(
    r"^(?:import\s+[\w.]|from\s+[\w.]+\s+import\b|def\s+\w+\s*\(|class\s+\w+\s*[(:]"
    r"|(?:for|while|if|with|try|elif|else|except|finally)\b[^.!?]*:\s*(?:#.*)?$"
    r"|[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:\s*,\s*[A-Za-z_]\w*)*\s*(?:[-+*/|&]|//|\*\*)?=(?!=)\s*\S"
    r"|[A-Za-z_][\w.]*\(.*|@\w|%\w|!\w)"
)
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)
_NOT_PYTHON: Final = {
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u2212\u2013"), "-"),
    **dict.fromkeys(map(ord, "\u00a0\u202f\u2007\u3000"), " "),
    **dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u2060")),
}


def code_of(reply: str) -> str:
    """Empty where there is none."""
    reply = without_thoughts(reply[:_LONGEST]).replace("\r\n", "\n").replace("\r", "\n")
    if reply.strip().lstrip("`~").removeprefix("json").lstrip().startswith("{"):
        for found in objects(reply):
            for key in _KEYS:
                if isinstance(code := found.get(key), str):
                    return code_of(code) if "```" in code else _tidied(code)
    if blocks := [(one["language"].lower(), one["code"]) for one in _FENCE.finditer(reply)]:
        return _joined(_pythonic(blocks))
    if tagged := [found["code"] for found in _TAGGED.finditer(reply)]:
        return _joined(tagged)
    return _unfenced(reply)


def _pythonic(blocks: Sequence[tuple[str, str]]) -> list[str]:
    """Those said to be Python; else those that are, whatever they are called."""

    def acting(texts: Sequence[str]) -> list[str]:
        return [text for text in texts if does_something(_tidied(text))]

    named = [text for language, text in blocks if language in _PYTHON]
    if acting(named):
        return named
    bare = [text for language, text in blocks if not language]
    return acting(bare) or named or bare[:1] or acting([text for _, text in blocks])


def _joined(texts: Sequence[str]) -> str:
    """In order; what is shown again is taken once, in its longest form."""

    def holds(longer: str, shorter: str) -> bool:
        """Whether all statements of one stand in the other, in their order."""
        lines = iter(line.strip() for line in longer.split("\n"))
        wanted = (line.strip() for line in shorter.split("\n"))
        return all(line in lines for line in wanted if line and not line.startswith("#"))

    found: list[str] = []
    for code in map(_tidied, texts):
        if code and not any(holds(other, code) for other in found):
            found = [*(other for other in found if not holds(code, other)), code]
    return "\n\n".join(found)


def _unfenced(reply: str) -> str:
    """From the first line that looks like code to the first end after the last such line that
    makes it Python."""
    whole = _tidied(reply)
    if is_python(whole):
        return whole if does_something(whole) else ""
    lines = reply.strip("\n").split("\n")
    code = [at for at, line in enumerate(lines) if _CODE_LINE.match(line.strip())]
    if not code:
        return ""
    first, last = code[0], code[-1] + 1
    ends = (_tidied("\n".join(lines[first:end])) for end in range(last, len(lines) + 1))
    return next(filter(is_python, ends), _tidied("\n".join(lines[first:last])))


def _tidied(code: str) -> str:
    """The same code as plain Python, as far as that can be told: without a notebook's magics,
    typographic quotes and invisible characters."""
    code = textwrap.dedent(code.expandtabs(4) if "\t" in code else code).strip("\n").rstrip()
    if is_python(code):
        return code
    without_magics = _MAGIC.sub(lambda found: found[1] and f"{found[1]}pass", code).strip("\n")
    plain = without_magics.translate(_NOT_PYTHON)
    return plain if is_python(plain) else without_magics


# What a model is told of code that failed: the line, why, and the columns involved as they are.

_LONGEST_MESSAGE = 400
_LONGEST_VALUE = 40
_MOST_COLUMNS = 6
_SAMPLES = 4
_QUOTED = re.compile(r"""["']([^"'\n]{1,120})["']""")
_DATES = re.compile(
    r"time data|does not match format|unknown string format|out of bounds|to_datetime|"
    r"strptime|month must be|day is out of range|datetime|Timestamp|\.dt accessor",
    re.IGNORECASE,
)
_ADVICE: Final[dict[str, str]] = {
    "NameError": "Only `tables`, `datasets`, `df` (where there is one table), pd, np, px, go, "
    "make_subplots, plt, scipy, sklearn and statsmodels are bound; define the rest.",
    "ModuleNotFoundError": "It is not installed. Use pandas, numpy, scipy, sklearn, statsmodels, "
    "plotly or matplotlib.",
    "FileNotFoundError": "There are no files. The data is in the supplied frames.",
    "PermissionError": "There are no files. The data is in the supplied frames.",
    "TimeoutError": "It took too long: use whole columns instead of loops over rows.",
    "MemoryError": "It took too much memory: select the columns that you need first.",
    "ZeroDivisionError": "Look whether anything is left before you divide.",
    "IndexError": "The selection is empty or shorter than expected: look at its length first.",
    "AttributeError": "Look at what type the value has at that point.",
}


def guidance_for(failure: Failure, code: str, profiles: Mapping[str, TableProfile]) -> str:
    """`profiles`: by the names under which the code knows the tables."""
    lines, line = code.splitlines(), failure.code or ""
    if failure.line is not None and 0 < failure.line <= len(lines):
        line = lines[failure.line - 1]
    line = line.strip()[:_LONGEST_MESSAGE]
    said = harmless_text(failure.message)[:_LONGEST_MESSAGE]
    where = f"Line {failure.line}: `{line}`\n" if line else ""
    parts = [f"{where}{failure.kind}: {said}"]
    parts += [one for one in (_column_meant(failure, profiles), _ADVICE.get(failure.kind)) if one]
    # The columns that the line names; where it names none, those of the code.
    named = list(_named_in(f"{line}\n{failure.message}", profiles))
    if not named and failure.kind not in _ADVICE:
        named = list(_named_in(code, profiles))
    dates = _DATES.search(failure.message) is not None
    shown = [_described(table, column, dates=dates) for table, column in named[:_MOST_COLUMNS]]
    return "\n".join([*parts, *(["Columns involved:", *shown] if shown else [])])


def _column_meant(failure: Failure, profiles: Mapping[str, TableProfile]) -> str | None:
    """The nearest names to one that is not there."""
    if failure.kind not in {"KeyError", "UndefinedVariableError"}:
        return None
    known = [one.name for profile in profiles.values() for one in profile.columns]
    names = _QUOTED.findall(failure.message) or [failure.message.strip()]
    lacking = [name for name in names if name not in known and not is_order(name)]
    if not lacking:
        return None
    near = nearest(lacking[0], known)
    told = f"the nearest are {listed(near)}" if near else f"there are {listed(known[:12])}"
    return f"No table has a column {lacking[0][:_LONGEST_VALUE]!r}; {told}."


def _named_in(
    text: str, profiles: Mapping[str, TableProfile]
) -> Iterator[tuple[str, ColumnProfile]]:
    named = {*_QUOTED.findall(text), *re.findall(r"\.([A-Za-z_]\w*)\b(?!\s*\()", text)}
    for table, profile in profiles.items():
        for column in profile.columns:
            if column.name in named and not is_order(column.name):
                yield table, column


def _described(table: str, column: ColumnProfile, *, dates: bool) -> str:
    def short(value: object) -> str:
        return repr(value[:_LONGEST_VALUE]) if isinstance(value, str) else str(value)

    about = [column.type, f"{column.rows:,} rows"]
    about += [f"{column.missing:,} missing"] if column.missing else []
    about += [f"{column.distinct:,} different"] if column.distinct else []
    limits = [one for one in (column.minimum, column.maximum) if one is not None]
    if len(limits) > 1 and not any(is_order(str(one)) for one in limits):
        about.append(f"from {short(limits[0])} to {short(limits[1])}")
    values = dict.fromkeys([*(one.value for one in column.top), *column.examples])
    if samples := [short(value) for value in values if not is_order(value)][:_SAMPLES]:
        about.append(f"such as {', '.join(samples)}")
    if dates and column.type == "text":
        about.append("texts: use pd.to_datetime(..., format='mixed', errors='coerce')")
    return f"- {table}[{column.name[:_LONGEST_MESSAGE]!r}]: {', '.join(about)}"
