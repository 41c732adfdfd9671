"""Simple or multi_hop: by the understander, or by a model that never sees the choices."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.nodes.plan import classify
from tests.support.engine import context_of, settings_of, state_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

BY_MODEL = settings_of(research={"classifier": "llm"})
CHOICES = {"A": "the zebra crossing", "B": "the quokka enclosure", "C": "the narwhal pool"}


def node(stem: str, choices: dict[str, str] | None = None, **given: Any) -> dict[str, Any]:
    more = {} if choices is None else {"choices": choices}
    state: Any = state_of(stem, **more)
    context = context_of(workflow="research", **given)
    return dict(asyncio.run(classify(state, Runtime(context=context))))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is a lien?", "simple"),
        ("How many people may board a boat of more than 12 metres?", "simple"),
        ("The rule against perpetuities applies to", "simple"),
        ("Who was born first, Ada Vane or Bo Reed?", "multi_hop"),
        ("When was the pier built, who paid for it and what did it cost?", "multi_hop"),
        ("compare the two offers for the roof", "multi_hop"),
    ],
)
def test_the_understander_tells(question: str, kind: str) -> None:
    made = node(question)
    assert (made["query_type"], made["classified_by"]) == (kind, "understander")


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
