"""Has a model write code for the question, looks at it first, and runs it in the sandbox."""

from __future__ import annotations

import ast
import asyncio
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, ModelUnavailable, SandboxError
from secondlook.models.replies import objects, without_thoughts
from secondlook.nodes.code.guard import check, does_something, is_python, listed, nearest
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.desk import (
    after_remedy,
    asked_tables,
    desk_of,
    fenced,
    harmless_text,
    is_order,
    keep,
    kept,
    meant,
    shared_by,
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
from secondlook.roles.prompts import load
from secondlook.sandbox.port import Failure, Outcome, Supplied, limits_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from secondlook.answer import StopReason
    from secondlook.sandbox.port import Variation
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
        error=harmless_text(f"{failure.kind}: {failure.message}") if failure else None,
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


# The code in what a model replied.

_LONGEST = 200_000
_KEYS: Final = ("code", "python", "python_code", "script", "program")
_FENCE = re.compile(
    r"^[ \t]{0,12}(?:>[ \t]?)?(?P<mark>`{3,}|~{3,})[ \t]*"
    r"\{?\.?(?P<language>[A-Za-z0-9_+#-]{0,20})\}?(?P<rest>[^\n]*)$"
)
_PYTHON: Final = frozenset(
    {"python", "py", "python3", "py3", "ipython", "ipython3", "jupyter", "pycon", "tool_code"}
)
_TITLE = re.compile(r"(?:title|file|filename|name|id|label|caption|linenums|highlight)\s*=")
_TAGGED = re.compile(
    r"<(?P<tag>code|python|execute|script)>(?P<code>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL
)
_CODE_LINE = re.compile(
    r"^(?:import\s+[\w.]|from\s+[\w.]+\s+import\b|def\s+\w+\s*\(|class\s+\w+\s*[(:]"
    r"|(?:for|while|if|with|try|elif|else|except|finally)\b[^.!?]*:\s*(?:#.*)?$"
    r"|[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:\s*,\s*[A-Za-z_]\w*)*\s*(?:[-+*/|&]|//|\*\*)?=(?!=)\s*\S"
    r"|[A-Za-z_][\w.]*\(.*|@\w|>>>|%\w|!\w)"
)
_CLOSING_LINES = 40
"""Lines after what looks like code that may still close its brackets."""
_PROSE_WORDS = 3
_PROSE = re.compile(r"^(?:[-*\u2022]|\d+[.)])?\s*(?:\*\*)?[A-Za-z][\w'\u2019-]*(?:[ ,:][^=(\[]*)?")


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    text: str


def code_of(reply: str) -> str:
    """Empty where there is none."""
    reply = without_thoughts(reply[:_LONGEST])
    if (given := _in_json(reply)) is not None:
        return given
    blocks = list(_fenced(reply))
    if blocks:
        return _joined(_pythonic(blocks))
    if tagged := [found["code"] for found in _TAGGED.finditer(reply)]:
        return _joined(tagged)
    return _unfenced(reply)


def _in_json(reply: str) -> str | None:
    """The code of `{"code": "..."}`, also in a fence of its own."""
    begun = reply.strip().lstrip("`~").removeprefix("json").lstrip()
    if not begun.startswith("{"):
        return None
    for found in objects(reply):
        for key in _KEYS:
            if isinstance(code := found.get(key), str):
                return code_of(code) if "```" in code else tidied(code)
    return None


def _fenced(reply: str) -> Iterator[_Block]:
    """Every fenced block; the last may lack its end, and so may one before another opens."""
    inside: re.Match[str] | None = None
    lines: list[str] = []
    for line in reply.replace("\r\n", "\n").split("\n"):
        mark = _FENCE.match(line)
        if inside is not None and _closes(line, inside["mark"]):
            before = line.rstrip().removesuffix(inside["mark"])
            yield _Block(inside["language"].lower(), "\n".join([*lines, before]))
            inside = None
        elif mark is not None and (inside is None or mark["mark"] == inside["mark"]):
            if inside is not None:
                yield _Block(inside["language"].lower(), "\n".join(lines))
            whole = _on_one_line(mark)
            if whole is not None:
                yield _Block(mark["language"].lower(), whole)
            inside, lines = (mark, _opened(mark)) if whole is None else (None, [])
        elif inside is not None:
            lines.append(line)
    if inside is not None:
        yield _Block(inside["language"].lower(), "\n".join(lines))


def _opened(mark: re.Match[str]) -> list[str]:
    """Code that begins on the line of the fence; a title after the language is none."""
    rest = mark["rest"].strip()
    return [rest] if _CODE_LINE.match(rest) and not _TITLE.match(rest) else []


def _on_one_line(mark: re.Match[str]) -> str | None:
    rest = mark["rest"].rstrip()
    return rest.removesuffix(mark["mark"]) if rest.endswith(mark["mark"]) else None


def _closes(line: str, mark: str) -> bool:
    bare = line.strip().removeprefix(">").strip()
    return (bare.startswith(mark) and not bare.strip(mark[0])) or (
        line.rstrip().endswith(mark) and not bare.startswith(mark)
    )


def _pythonic(blocks: Sequence[_Block]) -> list[str]:
    """Those said to be Python; else those that are, whatever they are called."""
    named = [block.text for block in blocks if block.language in _PYTHON]
    if any(does_something(tidied(text)) for text in named):
        return named
    bare = [block.text for block in blocks if not block.language]
    meant = [text for text in bare if does_something(tidied(text))]
    return meant or named or bare[:1] or _misnamed(blocks)


def _misnamed(blocks: Sequence[_Block]) -> list[str]:
    """Code under another language's name, where it is Python all the same."""
    return [block.text for block in blocks if does_something(tidied(block.text))]


def _joined(texts: Sequence[str]) -> str:
    """In order; what is shown again is taken once, in its longest form."""
    kept: list[str] = []
    for code in map(tidied, texts):
        if not code or any(_holds(other, code) for other in kept):
            continue
        kept = [other for other in kept if not _holds(code, other)] + [code]
    return "\n\n".join(kept)


def _holds(longer: str, shorter: str) -> bool:
    """Whether all statements of one stand in the other, in their order."""
    at = 0
    wanted = _statements(shorter)
    for line in _statements(longer):
        at += at < len(wanted) and line == wanted[at]
    return at == len(wanted)


def _statements(code: str) -> list[str]:
    stripped = (line.strip() for line in code.split("\n"))
    return [line for line in stripped if line and not line.startswith("#")]


def _unfenced(reply: str) -> str:
    whole = tidied(reply)
    if is_python(whole):
        return whole if does_something(whole) else ""
    lines = reply.replace("\r\n", "\n").strip("\n").split("\n")
    code = [at for at, line in enumerate(lines) if _CODE_LINE.match(line.strip())]
    if not code:
        return ""
    return _between(lines[code[0] :], code[-1] - code[0])


def _between(lines: Sequence[str], last: int) -> str:
    """From the first line of code on: to the first end after the last one that makes it Python."""
    for end in range(last + 1, min(len(lines), last + _CLOSING_LINES) + 1):
        if is_python(whole := tidied("\n".join(lines[:end]))):
            return whole
    without_prose = [line for line in lines[: last + 1] if not _is_prose(line)]
    return tidied("\n".join(without_prose))


def _is_prose(line: str) -> bool:
    """A sentence at the margin, not code and not a comment."""
    if line[:1].isspace() or _CODE_LINE.match(line) or line.startswith("#"):
        return False
    return len(line.split()) >= _PROSE_WORDS and _PROSE.fullmatch(line.strip()) is not None


# What notebooks and chats add to Python, taken off again.

_PROMPT = re.compile(r"^\s*(?:>>> ?|In \[\d*\]: ?)")
_CONTINUED = re.compile(r"^\s*(?:\.\.\.:? ?)")
_TIMED = re.compile(r"^(\s*)%(?:time|prun)\s+(?=\S)")
"""Magics that run the rest of their line."""
_MAGIC = re.compile(r"^(\s*)(?:%%?\w|!|\?\??\w|\w+(?:\s*,\s*\w+)*\s*=\s*[!%]\s*\w)")
_HELP = re.compile(r"^(\s*)[\w.]+\?{1,2}\s*$")
_INVISIBLE: Final = {ord(mark): " " for mark in "\u00a0\u202f\u2007\u3000"} | {
    ord(mark): None for mark in "\ufeff\u200b\u200c\u200d\u2060"
}
_TYPOGRAPHIC: Final = {
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    ord("\u2212"): "-",
    ord("\u2013"): "-",
}


def tidied(code: str) -> str:
    """The same code as plain Python, as far as that can be told."""
    code = _dedented(_without_prompts(code.replace("\r\n", "\n").replace("\r", "\n")))
    if not is_python(code):
        code = _first_python(code)
    return code.strip("\n").rstrip()


def _first_python(code: str) -> str:
    """With as few changes as make it Python; as it is where none do."""
    plain = code.translate(_INVISIBLE)
    without_magics = _without_magics(plain)
    for tried in (plain, without_magics, without_magics.translate(_TYPOGRAPHIC)):
        if is_python(tried):
            return tried
    return without_magics


def _dedented(code: str) -> str:
    return textwrap.dedent(code.expandtabs(4) if "\t" in code else code)


def _without_prompts(code: str) -> str:
    """The lines that were typed, where a session is shown; what it printed is left out."""
    lines = code.split("\n")
    if not any(_PROMPT.match(line) for line in lines):
        return code
    typed: list[str] = []
    typing = False
    for line in lines:
        mark = _PROMPT.match(line) or (_CONTINUED.match(line) if typing else None)
        typing = mark is not None
        if mark:
            typed.append(line[mark.end() :])
    return "\n".join(typed)


def _without_magics(code: str) -> str:
    return "\n".join(map(_without_magic, code.split("\n")))


def _without_magic(line: str) -> str:
    if timed := _TIMED.match(line):
        return timed[1] + line[timed.end() :]
    if magic := _MAGIC.match(line) or _HELP.match(line):
        return f"{magic[1]}pass" if magic[1] else ""  # a block must not become empty
    return line


# Names of columns that code writes almost right are put right: a model drops the blank at the
# end of a header, or its capitals, and nobody else is meant.


def with_real_names(code: str, tables: Mapping[str, Collection[str]]) -> str:
    """The code, with every text that differs from one column's name by capitals, blanks and signs
    alone as that name. What the code itself creates keeps its name."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    real = {name for names in tables.values() for name in names}
    meant = _by_plain_name(real)
    created = set(_created(tree))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value not in real
        and node.value not in created
        and _plain(node.value) in meant
    ]
    return _replaced(code, found, meant)


def _by_plain_name(real: Collection[str]) -> dict[str, str]:
    """Those that no other column is like."""
    plain = [_plain(name) for name in real]
    return {_plain(name): name for name in real if plain.count(_plain(name)) == 1 and _plain(name)}


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _created(tree: ast.AST) -> Iterator[str]:
    """Names of columns that are assigned to, and keys of what is built."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from _texts(node.slice)
        elif isinstance(node, ast.Dict):
            yield from (text for key in node.keys if key is not None for text in _texts(key))


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _replaced(code: str, found: list[ast.Constant], meant: Mapping[str, str]) -> str:
    """From the end, so that places stay right. Columns count bytes of a line."""
    lines = [line.encode() for line in code.splitlines(keepends=True)]
    for node in sorted(found, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            continue  # a text over several lines names no column
        line = lines[node.lineno - 1]
        name = repr(meant[_plain(str(node.value))]).encode()
        lines[node.lineno - 1] = line[: node.col_offset] + name + line[node.end_col_offset :]
    return b"".join(lines).decode()


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
    line = _line(failure, code)
    said = harmless_text(failure.message)[:_LONGEST_MESSAGE]
    where = f"Line {failure.line}: `{line}`\n" if line else ""
    parts = [f"{where}{failure.kind}: {said}"]
    parts += [one for one in (_column_meant(failure, profiles), _ADVICE.get(failure.kind)) if one]
    parts += _columns(failure, line, code, profiles)
    return "\n".join(parts)


def _line(failure: Failure, code: str) -> str:
    lines = code.splitlines()
    if failure.line is not None and 0 < failure.line <= len(lines):
        return lines[failure.line - 1].strip()[:_LONGEST_MESSAGE]
    return (failure.code or "").strip()[:_LONGEST_MESSAGE]


def _column_meant(failure: Failure, profiles: Mapping[str, TableProfile]) -> str | None:
    """The nearest names to one that is not there."""
    if failure.kind not in {"KeyError", "UndefinedVariableError"}:
        return None
    known = [
        column.name
        for profile in profiles.values()
        for column in profile.columns
        if not is_order(column.name)
    ]
    names = _QUOTED.findall(failure.message) or [failure.message.strip()]
    lacking = [name for name in names if name not in known and not is_order(name)]
    if not lacking:
        return None
    near = nearest(lacking[0], known)
    told = f"the nearest are {listed(near)}" if near else f"there are {listed(known[:12])}"
    return f"No table has a column {lacking[0][:_LONGEST_VALUE]!r}; {told}."


def _columns(
    failure: Failure, line: str, code: str, profiles: Mapping[str, TableProfile]
) -> list[str]:
    """The columns that the line names; where it names none, those of the code."""
    about_dates = _DATES.search(failure.message) is not None
    named = list(_named_in(f"{line}\n{failure.message}", profiles))
    if not named and failure.kind not in _ADVICE:
        named = list(_named_in(code, profiles))
    shown = [_described(table, column, dates=about_dates) for table, column in named]
    return ["Columns involved:", *shown[:_MOST_COLUMNS]] if shown else []


def _named_in(
    text: str, profiles: Mapping[str, TableProfile]
) -> Iterator[tuple[str, ColumnProfile]]:
    quoted = set(_QUOTED.findall(text))
    attributes = set(re.findall(r"\.([A-Za-z_]\w*)\b(?!\s*\()", text))
    for name, profile in profiles.items():
        for column in profile.columns:
            named = column.name in quoted or column.name in attributes
            if named and not is_order(column.name):
                yield name, column


def _described(table: str, column: ColumnProfile, *, dates: bool) -> str:
    about = [column.type, f"{column.rows:,} rows"]
    about += [f"{column.missing:,} missing"] if column.missing else []
    about += [f"{column.distinct:,} different"] if column.distinct else []
    limits = [one for one in (column.minimum, column.maximum) if one is not None]
    if len(limits) > 1 and not any(is_order(str(one)) for one in limits):
        about.append(f"from {_short(limits[0])} to {_short(limits[1])}")
    if samples := _samples(column):
        about.append(f"such as {samples}")
    if dates and column.type == "text":
        about.append("texts: use pd.to_datetime(..., format='mixed', errors='coerce')")
    return f"- {table}[{column.name[:_LONGEST_MESSAGE]!r}]: {', '.join(about)}"


def _samples(column: ColumnProfile) -> str:
    values = [*(one.value for one in column.top), *column.examples]
    fine = [value for value in dict.fromkeys(values) if not is_order(value)]
    return ", ".join(map(_short, fine[:_SAMPLES]))


def _short(value: object) -> str:
    return repr(value[:_LONGEST_VALUE]) if isinstance(value, str) else str(value)
