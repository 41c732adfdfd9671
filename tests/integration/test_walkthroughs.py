"""The sessions that the designs were first told by, with a model that reads its prompts and answers
from what they show."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook import Conversation, Graph, Library, Secondlook
from secondlook.export import to_markdown
from secondlook.models.calls import Models
from secondlook.settings import load
from secondlook.verify import verify
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research_clerk import Clerk, options_of, question_of, shown

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

STEM = (
    "During a bank robbery a robber shot at a guard. The guard drew his revolver and shot back. One"
    " of his bullets glanced off a pillar and struck a customer. If the customer sues the guard for"
    " battery, will the customer prevail?"
)
RIGHT = "No, if the guard reasonably shot in his own defense."
OPTIONS = {
    "Yes, unless the customer was an accomplice of the robber.": ["not met", "not met"],
    "Yes, under the doctrine of transferred intent.": ["met", "not met"],
    RIGHT: ["met", "met"],
    "No, if the guard did not intend to shoot the customer.": ["met", "not met"],
}
DECIDES = {"harmful contact that was intended": "harmful", "no privilege": "complete defense"}
"""Elements, and the words of the research that state them."""
_PARTS = (Path(__file__).parents[1] / "support" / "law.txt").read_text("utf-8").split("\n\n")
LAW, STEPS, SAYS = ([line.split("|") for line in part.splitlines()] for part in _PARTS)
"""Passages; steps with their phase and queries; words of a passage, and what is written of it."""


def planned(request: ChatRequest) -> str:
    """The first step that is not among those it is shown."""
    tried = " ".join(shown(request).values())
    question, phase, *queries = next(step for step in STEPS if step[0] not in tried)
    said = {"phase": phase, "question": question, "queries": queries}
    return json.dumps({"action": "next_step", **said})


def written(request: ChatRequest) -> str:
    passages = [(at, " ".join(text.split())) for at, text in shown(request).items()]
    told = [(said, at) for at, text in passages for words, said in SAYS if words in text]
    return " ".join(f"{said} [Source {at}]." for said, at in told)


def weighed(request: ChatRequest) -> str:
    elements = [
        {"element": one, "sources": [at for at, text in shown(request).items() if words in text]}
        for one, words in DECIDES.items()
    ]
    judged = [{"letter": at, "verdicts": OPTIONS[one]} for at, one in options_of(request).items()]
    return json.dumps({"elements": elements, "options": judged})


def opened(folder: Path, model: FunctionModel | None, preset: str | None = None) -> Secondlook:
    flags = {"library.path": folder / "library", "runs.path": folder / "runs.db"}
    named = {"models.default": model.spec} if model else {}
    settings = load({**flags, **named}, preset=preset).settings
    chat: Any = model
    models = Models(settings, open_chat=lambda _: chat, probes=lambda _: None, pause=no_pause)
    return Secondlook(Library.open(settings=settings), settings=settings, models=models)


def filled(folder: Path, texts: Any) -> Path:
    (folder / "texts").mkdir()
    for title, text in dict(texts).items():
        (folder / "texts" / f"{title}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
    with Library.open(settings=load({"library.path": folder / "library"}).settings) as library:
        library.add([folder / "texts"])
    return folder


@pytest.mark.parametrize("local", [False, True])
def test_a_question_of_law_takes_three_steps_and_is_chosen_by_its_elements_and_remembered(
    tmp_path: Path, *, local: bool
) -> None:
    said: dict[str, Any] = {
        "plan": planned,
        "replan": planned,
        "synthesise": written,
        "choose": weighed,
    }
    model = Clerk(local=local, **said)
    with opened(filled(tmp_path, LAW), model, "law") as engine:
        answer = engine.ask(STEM, choices=list(OPTIONS))
        assert model.asked == ["plan", *(["synthesise", "replan"] * 3)[:-1], "choose"]
        assert (answer.status, answer.stop_reason, answer.short) == ("answered", "answered", "C")
        research, choice = answer.research, answer.choice
        assert research is not None
        assert choice is not None
        taken = [(one.question, one.phase, one.status) for one in research.steps]
        assert taken == [(question, phase, "completed") for question, phase, *_ in STEPS]
        for step, (*_, one, other) in zip(research.steps, STEPS, strict=True):
            assert {one, other} <= set(step.queries)
            assert f"### Step {step.id}: {step.phase}" in answer.text
        seen = [{item.passage for item in one.evidence if item.kept} for one in research.steps]
        assert [len(one) for one in seen] == [5, 5, 5]
        assert not any(one & other for one, other in combinations(seen, 2))
        assert all(claim.supported and claim.citations for claim in answer.claims)
        assert (choice.text, choice.model) == (RIGHT, model.spec)
        assert all(element.citations for element in choice.elements)
        verdicts = {one.text: [verdict.met for verdict in one.verdicts] for one in choice.options}
        assert verdicts == OPTIONS
        assert verify(answer, engine.library) == []
        text, _, sources = to_markdown(answer).replace("\\", "").partition("## References")
        marks, listed = (
            set(re.findall(r"\[Query \d\]\[Source \d\]", one)) for one in (text, sources)
        )
        assert marks == listed
        assert len(marks) > len(STEPS)
        # The research is remembered, and the choice made anew, in whatever order.
        assert research.remembered
        again = engine.ask(STEM, choices=list(OPTIONS)[::-1])
        assert model.asked[7:] == ["choose"]
        assert (again.short, again.choice and again.choice.text) == ("B", RIGHT)
        assert again.claims == answer.claims


# Three questions that a plain pipeline gets wrong: who is meant, which of several, two steps.

GROUP, DEBUT = "When did she leave her group?", "What awards for her debut?"
BIRTH = "How many years between her birth and her first Grammy?"
SINGER = """{0} is a singer, born on September 4, {1}, in Orsk Bay. {0} left her group in {2}.

