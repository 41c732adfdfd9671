"""Lays the tables out that a question may be asked over, and begins the analysis."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import ModelError, TableError
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import (
    Alignment,
    Analysed,
    LookedAt,
    Question,
    Remedies,
    Required,
    RequirementsData,
    ResolvedData,
    Trace,
    step,
    trouble,
)
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.screen import stops
from secondlook.sandbox.port import outcome_from
from secondlook.tables.profile_text import profile_text
from secondlook.tables.resolver import MOST_VALUES, AskedTable, Resolver
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.nodes.context import Desk
    from secondlook.nodes.state import AttemptData, RemedyData
    from secondlook.sandbox.port import Frame, Outcome, Plain
    from secondlook.tables.resolver import Embed, Resolved
    from secondlook.tables.table import ColumnProfile, Table, TableProfile
    from secondlook.tables.understand.readings import Wanted
PROFILE_TOKENS = 700
"""How long the profile shown to a model may be."""


_NAMED = 5


class LaidOut(Analysed, Trace):
    pass


async def lay_out(state: Question, runtime: Runtime[Context]) -> LaidOut:
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


# Looks at the columns that a question needs. The profile is computed when a table is added; a
# second look computes what it does not hold, for the columns that a gap or a remedy names.


class ToLook(Required, LookedAt, Alignment, Remedies):
    pass


class Looked(LookedAt, Trace):
    pass


async def look(state: ToLook, runtime: Runtime[Context]) -> Looked:
    columns = _columns(state)
    if not _is_again(state) or not columns:
        told = step("profile", "The profile holds what is needed so far.", columns=len(columns))
        return {"looked": state["looked"], "steps": [told], "warnings": []}
    warnings: list[dict[str, Any]] = []
    try:
        found = await asyncio.to_thread(_examined, runtime.context, columns)
    except TableError as error:
        found, warnings = [], [trouble("profile", error, "nothing more was found out")]
    new = [one for one in found if one not in state["looked"]]
    said = f"Looked closer at {_named(columns)}." if new else "There is nothing more to find out."
    told = step("profile", said, columns=len(columns), found=len(new))
    return {"looked": [*state["looked"], *new], "steps": [told], "warnings": warnings}


def _is_again(state: ToLook) -> bool:
    wants_data = bool(state["remedies"]) and state["remedies"][-1]["action"] == "reexamine_data"
    return wants_data or any(gap["kind"] == "data" for gap in state["gaps"])


def _columns(state: ToLook) -> list[tuple[str, str]]:
    """Of the gaps, else every one that the question needs: table and column."""
    named = {gap["variable"] for gap in state["gaps"] if gap["kind"] == "data"}
    chosen = [one for one in state["resolved"] if not named or _is_named(one, named)]
    return list(dict.fromkeys((one["table"], one["column"]) for one in chosen))


def _is_named(one: ResolvedData, named: Iterable[str]) -> bool:
    return one["asked"] in named or one["column"] in named


def _examined(context: Context, columns: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    desk = desk_of(context)
    found: list[dict[str, Any]] = []
    for table in dict.fromkeys(table for table, _ in columns):
        names = [column for owner, column in columns if owner == table]
        found += [one.model_dump(mode="json") for one in desk.examine(table, names)]
    return found


def _named(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(column for _, column in columns)


# The tables at hand, as steps of an analysis ask for them.

_LABEL = re.compile(
    r"(?:^|[_\W])(?:id|nr|no|number|code|zip|year|unnamed)(?:$|[_\W])", re.IGNORECASE
)
_NEARLY = 1.5
MOST_TABLES = 6
"""Tables that one question is asked over, and that a model is shown."""


def tables_of(context: Context) -> tuple[Table, ...]:
    return () if context.desk is None else context.desk.tables()


def desk_of(context: Context) -> Desk:
    if context.desk is None:
        raise TableError("there are no tables", hint="secondlook add sales.csv adds one")
    return context.desk


async def asked_tables(context: Context, question: str) -> tuple[AskedTable, ...]:
    """The tables that a question may mean, with their profiles. Raises TableError where one cannot
    be read."""
    if context.desk is None:
        return ()
    desk = context.desk
    chosen = meant(desk.tables(), question)
    return tuple(await asyncio.to_thread(lambda: [_asked(desk, table) for table in chosen]))


def meant(tables: Sequence[Table], question: str) -> tuple[Table, ...]:
    """All of a few; of many those whose names and columns share most words with the question."""
    if len(tables) <= MOST_TABLES:
        return tuple(tables)
    words = _words(question)
    shared = {table.id: len(words & _words(_at_hand_named(table))) for table in tables}
    best = sorted(tables, key=lambda table: -shared[table.id])[:MOST_TABLES]
    return tuple(table for table in tables if table in best)


def _at_hand_named(table: Table) -> str:
    return " ".join([table.name, table.title, *(column.name for column in table.columns)])


def _words(text: str) -> set[str]:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)
    return {word.casefold().rstrip("s") for word in re.findall(r"\w+", apart)}


def _asked(desk: Desk, table: Table) -> AskedTable:
    return AskedTable(
        table, desk.profile(table.id), partial(_values, desk, table.id), compute=desk.compute
    )


def _values(desk: Desk, table: str, column: str) -> Sequence[str]:
    from secondlook.tables.query import Filter, Query

    there = Filter(column=column, comparison="present")
    query = Query(table=table, where=(there,), select=(column,), distinct=True, limit=MOST_VALUES)
    return [str(row[0]) for row in desk.compute(query).rows]


def measures(tables: Sequence[AskedTable]) -> list[str]:
    """Columns of numbers that are worth a mean: no keys and no labels."""
    return [
        column.name
        for one in tables
        for column in one.profile.columns
        if column.type in NUMERIC and not _is_label(column)
    ]


def _is_label(column: ColumnProfile) -> bool:
    """By its name, or because it counts the rows."""
    if _LABEL.search(column.name):
        return True
    low, high = column.minimum, column.maximum
    if not column.key or not isinstance(low, int) or not isinstance(high, int):
        return False
    return high - low < _NEARLY * column.rows


def resolver(context: Context, tables: Sequence[AskedTable]) -> Resolver:
    return Resolver(tables, embed=embedding(context))


def embedding(context: Context) -> Embed:
    """Nothing where there is no embedder: names are then told by their letters alone."""

    def embedded(texts: Sequence[str]) -> list[list[float]]:
        try:
            return context.shelf.vectors(texts)
        except ModelError:
            return []

    return embedded


# What a question over tables needs, told by its words.

RULES = "rules"
SURE = 0.8
"""From this score on a column is taken for what was meant at the first try."""
LIKELY = 0.5
"""The same once it is known that no better one is there."""
_KINDS: tuple[tuple[str, str], ...] = (
    ("correlation", r"correlat\w*|relationship between|association"),
    ("regression", r"regress\w*|predict\w*|linear model|coefficient of determination|r-?squared"),
    ("classification", r"classif\w*|logistic|decision tree|random forest|accuracy"),
    ("test", r"t-?test|anova|chi-?squared?|p-?value|shapiro|kolmogorov|significan\w*|normality"),
    ("distribution", r"distribut\w*|skew\w*|kurtosis|histogram|normally"),
    ("outliers", r"outliers?|z-?scores?|anomal\w*"),
    ("missing", r"missing|null values?|nan\b|empty cells?"),
    ("trend", r"trends?|over time|growth|time series|slope"),
    ("group", r"\b(?:for|per|by) each\b|grouped? by|per (?:year|month|day)|breakdown"),
)
_CHART = re.compile(
    r"\b(?:plot|chart|graph|draw|histogram|scatter|visuali[sz]e|heat ?map)\b", re.IGNORECASE
)
_QUOTED = re.compile(
    r"[\"\u201c'`\u2018]([^\"\u201d'`\u2019\n]{1,60})[\"\u201d'`\u2019]\s+(?:column|variable|field)s?\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\b(?:correlat\w+|relationship|association|difference)\s+(?:coefficient\s+)?between\s+"
    r"(?:the\s+)?(.{2,60}?)\s+and\s+(?:the\s+)?(.{2,60}?)(?=[\s,.;?!]*$|[,.;?!\n]|\s+(?:in|for|of|with)\b)",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"\b(?:average|mean|median|total|sum|maximum|minimum)\s+(?:value\s+)?(?:of\s+)?(?:the\s+)?"
    r"(?!of\b|and\b|number\b|value\b)([^\W\d][\w ]{2,30}?)"
    r"(?=\s+(?:by|for|per|in|of|from|over|where|between|with|and)\b|\s*[?.!,;:\n]|\s*$)",
    re.IGNORECASE,
)
_FEWEST = {"correlation": 3, "regression": 5, "classification": 5, "test": 3, "trend": 2}


@dataclass(frozen=True, slots=True)
class Matched:
    resolved: list[ResolvedData]
    unresolved: list[str]


def required(question: str, wanted: Wanted, variables: Sequence[str]) -> RequirementsData:
    names = list(wanted.names)
    return RequirementsData(
        variables=list(variables),
        constraints=[],
        analysis=kind_of(question),
        success=_success(question, names),
        wanted=names,
        by=RULES,
    )


def kind_of(question: str) -> str:
    lowered = question.casefold()
    for kind, words in _KINDS:
        if re.search(rf"\b(?:{words})", lowered):
            return kind
    return "visualization" if wants_chart(question) else "descriptive"


def wants_chart(question: str) -> bool:
    return _CHART.search(question) is not None


def fewest_rows(kind: str) -> int:
    """Rows below which an analysis of that kind says nothing."""
    return _FEWEST.get(kind, 1)


def _success(question: str, names: Sequence[str]) -> str:
    if names:
        return f"a value for each of: {', '.join(names)}"
    return "a chart of the data" if wants_chart(question) else "the value or values asked for"


def variables_named(question: str) -> list[str]:
    """What the question itself calls a column, or relates to one another."""
    found = [match[1].strip() for match in _QUOTED.finditer(question)]
    for match in _BETWEEN.finditer(question):
        found += [_bare(match[1]), _bare(match[2])]
    return list(dict.fromkeys(name for name in found if name))


def measured(question: str) -> list[str]:
    """What the question wants a measure of: the profit of "the average profit"."""
    return list(dict.fromkeys(match[1].strip() for match in _MEASURED.finditer(question)))


def _bare(phrase: str) -> str:
    return re.sub(
        r"\s+columns?$",
        "",
        phrase.strip().strip("\"'`\u201c\u201d\u2018\u2019"),
        flags=re.IGNORECASE,
    )


def matched(resolver: Resolver, variables: Iterable[str], *, least: float) -> Matched:
    """Each variable's best column, where it is sure enough."""
    found = Matched([], [])
    for variable in variables:
        best = next(iter(resolver.column(variable)), None)
        if best is not None and best.score >= least:
            found.resolved.append(as_data(best))
        else:
            found.unresolved.append(variable)
    return found


