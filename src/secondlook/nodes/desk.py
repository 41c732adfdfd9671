"""The tables that a question is asked over: laid out, looked at, and shown to models."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import TableError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import (
    Analysed,
    LookedAt,
    Question,
    RequirementsData,
    ResolvedData,
    Trace,
    step,
    trouble,
)
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.screen import stops
from secondlook.sandbox.port import outcome_from
from secondlook.tables.profile_text import profile_text
from secondlook.tables.resolver import AskedTable, Resolver
from secondlook.tables.table import NUMERIC
from secondlook.tables.words import stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.models.chat import Reply
    from secondlook.nodes.context import Desk
    from secondlook.nodes.state import AttemptData
    from secondlook.sandbox.port import Outcome, Plain
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

RULES = "rules"
PROFILE_TOKENS = 700  # How long the profile shown to a model may be
_NAMED = 5


class LaidOut(Analysed, Trace):
    pass


async def lay_out(state: Question, runtime: Runtime[Context]) -> LaidOut:
    """Begins the analysis."""
    tables = tables_of(runtime.context)
    names = ", ".join(table.name for table in tables[:_NAMED])
    more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
    said = f"Tables at hand: {names}{more}." if tables else "There are no tables."
    told = step("lay_out", said, tables=len(tables), rows=sum(table.rows for table in tables))
    return {
        "question": state["question"],
        "scope": state["scope"],
        "work": "data",
        "understood_by": "nobody",
        "requirements": None,
        "resolved": [],
        "unresolved": [],
        "query": None,
        "reading": "",
        "doubt": 1.0,
        "looked": [],
        "gaps": [],
        "alignments": 0,
        "attempts": [],
        "tries": 0,
        "checks": [],
        "issues": [],
        "remedies": [],
        "steps": [told],
        "warnings": [],
    }


class Looked(LookedAt, Trace):
    pass


async def look(state: Analysed, runtime: Runtime[Context]) -> Looked:
    """Computes what the profile does not hold, of columns that a gap or a remedy names."""
    gaps = {gap["variable"] for gap in state["gaps"] if gap["kind"] == "data"}
    wanted = bool(state["remedies"]) and state["remedies"][-1]["action"] == "reexamine_data"
    columns = list(
        dict.fromkeys(
            (one["table"], one["column"])
            for one in state["resolved"]
            if not gaps or one["asked"] in gaps or one["column"] in gaps
        )
    )
    if not (wanted or gaps) or not columns:
        told = step("profile", "The profile holds what is needed so far.", columns=len(columns))
        return {"looked": state["looked"], "steps": [told], "warnings": []}

    desk = desk_of(runtime.context)
    found: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    try:
        for table in dict.fromkeys(table for table, _ in columns):
            names = [column for owner, column in columns if owner == table]
            examined = await asyncio.to_thread(desk.examine, table, names)
            found += [one.model_dump(mode="json") for one in examined]
    except TableError as error:
        found, warnings = [], [trouble("profile", error, "nothing more was found out")]
    new = [one for one in found if one not in state["looked"]]
    named = ", ".join(column for _, column in columns)
    said = f"Looked closer at {named}." if new else "There is nothing more to find out."
    told = step("profile", said, columns=len(columns), found=len(new))
    return {"looked": [*state["looked"], *new], "steps": [told], "warnings": warnings}


# The tables at hand, as steps of an analysis ask for them.

_LABEL = re.compile(
    r"(?:^|[_\W])(?:id|nr|no|number|code|zip|year|unnamed)(?:$|[_\W])", re.IGNORECASE
)
_NEARLY = 1.5
MOST_TABLES = 6  # Tables that one question is asked over, and that a model is shown


def tables_of(context: Context) -> tuple[Table, ...]:
    return () if context.desk is None else context.desk.tables()


def desk_of(context: Context) -> Desk:
    if context.desk is None:
        raise TableError("there are no tables", hint="secondlook add sales.csv adds one")
    return context.desk


async def asked_tables(context: Context, question: str) -> tuple[AskedTable, ...]:
    """The tables that a question may mean, with their profiles. Raises TableError."""
    desk = context.desk
    if desk is None:
        return ()

    def asked() -> tuple[AskedTable, ...]:
        return tuple(
            AskedTable(
                table, desk.profile(table.id), partial(desk.values, table.id), compute=desk.compute
            )
            for table in meant(desk, question)
        )

    return await asyncio.to_thread(asked)


def meant(desk: Desk, question: str) -> tuple[Table, ...]:
    """All of a few; of many those whose names, columns and cells share most with the question."""

    def shared(table: Table) -> int:
        cells: list[str] = []
        with suppress(TableError):  # whoever asks that table is told
            columns = desk.profile(table.id).columns
            cells = [one.value for column in columns for one in column.top]
        names = [table.name, table.title, *(column.name for column in table.columns)]
        return 2 * len(asked & stems(*names)) + len(asked & stems(*cells))

    tables = desk.tables()
    if len(tables) <= MOST_TABLES:
        return tuple(tables)
    asked = stems(question)
    best = sorted(tables, key=lambda table: -shared(table))[:MOST_TABLES]
    return tuple(table for table in tables if table in best)


def measures(tables: Sequence[AskedTable]) -> list[str]:
    """Columns of numbers that are worth a mean: no keys and no labels."""

    def is_label(column: ColumnProfile) -> bool:
        """By its name, or because it counts the rows."""
        low, high = column.minimum, column.maximum
        counts = column.key and isinstance(low, int) and isinstance(high, int)
        return _LABEL.search(column.name) is not None or (
            counts and int(high or 0) - int(low or 0) < _NEARLY * column.rows
        )

    return [
        column.name
        for one in tables
        for column in one.profile.columns
        if column.type in NUMERIC and not is_label(column)
    ]


def resolver(context: Context, tables: Sequence[AskedTable]) -> Resolver:
    """Where there is no embedder, or it fails, names are compared by their letters alone."""

    def embedded(texts: Sequence[str]) -> list[list[float]]:
        try:
            return context.shelf.vectors(texts)
        except Exception:  # noqa: BLE001 - the letters must do
            return []

    return Resolver(tables, embed=embedded)


# What a model is asked about an analysis, and the tables as it is shown them.


async def ask(
    context: Context,
    name: str,
    node: str,
    state: Mapping[str, Any],
    form: Any = None,
    *,
    final: bool = False,
    temperature: float | None = None,
    **holes: str,
) -> Reply[Any]:
    """The reply to the prompt `analyst_<name>`. Every such prompt begins with the tables, byte for
    byte the same for the same tables in any run, then the question, so that it can be cached."""
    prompt = load(f"analyst_{name}")
    question, shown = state["question"], ""
    # What our own code computed needs no look at the tables, which would take long to read.
    if state.get("query") is None and (tables := await asked_tables(context, question)):
        joins = await asyncio.to_thread(desk_of(context).joins, [one.table.id for one in tables])
        harmless = [_harmless_table(one.table, one.profile) for one in tables]
        text = profile_text(harmless, question=question, budget=PROFILE_TOKENS, joins=joins)
        shown = evidence_marks(context.run).enclose(text)
    looked = [
        f"- {one['column']}: {sentence}"
        for one in state.get("looked", ())
        for sentence in one["said"]
        if not is_order(sentence)
    ]
    filled = {
        "tables": shown,
        "question": " ".join(question.split()),
        "requirements": _requirements(state.get("requirements"), state.get("resolved", ())),
        "looked": "\n".join(["\nA closer look at the data:", *looked]) if looked else "",
    }
    filled = {hole: value for hole, value in filled.items() if hole in prompt.holes}
    reply: Reply[Any] = await context.models.ask(
        prompt.role,
        prompt.render(**filled, **holes),
        form,
        node=node,
        max_tokens=prompt.max_tokens,
        temperature=temperature,
        final=final,
    )
    return reply


def _requirements(data: RequirementsData | None, resolved: Sequence[ResolvedData]) -> str:
    """What a model formulated, and columns that the question calls otherwise."""
    named = {one["asked"]: one["column"] for one in resolved if one["asked"] != one["column"]}
    shown: dict[str, Any] = {"columns": named} if named else {}
    if data is not None and data["by"] != RULES:
        hidden = {"by", "wanted"}
        shown |= {key: value for key, value in data.items() if value and key not in hidden}
    if not shown:
        return ""
    return f"\nRequirements: {json.dumps(shown, sort_keys=True, ensure_ascii=False)}"


def _harmless_table(table: Table, profile: TableProfile) -> tuple[Table, TableProfile]:
    """Without names and values that give a model orders: a column so named is shown by its place,
    which is how code can still reach it."""

    def fine(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(one for one in texts if not is_order(one))

    columns = []
    for at, column in enumerate(profile.columns):
        shown = {
            "name": f"df.columns[{at}]" if is_order(column.name) else column.name,
            "top": tuple(one for one in column.top if not is_order(one.value)),
            "examples": fine(column.examples),
            "minimum": None if is_order(str(column.minimum)) else column.minimum,
            "maximum": None if is_order(str(column.maximum)) else column.maximum,
            "warnings": fine(column.warnings),
        }
        columns.append(column.model_copy(update=shown))
    title = WITHHELD if is_order(table.title) else table.title
    return (
        table.model_copy(update={"title": title, "path": None}),
        profile.model_copy(update={"columns": tuple(columns), "warnings": fine(profile.warnings)}),
    )


# Names and values that give a model orders are withheld from it.

WITHHELD = "(withheld: reads like an order to a model)"
_QUOTED = re.compile(r"""(["'`])(?P<inner>.{4,2000}?)\1""")
_LONGEST = 4_000
_WORDS_BEFORE = 12  # Behind so many words of a quoted name an order is still looked for


def is_order(text: str) -> bool:
    """Whether a name, a cell or what an error quotes of them is kept from a model."""
    return stops(text, channel="table")


def harmless_text(message: str) -> str:
    """On one line, without what in it reads like an order: quoted, after a colon, or all of it."""

    def holds_order(name: str) -> bool:
        """Names are joined to others, "mean age" and a column's: then the order is not first."""
        words = name.replace("_", " ").split()
        return any(is_order(" ".join(words[at:])) for at in range(min(len(words), _WORDS_BEFORE)))

    line = " ".join(message[:_LONGEST].split())
    line = _QUOTED.sub(lambda found: WITHHELD if holds_order(found["inner"]) else found[0], line)
    head, colon, rest = line.partition(": ")
    if colon and is_order(rest):
        line = f"{head}: {WITHHELD}"
    return WITHHELD if is_order(line) else line


# A result as text: for prompts, for sentences and for the short form.

_LONGEST_RESULT = 1500
_ROWS = 10
_SMALL = 1e-3
_WHOLE = 1e15


def result_shown(outcome: Outcome) -> str:
    """For a model: JSON, or the first rows of a frame, without cells that give it orders."""
    text, frame = "", outcome.frame
    if frame is not None:
        rows = [frame.columns, *(map(value_shown, row) for row in frame.rows[:_ROWS])]
        lines = [", ".join(WITHHELD if is_order(cell) else cell for cell in row) for row in rows]
        more = [f"... {frame.total_rows} rows"] if frame.total_rows > _ROWS else []
        text = "\n".join([*lines, *more])[:_LONGEST_RESULT]
    if text and not outcome.has_result:
        return text
    plain = json.dumps(_without_orders(outcome.result), ensure_ascii=False, default=str)
    parts = [plain[:_LONGEST_RESULT], text]
    return "\n".join(part for part in parts if part and part != "null") or "null"


def _without_orders(value: Plain) -> Plain:
    if isinstance(value, dict):
        return {str(_without_orders(name)): _without_orders(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_orders(one) for one in value]
    if isinstance(value, float) and math.isfinite(value):  # not "an age of 42.333333333333336"
        return float(value_shown(value))
    return WITHHELD if isinstance(value, str) and is_order(value) else value


def value_shown(value: Plain) -> str:  # noqa: PLR0911 - one line a kind
    """As a person reads it. Numbers keep four decimals, small ones four digits."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value):
        if value.is_integer() and abs(value) < _WHOLE:
            return str(int(value))
        small = abs(value) < _SMALL
        return f"{value:.4g}" if small else f"{value:.4f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(map(value_shown, value))
    if isinstance(value, dict):
        return "; ".join(f"{name}: {value_shown(one)}" for name, one in value.items())
    return str(value)


# Outcomes of code, kept with the run: the state only names them.


def keep(context: Context, code: str, outcome: Outcome) -> str:
    """The name under which it is found again. Equal code has one outcome in a run."""
    name = f"outcome-{hashlib.sha256(code.encode()).hexdigest()[:16]}"
    if context.kept is not None:
        context.kept.put(name, json.dumps(asdict(outcome)))
    return name


def kept(context: Context, name: str | None) -> Outcome | None:
    """None where nothing was kept under that name."""
    text = context.kept.get(name) if context.kept is not None and name else None
    return None if text is None else outcome_from(json.loads(text))


def last_outcome(context: Context, attempts: Sequence[AttemptData]) -> Outcome | None:
    return kept(context, attempts[-1]["kept"]) if attempts else None


_LONGEST_CODE = 3000


def after_remedy(state: Analysed) -> str:
    """For the next try: the failed code, what was wrong and what to do; empty before a remedy."""
    if not state["remedies"]:
        return ""
    last = state["remedies"][-1]
    lines = ["", "", "An earlier try could not stand."]
    if state["attempts"]:
        lines += ["Its code:", fenced(state["attempts"][-1]["code"])]
    lines += ["What was wrong:", *(f"- {issue}" for issue in state["issues"])]
    lines += [f"Cause: {last['cause']}", f"Do this: {last['guidance']}"]
    return "\n".join(lines)


def fenced(code: str) -> str:
    return f"```python\n{code[:_LONGEST_CODE]}\n```"