## {3}

Her solo debut, {3}, came out in June 2003. For her debut {0} won {4}.

## Prizes

{0} won her first Grammy in {5}, for a song about the sea."""
SINGERS = {
    "Mara Velde": ("1981", "2006", "Low Water", "five Grammy Awards", "2004"),
    "Ines Corby": ("1979", "2011", "Salt Road", "three Silver Lyre Awards", "2005"),
}
WANTED = {"leave": "left her group", "award": "For her debut", "birth": "born", "Grammy": "first"}


def singing(request: ChatRequest) -> str:
    """Says who is meant by the conversation; answers by the sentence on the person who is named."""
    if (parts := request.messages[-1].content.partition("Last question: "))[1]:
        name = max(SINGERS, key=parts[0].rfind)
        return re.sub(r"\bher\b", f"{name}'s", parts[2].replace("she", name), count=1)
    question = question_of(request)
    words = next((words for sign, words in WANTED.items() if sign in question), "?")
    for at, text in shown(request).items():
        for said in re.findall(r"[A-Z][^.#\n]*\.", text):
            if words in said and any(one in said and one in question for one in SINGERS):
                return f"{said[:-1]} [{at}]."
    return "NOT IN THE EVIDENCE"


@pytest.fixture(scope="module")
def singers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = {name: SINGER.format(name, *told) for name, told in SINGERS.items()}
    return filled(tmp_path_factory.mktemp("singers"), texts)


@pytest.mark.parametrize("model", [None, FunctionModel(singing)], ids=["none", "a model"])
def test_who_is_meant_is_known_from_the_conversation_or_the_files_or_asked_back(
    singers: Path, model: FunctionModel | None
) -> None:
    with opened(singers, model) as engine:
        for name, (born, year, album, awards, first) in SINGERS.items():
            talk = Conversation(engine)
            talk.ask(f"When did {album} by {name} come out?")
            told = [talk.ask(one) for one in (GROUP, DEBUT, BIRTH)]
            told += [engine.ask(one, documents=[name]) for one in (GROUP, DEBUT, BIRTH)]
            assert [one.text for one in told if one.status != "answered"] == []
            assert all(name in one.asked for one in told[:3])
            for left, debut, years in (told[:3], told[3:]):
                assert (left.short, years.method) == (year, "computed")
                assert years.short == f"{int(first) - int(born)} years"
                assert awards in debut.text
                assert verify(years, engine.library) == []
        for question in (GROUP, DEBUT, BIRTH):
            answer = engine.ask(question)
            assert answer.stop_reason == "ambiguous"
            assert all(name in (answer.asks_back or "") for name in SINGERS)


def test_a_workflow_is_run_and_streamed_as_users_of_langgraph_know_it(singers: Path) -> None:
    with opened(singers, FunctionModel(singing)) as engine:
        rag = Graph(engine)
        result = rag.run("When did Ines Corby leave her group?")
        assert "2011" in result["generation"]
        assert any("2011" in one.page_content for one in result["documents"])
        assert (result["hallucination_check"], result["usefulness_check"]) == ("grounded", "useful")
        assert (result["retry_count"], result["web_search"]) == (0, "No")
        seen = [*rag.stream("What colour is the pier of Tolham?")]
        answer = seen[-1]["finish"]["answer"]
        assert [node for event in seen for node in event] == [one.node for one in answer.steps]
        assert answer.status == "abstained"
        first, graded = seen[0]["split"], next(one["grade"] for one in seen if "grade" in one)
        assert (first["documents"], first["generation"]) == ([], "")
        assert graded["relevance_scores"] == ["no"] * len(graded["documents"])