def as_data(one: Resolved) -> ResolvedData:
    return ResolvedData(
        asked=one.asked, table=one.table, column=one.column, score=round(one.score, 4), how=one.how
    )


# The tables as a model is shown them, and what every step's prompt begins with.

_NOT_SHOWN = frozenset({"by", "wanted"})


class ToShow(Question, Required, LookedAt):
    """What is told of an analysis under way."""


async def tables_shown(context: Context, question: str) -> str:
    """Between the run's marks. Byte for byte the same for the same tables and question."""
    tables = await asked_tables(context, question)
    joins = await asyncio.to_thread(desk_of(context).joins, [one.table.id for one in tables])
    cleaned = [harmless_table(one.table, one.profile) for one in tables]
    text = profile_text(cleaned, question=question, budget=PROFILE_TOKENS, joins=joins)
    return evidence_marks(context.run).wrap([text])


async def shared(
    context: Context,
    question: str,
    requirements: RequirementsData | None = None,
    resolved: Sequence[ResolvedData] = (),
    looked: Sequence[Mapping[str, Any]] = (),
) -> dict[str, str]:
    """The holes that every prompt of an analysis begins with."""
    return {
        "tables": await tables_shown(context, question),
        "question": " ".join(question.split()),
        "requirements": _requirements(requirements, resolved),
        "looked": _looked(looked),
    }


