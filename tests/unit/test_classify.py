"""What kind a question is: simple or multi_hop, about the library, and for which workflow."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.runtime import Runtime

from secondlook.nodes.catalogue import MOST_LINES, reply
from secondlook.nodes.outline import meant
from secondlook.nodes.plan import classify
from secondlook.nodes.route import from_documents, summary_scope
from secondlook.roles.wants import wanted
from secondlook.settings.workflows import AutoSettings, Routes
from tests.support.auto import TITLES, Title
from tests.support.engine import context_of, settings_of, state_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest


BY_MODEL = settings_of(research={"classifier": "llm"})
CHOICES = {"A": "the zebra crossing", "B": "the quokka enclosure", "C": "the narwhal pool"}


def node(stem: str, choices: dict[str, str] | None = None, **given: Any) -> dict[str, Any]:
    state: Any = state_of(stem, **{} if choices is None else {"choices": choices})
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


# What a library tells about itself: only what its catalogue has.

HELD = (
    Title("a", "Ferry times", ("/home/ann/ferries/times.txt",)),
    Title("b", "tariff.csv", ("/home/ann/harbour/tariff.csv",)),
    Title("c", "The  lease\nof 2024", ("/home/ann/harbour/lease_2024.pdf",)),
)


def test_documents_are_listed_by_title_under_their_folders() -> None:
    head, listed, work = reply("list", "", HELD, 1).split("\n\n")
    assert head == "I have 3 documents and 1 table:"
    assert listed.splitlines() == [
        "- ferries/",
        "  - Ferry times (times.txt)",
        "- harbour/",
        "  - tariff.csv",
        "  - The lease of 2024 (lease_2024.pdf)",
    ]
    assert work.startswith("I answer questions from your files, show where each answer stands")


def test_a_long_list_is_cut_and_says_how_many_are_left() -> None:
    flat = [Title(str(at), f"Letter {at}", (f"/letters/{at}.txt",)) for at in range(1, 41)]
    lines = reply("list", "", flat, 0).split("\n\n")[1].splitlines()
    assert lines[0] == "- Letter 1 (1.txt)"
    assert lines[MOST_LINES:] == ["... and 28 more"]
    deep = [Title(str(at), "x" * 300, (f"/{at % 30}/{at}.txt",)) for at in range(90)]
    lines = reply("list", "", deep, 0).split("\n\n")[1].splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "... and 84 more"
    assert max(map(len, lines)) < 100
    two = [Title(str(at), f"Letter {at}", (f"/{at > 0}/{at}.txt",)) for at in range(20)]
    lines = reply("list", "", two, 0).split("\n\n")[1].splitlines()
    assert "- False/" in lines
    assert lines[-1] == "... and 14 more"


def test_files_on_a_topic_are_those_with_its_words_in_title_or_path() -> None:
    told = reply("list", "the ferries", HELD, 0)
    assert told.startswith('I have 3 documents; these have "the ferries" in their title or path:')
    assert "- Ferry times (times.txt)" in told
    assert "lease" not in told
    folder = reply("list", "harbour", HELD, 0)
    assert "lease" in folder
    assert "Ferry" not in folder
    none = reply("list", "whales", HELD, 0)
    assert none.startswith('No title or path has "whales"; ask about it, and I look inside them.')
    assert "Ferry times" in none


def test_a_greeting_gets_a_sentence_and_an_empty_library_how_to_fill_it() -> None:
    told = reply("hello", "", HELD[:1], 0)
    assert told.startswith("Hello. I have 1 document. I answer questions")
    assert "\n" not in told
    assert reply("thanks", "", HELD, 2).startswith("You are welcome.")
    helped = reply("help", "", HELD, 2)
    assert helped.startswith("I answer questions from your files")
    assert "Ferry times" in helped
    for kind in ("hello", "help", "list"):
        assert "There is no document here yet: secondlook add" in reply(kind, "", (), 0)


# Which workflow a question goes to, and what is to be summarised.

EVERYWHERE: Any = {"documents": None, "labels": []}


@pytest.mark.parametrize(
    ("question", "workflow", "why"),
    [
        ("How deep is berth 4?", "linear", "Searched your documents"),
        ("Which is older, the Mary or the Anne?", "adaptive", "several facts"),
        ("compare the two offers for the roof", "research", "account"),
    ],
)
def test_the_kind_of_question_decides_between_workflows(
    question: str, workflow: str, why: str
) -> None:
    chosen = AutoSettings(
        routes=Routes(one_fact="linear", several_facts="adaptive", account="research")
    )
    name, said = from_documents(wanted(question), question, chosen)
    assert name == workflow
    assert why in said


# Summaries


@pytest.mark.parametrize(
    ("question", "certain", "documents"),
    [
        ("Summarise the harbour survey", False, ["survey"]),
        ("Summarise everything", False, ["survey", "plan"]),
        ("Summarise the tides", False, None),
        ("the plan", True, ["plan"]),
        ("What is the harbour survey about?", False, ["survey"]),
        ("what is this about", False, ["survey", "plan"]),
        ("Summarise the plan and the harbour survey", False, ["plan", "survey"]),
        ("Summarise the plan, the lease and the survey", False, ["plan", "survey"]),
        ("Summarise the tides and the currents", False, None),
    ],
)
def test_what_is_to_be_summarised(
    question: str, certain: bool, documents: list[str] | None
) -> None:
    found = summary_scope(question, EVERYWHERE, lambda _: TITLES, certain=certain)
    assert found == {"documents": documents, "labels": []}


def test_a_name_with_and_in_it_is_not_taken_apart() -> None:
    held = {"terms": ("Terms and conditions", ()), "handbook": ("Handbook", ("a/hand_book.md",))}
    assert meant("the terms and conditions", held) == (["terms"], [])
    assert meant('conditions, the "Lease" and my hand book', held) == (
        ["terms", "handbook"],
        ["Lease"],
    )
