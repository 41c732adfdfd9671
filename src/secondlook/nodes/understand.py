"""Tells a question about a concept from one that needs the data: by its words and by the columns it
names; a model is asked only where those are silent."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from secondlook.errors import BudgetExceeded, ModelError, TableError
from secondlook.nodes.context import Context
from secondlook.nodes.desk import RULES, ask, asked_tables, resolver
from secondlook.nodes.state import Question, Trace, Understood, Work, step, trouble


class Told(Understood, Trace):
    route: str


class WorkNeeded(BaseModel):
    """The form of a model's reply."""

    work: Literal["data", "concept"] = Field(description="What the question needs.")


async def understand(state: Question, runtime: Runtime[Context]) -> Told:
    work, by, why, warnings = await _understood(runtime.context, state)
    said = {"data": "about the data", "concept": "about what something means"}[work]
    told = step("understand", f"The question is {said}.", by=by, why=why, route=(work, why))
    return {"work": work, "understood_by": by, "route": work, "steps": [told], "warnings": warnings}


async def _understood(  # noqa: PLR0911 - one line a reason
    context: Context, state: Question
) -> tuple[Work, str, str, list[dict[str, Any]]]:
    question = state["question"]
    concept, data = asks_for_concept(question), asks_for_data(question)
    if data and not concept:
        return "data", RULES, "it asks for a measure", []
    try:
        tables = await asked_tables(context, question)
    except TableError as error:
        told = trouble("understand", error, "the question was understood without its tables")
        return "concept" if concept else "data", RULES, "by its words alone", [told]
    named = bool(resolver(context, tables).mentions(question)) if tables else False
    if concept and not named:
        return "concept", RULES, "it asks what something means and names no column", []
    if named and not concept:
        return "data", RULES, "it names a column", []
    unsure: Work = "concept" if concept and not data else "data"
    if not context.models.serves("understand") or not tables:
        return unsure, RULES, "the signs are unclear", []
    try:
        reply = await ask(context, "understand", "understand", state, WorkNeeded)
    except (ModelError, BudgetExceeded) as error:
        return unsure, RULES, "the signs are unclear", [trouble("understand", error, "rules told")]
    work = reply.value.work if reply.value else unsure
    return work, context.models.name("understand"), "a model says so", []


# Whether a question asks for a meaning or for a measure, by its words.

_CONCEPT = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:"
    r"what(?:'s|\u2019s| is| are| does| do)?\s+(?:is\s+|are\s+)?(?:meant by\s+|an?\s+)"
    r"|what\s+(?:does|do)\s+.{1,60}?\s+mean\b"
    r"|(?:explain|define|describe)\s+(?:what\s+|how\s+|why\s+|the (?:term|concept|idea|notion|"
    r"difference|meaning)|an?\s+)"
    r"|explain\s+\w+(?:\s+\w+)?\W*$"
    r"|what(?:'s|\u2019s| is) the (?:meaning|definition|purpose|point)\b"
    r"|(?:how|why|when)\s+(?:does|do|is|are|should|would)\s+.{0,40}?\b(?:work|used|useful|use|"
    r"matter|interpreted?)\b"
    r")",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^\W*what(?:'s|\u2019s| is| are)\s+(?P<term>[a-z][\w -]{2,40}?)\W*$", re.IGNORECASE
)
_DIFFERENCE = re.compile(r"\bdifference between\b", re.IGNORECASE)
_TERM = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:what(?:'s|\u2019s| is| are| does| do)?|explain|"
    r"define|describe)\s+(?:what\s+|is\s+|are\s+|meant by\s+|the (?:term|concept|idea|notion|"
    r"meaning|definition) (?:of\s+)?|an?\s+|the\s+)*(?P<term>.+?)(?:\s+means?)?"
    r"(?:\s+(?:is|are))?\W*$",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\b(?:average|mean of|the mean \w+|mean \w+ (?:of|by|for|per|in|at|over)|median|total|"
    r"sum of|count|how many|how much|number of|"
    r"percentage of|share of|proportion of|top \d+|highest|lowest|largest|smallest|most|least|"
    r"maximum|minimum|correlation between|distribution of|trend|outliers|missing values|"
    r"calculate|compute|plot|show|list|per|for each|group(?:ed)? by|compare|forecast|predict|"
    r"find|determine|test whether|check (?:if|whether))\b",
    re.IGNORECASE,
)


def asks_for_concept(question: str) -> bool:
    """It is worded as one asks what something means."""
    one_line = " ".join(question.split())
    if _CONCEPT.match(one_line):
        return True
    if _DIFFERENCE.search(one_line):
        return len(entries_in(one_line)) > 1
    bare = _BARE.match(one_line)
    return bare is not None and entry_for(bare["term"]) is not None


def asks_for_data(question: str) -> bool:
    """It asks for a measure of something."""
    return _DATA.search(question) is not None


def term_of(question: str) -> str:
    """What is asked about: the p-value of "What is a p-value?"."""
    found = _TERM.match(" ".join(question.split()))
    return (found["term"] if found else question).strip(" ?.!\"'")


# Common terms of statistics, explained in our own words: `glossary.toml` beside this file.


@dataclass(frozen=True, slots=True)
class Entry:
    names: tuple[str, ...]
    sentences: tuple[str, ...]
    example: str = ""  # A sentence, with room for a {column} of the person's own


def entry_for(term: str) -> Entry | None:
    """The entry of a term, however it is written."""
    return _by_name().get(_plain(term))


def entries_in(text: str) -> list[Entry]:
    """Those whose terms a text names, in its order; of two that overlap, the longer term."""
    found = dict.fromkeys(match["name"] for match in _names().finditer(_spaced(text)))
    return list(dict.fromkeys(_by_name()[_plain(name)] for name in found))


@cache
def _by_name() -> dict[str, Entry]:
    held = tomllib.loads(files(__package__).joinpath("glossary.toml").read_text("utf-8"))
    made = (
        Entry(tuple(one["names"]), tuple(one["sentences"]), one.get("example", ""))
        for one in held["entry"]
    )
    return {_plain(name): entry for entry in made for name in entry.names}


@cache
def _names() -> re.Pattern[str]:
    names = {_spaced(name) for one in _by_name().values() for name in one.names}
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"\b(?P<name>{'|'.join(map(re.escape, longest_first))})s?\b")


def _spaced(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.casefold()))


def _plain(term: str) -> str:
    return "".join(char for char in term.casefold() if char.isalnum()).removesuffix("s")