async def shared_by(context: Context, state: ToShow) -> dict[str, str]:
    """The same of an analysis under way."""
    return await shared(
        context, state["question"], state["requirements"], state["resolved"], state["looked"]
    )


def _requirements(data: RequirementsData | None, resolved: Sequence[ResolvedData]) -> str:
    """What a model formulated. What rules read out of the question stands there already, but for
    words that they took for a column of another name."""
    meant = {one["asked"]: one["column"] for one in resolved if one["asked"] != one["column"]}
    shown: dict[str, Any] = {"columns": meant} if meant else {}
    if data is not None and data["by"] != RULES:
        shown |= {key: value for key, value in data.items() if value and key not in _NOT_SHOWN}
    if not shown:
        return ""
    return f"\nRequirements: {json.dumps(shown, sort_keys=True, ensure_ascii=False)}"


def _looked(looked: Sequence[Mapping[str, Any]]) -> str:
    said = [
        f"- {one['column']}: {sentence}"
        for one in looked
        for sentence in one["said"]
        if not is_order(sentence)
    ]
    return "\nA closer look at the data:\n" + "\n".join(said) if said else ""


def harmless_table(table: Table, profile: TableProfile) -> tuple[Table, TableProfile]:
    """Without names and values that give a model orders: a column so named is shown by its place,
    which is how code can still reach it."""
    columns = tuple(_harmless(at, column) for at, column in enumerate(profile.columns))
    title = WITHHELD if is_order(table.title) else table.title
    return (
        table.model_copy(update={"title": title, "path": None}),
        profile.model_copy(
            update={
                "columns": columns,
                "warnings": tuple(one for one in profile.warnings if not is_order(one)),
            }
        ),
    )


