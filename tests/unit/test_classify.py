"""Simple or multi_hop: by rules, or by a model that never sees what there is to choose from."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from benchmarks.classify import labelled
from secondlook.nodes.plan import classify
from secondlook.roles.route import classified
from tests.support.engine import context_of, settings_of, state_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

BY_MODEL = settings_of(research={"classifier": "llm"})
CHOICES = {"A": "the zebra crossing", "B": "the quokka enclosure", "C": "the narwhal pool"}
LONG_CASE = (
    "Ann lent Bo her boat. Bo left it unlocked at the quay, where Cy took it, and when the storm "
    "came it sank on the bar. Who pays?"
)


def node(stem: str, choices: dict[str, str] | None = None, **given: Any) -> dict[str, Any]:
    more = {} if choices is None else {"choices": choices}
    state: Any = state_of(stem, **more)
    context = context_of(workflow="research", **given)
    return dict(asyncio.run(classify(state, Runtime(context=context))))


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Which is older, Hull Abbey or York Minster?", "its form tells"),
        ("What is the area of the parish where the inventor died?", "only describes"),
        ("When was it built, who paid and what did it cost?", "several things at once"),
        ("Is the lease void? May the tenant stay?", "it asks 2 questions"),
        ("How do leases and licences differ?", "it compares"),
        ("Which metal melts at a lower heat than tin?", "it compares"),
        (LONG_CASE, "words of facts"),
    ],
)
def test_what_needs_several_facts(question: str, why: str) -> None:
    for choices in (0, 4):
        found = classified(question, choices=choices)
        assert found.kind == "multi_hop"
        assert why in found.why


@pytest.mark.parametrize(
    "question",
    [
        "What is a lien?",
        "A man found a purse and kept it. What is conversion?",
        "How many people may board a boat of more than 12 metres?",
        "I looked in the handbook and on the board and found nothing: when does the bar open?",
        "The rule against perpetuities applies to",
    ],
)
def test_what_is_about_one_concept(question: str) -> None:
    assert {classified(question, choices=choices).kind for choices in (0, 4)} == {"simple"}
    made = node(question)
    assert (made["query_type"], made["classified_by"]) == ("simple", "rules")


@pytest.mark.parametrize("half", ["tune", "judge"])
def test_rules_are_right_about_most_of_the_labelled_set(half: str) -> None:
    """The figures are in the documentation; here only that nothing broke."""
    rows = [asked for asked in labelled() if asked.group == half]
    assert len(rows) == 48
    for kind in ("simple", "multi_hop"):
        of_kind = [row for row in rows if row.kind == kind]
        assert sum(bool(row.choices) for row in of_kind) == len(of_kind) / 2
        right = [classified(row.question, choices=row.choices).kind == kind for row in of_kind]
        assert sum(right) >= 0.8 * len(right)


# The node


def sorted_by_length(request: ChatRequest) -> str:
    """Reads the question it is sent."""
    asked = request.messages[-1].content.partition("Question: ")[2]
    return "simple" if len(asked.split()) < 8 else "Multi-hop."


def test_a_model_is_asked_where_it_is_chosen() -> None:
    model = FunctionModel(sorted_by_length)
    made = node("How do leases differ?", settings=BY_MODEL, model=model)
    assert (made["query_type"], made["classified_by"]) == ("simple", "ollama:function")
    long = "What is a lien on a boat that lies at berth four?"
    made = node(long, settings=BY_MODEL, model=FunctionModel(sorted_by_length))
    assert made["query_type"] == "multi_hop"
    assert len(model.requests) == 1


def test_a_model_knows_how_many_choices_there_are_and_not_what_they_say() -> None:
    model = FunctionModel(sorted_by_length)
    whole = "Where do they meet?\n(A) the zebra crossing\n(B) the quokka enclosure"
    made = node("Where do they meet?", CHOICES, settings=BY_MODEL, model=model, question=whole)
    sent = "\n".join(message.content for message in model.requests[0].messages)
    assert "Answer choices: 3\nQuestion: Where do they meet?" in sent
    assert not re.search("zebra|quokka|narwhal|crossing|enclosure|pool", sent)
    assert made["steps"][0]["numbers"]["choices"] == 3
