"""Nodes of `analyst` alone: what each makes of the slice of the state that it is given."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from secondlook.nodes.desk import MOST_TABLES, lay_out, look, meant
from secondlook.nodes.judge import result as module
from secondlook.nodes.judge.result import confidence, remediate, shipped, signals
from secondlook.nodes.requirements import align
from secondlook.nodes.understand import understand
from secondlook.reading.logistic import Logistic
from tests.support.analyst import CUSTOMERS, Kept, Script, desk_of
from tests.support.engine import context_of, settings_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.nodes.context import Context
    from secondlook.nodes.state import Analysed

QUESTION = "What's the average customer age?"
FEW = {"few": {"a": [1.0, 2.0], "b": ["x", "y"]}}


def context(model: Script | None = None, tables: Any = None, **analyst: Any) -> Context:
    made = context_of(
        model=FunctionModel(model) if model else None,
        settings=settings_of(analyst=analyst),
        question=QUESTION,
        workflow="analyst",
    )
    desk = desk_of({"customers": CUSTOMERS} if tables is None else tables)
    return replace(made, desk=desk, kept=Kept())


def visited(node: Any, about: Context, question: str = QUESTION, **state: Any) -> dict[str, Any]:
    """What a node says of a state that has just been laid out, with some of it changed."""
    runtime: Any = SimpleNamespace(context=about, stream_writer=lambda _: None)

    async def go() -> dict[str, Any]:
        begun: Any = {"question": question, "scope": {"documents": None, "labels": []}}
        laid: Any = await lay_out(begun, runtime)
        found: dict[str, Any] = await node({**laid, **state}, runtime)
        return found

    return asyncio.run(go())


def found(column: str, about: Context) -> dict[str, Any]:
    table = about.desk.tables()[0].id if about.desk else ""
    return {"asked": column, "table": table, "column": column, "score": 1.0, "how": "exact"}


def needs(analysis: str, *variables: str) -> dict[str, Any]:
    return {
        "variables": list(variables),
        "constraints": [],
        "analysis": analysis,
        "success": "",
        "wanted": [],
        "by": "rules",
    }


@pytest.mark.parametrize(
    ("question", "work"),
    [
        (QUESTION, "data"),
        ("What is a p-value?", "concept"),
        ("Explain what correlation means", "concept"),
    ],
)
def test_concepts_and_data_are_told_apart_by_their_words(question: str, work: str) -> None:
    script = Script(understand='{"work": "data"}')
    assert visited(understand, context(script), question)["work"] == work


def test_a_model_is_asked_only_where_the_words_are_silent() -> None:
    script = Script(understand='{"work": "concept"}')
    assert visited(understand, context(script), QUESTION)["understood_by"] == "rules"
    assert script.prompts == []
    unclear = visited(understand, context(script), "Tell me more about it")
    assert (unclear["work"], len(script.prompts)) == ("concept", 1)


def test_a_type_that_does_not_fit_is_looked_at_once_and_then_left_to_the_code() -> None:
    about = context(Script())
    given: dict[str, Any] = {
        "requirements": needs("correlation", "region"),
        "resolved": [found("region", about), found("age", about)],
    }
    first = visited(align, about, **given)
    assert first["route"] == "profile"
    closer = visited(look, about, gaps=first["gaps"], **given)
    assert {one["column"] for one in closer["looked"]} == {"region"}
    assert visited(align, about, looked=closer["looked"], alignments=1, **given)["route"] == "code"


@pytest.mark.parametrize("question", ["how many boxes are there?", "what went to storage?"])
def test_of_many_tables_those_are_asked_that_the_question_names(question: str) -> None:
    box = {"box": ["B1", "B2", "B3"], "destination": ["storage", "flat", "storage"]}
    tables = {f"table{at}": {"a": [1, 2, 3], "b": [4, 5, 5]} for at in range(MOST_TABLES)}
    chosen = meant(desk_of({**tables, "list": box}), question)
    assert len(chosen) == MOST_TABLES
    assert "list" in {one.name for one in chosen}


def test_too_few_rows_are_a_gap_that_nothing_closes() -> None:
    about = context(Script(), FEW)
    given: dict[str, Any] = {
        "requirements": needs("regression", "a"),
        "resolved": [found("a", about)],
    }
    told = visited(align, about, **given)
    assert told["route"] == "limitation"
    assert "There are 2 rows, and it takes at least 5" in told["gaps"][0]["said"]


@pytest.mark.parametrize(
    ("issue", "action", "way"),
    [
        ("KeyError: 'turnover'", "revise_requirements", "requirements"),
        ("ValueError: could not convert string to float: '1,5'", "reexamine_data", "profile"),
        ("The correlation 1.2 is not within -1 and 1.", "rewrite_code", "code"),
    ],
)
def test_rules_find_who_can_mend_a_failure(issue: str, action: str, way: str) -> None:
    planned = visited(remediate, context(), issues=[issue], tries=2, alignments=2, query={"a": 1})
    assert (planned["remedies"][-1]["action"], planned["route"]) == (action, way)
    assert (planned["tries"], planned["alignments"], planned["query"]) == (0, 0, None)
    assert planned["remedies"][-1]["cause"] == issue


# How sure a result over tables is: from what the run saw, and only where that was fitted.

READ = {"doubt": 0.25, "answer": "value"}


def sure(query: Mapping[str, Any] | None) -> float | None:
    state: dict[str, Any] = {
        "query": query,
        "doubt": query["doubt"] if query else 1.0,
        "resolved": [{"asked": "turnover", "column": "sales", "score": 0.7}],
        "checks": [{"name": "range", "passed": True}, {"name": "type", "passed": False}],
        "attempts": [{}],
        "remedies": [],
    }
    return confidence(cast("Analysed", state))[0]


def test_what_was_never_fitted_has_no_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "shipped", lambda: Logistic(0.0, {"doubt": -4.0}))
    assert sure(None) is None
    assert sure(READ) == pytest.approx(0.2689)


def test_what_is_shipped_is_of_signals_that_there_are_and_more_doubt_is_less_sure() -> None:
    assert shipped().weights.keys() <= signals(READ, []).keys()
    made = json.loads(Path(module.__file__).with_name(module.FILE).read_text("utf-8"))
    assert made["fitted"]["answers"] >= 30
    seen = [signals({**READ, "doubt": at / 10}, []) for at in range(6)]
    probabilities = list(map(shipped().probability, seen))
    assert probabilities == sorted(probabilities, reverse=True)