def _harmless(at: int, column: ColumnProfile) -> ColumnProfile:
    name = f"df.columns[{at}]" if is_order(column.name) else column.name
    return column.model_copy(
        update={
            "name": name,
            "top": tuple(one for one in column.top if not is_order(one.value)),
            "examples": tuple(one for one in column.examples if not is_order(one)),
            "minimum": _value(column.minimum),
            "maximum": _value(column.maximum),
            "warnings": tuple(one for one in column.warnings if not is_order(one)),
        }
    )


def _value(value: Any) -> Any:
    return None if isinstance(value, str) and is_order(value) else value


# What a model may be told of data: names and values that give it orders are withheld.

WITHHELD = "(withheld: reads like an order to a model)"
_TELLING_QUOTED = re.compile(r"""(["'`])(?P<inner>.{4,2000}?)\1""")
_LONGEST = 4_000
_WORDS_BEFORE = 12
"""Behind so many words of a quoted name an order is still looked for."""


def is_order(text: str) -> bool:
    """Whether a name, a cell or what an error quotes of them is kept from a model."""
    return stops(text, channel="table")


def harmless_text(message: str) -> str:
    """On one line, without what in it reads like an order: quoted, after a colon, or all of it."""
    line = " ".join(message[:_LONGEST].split())
    line = _TELLING_QUOTED.sub(
        lambda found: WITHHELD if _holds_order(found["inner"]) else found[0], line
    )
    head, colon, rest = line.partition(": ")
    if colon and is_order(rest):
        line = f"{head}: {WITHHELD}"
    return WITHHELD if is_order(line) else line


def _holds_order(name: str) -> bool:
    """Names are joined to others, "mean age" and a column's: then the order does not come first."""
    words = name.replace("_", " ").split()
    return any(is_order(" ".join(words[at:])) for at in range(min(len(words), _WORDS_BEFORE)))


# A result as text: for prompts, for sentences and for the short form.

_RESULT_SHOWN_LONGEST = 1500
_ROWS = 10
_DECIMALS = 4
_SMALL = 1e-3
_WHOLE = 1e15


def result_shown(outcome: Outcome) -> str:
    """For a model: JSON, or the first rows of a frame, without cells that give it orders."""
    if outcome.frame is not None and not outcome.has_result:
        return frame_shown(outcome.frame)
    plain = _without_orders(outcome.result)
    parts = [json.dumps(plain, ensure_ascii=False, default=str)[:_RESULT_SHOWN_LONGEST]]
    parts += [frame_shown(outcome.frame)] if outcome.frame is not None else []
    return "\n".join(part for part in parts if part != "null") or "null"


def frame_shown(frame: Frame) -> str:
    lines = [", ".join(map(_said, frame.columns))]
    lines += [", ".join(map(_said, map(value_shown, row))) for row in frame.rows[:_ROWS]]
    if frame.total_rows > _ROWS:
        lines.append(f"... {frame.total_rows} rows")
    return "\n".join(lines)[:_RESULT_SHOWN_LONGEST]


def _without_orders(value: Plain) -> Plain:
    if isinstance(value, dict):
        return {_said(name): _without_orders(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_orders(one) for one in value]
    return _said(value) if isinstance(value, str) else value


def _said(text: str) -> str:
    return WITHHELD if is_order(text) else text


def value_shown(value: Plain) -> str:  # noqa: PLR0911 - one line a kind
    """As a person reads it. Numbers keep four decimals, small ones four digits."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return ", ".join(map(value_shown, value))
    if isinstance(value, dict):
        return "; ".join(f"{name}: {value_shown(one)}" for name, one in value.items())
    return value


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    if abs(value) < _SMALL:
        return f"{value:.{_DECIMALS}g}"
    return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")


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


# What whoever tries again is told of the last try.

_LONGEST_CODE = 3000


def after_remedy(
    remedies: Sequence[RemedyData], attempts: Sequence[AttemptData], issues: Sequence[str]
) -> str:
    """The failed code, what is held against it and what to do about it; empty before a remedy."""
    if not remedies:
        return ""
    last = remedies[-1]
    lines = ["", "", "An earlier try could not stand."]
    if attempts:
        lines += ["Its code:", fenced(attempts[-1]["code"])]
    lines += ["What was wrong:", *(f"- {issue}" for issue in issues)]
    lines += [f"Cause: {last['cause']}", f"Do this: {last['guidance']}"]
    return "\n".join(lines)


def fenced(code: str) -> str:
    return f"```python\n{code[:_LONGEST_CODE]}\n```"
